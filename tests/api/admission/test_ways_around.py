"""Ways around the gate, tried on a real kube-apiserver: each ends as the design says."""

from http import HTTPStatus

import pytest

from tests.api.admission.objects import (
    BAD,
    GOOD,
    allow_pods,
    assert_begins_in_time,
    new_namespace,
    privileged,
)
from tests.harness.programs.client import STRATEGIC_MERGE_PATCH, Client, Json, Outcome
from tests.harness.worlds.rbac import grant, service_account, use_of, user

ALICE = "alice@example.com"
REPLICASET_CONTROLLER = "system:serviceaccount:kube-system:replicaset-controller"
OPERATOR = "system:serviceaccount:operators:wide"


def owned(
    pod: Json,
    api_version: str = "apps/v1",
    kind: str = "ReplicaSet",
    name: str = "made-up",
    uid: str = "6f3c1f0e-0000-4000-8000-000000000001",
) -> Json:
    """Write an owner reference on the Pod by hand."""
    reference = {
        "apiVersion": api_version,
        "kind": kind,
        "name": name,
        "uid": uid,
        "controller": True,
    }
    pod["metadata"]["ownerReferences"] = [reference]
    return pod


async def replica_set(admin: Client, namespace: str) -> Json:
    """Make a ReplicaSet of privileged Pods, as an admin may; give its metadata."""
    labels = {"app": "owner"}
    template = {"metadata": {"labels": labels}, "spec": privileged()["spec"]}
    made = await admin.create(
        {
            "apiVersion": "apps/v1",
            "kind": "ReplicaSet",
            "metadata": {"name": "owner", "namespace": namespace},
            "spec": {"replicas": 0, "selector": {"matchLabels": labels}, "template": template},
        }
    )
    return dict(made["metadata"])


async def test_an_unlabelled_namespace_enforces(admin: Client) -> None:
    """A namespace without a mode is judged by the installation's default: enforce."""
    namespace = await new_namespace(admin)
    await allow_pods(admin, namespace, ALICE)
    alice = admin.as_user(ALICE)
    assert (await alice.dry_run_create(BAD(), namespace)).outcome is Outcome.DENIED
    assert (await alice.dry_run_create(GOOD(), namespace)).outcome is Outcome.ALLOWED


@pytest.mark.parametrize("kind", ["ReplicaSet", "ConfigMap"])
async def test_an_owner_reference_proves_nothing(admin: Client, kind: str) -> None:
    """A Pod whose author wrote an owner on it is judged by its author's right."""
    namespace = await new_namespace(admin)
    await allow_pods(admin, namespace, ALICE)
    api_version = "apps/v1" if kind == "ReplicaSet" else "v1"
    pod = owned(privileged(), api_version, kind)
    answer = await admin.as_user(ALICE).dry_run_create(pod, namespace)
    assert answer.outcome is Outcome.DENIED
    assert "host/network" in answer.message


async def test_a_controllers_own_rights_never_count(admin: Client) -> None:
    """The ReplicaSet controller may use every profile; its Pods have their account's rights."""
    namespace = await new_namespace(admin)
    await allow_pods(admin, namespace, REPLICASET_CONTROLLER)
    rights, itself = use_of("pss-privileged"), user(REPLICASET_CONTROLLER)
    await admin.apply(grant("use", rights, itself, namespace=namespace))
    groups = ["system:authenticated", "system:serviceaccounts", "system:masters"]
    controller = admin.as_user(REPLICASET_CONTROLLER, groups)
    owner = await replica_set(admin, namespace)

    def its_pod() -> Json:
        return owned(privileged(), name=owner["name"], uid=owner["uid"])

    refused = await controller.dry_run_create(its_pod(), namespace)
    assert refused.outcome is Outcome.DENIED
    assert f"service account {namespace}:default" in refused.message

    account = service_account("default", namespace)
    await admin.apply(grant("use-by-account", rights, account, namespace=namespace))
    await assert_begins_in_time(controller, namespace, its_pod())


async def test_an_operator_with_everything_cannot_lend_it(admin: Client) -> None:
    """An identity that nobody configured as a controller needs its account's right as well."""
    namespace = await new_namespace(admin)
    await allow_pods(admin, namespace, OPERATOR)
    groups = ["system:authenticated", "system:masters"]
    operator = admin.as_user(OPERATOR, groups)
    refused = await operator.dry_run_create(owned(privileged()), namespace)
    assert refused.outcome is Outcome.DENIED
    bare = await operator.dry_run_create(privileged(), namespace)
    assert bare.outcome is Outcome.ALLOWED


async def test_cluster_admin_stays_under_the_ceiling(admin: Client) -> None:
    """A profile outside the ceiling is refused to cluster-admin, asked for or not."""
    namespace = await new_namespace(admin, {"sallyport.dev/ceiling": "pss-restricted"})
    asked = privileged()
    asked["metadata"]["annotations"] = {"sallyport.dev/profile": "pss-privileged"}
    for pod in (privileged(), asked):
        answer = await admin.dry_run_create(pod, namespace)
        assert answer.outcome is Outcome.DENIED
        assert "ceiling" in answer.message
    assert (await admin.dry_run_create(GOOD(), namespace)).outcome is Outcome.ALLOWED


async def test_a_namespace_left_out_is_left_out(admin: Client) -> None:
    """A Pod in kube-system is not judged: docs/security-model.md says so."""
    await admin.create_service_account("default", "kube-system")
    answer = await admin.dry_run_create(privileged(), "kube-system")
    assert answer.outcome is Outcome.ALLOWED


async def test_an_image_cannot_be_put_into_a_privileged_pod(admin: Client) -> None:
    """Who may update Pods, but not use the profile, cannot bring code into a privileged one."""
    namespace = await new_namespace(admin)
    await allow_pods(admin, namespace, ALICE)
    pod = privileged()
    pod["metadata"]["namespace"] = namespace
    await admin.create(pod)
    alice = admin.as_user(ALICE)
    path = f"/api/v1/namespaces/{namespace}/pods/{pod['metadata']['name']}"
    images = {"name": pod["spec"]["containers"][0]["name"], "image": "registry.example/evil:1"}
    status, answer = await alice.request(
        "PATCH", path, {"spec": {"containers": [images]}}, content_type=STRATEGIC_MERGE_PATCH
    )
    assert status == HTTPStatus.FORBIDDEN
    assert "may not use the profile pss-privileged" in answer["message"]
    await alice.patch(pod, {"metadata": {"labels": {"harmless": "yes"}}})


async def test_an_ephemeral_container_is_judged(admin: Client) -> None:
    """A debug container that needs more than its author may have is refused."""
    namespace = await new_namespace(admin)
    await allow_pods(admin, namespace, ALICE)
    pod = GOOD()
    pod["metadata"]["namespace"] = namespace
    created = await admin.create(pod)
    name = created["metadata"]["name"]
    good = {**pod["spec"]["containers"][0], "name": "debug"}
    bad = {**good, "securityContext": {"privileged": True}}
    alice = admin.as_user(ALICE)
    refused = await alice.dry_run_ephemeral_containers(name, namespace, [bad])
    assert refused.outcome is Outcome.DENIED
    assert "spec.ephemeralContainers[0]" in refused.message
    admitted = await alice.dry_run_ephemeral_containers(name, namespace, [good])
    assert admitted.outcome is Outcome.ALLOWED
