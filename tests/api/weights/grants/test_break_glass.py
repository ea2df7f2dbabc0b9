"""What an open BreakGlass relaxes of the weights' rules, and what it never does."""

import time
from copy import deepcopy
from functools import partial
from typing import Any

import pytest

from tests.api.weights.grants.conftest import (
    ANN,
    API,
    BEN,
    CAROL,
    CLIENT,
    DAVE,
    Installation,
    deployment,
    human,
    in_seconds,
    place,
    pod,
    pods_made,
    refused,
    soon,
)
from tests.api.weights.grants.test_copies import copied, kept, until_known
from tests.api.weights.grants.test_stores import another, claim, claiming, put, volume
from tests.harness.programs.client import ApiStatusError, Client, Json
from tests.harness.worlds.approvals import seen
from tests.harness.worlds.rbac import binding, user

SEALER = "sealer@example.com"
ON_CALL = "oncall@example.com"
_TIER = {"group": "sallyport.dev", "resource": "approvaltiers", "name": "break-glass"}
_APPROVE = "sallyport-approve-break-glass"


def sealed(namespace: str, *rules: str, privileges: list[str] | None = None) -> Json:
    """Return one for a namespace."""
    fields: Json = {"namespaces": [namespace], "hours": 1, "reason": "the fabric is down"}
    fields |= {"rules": list(rules)} if rules else {}
    fields |= {"privileges": privileges} if privileges else {}
    metadata = {"name": f"{namespace}-{time.monotonic_ns()}"}
    return {"apiVersion": API, "kind": "BreakGlass", "metadata": metadata, "spec": fields}


async def open_glass(admin: Client, glass: Json) -> Json:
    """Have it sealed, approved by two others, and opened."""
    await admin.apply([binding(_APPROVE, user(ANN), user(BEN), name="weights-glass")])
    for name in (ANN, BEN):
        await admin.as_user(name).wait_until_can("approve", _TIER)
    await human(admin, SEALER).create(glass)
    for name in (ANN, BEN):
        named = {"kind": "BreakGlass", "name": glass["metadata"]["name"]}
        metadata = {"name": f"{named['name']}-{name.partition('@')[0]}"}
        made: Json = {
            "apiVersion": API,
            "kind": "ClusterApproval",
            "metadata": metadata,
            "spec": {"for": named, "expiresAt": in_seconds(3600)},
        }
        await human(admin, name).create(await seen(admin, made))
    opens = partial(human(admin, ON_CALL).patch, glass, {"spec": {"activated": True}})
    opened: Json = await soon(opens)
    return opened


REFUSAL = "It reaches model weights without a live grant."
RESTRICTED: Json = {
    "allowPrivilegeEscalation": False,
    "capabilities": {"drop": ["ALL"]},
    "runAsNonRoot": True,
    "seccompProfile": {"type": "RuntimeDefault"},
}
"""Of a container that needs no privilege at all: weights alone are what is wrong with it."""


def restricted(made: Json) -> Json:
    """Return an object whose only container needs no privilege."""
    made = deepcopy(made)
    spec = made["spec"].get("template", made)["spec"]
    spec["automountServiceAccountToken"] = False
    spec["containers"][0]["securityContext"] = RESTRICTED
    return made


def around(namespace: str, name: str) -> Json:
    """Return a Pod that goes to the weights by an address that is not their endpoint."""
    said = {
        "storageAccount": "llamaweights",
        "containerName": "prod",
        "server": "203.0.113.9",
        "protocol": "nfs",
    }
    driven = {"driver": "blob.csi.azure.com", "volumeAttributes": said}
    return pod(namespace, name, volumes=[{"name": "w", "csi": driven}])


async def test_one_for_everything_lets_pods_reach_weights(
    admin: Client, installation: Installation
) -> None:
    """In its namespace alone, loudly, on record, and whatever way they go."""
    namespace, elsewhere = await place(admin, "glass"), await place(admin, "glass-not")
    carol = human(admin, CAROL)
    for made in (pod(namespace, "one"), around(namespace, "two")):
        await refused(partial(carol.create, made), REFUSAL)
    opened = await open_glass(admin, sealed(namespace, "*"))
    carol.warnings.clear()
    made = await soon(partial(carol.create, pod(namespace, "one")))
    said = " ".join(carol.warnings)
    assert f"BREAK GLASS: {opened['metadata']['name']}" in said
    assert f"as {CLIENT}, which opens WeightStore llama" in said
    await carol.create(around(namespace, "two"))
    assert "by 203.0.113.9, which is not its private endpoint" in " ".join(carol.warnings)
    await carol.create(restricted(pod(namespace, "three")))
    await refused(partial(carol.create, pod(elsewhere, "one")), REFUSAL)
    decision = await installation.decision_on(made["metadata"]["uid"])
    assert decision["breakGlass"] == [f"{opened['metadata']['name']}@{opened['metadata']['uid']}"]
    assert (decision["verdict"], decision["weightStores"]) == ("warn", ["llama"])
    assert not decision.get("grants")


@pytest.mark.parametrize("shape", [deployment, lambda *a: restricted(deployment(*a))])
async def test_a_controllers_pods_start_under_it_as_well(admin: Client, shape: Any) -> None:
    """What is submitted under it runs: also where weights are all that is wrong."""
    name = f"glass-controller-{time.monotonic_ns()}"
    namespace, carol = await place(admin, name), human(admin, CAROL)
    await refused(partial(carol.create, shape(namespace, "llama")), REFUSAL)
    await open_glass(admin, sealed(namespace, "*"))
    await soon(partial(carol.create, shape(namespace, "llama")))
    assert await pods_made(admin, namespace, "llama")


async def test_one_for_other_rules_lets_nobody_near(admin: Client) -> None:
    """What is sealed for the network of the nodes says nothing of weights; none can name them."""
    for rule in ("weights/grant", "weights/*", "weights/public-route"):
        with pytest.raises(ApiStatusError, match="rules"):
            await admin.create(sealed("x", rule))
    namespace, carol = await place(admin, "glass-other"), human(admin, CAROL)
    glass = sealed(namespace, "privileges/host/network", privileges=["host/*"])
    opened = await open_glass(admin, glass)
    message = await refused(
        partial(carol.create, pod(namespace, "one", hostNetwork=True)),
        f"BreakGlass {opened['metadata']['name']} was opened, but relaxes none of it",
    )
    assert REFUSAL in message


async def test_what_would_outlive_it_is_never_relaxed(admin: Client) -> None:
    """Volumes and copies of weights, stores made to guard less, notes of grants that are forged."""
    namespace, carol = await place(admin, "glass-never"), human(admin, CAROL)
    await admin.create(volume("glass-never-w", kept(namespace, "w")))
    await carol.create(claim(namespace, "w"))
    store = await human(admin, DAVE).create(another("glass-store"))
    await open_glass(admin, sealed(namespace, "*"))
    await soon(partial(carol.create, claiming(namespace, "shows", "w")))
    await until_known(admin, namespace, "w")
    with pytest.raises(ApiStatusError, match="shows the weights of llama"):
        await carol.create(copied(namespace, "copy", "w"))
    with pytest.raises(ApiStatusError, match="which claim it is kept for"):
        await admin.create(volume("glass-never-free", None))
    less = deepcopy(store)
    less["spec"]["containers"] = [{"name": "other"}]
    status, answer = await put(human(admin, DAVE), less)
    assert (status, "no longer guards prod/" in answer["message"]) == (403, True), answer
    forged = deployment(namespace, "forged")
    forged["metadata"]["annotations"] = {"sallyport.dev/grants": "llama@u#0"}
    made = await carol.create(forged)
    noted = made["metadata"]["annotations"].get("sallyport.dev/grants", "")
    assert "llama@u#0" not in noted
