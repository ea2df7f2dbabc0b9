"""deploy/rbac.yaml gives the gate what it needs, and nothing more."""

from pathlib import Path

import pytest
from structlog.testing import capture_logs

from core.base.errors import NotSyncedError
from core.kubernetes.workload_kinds import WORKLOADS
from core.people.subject import Subject
from core.risk.snapshot_storage import SECRET_NAMES
from kube.cluster.live import LiveCluster
from kube.manifests.reader import read_paths
from tests.harness.programs.apiserver import ApiServer
from tests.harness.programs.client import Client
from tests.harness.worlds.rbac import binding, service_account

SYSTEM = "sallyport-system"
OLDER = "older-gate"

_OWNERS = {
    ("get", each.group, each.resource)
    for each in WORKLOADS.values()
    if each.namespaced and each.controllers
}
"""What owns Pods, of which the gate reads the metadata."""


@pytest.fixture
async def gate_config(client: Client, apiserver: ApiServer, crds: None) -> Path:
    """A kubeconfig of the gate's service account, with deploy/rbac.yaml applied."""
    status, _ = await client.request("GET", f"/api/v1/namespaces/{SYSTEM}")
    if status != 200:
        await client.create_namespace(SYSTEM)
    await client.apply(manifest.value for manifest in read_paths([Path("deploy/rbac.yaml")]))
    token = await client.create_token("sallyport-gate", SYSTEM)
    return apiserver.kubeconfig_for_token("sallyport-gate", token)


async def test_the_gate_can_do_its_work(gate_config: Path) -> None:
    """With its own account alone it loads everything and asks who may do what."""
    cluster = LiveCluster(gate_config)
    await cluster.start()
    try:
        await cluster.wait(60)
        assert cluster.profiles().revision
        assert (await cluster.namespace("default")).name == "default"
        nobody = Subject("nobody")
        assert not await cluster.allowed(nobody, "use", "containerprofiles", "a", "default")
        assert cluster.runtime_class("nothing") is None
        assert cluster.exposing_services("default", {}) == ()
        assert cluster.service_account_made(SYSTEM, "sallyport-gate") is not None
    finally:
        await cluster.stop()


async def test_without_a_right_that_few_need_only_who_asks_is_told(
    client: Client, apiserver: ApiServer, crds: None
) -> None:
    """With the rights of an older release it is ready, and says of Services what it lacks."""
    await client.create_namespace(OLDER)
    await client.create_service_account("gate", OLDER)
    (role,) = (
        each.value
        for each in read_paths([Path("deploy/rbac.yaml")])
        if (each.kind, each.value["metadata"]["name"]) == ("ClusterRole", "sallyport-gate")
    )
    rules = [each for each in role["rules"] if "services" not in each["resources"]]
    account = service_account("gate", OLDER)
    await client.apply(
        [role | {"metadata": {"name": OLDER}, "rules": rules}, binding(OLDER, account)]
    )
    token = await client.create_token("gate", OLDER)
    cluster = LiveCluster(apiserver.kubeconfig_for_token(OLDER, token))
    with capture_logs():
        await cluster.start()
        try:
            await cluster.wait(60)
            assert cluster.runtime_class("nothing") is None
            with pytest.raises(NotSyncedError, match=r"watch of Services: .* 403 .*RBAC"):
                cluster.exposing_services("default", {})
            with pytest.raises(NotSyncedError, match=r"watch of ServiceAccounts: .* 403 .*RBAC"):
                cluster.service_account_made("default", "default")
        finally:
            await cluster.stop()


async def test_the_gate_can_do_nothing_else(gate_config: Path, client: Client) -> None:
    """Its rules are exactly those of its ClusterRole and what every account has."""
    gate = client.as_user(
        f"system:serviceaccount:{SYSTEM}:sallyport-gate",
        ("system:serviceaccounts", f"system:serviceaccounts:{SYSTEM}", "system:authenticated"),
    )
    others = ("secrets", "secrets/sallyport-ca", "secrets/sallyport-risk-c0")
    for path in (*others, "pods", "configmaps", "serviceaccounts/default"):
        status, _ = await gate.request("GET", f"/api/v1/namespaces/{SYSTEM}/{path}")
        assert status == 403, path
    for path in ("/api/v1/secrets", "/api/v1/pods", "/api/v1/nodes", "/api/v1/namespaces/default"):
        status, _ = await gate.request("GET", path)
        assert status == 403, path
    for name in SECRET_NAMES:
        status, _ = await gate.request("GET", f"/api/v1/namespaces/{SYSTEM}/secrets/{name}")
        assert status in {200, 404}, name
    review = {
        "apiVersion": "authorization.k8s.io/v1",
        "kind": "SelfSubjectRulesReview",
        "spec": {"namespace": SYSTEM},
    }
    path = "/apis/authorization.k8s.io/v1/selfsubjectrulesreviews"
    _, answer = await gate.request("POST", path, review)
    rules = {
        (verb, group, resource)
        for rule in answer["status"]["resourceRules"]
        for verb in rule["verbs"]
        for group in rule["apiGroups"]
        for resource in rule["resources"]
        if not resource.startswith("self")
    }
    assert rules == {
        *(
            (verb, *kind)
            for verb in ("list", "watch")
            for kind in (
                ("networking.k8s.io", "networkpolicies"),
                ("cilium.io", "ciliumnetworkpolicies"),
            )
        ),
        # Every account may, since Kubernetes 1.37.
        *(
            (verb, "certificates.k8s.io", "clustertrustbundles")
            for verb in ("get", "list", "watch")
        ),
        ("list", "sallyport.dev", "containerprofiles"),
        ("watch", "sallyport.dev", "containerprofiles"),
        ("list", "", "namespaces"),
        ("watch", "", "namespaces"),
        ("list", "", "persistentvolumes"),
        ("watch", "", "persistentvolumes"),
        ("list", "node.k8s.io", "runtimeclasses"),
        ("watch", "node.k8s.io", "runtimeclasses"),
        *((verb, "", "services") for verb in ("list", "watch")),
        *((verb, "", "serviceaccounts") for verb in ("list", "watch")),
        ("get", "", "pods"),
        ("get", "sallyport.dev", "policyexceptions"),
        ("list", "sallyport.dev", "policyexceptions"),
        ("watch", "sallyport.dev", "policyexceptions"),
        ("list", "sallyport.dev", "approvals"),
        ("watch", "sallyport.dev", "approvals"),
        *((verb, "sallyport.dev", "breakglasses") for verb in ("get", "list", "watch")),
        *((verb, "sallyport.dev", "clusterapprovals") for verb in ("list", "watch")),
        *((verb, "sallyport.dev", "weightstores") for verb in ("list", "watch")),
        *((verb, "sallyport.dev", "accessgrants") for verb in ("get", "list", "watch")),
        *((verb, "sallyport.dev", "egressallowlists") for verb in ("get", "list")),
        *((verb, "sallyport.dev", "egressdestinations") for verb in ("get", "list")),
        ("get", "rbac.authorization.k8s.io", "roles"),
        ("get", "rbac.authorization.k8s.io", "clusterroles"),
        *((verb, "", "configmaps") for verb in ("get", "list", "watch", "patch")),
        *((verb, "", "secrets") for verb in ("get", "list", "watch")),
        *_OWNERS,
        ("create", "authorization.k8s.io", "subjectaccessreviews"),
    }
