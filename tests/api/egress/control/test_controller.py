"""What the controller of egress does with allowlists, and with those who touch its policies."""

import asyncio
import time
from functools import partial

import pytest

from core.base import names
from tests.api.egress.control.field import FLOOR, OWN, PATIENCE_S, SOON_S, Field, cidrs
from tests.api.kube.objects import new_name, wait_for
from tests.harness.programs.apiserver import ApiServer
from tests.harness.programs.client import ApiStatusError, Client, Json
from tests.harness.programs.egress_control import Controlled, controlling, settings_of

ONE = "sallyport-allow-one-0"


def contains(name: str, policies: dict[str, Json]) -> bool:
    """Return whether a policy is there."""
    return name in policies


pytestmark = pytest.mark.usefixtures("controlled")


async def test_a_namespace_is_closed_as_soon_as_it_is_enrolled(field: Field) -> None:
    """Default deny and DNS are there, and nothing else."""
    found = await field.settle_names()
    assert "egress" not in found["sallyport-default-deny"]["spec"]
    assert found["sallyport-default-deny"]["spec"]["podSelector"] == {}
    assert found["sallyport-dns"]["spec"]["egress"]


async def test_an_allowlist_from_its_making_to_its_end(field: Field) -> None:
    """It opens, says so, follows changes, and goes only after its policies."""
    await field.settle_names()
    intent = await field.allow("one", {"cidr": "192.0.2.0/24"})
    found = await field.settle_names(ONE)
    assert cidrs(found[ONE]) == ["192.0.2.0/24"]
    assert found[ONE]["metadata"]["annotations"] == {names.ALLOWLIST_ANNOTATION: "one"}
    ready = await field.settle_reason("one", "Open")
    assert ready["status"] == "True"
    assert ready["observedGeneration"] == 1
    stored = await field.intent("one")
    assert stored["metadata"]["finalizers"] == [names.EGRESS_FINALIZER]
    stored["spec"]["to"][0]["cidr"] = "198.51.100.0/24"
    await field.client.patch(intent, {"spec": stored["spec"]})
    await field.settle(lambda now: cidrs(now[ONE]) == ["198.51.100.0/24"])
    await field.client.delete(intent)
    await field.settle_names()

    async def is_gone() -> bool:
        try:
            await field.intent("one")
        except ApiStatusError as error:
            return error.status == 404
        return False

    await wait_for(is_gone, PATIENCE_S)


async def test_an_allowlist_is_never_gone_before_its_policies(
    field: Field, controlled: Controlled
) -> None:
    """While its policies are there, so is the allowlist, whatever is deleted when."""
    for number in range(6):
        name = f"one-{number}"
        intent = await field.allow(name, {"cidr": "192.0.2.0/24"})
        policy = f"sallyport-allow-{name}-0"
        if number % 2:
            await field.settle(partial(contains, policy))
        await field.client.delete(intent)
        gone = False
        until = time.monotonic() + PATIENCE_S
        while not gone and time.monotonic() < until:
            before = policy in await field.policies()
            try:
                await field.intent(name)
            except ApiStatusError:
                gone = True
                assert policy not in await field.policies() or not before
        assert gone
    await field.settle_names()
    assert controlled.egress.queue.failing == 0


@pytest.mark.parametrize("name", [*sorted(FLOOR), ONE])
@pytest.mark.parametrize("way", ["delete", "open", "select", "strip", "replace"])
async def test_drift_is_taken_back(field: Field, name: str, way: str) -> None:
    """Whatever somebody does to a generated policy, it is as it was a moment later."""
    await field.allow("one", {"cidr": "192.0.2.0/24"})
    before = await field.settle_names(ONE)
    policy, wanted = field.policy(name), before[name]["spec"]
    everywhere: list[Json] = [{}]
    match way:
        case "delete":
            await field.client.delete(policy)
        case "open":
            await field.client.patch(policy, {"spec": {"egress": everywhere}})
        case "select":
            selector = {"matchLabels": {"some": "label"}}
            await field.client.patch(policy, {"spec": {"podSelector": selector}})
        case "strip":
            marks = {names.MANAGED_BY_LABEL: None}
            patch = {"metadata": {"labels": marks}, "spec": {"egress": everywhere}}
            await field.client.patch(policy, patch)
        case _:
            spec = {"podSelector": {}, "policyTypes": ["Ingress"], "ingress": everywhere}
            patch = {"metadata": {"annotations": None}, "spec": {**spec, "egress": None}}
            await field.client.patch(policy, patch)
    found = await field.settle(
        lambda now: (
            name in now
            and now[name]["spec"] == wanted
            and now[name]["metadata"]["labels"] == before[name]["metadata"]["labels"]
        )
    )
    assert found.keys() == before.keys()


async def test_orphans_go(field: Field, client: Client) -> None:
    """A policy with our label that no allowlist wants is deleted; others stay."""
    await field.settle_names()
    spec = {"podSelector": {}, "policyTypes": ["Egress"], "egress": [{}]}
    orphan = {**field.policy("sallyport-allow-gone-0"), "spec": spec}
    orphan["metadata"]["labels"] = {names.MANAGED_BY_LABEL: "sallyport"}
    theirs = {**field.policy("theirs"), "spec": {"podSelector": {}}}
    await client.create(theirs)
    await client.create(orphan)
    await field.settle(lambda now: now.keys() == FLOOR | {"theirs"})


async def test_a_namespace_that_is_taken_out_has_none_of_it(field: Field) -> None:
    """All policies go, and the allowlist says that it has no effect; enrolled again, it has."""
    await field.allow("one", {"cidr": "192.0.2.0/24"})
    await field.settle_names(ONE)
    await field.prepare("open")
    await field.settle(lambda now: not now)
    await field.settle_reason("one", "NotEnrolled")
    await field.prepare("denied")
    await field.settle_names(ONE)
    await field.settle_reason("one", "Open")


async def test_one_namespace_that_fails_stops_no_other(field: Field, client: Client) -> None:
    """A quota that is full stands in the condition, and the other namespace opens."""
    await field.settle_names()
    quota: Json = {
        "apiVersion": "v1",
        "kind": "ResourceQuota",
        "metadata": {"name": "full", "namespace": field.name},
        "spec": {"hard": {"count/networkpolicies.networking.k8s.io": "2"}},
    }
    await client.create(quota)
    used = {"count/networkpolicies.networking.k8s.io": "2"}
    path = f"/api/v1/namespaces/{field.name}/resourcequotas/full/status"
    await client.request(
        "PATCH",
        path,
        {"status": {"hard": used, "used": used}},
        content_type="application/merge-patch+json",
    )
    await asyncio.sleep(0.5)  # Admission reads quotas from a watch of its own.
    await field.allow("one", {"cidr": "192.0.2.0/24"})
    ready = await field.settle_reason("one", "NotWritten")
    assert "quota" in ready["message"]
    other = Field(client, new_name("egress"))
    await other.prepare()
    await other.allow("one", {"cidr": "192.0.2.0/24"})
    await other.settle_names(ONE)
    await client.delete(quota)
    await field.settle_names(ONE)
    await field.settle_reason("one", "Open")


async def versions(field: Field) -> dict[str, str]:
    """Return the resourceVersion of each policy, and of the five allowlists."""
    found = {**await field.policies()}
    found |= {name: await field.intent(name) for name in (f"n{number}" for number in range(5))}
    return {name: each["metadata"]["resourceVersion"] for name, each in found.items()}


async def still(field: Field, controlled: Controlled) -> dict[str, str]:
    """Return them once the controller has nothing to do any more: its watch tells it of its own."""
    found: dict[str, str] = {}
    end = time.monotonic() + PATIENCE_S
    while found != (now := await versions(field)) or controlled.egress.queue:
        assert time.monotonic() < end
        found = now
        await asyncio.sleep(1.5)
    return found


async def test_nothing_is_written_where_nothing_changes(
    apiserver: ApiServer, field: Field, controlled: Controlled
) -> None:
    """A controller that begins anew finds all as it wants it."""
    for number in range(5):
        await field.allow(f"n{number}", {"cidr": f"192.0.2.{number}/32"})
        await field.settle_reason(f"n{number}", "Open")
    before = await still(field, controlled)
    async with controlling(settings_of(apiserver.kubeconfig(), OWN)) as another:
        await wait_for(lambda: another.metric("sallyport_egress_looks_total") > 0, PATIENCE_S)
        await wait_for(lambda: not another.egress.queue, PATIENCE_S)
        await asyncio.sleep(0.5)
        assert another.metric("sallyport_egress_writes_total") == 0
    assert await versions(field) == before
    assert controlled.metric("sallyport_egress_policies") >= len(await field.policies())


async def test_a_change_is_applied_soon(field: Field) -> None:
    """Of several, the quickest takes less than is promised; the proof measures all."""
    await field.settle_names()
    waits = []
    for number in range(3):
        name = f"n{number}"
        await field.allow(name, {"cidr": f"192.0.2.{number}/32"})
        began = time.monotonic()
        await field.settle(partial(contains, f"sallyport-allow-{name}-0"))
        waits.append(time.monotonic() - began)
    assert min(waits) < SOON_S
