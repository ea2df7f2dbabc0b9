"""Suggests the least allowlists for observed flows, with the evidence. Pure.

One allowlist for each service account: names where the DNS is known, Services and Pods inside of
the cluster, and else single addresses. What looks like a scan, or lies in a reserved range, is told
and not suggested.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Final

import msgspec

from core.base.errors import InvalidObjectError
from core.base.networks import Address, Network, collapse, holds, network_of, single_address_network
from core.egress.destinations import MAX_ENTRIES, MAX_PORTS, PortRange
from core.egress.dns_names import check_dns_name
from egress.analysis.observed_flows import FlowSource, ObservedFlows
from egress.flows.records import Flow
from egress.model.descriptions import describe_networks, describe_ports

SCAN_PORTS: Final = 16
"""So many ports of one destination are no service that somebody uses, but a search."""
SCAN_ADDRESSES: Final = 64
"""So many single addresses on one port, where most were dropped, are one as well."""

Key = tuple[str, ...]
"""What kind of destination, and which: `("dnsName", "packages.example.org")`."""


class FlowEvidence(msgspec.Struct, frozen=True, rename="camel", kw_only=True):
    """What was observed of an entry."""

    flows: int
    forwarded: int
    dropped: int
    first: float | None = None
    last: float | None = None
    """Unix seconds."""
    pods: list[str] = []
    also: list[str] = []
    """Other names of the same addresses."""
    tags: list[str] = []
    """Service tags that have it, the smallest first: an offer, for they open more."""


class SuggestedEntry(msgspec.Struct, frozen=True):
    """An entry of `spec.to`, and why."""

    entry: dict[str, Any]
    evidence: FlowEvidence


class LeftOutFlow(msgspec.Struct, frozen=True):
    """Something that was observed and is not suggested."""

    to: str
    why: str
    evidence: FlowEvidence


class Suggestion(msgspec.Struct, frozen=True, rename="camel"):
    """What one service account needs."""

    namespace: str
    service_account: str
    entries: list[SuggestedEntry]
    left_out: list[LeftOutFlow]

    def parts(self) -> Iterator[list[SuggestedEntry]]:
        """Yield the entries, at most as many as one allowlist may have."""
        for start in range(0, len(self.entries), MAX_ENTRIES):
            yield self.entries[start : start + MAX_ENTRIES]


def suggest(observed: ObservedFlows) -> list[Suggestion]:
    """Return a suggestion for each service account whose flows were observed, in order."""
    return [_of_account(source, flows, observed) for source, flows in observed.by_source()]


def _of_account(source: FlowSource, flows: Sequence[Flow], observed: ObservedFlows) -> Suggestion:
    scans = _scans(flows)
    preferred = Counter(name for flow in flows for name in flow.names)
    kept: dict[Key, list[Flow]] = defaultdict(list)
    out: dict[tuple[str, str], list[Flow]] = defaultdict(list)
    for flow in flows:
        key = _key(flow, preferred, observed)
        why = scans.get(_host(flow)) or observed.why_not(source, flow, name=_name(key))
        if why:
            out[_shown(key), why].append(flow)
        else:
            kept[key].append(flow)
    left = [
        LeftOutFlow(to, why, _evidence(some, fields={"dnsName": to}))
        for (to, why), some in sorted(out.items())
    ]
    return Suggestion(source.namespace, source.account, _entries(kept, observed), left)


def _entries(kept: Mapping[Key, Sequence[Flow]], observed: ObservedFlows) -> list[SuggestedEntry]:
    """Return entries; single addresses with the same ports become the networks that they fill."""
    entries: list[SuggestedEntry] = []
    alike: dict[tuple[PortRange, ...], list[tuple[Network, Sequence[Flow]]]] = defaultdict(list)
    for key, flows in sorted(kept.items()):
        ports = tuple(sorted({PortRange(one.protocol, one.port, one.port) for one in flows}))
        if key[0] == "cidr":
            alike[ports].append((network_of(key[1]), flows))
        else:
            entries += _suggested(_fields(key), ports, flows, ())
    for ports, some in sorted(alike.items()):
        for network in collapse(one for one, _ in some):
            flows = [flow for one, each in some if holds(network, one) for flow in each]
            tags = observed.tags_of(network)
            entries += _suggested({"cidr": str(network)}, ports, flows, tags)
    return entries


def _suggested(
    fields: dict[str, Any],
    ports: Sequence[PortRange],
    flows: Sequence[Flow],
    tags: Sequence[str],
) -> Iterator[SuggestedEntry]:
    for start in range(0, len(ports), MAX_PORTS):
        part = ports[start : start + MAX_PORTS]
        written = [{"protocol": one.protocol, "port": one.first} for one in part]
        numbers = {(one.protocol, one.first) for one in part}
        mine = [flow for flow in flows if (flow.protocol, flow.port) in numbers]
        yield SuggestedEntry({**fields, "ports": written}, _evidence(mine, tags, fields))


def _evidence(
    flows: Sequence[Flow], tags: Sequence[str] = (), fields: Mapping[str, Any] | None = None
) -> FlowEvidence:
    firsts = [each.first for each in flows if each.first is not None]
    lasts = [each.last for each in flows if each.last is not None]
    named = {name for each in flows for name in each.names}
    return FlowEvidence(
        flows=sum(each.count for each in flows),
        forwarded=sum(each.count for each in flows if each.verdict == "forwarded"),
        dropped=sum(each.count for each in flows if each.verdict == "dropped"),
        first=min(firsts, default=None),
        last=max(lasts, default=None),
        pods=sorted({each.pod for each in flows if each.pod}),
        also=sorted(named - {(fields or {}).get("dnsName")}),
        tags=list(tags),
    )


def _key(flow: Flow, preferred: Mapping[str, int], observed: ObservedFlows) -> Key:
    """Return the destination of a flow; of several names the one that explains most."""
    if flow.to_service and flow.to_namespace:
        return ("service", flow.to_namespace, flow.to_service)
    if flow.to_namespace and (flow.to_pod or flow.to_account):
        written = msgspec.json.encode(observed.pods_entry(flow), order="deterministic")
        return ("pods", written.decode())
    named = [name for name in flow.names if _is_name(name)]
    if named:
        return ("dnsName", min(named, key=lambda name: (-preferred[name], name)))
    if flow.address is not None:
        return ("cidr", str(single_address_network(flow.address)))
    return ("unknown", flow.to_reserved or "?")


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


def _shown(key: Key) -> str:
    match key:
        case ("service", namespace, name):
            return f"service {namespace}/{name}"
        case ("cidr", network):
            return describe_networks([network_of(network)])
        case ("dnsName", name):
            return name
        case _:
            return " ".join(key)


def _is_name(name: str) -> bool:
    try:
        check_dns_name(name, field="", what="")
    except InvalidObjectError:
        return False
    return True


_Host = tuple[str, str] | Address | tuple[str, ...] | None


def _host(flow: Flow) -> _Host:
    if flow.to_namespace:
        return (flow.to_namespace, flow.to_service or flow.to_pod or flow.to_account)
    return flow.names or flow.address


def _scans(flows: Iterable[Flow]) -> dict[_Host, str]:
    """Return why flows to a destination look like a scan: many ports, or many hosts of a port."""
    ports: dict[_Host, set[PortRange]] = defaultdict(set)
    hosts: dict[PortRange, set[_Host]] = defaultdict(set)
    dropped: Counter[PortRange] = Counter()
    count: Counter[PortRange] = Counter()
    for flow in flows:
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
