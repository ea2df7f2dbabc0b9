"""A real kube-apiserver takes every generated object, with the CRDs of the engines installed."""

import json
from collections.abc import Iterator
from ipaddress import ip_network

import pytest

from core.base import names
from core.base.networks import Network
from core.kubernetes.label_selectors import Requirement
from egress.model.openings import (
    Addresses,
    Backend,
    Block,
    CompiledAllowlists,
    Name,
    Opening,
    Peer,
    Pods,
    Service,
)
from egress.model.reserved_ranges import ALWAYS_RESERVED
from egress.render.clusternetworkpolicy import render_floor, render_passes
from egress.render.engines import render
from egress.render.partition import MAX_BYTES
from egress.render.target import Dns, Engine, EngineKind, RenderTarget
from tests.harness.programs.client import Client, Json
from tests.harness.published.policy_engines import install_crds
from tests.unit.egress.generated_worlds import ENROLLED, made
from tests.unit.egress.render.random_openings import PORTS, SPACE
from tests.unit.egress.told_worlds import CLUSTER_RANGES, meanings

WORLDS = 30
PREFIX = "egress-accepted-"
SELECTS = (
    Requirement(names.EGRESS_ACCOUNT_LABEL, "In", ("s1", "s2")),
    Requirement(names.EGRESS_WORKLOAD_LABEL, "In", ("Job.fetch",)),
    Requirement("app", "NotIn", ("a",)),
    Requirement("tier", "Exists"),
)
ENGINES = [
    Engine("networkpolicy"),
    Engine("cilium", (1, 20), sctp=True),
    Engine("cilium", (1, 17), sctp=True),
    Engine("cilium-aks", (1, 17)),
    Engine("cilium-aks-basic", (1, 18)),
    Engine("networkpolicy", ip_families=("IPv4",)),
]
ENROLLMENT = (Requirement(names.EGRESS_LABEL, "NotIn", ("open",)),)
LOCAL_DNS = Dns(addresses=(ip_network("169.254.20.10/32"),), search=("internal.example",))


def _target(engine: Engine) -> RenderTarget:
    dns = Dns(search=LOCAL_DNS.search) if engine.kind == "cilium-aks" else LOCAL_DNS
    return RenderTarget(engine, dns, (*ALWAYS_RESERVED, *CLUSTER_RANGES), CLUSTER_RANGES)


def _by_hand() -> CompiledAllowlists:
    """What chance does not make: names, wildcards, pinned and not, with all ports."""
    peers: list[Peer] = [
        Name("packages.example.org", (ip_network("192.0.2.1/32"), ip_network("2001:db8::1/128"))),
        Name("*.example.com", ()),
        Name("*", ()),
        Name("private.example.com", (ip_network("169.254.7.7/32"),), pinned=True),
        Addresses((Block(ip_network("::/0"), (ip_network("fe80::/10"),)),)),
        Pods("beta", SELECTS),
        Pods("beta"),
        Service(
            "default",
            "kubernetes",
            (),
            (Backend(tuple(sorted(PORTS)), (ip_network("192.0.2.4/32"),)),),
            is_api_server=True,
        ),
    ]
    return CompiledAllowlists(
        SPACE,
        tuple(
            Opening("by-hand", f"spec.to[{index}]", SELECTS, peer, tuple(sorted(PORTS)))
            for index, peer in enumerate(peers)
        ),
    )


def _large() -> CompiledAllowlists:
    """As many networks as AzureCloud has, which fit into no single policy."""
    four: list[Network] = [ip_network(f"20.{i >> 7}.{(i & 127) * 2}.0/24") for i in range(2809)]
    six: list[Network] = [ip_network(f"2603:1000:{i * 2:x}::/48") for i in range(2032)]
    peer = Addresses(tuple(map(Block, [*four, *six])))
    ports = (PORTS[0],)
    return CompiledAllowlists(SPACE, (Opening("azure-cloud", "spec.to[0]", SELECTS, peer, ports),))


def _meanings() -> Iterator[CompiledAllowlists]:
    for opened in (None, (), SELECTS[1:2]):
        yield _by_hand().with_opened(opened)
    for seed in range(WORLDS):
        yield from meanings(made(seed))


def _placed(item: Json) -> Json:
    """Return an object in a namespace of this file's tests; what it selects stays."""
    metadata = {**item["metadata"], "namespace": PREFIX + item["metadata"]["namespace"]}
    return {**item, "metadata": metadata}


async def _apply(client: Client, items: list[Json]) -> None:
    for space in {*ENROLLED, SPACE}:
        await client.create_namespace(PREFIX + space)
    await client.apply(items, fieldValidation="Strict")


@pytest.mark.parametrize("engine", ENGINES, ids=lambda each: f"{each.kind}-{each.version[1]}")
async def test_policies_of_namespaces_are_taken(client: Client, engine: Engine) -> None:
    """With strict field validation, and without a warning; CEL rules of CRDs included."""
    await install_crds(client)
    items = [
        _placed(item) for each in _meanings() for item in render(each, _target(engine)).objects
    ]
    different = {json.dumps(item, sort_keys=True): item for item in items}
    client.warnings.clear()  # Cilium's CRD has a format that kube-apiserver does not know.
    await _apply(client, [*different.values()])
    assert len(different) > WORLDS
    assert client.warnings == []


@pytest.mark.parametrize("kind", ["networkpolicy", "cilium"])
async def test_what_is_stored_is_what_was_made(client: Client, kind: EngineKind) -> None:
    """kube-apiserver neither drops a field nor fills one in: what differs later is drift."""
    await install_crds(client)
    engine = Engine(kind, (1, 20), sctp=True)
    meaning = _by_hand().with_opened(SELECTS[1:2])
    items = [_placed(item) for item in render(meaning, _target(engine)).objects]
    await _apply(client, items)
    for item in items:
        metadata = item["metadata"]
        stored = await client.get(
            item["apiVersion"], item["kind"], metadata["name"], metadata["namespace"]
        )
        assert stored["spec"] == item["spec"]
        assert stored["metadata"]["labels"] == metadata["labels"]


@pytest.mark.parametrize("kind", ["networkpolicy", "cilium"])
async def test_azure_cloud_is_taken(client: Client, kind: EngineKind) -> None:
    """At full size, each object under its limit as kube-apiserver stores it."""
    await install_crds(client)
    items = [_placed(item) for item in render(_large(), _target(Engine(kind))).objects]
    await _apply(client, items)
    for item in items:
        metadata = item["metadata"]
        stored = await client.get(
            item["apiVersion"], item["kind"], metadata["name"], metadata["namespace"]
        )
        assert stored["spec"] == item["spec"]
        assert len(json.dumps(stored)) < MAX_BYTES


async def test_the_floor_is_taken(client: Client) -> None:
    """Both objects of the cluster, and those that let allowlists pass to what they name."""
    await install_crds(client)
    worlds = [each for seed in range(WORLDS) for each in meanings(made(seed))]
    items = [*render_floor(ENROLLMENT, LOCAL_DNS), *render_floor((), Dns())]
    items += [item for each in (*worlds, _by_hand()) for item in render_passes(each)]
    await client.apply(items, fieldValidation="Strict")
    for item in {item["metadata"]["name"]: item for item in items}.values():
        stored = await client.get(item["apiVersion"], item["kind"], item["metadata"]["name"])
        assert stored["spec"] == item["spec"]
        await client.delete(item)
