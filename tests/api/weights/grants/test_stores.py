"""What narrows or removes a store happens as two people approved it; volumes keep their claim."""

import json
from copy import deepcopy
from functools import partial
from typing import Any

import pytest

from core.approvals.store_narrowing import store_digest
from core.weights.stores import parse_store
from tests.api.weights.grants.conftest import (
    ANN,
    API,
    BEN,
    CAROL,
    DAVE,
    STORE,
    approve,
    asked_for,
    human,
    in_seconds,
    place,
    refused,
    soon,
    template,
)
from tests.harness.programs.client import ApiStatusError, Client, Json

STORES = "/apis/sallyport.dev/v1alpha1/weightstores"


def another(name: str) -> Json:
    """Return a store of this test's own."""
    made = deepcopy(STORE)
    made["metadata"]["name"] = name
    made["spec"]["account"] = name.replace("-", "")
    made["spec"].pop("identities")
    return made


def proposal(name: str, uid: str, digest: str, who: str) -> Json:
    """Return the approval of a change."""
    wanted = {"kind": "WeightStore", "name": name, "uid": uid, "digest": digest}
    return {
        "apiVersion": API,
        "kind": "ClusterApproval",
        "metadata": {"name": f"{name}-{who.partition('@')[0]}-{digest[7:15]}"},
        "spec": {"for": wanted, "expiresAt": in_seconds(3600)},
    }


async def put(client: Client, item: Json) -> tuple[int, Any]:
    """Write a store as it is to be."""
    return await client.request("PUT", f"{STORES}/{item['metadata']['name']}", item)


async def test_a_store_is_narrowed_only_as_two_people_approved_it(admin: Client) -> None:
    """More is anyone's; less is approved before, word for word; and so is that it goes."""
    dave = human(admin, DAVE)
    made = await dave.create(another("narrowed"))
    name, uid = "narrowed", made["metadata"]["uid"]
    made["spec"]["containers"].append({"name": "more"})
    status, made = await put(dave, made)
    assert status == 200
    less = deepcopy(made)
    less["spec"]["containers"] = [{"name": "more"}]
    status, answer = await put(dave, less)
    assert (status, "no longer guards prod/" in answer["message"]) == (403, True), answer
    digest = store_digest(name, parse_store(json.dumps(less).encode()))
    for who in (ANN, BEN):
        await human(admin, who).create(proposal(name, uid, digest, who))
    other = deepcopy(made)
    other["spec"]["containers"] = [{"name": "other"}]
    assert (await put(dave, other))[0] == 403, "they approved another change"

    async def narrow() -> Json:
        status, answer = await put(dave, less)
        if status != 200:
            raise ApiStatusError("PUT", name, status, answer["message"])
        return dict(answer)

    await soon(narrow)
    await refused(partial(dave.delete, made), "is removed; not approved")
    gone = store_digest(name, None)
    for who in (ANN, BEN):
        await human(admin, who).create(proposal(name, uid, gone, who))
    await soon(partial(dave.delete, made))


async def test_an_approval_of_a_stores_change_states_its_uid(admin: Client) -> None:
    """A store that is made again under its name is another one."""
    await human(admin, DAVE).create(another("blind"))
    made = proposal("blind", "", store_digest("blind", None), ANN)
    del made["spec"]["for"]["uid"]
    await refused(partial(human(admin, ANN).create, made), "spec.for.uid")


async def test_who_proposes_it_does_not_count_among_the_two(admin: Client) -> None:
    """Carol may approve, and writes it: then it takes two others."""
    carol = human(admin, CAROL)
    made = await carol.create(another("proposed"))
    gone = store_digest("proposed", None)
    for who in (CAROL, ANN):
        await human(admin, who).create(proposal("proposed", made["metadata"]["uid"], gone, who))
    await refused(partial(carol.delete, made), "1 of 2 people")


async def test_a_store_that_nobody_could_read_is_never_written(admin: Client) -> None:
    """The definition takes a network that is none; the gate does not."""
    broken = another("broken")
    broken["spec"]["privateEndpoints"] = ["10.1.0.5/8"]
    with pytest.raises(ApiStatusError, match="privateEndpoints"):
        await human(admin, DAVE).create(broken)


def volume(name: str, claim: Json | None) -> Json:
    """Return a volume of the weights."""
    source = {
        "driver": "blob.csi.azure.com",
        "volumeHandle": f"h-{name}",
        "volumeAttributes": {"STORAGEACCOUNT": "llamaweights", "ContainerName": "prod"},
    }
    kept = {"claimRef": claim} if claim else {}
    spec = {"csi": source, "accessModes": ["ReadOnlyMany"], "capacity": {"storage": "1Ti"}, **kept}
    spec |= {"storageClassName": "", "persistentVolumeReclaimPolicy": "Retain"}
    return {
        "apiVersion": "v1",
        "kind": "PersistentVolume",
        "metadata": {"name": name},
        "spec": spec,
    }


def claim(namespace: str, name: str, volume_name: str = "") -> Json:
    """Return a claim that takes a volume by its name."""
    return {
        "apiVersion": "v1",
        "kind": "PersistentVolumeClaim",
        "metadata": {"name": name, "namespace": namespace},
        "spec": {
            "accessModes": ["ReadOnlyMany"],
            "resources": {"requests": {"storage": "1Ti"}},
            "storageClassName": "",
            **({"volumeName": volume_name} if volume_name else {}),
        },
    }


def claiming(namespace: str, name: str, of: str) -> Json:
    """Return a Pod without any token that names a claim."""
    source = {"claimName": of, "readOnly": True}
    made = template(
        name, account="default", volumes=[{"name": "w", "persistentVolumeClaim": source}]
    )
    del made["metadata"]["labels"]["azure.workload.identity/use"]
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "namespace": namespace},
        "spec": made["spec"],
    }


async def test_a_claim_on_weights_needs_a_grant(admin: Client) -> None:
    """Bound or not yet: the volume says from the beginning whose it is."""
    namespace = await place(admin, "claims")
    carol = human(admin, CAROL)
    await admin.create(volume("claims-w", {"namespace": namespace, "name": "w"}))
    await carol.create(claim(namespace, "w"))
    await refused(
        partial(carol.create, claiming(namespace, "early", "w")), "mounts llamaweights/prod"
    )
    written = await human(admin, DAVE).create(asked_for(namespace, serviceAccounts=["default"]))
    await approve(admin, written)
    await soon(partial(carol.create, claiming(namespace, "one", "w")))
    other = partial(human(admin, DAVE).create, claiming(namespace, "two", "w"))
    await refused(other, "does not name who asked")


async def test_a_volume_of_weights_is_bound_to_no_claim_that_it_was_not_made_for(
    admin: Client,
) -> None:
    """Else a Pod that was judged before would get it: by binding, or as a class makes one."""
    namespace = await place(admin, "bound")
    with pytest.raises(ApiStatusError, match="which claim it is kept for"):
        await admin.create(volume("bound-free", None))
    there = {"namespace": namespace, "name": "c", "uid": "00000000-0000-4000-8000-0000000000ff"}
    with pytest.raises(ApiStatusError, match="for a claim that is there already"):
        await admin.create(volume("bound-made", there))
    made = await admin.create(volume("bound-kept", {"namespace": namespace, "name": "c"}))
    made["spec"]["claimRef"]["name"] = "other"

    async def give_away() -> None:
        status, answer = await admin.ask_to_replace(made)
        raise ApiStatusError("PUT", "bound-kept", status, answer.get("message", ""))

    await refused(give_away, "given to another claim")
