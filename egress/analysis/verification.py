"""Verifies from inside a container that a Pod reaches what allowlists say and nothing else. Pure.

Tried are the destinations of the Pod's allowlists, and some that must be closed: things that are
known to listen, so that silence means something. The probe (`egress.analysis.probe_program`) says
when it cannot run: that is never taken for a closed port.
"""

from collections.abc import Iterable, Iterator, Sequence
from typing import Final, Literal

import msgspec

from core.base.networks import Address, Network
from core.egress.destinations import PortRange
from core.egress.dns_names import is_wildcard
from core.egress.pod_labels import reserved_labels
from core.kubernetes.label_selectors import matches
from egress.analysis.cluster_egress import ClusterEgress
from egress.analysis.connection import listens_on, means_pod, parse_target
from egress.analysis.explanation import explain
from egress.model.descriptions import describe_ports, destination_of
from egress.model.openings import Addresses, Name, Opening, Pods, Service
from kube.egress.pods import EgressPod

METADATA: Final = "169.254.169.254:80"
WIRE_SERVER: Final = "168.63.129.16:80"
KUBELET_PORT: Final = 10_250
_OF_EACH: Final = 2
"""Addresses that are tried of one Service, or Pods of one selector."""
_OF_OTHERS: Final = 3
"""Destinations of others' intents that are tried as closed."""

Expected = Literal["open", "closed"]
ProbeFinding = Literal[
    "open", "refused", "timeout", "unreachable", "closed", "noname", "error", "untried"
]
Verdict = Literal["agrees", "leaks", "cut off", "unknown"]

_CUT_OFF: Final[dict[ProbeFinding, str]] = {
    "refused": "refused, by the engine or because nobody listens",
    "noname": "its name does not resolve there",
}


class Probe(msgspec.Struct, frozen=True):
    """A connection to try."""

    host: str
    port: int
    what: str
    """What is there, for people."""
    expected: Expected


class ProbeResult(msgspec.Struct, frozen=True):
    """What became of one."""

    pod: str
    to: str
    what: str
    expected: Expected
    found: ProbeFinding
    verdict: Verdict
    why: str = ""


def representatives(pods: Iterable[EgressPod]) -> list[EgressPod]:
    """Return one Pod of each service account and set of labels of the gate's."""
    found: dict[tuple[object, ...], EgressPod] = {}
    for pod in sorted(pods, key=lambda each: each.name):
        labels = tuple(sorted(reserved_labels(pod.labels).items()))
        found.setdefault((pod.namespace, pod.service_account, labels), pod)
    return list(found.values())


def probes_of(pod: EgressPod, world: ClusterEgress, others: Sequence[str] = ()) -> list[Probe]:
    """Return the connections to try from a Pod; `others` are further `HOST:PORT`."""
    wanted = [*_dns(world), *_said(pod, world), *_closed(pod, world)]
    wanted += [(each, "asked for") for each in others]
    found: dict[str, Probe] = {}
    for target, what in wanted:
        if target in found:
            continue
        aim = parse_target(target, world)
        if aim.port.protocol != "TCP":
            continue
        verdict = explain(pod, aim, world).verdict
        expected: Expected = "closed" if verdict == "closed" else "open"
        found[target] = Probe(aim.host, aim.port.first, what, expected)
    return list(found.values())


def untried_openings(pod: EgressPod, world: ClusterEgress) -> list[str]:
    """Say which of a Pod's openings cannot be tried, and why."""
    said = []
    for opening in _mine(pod, world):
        what = f"{destination_of(opening.peer)} {describe_ports(opening.ports)}"
        if all(each.protocol != "TCP" for each in opening.ports):
            said.append(f"{what}: only TCP answers by itself whether it is open")
        elif not list(_targets(opening, world)):
            said.append(f"{what}: nobody knows who listens there")
    return said


def judge_probe(pod: EgressPod, probe: Probe, found: ProbeFinding) -> ProbeResult:
    """Compare what was found with what intents say."""
    verdict: Verdict = "agrees"
    why = ""
    if found in {"error", "untried"}:
        verdict, why = "unknown", "the probe could not try it"
    elif probe.expected == "closed" and found == "open":
        verdict, why = "leaks", "it is open, and no intent says so"
    elif probe.expected == "closed" and found == "noname":
        verdict, why = "unknown", "its name does not resolve there"
    elif probe.expected == "open" and found != "open":
        verdict, why = "cut off", f"intents open it: {_CUT_OFF.get(found, 'nothing answers')}"
    to = f"[{probe.host}]:{probe.port}" if ":" in probe.host else f"{probe.host}:{probe.port}"
    return ProbeResult(pod.key, to, probe.what, probe.expected, found, verdict, why)


def probe_works(probes: Sequence[Probe], found: Sequence[ProbeFinding]) -> bool:
    """Return whether the probe is shown to work: something that must be open was."""
    return any(
        probe.expected == "open" and one == "open" for probe, one in zip(probes, found, strict=True)
    )


_Target = tuple[str, str]
"""`HOST:PORT`, and what is there."""


def _mine(pod: EgressPod, world: ClusterEgress) -> list[Opening]:
    found = world.openings(pod.namespace)
    return [each for each in found if matches(each.selects, pod.labels)]


def _said(pod: EgressPod, world: ClusterEgress) -> Iterator[_Target]:
    for opening in _mine(pod, world):
        what = f"{opening.allowlist} {opening.path}"
        for target in _targets(opening, world):
            yield target, what


def _targets(opening: Opening, world: ClusterEgress) -> Iterator[str]:
    """Yield where an opening leads, as far as somebody is known to be there."""
    ports = [each for each in opening.ports if each.protocol == "TCP"]
    match opening.peer:
        case Name(pattern) if not is_wildcard(pattern):
            yield from (f"{pattern}:{each.first}" for each in ports)
        case Addresses(blocks):
            single = [one.network for one in blocks if one.network.num_addresses == 1]
            yield from _at(_first(single[:_OF_EACH]), ports)
        case Service(backends=backends):
            for backend in backends:
                inside = [each for each in backend.ports if each.protocol == "TCP"]
                yield from _at(_first(backend.addresses[:_OF_EACH]), inside)
        case Pods() as pods:
            found = [
                each
                for each in world.snapshot.pods
                if not each.host_network and means_pod(pods, each, world)
            ]
            for one in found[:_OF_EACH]:
                listening = [
                    PortRange("TCP", number, number)
                    for number in one.listens
                    if listens_on(one, PortRange("TCP", number, number), ports)
                ]
                yield from _at(one.addresses, listening)


def _first(networks: Iterable[Network]) -> list[Address]:
    return [each.network_address for each in networks]


def _at(addresses: Iterable[Address], ports: Iterable[PortRange]) -> Iterator[str]:
    for address in addresses:
        host = f"[{address}]" if address.version == 6 else str(address)  # noqa: PLR2004 (IPv6)
        yield from (f"{host}:{port.first}" for port in ports)


def _dns(world: ClusterEgress) -> Iterator[_Target]:
    dns = world.site.target.dns
    port = PortRange("TCP", dns.port, dns.port)
    for chosen in dns.pods:
        for pod in world.snapshot.pods:
            if pod.namespace == chosen.namespace and matches(chosen.requirements, pod.labels):
                yield from ((each, "the cluster's DNS") for each in _at(pod.addresses, [port]))


def _closed(pod: EgressPod, world: ClusterEgress) -> Iterator[_Target]:
    yield METADATA, "instance metadata"
    yield WIRE_SERVER, "Azure's wire server"
    if pod.node_address is not None:
        port = PortRange("TCP", KUBELET_PORT, KUBELET_PORT)
        yield from ((each, "its node's kubelet") for each in _at([pod.node_address], [port]))
    for endpoint in world.snapshot.endpoints.get(("default", "kubernetes"), ())[:1]:
        if not isinstance(endpoint.address, str):
            ports = [each for _, each in endpoint.ports if each is not None]
            for each in _at([endpoint.address], ports):
                yield each, "kube-apiserver"
    yield from _of_others(pod, world)


def _of_others(pod: EgressPod, world: ClusterEgress) -> Iterator[_Target]:
    """Yield a listening Pod of another namespace, and destinations of others' intents."""
    listening = (
        (each, number)
        for each in world.snapshot.pods
        if each.namespace != pod.namespace and not each.host_network
        for number in each.listens
    )
    for other, number in list(listening)[:_OF_EACH]:
        for target in _at(other.addresses[:1], [PortRange("TCP", number, number)]):
            yield target, f"Pod {other.key}"
    theirs = [
        (target, opening)
        for namespace in sorted(world.snapshot.namespaces)
        for opening in world.openings(namespace)
        if not matches(opening.selects, pod.labels) or namespace != pod.namespace
        for target in _targets(opening, world)
    ]
    for target, opening in theirs[:_OF_OTHERS]:
        yield target, f"of another's allowlist {opening.allowlist}"
