"""What its owner leaves behind, and whoever takes it over: who is named for the Pods."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Final

from tests.api.people.requester_notes.conftest import (
    ANN,
    BEN,
    NAMESPACE,
    Installation,
    of_pod,
    template,
    workload,
)
from tests.harness.programs.client import Client, Json

REQUESTER: Final = "sallyport.dev/requester"
REPLICASETS: Final = "apis/apps/v1/replicasets"
OTHER_IMAGE: Final = "registry.example/train:2"


async def until(true: Callable[[], Awaitable[bool]], what: str) -> None:
    """Return once something holds; controllers need a moment."""
    for _ in range(600):
        if await true():
            return
        await asyncio.sleep(0.1)
    raise TimeoutError(what)


async def objects(client: Client, resource: str, app: str) -> list[Json]:
    """Return what carries the label `app`; `resource` such as `apis/apps/v1/replicasets`."""
    base, _, plural = resource.rpartition("/")
    path = f"/{base}/namespaces/{NAMESPACE}/{plural}?labelSelector=app%3D{app}"
    _, listed = await client.request("GET", path)
    items: list[Json] = listed["items"]
    return items


async def orphan(client: Client, item: Json) -> None:
    """Delete an object as `--cascade=orphan` does, and wait until it has let go of its own."""
    path = await client._path(item)  # noqa: SLF001  Only here an object is deleted so.
    status, _ = await client.request("DELETE", path, parameters={"propagationPolicy": "Orphan"})
    assert status == 200

    async def gone() -> bool:
        return (await client.request("GET", path))[0] == 404

    await until(gone, f"{path} is still there")


async def owned_by(client: Client, resource: str, app: str, owner: Json) -> None:
    """Return once an owner has adopted all that is there."""

    async def adopted() -> bool:
        found = await objects(client, resource, app)
        owners = [each["metadata"].get("ownerReferences", [{}])[0].get("uid") for each in found]
        return set(owners) == {owner["metadata"]["uid"]}

    await until(adopted, f"{resource} of {app} are not adopted")


async def test_an_orphaned_replica_set_names_its_templates_author(
    installation: Installation, admin: Client, ann: Client, ben: Client
) -> None:
    """Whoever scales it: the note that its controller copied stays until the template changes."""
    made = await ann.create(workload("Deployment", "orphan", replicas=0))

    async def there() -> bool:
        return bool(await objects(admin, REPLICASETS, "orphan"))

    await until(there, "the Deployment has no ReplicaSet")
    await orphan(ben, made)
    (left,) = await objects(admin, REPLICASETS, "orphan")
    assert "ownerReferences" not in left["metadata"]
    left |= {"apiVersion": "apps/v1", "kind": "ReplicaSet"}
    scaled = await ben.patch(left, {"spec": {"replicas": 1}})
    assert scaled["metadata"]["annotations"][REQUESTER] == ANN
    decision = await installation.decision(of_pod("orphan-"))
    assert (decision["root"]["kind"], decision["root"]["requester"]) == ("ReplicaSet", ANN)
    pods = {"spec": {"containers": [{"name": "main", "image": OTHER_IMAGE}]}}
    changed = await ben.patch(left, {"spec": {"template": pods}})
    assert changed["metadata"]["annotations"][REQUESTER] == BEN
    await admin.delete(left)


async def test_an_orphaned_replica_set_that_bens_deployment_adopts(
    installation: Installation, admin: Client, ann: Client, ben: Client
) -> None:
    """Of the same template it becomes the new one: Ben asked for it, and its note says so."""
    made = await ann.create(workload("Deployment", "taken"))
    await installation.decision(of_pod("taken-"))
    await orphan(ann, made)
    bens = await ben.create(workload("Deployment", "taken", replicas=2))
    await owned_by(admin, REPLICASETS, "taken", bens)

    async def noted() -> bool:
        found = await objects(admin, REPLICASETS, "taken")
        return [each["metadata"]["annotations"][REQUESTER] for each in found] == [BEN]

    await until(noted, "the ReplicaSet still names Ann")
    await admin.delete(bens)


async def test_an_orphaned_replica_set_of_another_template_stays_anns(
    installation: Installation, admin: Client, ann: Client, ben: Client
) -> None:
    """Ben's Deployment adopts it as an old one, and scales it away."""
    made = await ann.create(workload("Deployment", "old"))
    await installation.decision(of_pod("old-"))
    await orphan(ann, made)
    pods = template("old")
    pods["spec"]["containers"][0]["image"] = OTHER_IMAGE
    bens = await ben.create(workload("Deployment", "old", template=pods))
    new = await installation.decision(
        lambda d: of_pod("old-")(d) and "root" in d and d["root"]["requester"] == BEN
    )
    await owned_by(admin, REPLICASETS, "old", bens)
    found = await objects(admin, REPLICASETS, "old")
    notes = {
        each["spec"]["template"]["spec"]["containers"][0]["image"]: each["metadata"]["annotations"]
        for each in found
    }
    assert notes["registry.example/train:1"][REQUESTER] == ANN
    assert notes[OTHER_IMAGE][REQUESTER] == BEN
    assert new["root"]["uid"] == bens["metadata"]["uid"]
    await admin.delete(bens)


async def test_bens_pod_that_anns_replica_set_adopts(
    installation: Installation, admin: Client, ann: Client, ben: Client
) -> None:
    """Its own decision and its own note name Ben; adoption changes neither."""
    pod: Json = {"apiVersion": "v1", "kind": "Pod", **template("lent")}
    pod["metadata"] |= {"name": "lent-bens", "namespace": NAMESPACE}
    await ben.create(pod)
    theirs = await ann.create(workload("ReplicaSet", "lent"))
    await owned_by(admin, "api/v1/pods", "lent", theirs)
    (adopted,) = await objects(admin, "api/v1/pods", "lent")
    assert adopted["metadata"]["annotations"][REQUESTER] == BEN
    decision = await installation.decision(of_pod("lent-bens"))
    assert (decision["requester"], "root" in decision) == (BEN, False)
    await admin.delete(theirs)


async def test_a_stateful_set_that_ben_makes_anew(
    installation: Installation, admin: Client, ann: Client, ben: Client
) -> None:
    """Ann's Pod stays Ann's; the next one of its name is made for Ben's StatefulSet."""
    made = await ann.create(workload("StatefulSet", "anew"))
    first = await installation.decision(of_pod("anew-0"))
    await orphan(ben, made)
    bens = await ben.create(workload("StatefulSet", "anew"))
    await owned_by(admin, "api/v1/pods", "anew", bens)
    await owned_by(admin, "apis/apps/v1/controllerrevisions", "anew", bens)
    (pod,) = await objects(admin, "api/v1/pods", "anew")
    await admin.delete({"apiVersion": "v1", "kind": "Pod", "metadata": pod["metadata"]})
    second = await installation.decision(
        lambda d: of_pod("anew-0")(d) and d.get("root", first["root"]) != first["root"]
    )
    assert (first["root"]["requester"], second["root"]["requester"]) == (ANN, BEN)
    assert second["root"]["uid"] == bens["metadata"]["uid"]
    await admin.delete(bens)
