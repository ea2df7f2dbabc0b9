"""A rollback is a change of the template: it is judged, and named, as who rolls back."""

from typing import Final

import pytest

from tests.api.people.requester_notes.conftest import (
    ANN,
    BEN,
    NAMESPACE,
    REVISION,
    Installation,
    human,
    of_pod,
    revision,
    soon,
    template,
    workload,
)
from tests.api.people.requester_notes.profiles import naming, profile
from tests.harness.programs.client import ApiStatusError, Client, Json
from tests.harness.worlds.rbac import grant, service_account, use_of, user

REQUESTER: Final = "sallyport.dev/requester"
PROFILE: Final = "sallyport.dev/profile"
STRONG: Final = "noting-rollback"
DEE_OID: Final = "33333333-aaaa-bbbb-cccc-dddddddddddd"
SKIPPED: Final = frozenset(
    {
        "kubectl.kubernetes.io/last-applied-configuration",
        REVISION,
        "deployment.kubernetes.io/revision-history",
        "deployment.kubernetes.io/desired-replicas",
        "deployment.kubernetes.io/max-replicas",
    }
)
"""Annotations that kubectl leaves as they are (annotationsToSkip)."""


def changed(**spec: object) -> Json:
    """Return the change to a second template, which differs in its image."""
    containers = [{"name": "main", "image": "registry.example/train:2"}]
    return {"spec": {"template": {"spec": {"containers": containers, **spec}}}}


async def roll_back(client: Client, made: Json, revision: str = "1") -> Json:
    """Do what `kubectl rollout undo --to-revision` does: one JSONPatch from an old ReplicaSet.

    Source: kubectl pkg/polymorphichelpers/rollback.go, getDeploymentPatch: the annotations of the
    ReplicaSet, which were copied from the Deployment of then, come back with its template.
    """
    name = made["metadata"]["name"]
    now = await client.get("apps/v1", "Deployment", name, NAMESPACE)
    path = f"/apis/apps/v1/namespaces/{NAMESPACE}/replicasets?labelSelector=app%3D{name}"
    _, listed = await client.request("GET", path)
    (old,) = [i for i in listed["items"] if i["metadata"]["annotations"][REVISION] == revision]
    pods = old["spec"]["template"]
    del pods["metadata"]["labels"]["pod-template-hash"]
    kept = now["metadata"]["annotations"]
    annotations = {key: kept[key] for key in SKIPPED if key in kept}
    came = old["metadata"]["annotations"]
    annotations |= {key: came[key] for key in came if key not in SKIPPED}
    status, answer = await client.request(
        "PATCH",
        f"/apis/apps/v1/namespaces/{NAMESPACE}/deployments/{name}",
        [
            {"op": "replace", "path": "/spec/template", "value": pods},
            {"op": "replace", "path": "/metadata/annotations", "value": annotations},
        ],
        content_type="application/json-patch+json",
    )
    if status != 200:
        raise ApiStatusError("PATCH", name, status, str(answer["message"]))
    return answer


@pytest.fixture
async def strong(admin: Client) -> None:
    """Ann, and a service account, may have what needs host/pid; Ben may not."""
    await admin.create_service_account("strong", NAMESPACE)
    may = (user("ann@example.com"), service_account("strong", NAMESPACE))
    await admin.apply((profile(STRONG, "host/pid"), *grant(STRONG, use_of(STRONG), *may)))


@pytest.mark.usefixtures("strong")
async def test_to_a_template_that_needs_what_who_rolls_back_may_not(
    admin: Client, ann: Client, ben: Client
) -> None:
    """Refused: that its author could have it, and that it ran, is no right of Ben's."""
    pods = template("back-up", hostPID=True, serviceAccountName="strong")
    strong = naming(STRONG, "Deployment", "back-up", template=pods)
    made = await soon(lambda: ann.create(strong))
    await revision(admin, "back-up", 1)
    patched = await ben.patch(made, changed(hostPID=False, serviceAccountName="default"))
    assert patched["metadata"]["annotations"][REQUESTER] == BEN
    await revision(admin, "back-up", 2)
    with pytest.raises(ApiStatusError, match="privilege host/pid"):
        await roll_back(ben, made)
    now = await admin.get("apps/v1", "Deployment", "back-up", NAMESPACE)
    assert now["metadata"]["annotations"][REQUESTER] == BEN
    back = await roll_back(ann, made)
    notes = back["metadata"]["annotations"]
    assert (notes[REQUESTER], notes[PROFILE]) == (ANN, STRONG)
    await admin.delete(made)


@pytest.mark.usefixtures("strong")
async def test_from_a_template_that_needs_what_who_rolls_back_may_not(
    installation: Installation, admin: Client, ann: Client, ben: Client
) -> None:
    """Taken: what goes away is not judged. Who rolls back is noted, not who wrote it once."""
    made = await ann.create(workload("Deployment", "back-down"))
    first = await installation.decision(of_pod("back-down-"))
    assert first["root"]["requester"] == ANN
    await revision(admin, "back-down", 1)
    up = changed(hostPID=True, serviceAccountName="strong")
    await soon(lambda: ann.patch(made, up))
    await revision(admin, "back-down", 2)
    back = await roll_back(ben, made)
    notes = back["metadata"]["annotations"]
    assert (notes[REQUESTER], notes[PROFILE]) == (BEN, "pss-baseline")
    await admin.delete(made)


async def test_the_pods_of_the_old_replica_set_name_who_rolled_back(
    installation: Installation, admin: Client, ann: Client, ben: Client
) -> None:
    """The old ReplicaSet is used again; its controller copies the Deployment's new note to it."""
    made = await ann.create(workload("Deployment", "back-used", replicas=0))
    await revision(admin, "back-used", 1)
    await ann.patch(made, changed())
    await revision(admin, "back-used", 2)
    await roll_back(ben, made)
    await revision(admin, "back-used", 3)
    await ann.patch(made, {"spec": {"replicas": 1}})
    decision = await installation.decision(of_pod("back-used-"))
    path = f"/apis/apps/v1/namespaces/{NAMESPACE}/replicasets?labelSelector=app%3Dback-used"
    _, listed = await admin.request("GET", path)
    assert len(listed["items"]) == 2
    assert decision["root"]["requester"] == BEN
    await admin.delete(made)


async def test_to_a_template_whose_profile_who_rolls_back_may_not_use(
    admin: Client, ann: Client, ben: Client
) -> None:
    """The old note comes along with the template; it is no wish of Ben's, and chosen anew."""
    dee = human(admin, "dee@example.com", DEE_OID)
    rights = grant("noting-dee", use_of("noting-dee"), user("dee@example.com"))
    await admin.apply((profile("noting-dee"), *rights))
    made = await soon(lambda: dee.create(naming("noting-dee", "Deployment", "back-dee")))
    await revision(admin, "back-dee", 1)
    await ann.patch(made, changed())
    await revision(admin, "back-dee", 2)
    back = await roll_back(ben, made)
    notes = back["metadata"]["annotations"]
    assert (notes[REQUESTER], notes[PROFILE]) == (BEN, "pss-baseline")
    await admin.delete(made)
