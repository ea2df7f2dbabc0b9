"""A guard that is deleted and applied again knows what was made since: uninstall, install."""

import asyncio
from typing import Final

from tests.api.kube.objects import wait_for
from tests.harness.evidence import ROOT
from tests.harness.programs.client import Client, Json, read_objects
from tests.harness.programs.helm import CRDS

SPACE: Final = "guards-anew"
GUARD: Final = ROOT / "deploy" / "revision-owner-guard.yaml"
KEPT: Final = CRDS / "templates" / "parameters" / "revisions.yaml"
REVISIONS: Final = f"/apis/apps/v1/namespaces/{SPACE}/controllerrevisions"
DRY: Final = {"dryRun": "All"}
SETTLE_S: Final = 20.0


def stateful_set(name: str) -> Json:
    """Return the smallest."""
    labels = {"app": name}
    spec = {"containers": [{"name": "main", "image": "registry.example/a:1"}]}
    return {
        "apiVersion": "apps/v1",
        "kind": "StatefulSet",
        "metadata": {"name": name, "namespace": SPACE},
        "spec": {
            "serviceName": name,
            "selector": {"matchLabels": labels},
            "template": {"metadata": {"labels": labels}, "spec": spec},
        },
    }


def forged(owner: Json) -> Json:
    """Return a revision that a StatefulSet would take for its own, under another kind of owner."""
    reference = {
        "apiVersion": "example/v1",
        "kind": "Set",
        "name": "x",
        "uid": owner["metadata"]["uid"],
        "controller": True,
    }
    metadata = {"name": "forged", "namespace": SPACE, "ownerReferences": [reference]}
    return {
        "apiVersion": "apps/v1",
        "kind": "ControllerRevision",
        "metadata": metadata,
        "data": {},
        "revision": 1,
    }


async def comes_to(client: Client, owner: Json, wanted: int) -> None:
    """Ask until kube-apiserver says it: policies and parameters reach it by watches."""

    async def is_so() -> bool:
        status, _ = await client.request("POST", REVISIONS, forged(owner), parameters=DRY)
        return status == wanted

    await wait_for(is_so, SETTLE_S)


async def test_stateful_sets_made_after_a_new_install_are_guarded(client: Client) -> None:
    """What sallyport-crds leaves behind has kube-apiserver go on reading StatefulSets."""
    await client.create_namespace(SPACE)
    guard = read_objects(GUARD)
    await client.apply(read_objects(KEPT))
    await client.apply(guard)
    first = await client.create(stateful_set("first"))
    await comes_to(client, first, 403)
    for item in reversed(guard):
        await client.delete(item)
    await comes_to(client, first, 201)
    await asyncio.sleep(2)  # In which kube-apiserver would let go of the parameters.
    between = await client.create(stateful_set("between"))
    await client.apply(guard)
    after = await client.create(stateful_set("after"))
    for owner in (first, between, after):
        await comes_to(client, owner, 403)
    for item in (*reversed(guard), first, between, after):
        await client.delete(item)


async def test_what_is_kept_refuses_nothing(client: Client) -> None:
    """It matches no resource that there is: whoever uninstalls all else has no guard left."""
    policy, _ = read_objects(KEPT)
    (rule,) = policy["spec"]["matchConstraints"]["resourceRules"]
    assert (rule["apiGroups"], rule["resources"]) == (["sallyport.dev"], ["parameters"])
    assert [each["expression"] for each in policy["spec"]["validations"]] == ["true"]
    status, answer = await client.request("GET", "/apis/sallyport.dev/v1alpha1")
    names = {each["name"] for each in answer["resources"]} if status == 200 else set()
    assert "parameters" not in names
