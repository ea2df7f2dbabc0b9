"""Policies of others open nothing that is closed; those that Sallyport makes are control's."""

import pytest

from core.base.networks import network_of
from core.egress.destinations import PortRange
from core.kubernetes.label_selectors import Requirement
from egress.model.openings import Addresses, Block, CompiledAllowlists, Opening
from egress.render.engines import render
from egress.render.target import RenderTarget
from tests.api.egress.gate.conftest import floor, pod, soon, until
from tests.harness.programs.client import ApiStatusError, Client, Json

ACCOUNT = "egress.sallyport.dev/service-account"
TRAINER = {"matchLabels": {ACCOUNT: "trainer"}}
HTTPS = [{"protocol": "TCP", "port": 443}]


def policy(namespace: str, *egress: Json, name: str = "own", **spec: object) -> Json:
    """Return a NetworkPolicy of the trainers."""
    return {
        "apiVersion": "networking.k8s.io/v1",
        "kind": "NetworkPolicy",
        "metadata": {"name": name, "namespace": namespace},
        "spec": {
            "podSelector": TRAINER,
            "policyTypes": ["Egress"],
            **({"egress": list(egress)} if egress else {}),
            **spec,
        },
    }


def to(*cidrs: str, ports: list[Json] | None = None) -> Json:
    """Return a rule to addresses."""
    return {"to": [{"ipBlock": {"cidr": each}} for each in cidrs], "ports": ports or HTTPS}


def allowed(namespace: str) -> list[Json]:
    """Return what an allowlist makes that opens 192.0.2.0/24 and 198.51.100.0/25 to the trainer."""
    opening = Opening(
        "packages",
        "spec.to[0]",
        (Requirement(ACCOUNT, "In", ("trainer",)),),
        Addresses((Block(network_of("192.0.2.0/24")), Block(network_of("198.51.100.0/25")))),
        (PortRange("TCP", 443, 443),),
    )
    return list(render(CompiledAllowlists(namespace, (opening,)), RenderTarget()).objects)


@pytest.fixture
async def opened(control: Client, closed: str) -> str:
    """A namespace in which an allowlist has opened something."""
    await control.apply(allowed(closed))
    return closed


async def test_what_is_open_already_may_be_said_again(person: Client, opened: str) -> None:
    """However it is cut; ingress, and what closes, are free."""
    dns = {
        "to": [
            {
                "namespaceSelector": {
                    "matchLabels": {"kubernetes.io/metadata.name": "kube-system"}
                },
                "podSelector": {"matchLabels": {"k8s-app": "kube-dns"}},
            }
        ],
        "ports": [{"protocol": "UDP", "port": 53}],
    }
    made = (
        policy(opened, to("192.0.2.0/25", "192.0.2.128/25"), name="halves"),
        policy(opened, dns, name="dns", podSelector={}),
        policy(opened, name="closing", podSelector={}),
        policy(opened, name="in", policyTypes=["Ingress"], ingress=[{}]),
    )
    for each in made:
        await soon(lambda each=each: person.create(each))  # type: ignore[misc]


async def test_what_opens_more_is_refused_whoever_asks(
    admin: Client, person: Client, opened: str
) -> None:
    """The Internet in two halves, other Pods, other ports, and all that an empty list means."""
    for rule, selects in (
        (to("0.0.0.0/1", "128.0.0.0/1"), TRAINER),
        (to("192.0.2.0/24"), {}),
        (to("192.0.2.0/24", ports=[{"protocol": "TCP", "port": 443, "endPort": 444}]), TRAINER),
        ({"to": [{"namespaceSelector": {}}], "ports": HTTPS}, TRAINER),
        ({}, TRAINER),
    ):
        for client in (person, admin):
            with pytest.raises(ApiStatusError, match="egress/opens") as raised:
                await client.create(policy(opened, rule, podSelector=selects))
            assert "Write an EgressAllowlist" in str(raised.value)


async def test_updates_are_compared_too(person: Client, opened: str) -> None:
    """More than before is refused; what says nothing of egress passes."""
    own = policy(opened, to("192.0.2.0/24"))
    await soon(lambda: person.create(own))
    with pytest.raises(ApiStatusError, match="egress/opens"):
        await person.patch(own, {"spec": {"podSelector": {"matchLabels": None}}})
    with pytest.raises(ApiStatusError, match=r"198\.51\.100\.128/25 on TCP 443"):
        await person.patch(own, {"spec": {"egress": [to("198.51.100.0/24")]}})
    await person.patch(own, {"metadata": {"labels": {"app": "x"}}})
    await person.patch(own, {"spec": {"egress": [to("198.51.100.0/25")]}})
    await person.delete(own)


async def test_where_nothing_is_enrolled_policies_are_free(person: Client, free: str) -> None:
    """But none that would pass for Sallyport's once the namespace is enrolled."""
    await soon(lambda: person.create(policy(free, {}, podSelector={})))
    with pytest.raises(ApiStatusError, match="egress/generated"):
        await person.create(policy(free, {}, name="sallyport-allow-x-0"))
    marked = policy(free, {}, name="marked")
    marked["metadata"]["labels"] = {"app.kubernetes.io/managed-by": "sallyport"}
    with pytest.raises(ApiStatusError, match="egress/generated"):
        await person.create(marked)


async def test_generated_policies_are_controls_alone(
    admin: Client, person: Client, control: Client, opened: str
) -> None:
    """Not changed, marked, deleted one by one, nor all at once, by administrators either."""
    path = f"/apis/networking.k8s.io/v1/namespaces/{opened}/networkpolicies"
    changes: tuple[Json, ...] = (
        {"spec": {"egress": [{}]}},
        {"metadata": {"labels": {"app.kubernetes.io/managed-by": None}}},
        {"metadata": {"annotations": {"a": "b"}}},
        {"metadata": {"finalizers": ["example.com/x"]}},
    )
    for made in allowed(opened):
        for client in (person, admin):
            for change in changes:
                with pytest.raises(ApiStatusError, match="egress/generated"):
                    await client.patch(made, change)
            with pytest.raises(ApiStatusError, match="egress/generated"):
                await client.delete(made)
    status, answer = await person.request("DELETE", path)
    assert (status, "egress/generated" in answer["message"]) == (403, True)
    _, left = await admin.request("GET", path)
    assert len(left["items"]) == len(allowed(opened))
    for made in allowed(opened):
        await control.patch(made, {"metadata": {"annotations": {"a": "b"}}})
        await control.delete(made)


async def test_a_namespace_can_be_deleted(admin: Client, person: Client, opened: str) -> None:
    """With what is in it, by Kubernetes' own controller."""
    await soon(lambda: person.create(pod(opened)))
    path = f"/api/v1/namespaces/{opened}"
    status, _ = await admin.request("DELETE", path)
    assert status == 200

    async def gone() -> bool | None:
        return True if (await admin.request("GET", path))[0] == 404 else None

    assert await until(gone)


async def test_what_is_not_compared_takes_the_verb_exempt(
    admin: Client, person: Client, closed: str
) -> None:
    """A CiliumNetworkPolicy, and a policy for the whole cluster; what opens nothing is free."""
    world = [{"toEntities": ["world"]}]
    cilium = {
        "apiVersion": "cilium.io/v2",
        "kind": "CiliumNetworkPolicy",
        "metadata": {"name": "own", "namespace": closed},
        "spec": {"endpointSelector": {}, "egress": world},
    }
    wide = {
        "apiVersion": "policy.networking.k8s.io/v1alpha2",
        "kind": "ClusterNetworkPolicy",
        "metadata": {"name": f"{closed}-wide"},
        "spec": {
            "tier": "Admin",
            "priority": 1,
            "subject": {"namespaces": {}},
            "egress": [{"action": "Accept", "to": [{"networks": ["0.0.0.0/0"]}]}],
        },
    }
    for made in (cilium, wide):
        with pytest.raises(ApiStatusError, match="egress/uncompared"):
            await person.create(made)
        await admin.create(made)  # RBAC gives it every verb, `exempt` included.
        await person.delete(made)
    plain = cilium | {"spec": {"endpointSelector": {}, "ingress": [{"fromEntities": ["world"]}]}}
    await person.create(plain)
    for name in (each["metadata"]["name"] for each in floor(closed)):
        taken = plain | {"metadata": {"name": name, "namespace": closed}}
        with pytest.raises(ApiStatusError, match="egress/generated"):
            await admin.create(taken)
