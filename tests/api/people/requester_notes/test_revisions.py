"""ControllerRevisions: templates of a StatefulSet's Pods that do not lie in the StatefulSet."""

import asyncio
from collections.abc import AsyncIterator
from typing import Final

import pytest

from tests.api.people.requester_notes.conftest import (
    BEN,
    NAMESPACE,
    Installation,
    of_pod,
    reference,
    workload,
)
from tests.api.people.requester_notes.test_orphans import objects, orphan, until
from tests.harness.programs.client import ApiStatusError, Client, Json

BELIEVED_S: Final = 10.0
"""How long the note of an owner is believed (kube.client.settings, `owner_age_s`)."""
ANNS: Final = "registry.example/train:1"
BENS: Final = "registry.example/bens:1"
REVISIONS: Final = "apis/apps/v1/controllerrevisions"
PARTITIONED: Final[Json] = {"type": "RollingUpdate", "rollingUpdate": {"partition": 5}}
"""Every Pod below ordinal 5 is made from the revision that the status names."""


def revision(owner: Json, name: str, image: str, number: int) -> Json:
    """Return a ControllerRevision of another template, as the controller writes it."""
    pods = owner["spec"]["template"]
    pods = pods | {"$patch": "replace"}
    pods["spec"] = pods["spec"] | {"containers": [{"name": "main", "image": image}]}
    return {
        "apiVersion": "apps/v1",
        "kind": "ControllerRevision",
        "metadata": {
            "name": name,
            "namespace": NAMESPACE,
            "labels": {"app": owner["metadata"]["name"]},
            "ownerReferences": [reference(owner)],
        },
        "data": {"spec": {"template": pods}},
        "revision": number,
    }


async def set_status(client: Client, item: Json, **status: str) -> tuple[int, Json]:
    """Patch the status of a StatefulSet."""
    path = f"/apis/apps/v1/namespaces/{NAMESPACE}/statefulsets/{item['metadata']['name']}/status"
    return await client.request(
        "PATCH", path, {"status": status}, content_type="application/merge-patch+json"
    )


async def image_made_anew(admin: Client, name: str) -> str:
    """Delete the Pod of a StatefulSet, and give the image of the one that comes."""
    (old,) = await objects(admin, "api/v1/pods", name)
    await admin.delete({"apiVersion": "v1", "kind": "Pod", "metadata": old["metadata"]})

    async def came() -> bool:
        found = await objects(admin, "api/v1/pods", name)
        return [each["metadata"]["uid"] != old["metadata"]["uid"] for each in found] == [True]

    await until(came, f"no new Pod of {name}")
    (new,) = await objects(admin, "api/v1/pods", name)
    return str(new["spec"]["containers"][0]["image"])


@pytest.fixture
async def anns(
    installation: Installation, admin: Client, ann: Client, request: pytest.FixtureRequest
) -> AsyncIterator[Json]:
    """A StatefulSet of Ann's whose Pod is made from the revision that its status names."""
    name = f"set-{abs(hash(request.node.name)) % 10**8}"
    made = await ann.create(workload("StatefulSet", name, updateStrategy=PARTITIONED))
    await installation.decision(of_pod(f"{name}-0"))
    yield made
    await admin.delete(made)


async def test_a_revision_under_anns_stateful_set(ben: Client, anns: Json) -> None:
    """1. Refused: the Pod would be Ben's work in Ann's name."""
    with pytest.raises(ApiStatusError, match="may not write ControllerRevisions"):
        await ben.create(revision(anns, "revision-1", BENS, 7))


async def test_a_revision_that_anns_stateful_set_would_adopt(ben: Client, anns: Json) -> None:
    """2. Refused, though nobody owns it yet; and whoever owns it, but does not control it."""
    forged = revision(anns, "revision-2", BENS, 7)
    forged["metadata"]["ownerReferences"][0]["controller"] = False
    with pytest.raises(ApiStatusError, match="may not write ControllerRevisions"):
        await ben.create(forged)
    del forged["metadata"]["ownerReferences"]
    with pytest.raises(ApiStatusError, match="may not write ControllerRevisions"):
        await ben.create(forged)


async def test_anns_revision_replaced(admin: Client, ben: Client, anns: Json) -> None:
    """3. Deleted and written anew under its name, as the status has it: refused."""
    (current,) = await objects(admin, REVISIONS, anns["metadata"]["name"])
    name = current["metadata"]["name"]
    await ben.delete({"apiVersion": "apps/v1", "kind": "ControllerRevision", **current})
    with pytest.raises(ApiStatusError, match="may not write ControllerRevisions"):
        await ben.create(revision(anns, name, BENS, 7))


async def test_anns_revision_replaced_by_one_of_another_kind_of_owner(
    admin: Client, ben: Client, anns: Json
) -> None:
    """3b. Refused: a StatefulSet knows its revisions by the owner's UID, whatever its kind."""
    (current,) = await objects(admin, REVISIONS, anns["metadata"]["name"])
    name = current["metadata"]["name"]
    await ben.delete({"apiVersion": "apps/v1", "kind": "ControllerRevision", **current})
    forged = revision(anns, name, BENS, 7)
    forged["metadata"]["ownerReferences"][0] |= {"apiVersion": "example/v1", "kind": "Set"}
    with pytest.raises(ApiStatusError, match="may not write ControllerRevisions"):
        await ben.create(forged)
    assert await image_made_anew(admin, anns["metadata"]["name"]) == ANNS


async def test_a_revision_of_bens_own_moved_to_anns(admin: Client, ben: Client, anns: Json) -> None:
    """4. One that another controller owns, of Ben's: taken as it is, and not moved afterwards."""
    config = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "bens"}}
    config["metadata"] = {"name": "bens-owner", "namespace": NAMESPACE}
    owner = await ben.create(config)
    own = revision(anns, "revision-4", BENS, 7)
    own["metadata"]["ownerReferences"] = [reference(owner)]
    made = await ben.create(own)
    for change in ([reference(anns)], []):
        with pytest.raises(ApiStatusError, match="may not write ControllerRevisions"):
            await ben.patch(made, {"metadata": {"ownerReferences": change}})
    await ben.patch(made, {"metadata": {"annotations": {"team": "ben"}}})
    await admin.delete(owner)


async def test_anns_stateful_set_set_to_another_revision(
    installation: Installation, admin: Client, ben: Client, anns: Json
) -> None:
    """5. Refused, also to what a StatefulSet of Ben's left behind and Ann's adopted."""
    name = anns["metadata"]["name"]
    bens = workload("StatefulSet", f"{name}-bens", replicas=0)
    bens["spec"]["selector"] = anns["spec"]["selector"]
    bens["spec"]["template"]["metadata"]["labels"] = anns["spec"]["template"]["metadata"]["labels"]
    bens["spec"]["template"]["spec"]["containers"][0]["image"] = BENS
    await ben.create(bens)

    async def there() -> bool:
        return len(await objects(admin, REVISIONS, name)) == 2

    await until(there, "Ben's StatefulSet has no revision")
    await orphan(ben, bens)
    found = await objects(admin, REVISIONS, name)
    (left,) = [each for each in found if each["metadata"]["name"].startswith(f"{name}-bens")]
    status, answer = await set_status(ben, anns, currentRevision=left["metadata"]["name"])
    assert (status, "revisions in the status" in answer["message"]) == (403, True)
    assert await image_made_anew(admin, name) == ANNS


async def test_a_pod_below_the_partition_names_who_asked_last(
    installation: Installation, admin: Client, ben: Client, anns: Json
) -> None:
    """A limit that docs/operate/people.md states: its template is Ann's, the note is Ben's."""
    name = anns["metadata"]["name"]
    containers = [{"name": "main", "image": BENS}]
    await ben.patch(anns, {"spec": {"template": {"spec": {"containers": containers}}}})
    await asyncio.sleep(BELIEVED_S)
    assert await image_made_anew(admin, name) == ANNS
    again = await installation.decision(
        lambda d: of_pod(f"{name}-0")(d) and d["root"]["requester"] == BEN
    )
    assert again["verdict"] == "allow"
