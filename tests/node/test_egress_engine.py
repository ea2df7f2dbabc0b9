"""What the engine of these tests makes of such policies as Sallyport generates, by real packets."""

import asyncio
import os
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Iterator, Sequence
from typing import Final

import pytest

from core.base import names
from core.egress.pod_labels import egress_labels, label_value
from tests.harness.evidence import record
from tests.harness.programs.client import Client, Json, connect
from tests.harness.programs.node.outside_world import ELSEWHERE, INTERNET, WIRE_SERVER
from tests.harness.programs.node.policed_node import OWN, PolicedNode
from tests.harness.programs.node.scene import (
    BROAD,
    DNS_LABELS,
    FREE,
    NODE_PORT,
    READER,
    SERVICES,
    SYSTEM,
    TEAM,
    TRAINER,
    Scene,
    addresses_of,
    running_pod,
    set_scene,
    sleeper,
    team_pods,
)
from tests.harness.programs.probing.connections import ENVIRONMENT, Target, held, opened
from tests.harness.sizes import PROOF, size
from tests.node.pods import ended, pod

_NAMESPACE: Final = "kubernetes.io/metadata.name"


def _policy(name: str, spec: Json) -> Json:
    return {
        "apiVersion": "networking.k8s.io/v1",
        "kind": "NetworkPolicy",
        "metadata": {
            "name": f"sallyport-{name}",
            "namespace": TEAM,
            "labels": {"app.kubernetes.io/managed-by": "sallyport"},
        },
        "spec": {"podSelector": {}, "policyTypes": ["Egress"], **spec},
    }


def _ports(*written: str) -> list[Json]:
    """Read `TCP 443` and `TCP 8000-8010`."""
    found = []
    for each in written:
        protocol, ports = each.split()
        first, _, last = ports.partition("-")
        found.append({"protocol": protocol, "port": int(first), "endPort": int(last or first)})
    return found


def _pods(namespace: str, labels: dict[str, str]) -> Json:
    return {
        "namespaceSelector": {"matchLabels": {_NAMESPACE: namespace}},
        "podSelector": {"matchLabels": labels},
    }


def _allow(account: str, egress: list[Json]) -> Json:
    values = [label_value(account)]
    selected = {"key": names.EGRESS_ACCOUNT_LABEL, "operator": "In", "values": values}
    return _policy(
        f"allow-{account}-0", {"podSelector": {"matchExpressions": [selected]}, "egress": egress}
    )


DENY: Final = _policy("default-deny", {})
DNS: Final = _policy(
    "dns", {"egress": [{"to": [_pods(SYSTEM, DNS_LABELS)], "ports": _ports("UDP 53", "TCP 53")}]}
)
ALLOWED: Final = _allow(
    TRAINER,
    [
        {
            "to": [
                {"ipBlock": {"cidr": f"{INTERNET[0]}/32"}},
                {"ipBlock": {"cidr": f"{INTERNET[1]}/128"}},
            ],
            "ports": _ports("TCP 443"),
        },
        {
            "to": [
                {"ipBlock": {"cidr": f"{ELSEWHERE[0]}/32"}},
                {"ipBlock": {"cidr": f"{ELSEWHERE[1]}/128"}},
            ],
            "ports": _ports("TCP 8000-8010", "UDP 5000", "SCTP 3868"),
        },
        {
            "to": [{"ipBlock": {"cidr": BROAD, "except": [f"{WIRE_SERVER}/32"]}}],
            "ports": _ports("TCP 80"),
        },
        {"to": [_pods(SERVICES, {"app": "api"})], "ports": _ports("TCP 8080")},
    ],
)


EARLY = size(2, 10)
"""Pods that try from their first moment on."""
TRIES, TRY_S = 40, 0.1
"""Their tries, and the seconds between two."""
WITHOUT = "Open by the engine alone, closed by a rule of the node's own"
LEAST_CLOSED = 20
"""So many ends of each family, at the least, must be closed."""


@pytest.fixture(scope="module")
def notes() -> Iterator[list[str]]:
    """What was measured; a page of it in a proof."""
    found = [
        "- The engine: kube-router 2.1.0, with two faults of its IPv6 mended (its issues 1653 and",
        "  1665), on a kubelet 1.36 with containerd; Pods with a link each (CNI ptp), dual stack",
        "- Policies in the generated shape, written by hand; of what a free Pod reaches, this is",
        "  open and closed to one that they select:",
    ]
    yield found
    if PROOF:
        record("egress-engine", found)


@pytest.fixture(scope="module")
def scene(policed: PolicedNode) -> Scene:
    """The Pods, the team's under the policies."""
    found = asyncio.run(set_scene(policed, team_pods()))
    asyncio.run(_apply(found))
    found.settle(TRAINER, by_dns(found) | by_allowlist(found))
    return found


@pytest.fixture
async def admin(policed: PolicedNode) -> AsyncIterator[Client]:
    """A cluster administrator."""
    async with connect(policed.node.apiserver) as client:
        yield client


async def _apply(scene: Scene) -> None:
    async with connect(scene.policed.node.apiserver) as client:
        await client.apply((DENY, DNS, ALLOWED))


def _denied(scene: Scene) -> Target:
    return scene.at(INTERNET[1], "TCP 8443")


def family(target: Target) -> str:
    """Say in which family a target is."""
    return "IPv6" if ":" in target.address else "IPv4"


def by_dns(scene: Scene) -> set[Target]:
    """Return what every Pod of the team may reach."""
    return scene.named("dns", "TCP 53", "UDP 53")


def by_allowlist(scene: Scene) -> set[Target]:
    """Return what the trainer may reach besides."""
    return (
        scene.named("the internet", "TCP 443")
        | scene.named("elsewhere", "TCP 8000", "TCP 8005", "TCP 8010", "UDP 5000", "SCTP 3868")
        | scene.named("a broad network", "TCP 80")
        | scene.named("api", "TCP 8080")
    )


@pytest.mark.proof
def test_what_the_policies_name_is_open_and_nothing_else(scene: Scene, notes: list[str]) -> None:
    """Of everything that a Pod without policies reaches, in both families, just what is named."""
    assert opened(scene.probe("control")) == set(scene.targets)
    found = scene.probe(TRAINER)
    allowed = by_dns(scene) | by_allowlist(scene)
    assert opened(found) == allowed, found
    for version in ("IPv4", "IPv6"):
        mine = {each for each in scene.targets if family(each) == version}
        closed = mine - allowed
        assert len(closed) >= LEAST_CLOSED
        notes.append(f"- {version}: {len(mine) - len(closed)} open, {len(closed)} closed")


@pytest.mark.parametrize("other", [READER, "forger", "neighbour"])
def test_other_pods_of_the_namespace_have_dns_alone(scene: Scene, other: str) -> None:
    """Another service account's, one whose author wrote labels of his own, and one with neither."""
    found = scene.probe(other)
    own = scene.named(other) if other == "neighbour" else set()
    assert opened(found) - own == by_dns(scene), found


@pytest.mark.proof
def test_what_the_engine_does_not_look_at(scene: Scene, notes: list[str]) -> None:
    """Link-local sources and the node's own service ports; a rule of the node's closes both."""
    gateway = scene.policed.link_local_gateway(addresses_of(scene.pods[TRAINER])[1])
    unseen = [
        Target("the kubelet by its link-local address", gateway, 10250),
        *(Target("a port of Services on the node", each, NODE_PORT, "TCP", "node") for each in OWN),
    ]
    assert not opened(scene.probe(TRAINER, unseen))
    scene.policed.remove_own_rules()
    try:
        without = scene.probe(TRAINER, unseen)
    finally:
        scene.policed.add_own_rules()
    assert opened(without) == set(unseen), without
    notes += [f"- {WITHOUT}: {each.what}, {family(each)}" for each in unseen]


@pytest.mark.proof
def test_a_pod_that_borrows_an_address(scene: Scene, notes: list[str]) -> None:
    """Without any right it sends from another Pod's in IPv6; a rule of the node's stops that."""
    for version, source, target in zip(
        ("IPv4", "IPv6"), addresses_of(scene.pods["control"]), INTERNET, strict=True
    ):
        assert not _leaves(scene, source, target)
        scene.policed.remove_own_rules()
        try:
            without = _leaves(scene, source, target)
        finally:
            scene.policed.add_own_rules()
        assert without is (version == "IPv6")
        how = WITHOUT if without else "Refused by Linux itself"
        notes.append(f"- {how}: another Pod's {version} address as the source of a datagram")


def _leaves(scene: Scene, source: str, address: str) -> bool:
    """Return whether what a Pod sends from an address, to one that it may not reach, gets there."""
    scene.policed.run("conntrack", "-F")
    module = ("-m", "tests.harness.programs.probing.borrowed")
    command = scene.policed.node.command_in(
        scene.pods[READER], sys.executable, *module, source, address, "443"
    )
    done = subprocess.run(
        command, capture_output=True, text=True, env={**os.environ, **ENVIRONMENT}, check=True
    )
    family = "ipv6" if ":" in source else "ipv4"
    flows = scene.policed.run("conntrack", "-L", "-f", family, "-p", "udp", "-s", source)
    assert done.stdout.strip() in {"sent", "Network is unreachable"}
    return f"dst={address}" in flows


@pytest.mark.proof
async def test_a_pods_first_moments(scene: Scene, admin: Client, notes: list[str]) -> None:
    """By the container's own program: closed from its first seconds on, open what is named.

    Not from its first moment: an engine that comes to know a Pod while it computes gives it a
    chain without the policies, until it computes again. How often is measured.
    """
    denied = [_denied(scene), scene.at(INTERNET[0], "TCP 8443")]
    allowed = scene.at(INTERNET[0], "TCP 443")
    labels = egress_labels(TRAINER, None)
    places = [(FREE, "early"), *((TEAM, f"early-{number}") for number in range(EARLY))]
    for namespace, name in places:
        item = pod(namespace, name, _tries([*denied, allowed]), labels)
        item["spec"]["containers"][0]["resources"] = {}
        await admin.create(item)
    free, *early = [_reached((await ended(admin, *each)).printed) for each in places]
    assert free.keys() == {each.says for each in (*denied, allowed)}
    out = [max((found.get(each.says, -1) for each in denied), default=-1) for found in early]
    assert all(allowed.says in found for found in early)
    assert max(out) < TRIES / 2
    leaks = [each for each in out if each >= 0]
    notes.append(f"- Of {EARLY} Pods that began at once, {len(leaks)} got out at first")
    if leaks:
        notes.append(f"- They did so for {(max(leaks) + 1) * TRY_S:.1f} s or less")


def _tries(targets: Sequence[Target]) -> str:
    """Return a script that tries the targets again and again, and says which of its tries it is."""
    tries = []
    for each in targets:
        connect = f"busybox nc -w 1 {each.address} {each.port} </dev/null 2>/dev/null"
        tries.append(f'(said=$({connect}) && echo "$i $said") &')
    return f"for i in $(busybox seq 0 {TRIES - 1}); do {' '.join(tries)} sleep {TRY_S}; done; wait"


def _reached(printed: str) -> dict[str, int]:
    """Return who answered, and at which try for the last time."""
    found: dict[str, int] = {}
    for line in printed.splitlines():
        number, _, said = line.partition(" ")
        found[said] = max(found.get(said, 0), int(number))
    return found


@pytest.mark.proof
async def test_what_becomes_of_open_connections(
    scene: Scene, admin: Client, notes: list[str]
) -> None:
    """They outlive the policy that let them out, and end with the Pod."""
    tcp, udp = scene.at(INTERNET[0], "TCP 443"), scene.at(ELSEWHERE[1], "UDP 5000")
    leaver = sleeper(TEAM, "leaver", egress_labels(TRAINER, None))
    await admin.create(leaver)
    scene.add(await running_pod(admin, leaver))
    scene.wait_until_open("leaver", [tcp, udp])
    node, running = scene.policed.node, scene.pods["leaver"]
    with held(node, running, tcp) as stream, held(node, running, udp) as datagrams:
        await admin.delete(ALLOWED)
        closed = scene.wait_until_closed("leaver", tcp)
        assert not opened(scene.probe("leaver")) & by_allowlist(scene)
        assert stream.lives()
        assert datagrams.lives()
        began = time.monotonic()
        await admin.delete(leaver)
        while stream.lives():
            assert time.monotonic() - began < 60
        took = time.monotonic() - began
        assert not datagrams.lives()
    notes.append(f"- A policy taken away: closed to new connections after {closed:.1f} s")
    notes.append("- Connections open by then, TCP and UDP: live on")
    notes.append(f"- The Pod deleted: they are dead after {took:.1f} s")
