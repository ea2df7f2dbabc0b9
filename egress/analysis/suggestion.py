"""Suggests the least allowlists for observed flows, with the evidence. Pure.

One allowlist for each service account and workload: names where the DNS is known, Services and Pods
inside of the cluster, and else single addresses. What looks like a scan, or lies in a reserved
range, is told and not suggested. Pods of one run that talk to each other on random ports, as NCCL
and MPI have them, are no scan: these ports become one range. Nothing here writes an object: a
person reads what is suggested, and what of it is marked.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Final

import msgspec

from core.base.errors import InvalidObjectError
from core.base.networks import Address, Network, collapse, holds, network_of, single_address_network
from core.base.times import DAY_S
from core.egress.destinations import MAX_ENTRIES, MAX_PORTS, PortRange, Protocol
from core.egress.dns_names import WILDCARD, check_dns_name
from egress.analysis.connection import learns_names
from egress.analysis.observed_flows import FlowSource, ObservedFlows
from egress.flows.records import Flow
from egress.limits.shared_destinations import name_sharing_warning
from egress.model.descriptions import describe_networks, describe_ports

SCAN_PORTS: Final = 16
"""So many ports of one destination are no service that somebody uses, but a search."""
SCAN_ADDRESSES: Final = 64
"""So many single addresses on one port, where most were dropped, are one as well."""

GANG_PORTS: Final = 4
"""So many random ports between the Pods of one run are written as the range that they are from."""
EPHEMERAL_PORTS: Final = (32_768, 60_999)
"""Linux's ports of connections and listeners that name none (net.ipv4.ip_local_port_range in
https://docs.kernel.org/networking/ip-sysctl.html): NCCL and MPI listen there."""
WILDCARD_NAMES: Final = 8
"""So many names below one are told as what a wildcard would be for."""

_OF_PODS: Final = 3
"""Of so many Pods and more, a destination of a single one is marked."""
_RARE: Final = 2
"""A destination that was seen so often and no more is marked, where others were seen more."""
_MANY: Final = 20
_WEEK_S: Final = 7 * DAY_S
_SHOWN_NAMES: Final = 5
_SUFFIX_LABELS: Final = 2
"""A wildcard with fewer labels after it is broad (egress.limits.breadth)."""

_LONGEST: Final = 6
"""Labels of a wildcard that is looked for."""

Key = tuple[str, ...]
"""What kind of destination, and which: `("dnsName", "packages.example.org")`."""


class FlowEvidence(msgspec.Struct, frozen=True, rename="camel", kw_only=True):
    """What was observed of an entry."""

    flows: int
    forwarded: int
    dropped: int
    audited: int = 0
    """Let through, and dropped by a policy if that did more than look on."""
    first: float | None = None
    last: float | None = None
    """Unix seconds."""
    pods: list[str] = []
    also: list[str] = []
    """Other names of the same addresses."""
    tags: list[str] = []
    """Service tags that have it, the smallest first: an offer, for they open more."""
    warnings: list[str] = []
    """Why somebody should look at it before it is allowed."""


class SuggestedEntry(msgspec.Struct, frozen=True):
    """An entry of `spec.to`, and why."""

    entry: dict[str, Any]
    evidence: FlowEvidence


class LeftOutFlow(msgspec.Struct, frozen=True):
    """Something that was observed and is not suggested."""

    to: str
    why: str
    evidence: FlowEvidence


class WildcardOffer(msgspec.Struct, frozen=True):
    """A wildcard that would stand for many of the names: an offer, for it opens all others too."""

    pattern: str
    names: int
    """How many of the entries it would stand for."""
    examples: list[str]
    warning: str = ""
    """Whose other names are below it, where anybody can have one."""


class SuggestedFor(msgspec.Struct, frozen=True):
    """A workload whose name stays the same from run to run."""

    kind: str
    name: str


class Suggestion(msgspec.Struct, frozen=True, rename="camel"):
    """What one service account needs, or one workload of it."""

    namespace: str
    service_account: str
    entries: list[SuggestedEntry]
    left_out: list[LeftOutFlow]
    workload: SuggestedFor | None = None
    """None for Pods of no known workload, and for runs such as Jobs, each with its own name."""
    runs: list[str] = []
    """Some of these runs."""
    wildcards: list[WildcardOffer] = []

    def parts(self) -> Iterator[list[SuggestedEntry]]:
        """Yield the entries, at most as many as one allowlist may have."""
        for start in range(0, len(self.entries), MAX_ENTRIES):
            yield self.entries[start : start + MAX_ENTRIES]


def suggest(observed: ObservedFlows) -> list[Suggestion]:
    """Return a suggestion for each source whose flows were observed, in order."""
    return [_of_source(source, flows, observed) for source, flows in observed.by_source()]


class _Whole(msgspec.Struct, frozen=True):
    """All flows of a source, to hold one destination against."""

    pods: int
    flows: int
    seconds: float

    def warnings(self, flows: Sequence[Flow]) -> list[str]:
        """Say what is rare of a destination."""
        pods = {each.pod for each in flows if each.pod}
        count = sum(each.count for each in flows)
        first, last = _span(flows)
        said = []
        if len(pods) == 1 and self.pods >= _OF_PODS:
            said.append(f"of a single Pod of {self.pods}")
        if count <= _RARE and self.flows >= _MANY:
            said.append(f"seen rarely: {count} of {self.flows} flows")
        elif self.seconds >= _WEEK_S and last - first < DAY_S:
            said.append(f"seen on one day of {round(self.seconds / DAY_S)}")
        return said


def _span(flows: Iterable[Flow]) -> tuple[float, float]:
    times = [each for flow in flows for each in (flow.first, flow.last) if each is not None]
    return min(times, default=0.0), max(times, default=0.0)


def _of_source(source: FlowSource, flows: Sequence[Flow], observed: ObservedFlows) -> Suggestion:
    scans = _scans(flows)
    preferred = preferred_names(flows)
    kept: dict[Key, list[Flow]] = defaultdict(list)
    out: dict[tuple[str, str], list[Flow]] = defaultdict(list)
    for flow in flows:
        key = key_of(flow, preferred, observed)
        scan = "" if _is_of_gang(flow) else scans.get(_host(flow), "")
        why = scan or observed.why_not(flow, _name(key))
        if why:
            out[describe_key(key), why].append(flow)
        else:
            kept[key].append(flow)
    left = [
        LeftOutFlow(to, why, evidence_of(some, fields={"dnsName": to}))
        for (to, why), some in sorted(out.items())
    ]
    first, last = _span(flows)
    whole = _Whole(
        len({each.pod for each in flows if each.pod}),
        sum(each.count for each in flows),
        last - first,
    )
    runs = {str(each.workload) for each in flows if each.workload and not each.workload.lasts}
    return Suggestion(
        source.namespace,
        source.account,
        _entries(kept, observed, whole),
        left,
        SuggestedFor(source.kind, source.workload) if source.kind else None,
        sorted(runs)[:_SHOWN_NAMES],
        list(_wildcards(kept)) if learns_names(observed.world) else [],
    )


def _wildcards(kept: Iterable[Key]) -> Iterator[WildcardOffer]:
    """Yield the narrowest wildcards that many of the names are below."""
    left = {key[1] for key in kept if key[0] == "dnsName"}
    below: dict[str, set[str]] = defaultdict(set)
    for name in left:
        labels = name.split(".")
        for start in range(max(1, len(labels) - _LONGEST), len(labels) - _SUFFIX_LABELS + 1):
            below[".".join(labels[start:])].add(name)
    for suffix in sorted(below, key=lambda one: (-one.count("."), one)):
        names = sorted(below[suffix] & left)
        if len(names) >= WILDCARD_NAMES:
            left.difference_update(names)
            pattern = f"{WILDCARD}{suffix}"
            shared = name_sharing_warning(pattern)
            yield WildcardOffer(pattern, len(names), names[:_SHOWN_NAMES], shared)


def _entries(
    kept: Mapping[Key, Sequence[Flow]], observed: ObservedFlows, whole: _Whole
) -> list[SuggestedEntry]:
    """Return entries; single addresses with the same ports become the networks that they fill."""
    entries: list[SuggestedEntry] = []
    alike: dict[tuple[PortRange, ...], list[tuple[Network, Sequence[Flow]]]] = defaultdict(list)
    for key, flows in sorted(kept.items()):
        ports = _ports(flows)
        if key[0] == "cidr":
            alike[ports].append((network_of(key[1]), flows))
        else:
            entries += _suggested(_fields(key), ports, flows, (), whole)
    for ports, some in sorted(alike.items()):
        for network in collapse(one for one, _ in some):
            flows = [flow for one, each in some if holds(network, one) for flow in each]
            tags = observed.tags_of(network)
            entries += _suggested({"cidr": str(network)}, ports, flows, tags, whole)
    return entries


def _ports(flows: Iterable[Flow]) -> tuple[PortRange, ...]:
    """Return the ports of flows; many random ones between Pods of one run as their range."""
    single: set[PortRange] = set()
    random: dict[Protocol, set[PortRange]] = defaultdict(set)
    for each in flows:
        port = PortRange(each.protocol, each.port, each.port)
        (random[each.protocol] if _is_of_gang(each) else single).add(port)
    for protocol, found in random.items():
        if len(found) >= GANG_PORTS:
            single.add(PortRange(protocol, *EPHEMERAL_PORTS))
        else:
            single |= found
    return tuple(sorted(single))


def _is_of_gang(flow: Flow) -> bool:
    """Return whether Pods of one run talk to each other on a port that Linux chose."""
    first, last = EPHEMERAL_PORTS
    same = flow.gang == flow.to_gang != "" or flow.workload == flow.to_workload is not None
    return same and flow.namespace == flow.to_namespace and first <= flow.port <= last


def _suggested(
    fields: dict[str, Any],
    ports: Sequence[PortRange],
    flows: Sequence[Flow],
    tags: Sequence[str],
    whole: _Whole,
) -> Iterator[SuggestedEntry]:
    for start in range(0, len(ports), MAX_PORTS):
        part = ports[start : start + MAX_PORTS]
        mine = [
            flow
            for flow in flows
            if any(one.holds(PortRange(flow.protocol, flow.port, flow.port)) for one in part)
        ]
        evidence = evidence_of(mine, tags, fields)
        warnings = [*whole.warnings(mine), *_of_entry(fields, part, mine)]
        yield SuggestedEntry(
            {**fields, "ports": [_written(one) for one in part]},
            msgspec.structs.replace(evidence, warnings=warnings),
        )


def _written(port: PortRange) -> dict[str, Any]:
    one = {"protocol": port.protocol, "port": port.first}
    return one if port.first == port.last else {**one, "endPort": port.last}


def _of_entry(
    fields: Mapping[str, Any], ports: Iterable[PortRange], flows: Sequence[Flow]
) -> Iterator[str]:
    """Say what an entry opens beyond what was seen."""
    for port in ports:
        if port.first != port.last:
            seen = {each.port for each in flows if each.protocol == port.protocol}
            seen = {each for each in seen if port.first <= each <= port.last}
            yield f"{len(seen)} random ports between Pods of one run: Linux's whole range is opened"
    to = fields.get("pods") or {}
    if to and not (to.keys() & {"serviceAccounts", "podSelector"}):
        yield f"nothing tells these Pods from others: opens every Pod of {to['namespace']}"


def evidence_of(
    flows: Sequence[Flow], tags: Sequence[str] = (), fields: Mapping[str, Any] | None = None
) -> FlowEvidence:
    """Return what was observed; `fields` are those of the entry, whose own name is no other."""
    firsts = [each.first for each in flows if each.first is not None]
    lasts = [each.last for each in flows if each.last is not None]
    named = {name for each in flows for name in each.names}
    return FlowEvidence(
        flows=sum(each.count for each in flows),
        forwarded=sum(each.count for each in flows if each.verdict == "forwarded"),
        dropped=sum(each.count for each in flows if each.verdict == "dropped"),
        audited=sum(each.count for each in flows if each.verdict == "audited"),
        first=min(firsts, default=None),
        last=max(lasts, default=None),
        pods=sorted({each.pod for each in flows if each.pod}),
        also=sorted(named - {(fields or {}).get("dnsName")}),
        tags=list(tags),
    )


def preferred_names(flows: Iterable[Flow]) -> Counter[str]:
    """Return how many flows each name explains."""
    return Counter(name for flow in flows for name in flow.names)


def key_of(flow: Flow, preferred: Mapping[str, int], observed: ObservedFlows) -> Key:
    """Return the destination of a flow; of several names the one that explains most.

    `preferred` says how many flows each name explains.
    """
    if flow.to_service and flow.to_namespace:
        return ("service", flow.to_namespace, flow.to_service)
    if flow.to_namespace and (flow.to_pod or flow.to_account or flow.to_workload):
        written = msgspec.json.encode(observed.pods_entry(flow), order="deterministic")
        return ("pods", written.decode())
    named = [name for name in flow.names if _is_name(name)]
    if named:
        return ("dnsName", min(named, key=lambda name: (-preferred[name], name)))
    if flow.address is not None:
        return ("cidr", str(single_address_network(flow.address)))
    return ("unknown", flow.to_reserved)


def _name(key: Key) -> str:
    return key[1] if key[0] == "dnsName" else ""


def _fields(key: Key) -> dict[str, Any]:
    match key:
        case ("service", namespace, name):
            return {"service": {"namespace": namespace, "name": name}}
        case ("pods", written):
            return {"pods": msgspec.json.decode(written)}
        case (kind, value):
            return {kind: value}
        case _:
            return {}


def describe_key(key: Key) -> str:
    """Return a destination in words."""
    match key:
        case ("service", namespace, name):
            return f"service {namespace}/{name}"
        case ("cidr", network):
            return describe_networks([network_of(network)])
        case ("dnsName", name):
            return name
        case ("pods", written):
            return _shown_pods(msgspec.json.decode(written))
        case (_, reserved):
            return reserved or "a destination"
        case _:
            return " ".join(key)


def _shown_pods(entry: dict[str, Any]) -> str:
    accounts = entry.get("serviceAccounts")
    labels = (entry.get("podSelector") or {}).get("matchLabels") or {}
    of = ", ".join(accounts or (f"{key}={value}" for key, value in labels.items()))
    return f"Pods of {entry['namespace']}{f' ({of})' if of else ''}"


def _is_name(name: str) -> bool:
    try:
        check_dns_name(name, field="", what="")
    except InvalidObjectError:
        return False
    return True


_Host = tuple[str, str] | Address | tuple[str, ...] | None


def _host(flow: Flow) -> _Host:
    if flow.to_namespace:
        named = flow.to_service or flow.to_pod or flow.to_account
        return (flow.to_namespace, named or str(flow.to_workload))
    return flow.names or flow.address


def _scans(flows: Iterable[Flow]) -> dict[_Host, str]:
    """Return why flows to a destination look like a scan: many ports, or many hosts of a port."""
    ports: dict[_Host, set[PortRange]] = defaultdict(set)
    hosts: dict[PortRange, set[_Host]] = defaultdict(set)
    dropped: Counter[PortRange] = Counter()
    count: Counter[PortRange] = Counter()
    for flow in flows:
        if _is_of_gang(flow):
            continue
        port = PortRange(flow.protocol, flow.port, flow.port)
        ports[_host(flow)].add(port)
        if not (flow.names or flow.to_namespace):
            hosts[port].add(_host(flow))
            count[port] += 1
            dropped[port] += flow.verdict == "dropped"
    found = {
        host: f"looks like a scan: {len(some)} ports of one destination"
        for host, some in ports.items()
        if len(some) >= SCAN_PORTS
    }
    for port, some_hosts in hosts.items():
        if len(some_hosts) >= SCAN_ADDRESSES and dropped[port] * 2 > count[port]:
            why = f"looks like a scan: {len(some_hosts)} addresses on {describe_ports([port])}"
            found |= dict.fromkeys(some_hosts, why)
    return found
