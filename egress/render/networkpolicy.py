"""Renders openings as NetworkPolicies (networking.k8s.io/v1). Pure.

They know no names, so names go by the addresses learnt of them; patterns are refused.
"""

from collections.abc import Iterable, Iterator
from typing import Final

import msgspec

from core.base import names
from core.base.networks import Network
from core.egress.destinations import ICMP, PortRange
from core.egress.dns_names import is_wildcard
from core.kubernetes.label_selectors import Requirements, build_selector
from egress.model.openings import (
    Addresses,
    Block,
    CompiledAllowlists,
    Name,
    Opening,
    Pods,
    Problem,
    Service,
)
from egress.model.reserved_ranges import EVERYWHERE_ELSE
from egress.render.generated_objects import (
    BREAK_GLASS,
    BREAK_GLASS_IPV6,
    DEFAULT_DENY,
    DNS,
    DNS_IPV6,
    Json,
    allow_name,
    generated_object,
)
from egress.render.partition import (
    PolicyItem,
    Ports,
    block_items,
    by_allowlist,
    item_of,
    pack,
    rules,
    too_large_problem,
)
from egress.render.target import Dns, RenderedNamespace, RenderTarget, family_of

API_VERSION: Final = "networking.k8s.io/v1"
KIND: Final = "NetworkPolicy"


def render(meaning: CompiledAllowlists, target: RenderTarget) -> RenderedNamespace:
    """Return the policies of an enrolled namespace."""
    objects = [
        _policy(meaning.namespace, DEFAULT_DENY, meaning.selects, []),
        *_dns(meaning, target.dns),
        *_break_glass(meaning, target),
    ]
    problems = [_no_icmp(each) for each in meaning.openings if _icmp(each)]
    without = (_without_icmp(each) for each in meaning.openings)
    openings_left = tuple(each for each in without if each.ports)
    meaning = msgspec.structs.replace(meaning, openings=openings_left)
    for openings in by_allowlist(meaning):
        made, found = _allowlist(meaning.namespace, openings)
        objects += made
        problems += found
    closed = (each for each in problems if each.closes)
    refused = {(each.allowlist, each.path.removesuffix(".dnsName")) for each in closed}
    said = (each for each in meaning.openings if (each.allowlist, each.path) not in refused)
    ordered = tuple(sorted(objects, key=_name))
    return RenderedNamespace(ordered, tuple(sorted(set(problems))), tuple(said))


def _dns(meaning: CompiledAllowlists, dns: Dns) -> Iterator[Json]:
    for name, items in zip((DNS, DNS_IPV6), _by_family(_dns_items(dns)), strict=True):
        if items or name == DNS:
            yield _policy(meaning.namespace, name, meaning.selects, _rules(items))


def _break_glass(meaning: CompiledAllowlists, target: RenderTarget) -> Iterator[Json]:
    """Yield what opens every connection of Pods, but to what is reserved everywhere."""
    if meaning.open_pods is None:
        return
    named = zip((BREAK_GLASS, BREAK_GLASS_IPV6), EVERYWHERE_ELSE, strict=True)
    families = target.engine.ip_families
    inside: list[Json] = [{"namespaceSelector": {}}]  # For engines that know Pods not by address.
    for name, block in ((one, each) for one, each in named if family_of(each.network) in families):
        without = {"except": [str(each) for each in block.excepts]}
        peers: list[Json] = [{"ipBlock": {"cidr": str(block.network), **without}}, *inside]
        yield _policy(meaning.namespace, name, meaning.open_pods, [{"to": peers}])
        inside = []


def _by_family(items: Iterable[PolicyItem]) -> tuple[list[PolicyItem], list[PolicyItem]]:
    """Return what has no IPv6 network, and what has: engines without IPv6 drop a whole policy."""
    found: tuple[list[PolicyItem], list[PolicyItem]] = ([], [])
    for item in items:
        found[item.is_ipv6].append(item)
    return found


def _allowlist(namespace: str, openings: list[Opening]) -> tuple[list[Json], list[Problem]]:
    """Return the policies of one allowlist, all of whose openings select the same Pods."""
    allowlist, selects = openings[0].allowlist, openings[0].selects
    problems = [_refused(each) for each in openings if _is_pattern(each)]
    said = [each for each in openings if not _is_pattern(each)]
    empty = _policy(namespace, allow_name(allowlist, 0, ipv6=True), selects, [], allowlist)
    fixed = len(msgspec.json.encode(empty))
    objects = []
    for ipv6, of_family in enumerate(_by_family(_items(said))):
        policies, too_large = pack(of_family, fixed)
        if too_large:
            problems += (too_large_problem(each) for each in said if pack(_items([each]), fixed)[1])
        for index, items in policies.items():
            name = allow_name(allowlist, index, ipv6=bool(ipv6))
            objects.append(_policy(namespace, name, selects, _rules(items), allowlist))
    return objects, problems


def _icmp(opening: Opening) -> list[PortRange]:
    return [each for each in opening.ports if each.protocol in ICMP]


def _without_icmp(opening: Opening) -> Opening:
    if not _icmp(opening):
        return opening
    left = tuple(each for each in opening.ports if each.protocol not in ICMP)
    return msgspec.structs.replace(opening, ports=left)


def _no_icmp(opening: Opening) -> Problem:
    closed = ", ".join(map(str, _icmp(opening)))
    message = (
        f"NetworkPolicies have no ICMP: {closed} stays closed; use an engine that has it "
        "(egress.engine: cilium)"
    )
    closes = len(_icmp(opening)) == len(opening.ports)
    return Problem(opening.allowlist, opening.path, "CannotSay", message, closes)


def _is_pattern(opening: Opening) -> bool:
    return isinstance(opening.peer, Name) and is_wildcard(opening.peer.pattern)


def _refused(opening: Opening) -> Problem:
    message = (
        "NetworkPolicies know no names, and a wildcard cannot be resolved: name each host, or "
        "use an engine that knows names (egress.engine)"
    )
    return Problem(opening.allowlist, f"{opening.path}.dnsName", "CannotSay", message)


def _items(openings: Iterable[Opening]) -> Iterator[PolicyItem]:
    blocks: list[tuple[Ports, Block]] = []
    for opening in openings:
        match opening.peer:
            case Addresses(found):
                blocks += ((opening.ports, block) for block in found)
            case Name(_, addresses):
                blocks += _single(opening.ports, addresses)
            case Service():
                for backend in opening.peer.backends:
                    blocks += _single(backend.ports, backend.addresses)
            case Pods():
                yield _pods_item(opening.ports, opening.peer)
    yield from block_items("to", blocks)


def _single(ports: Ports, networks: Iterable[Network]) -> Iterator[tuple[Ports, Block]]:
    for network in networks:
        yield ports, Block(network)


def _dns_items(dns: Dns) -> list[PolicyItem]:
    ports = tuple(PortRange(protocol, dns.port, dns.port) for protocol in ("TCP", "UDP"))
    return [
        *block_items("to", _single(ports, dns.addresses)),
        *(_pods_item(ports, each) for each in dns.pods),
    ]


def _pods_item(ports: Ports, pods: Pods) -> PolicyItem:
    named: Json = {"matchLabels": {names.NAMESPACE_NAME_LABEL: pods.namespace}}
    peer: Json = {
        "namespaceSelector": named if pods.namespaces is None else build_selector(pods.namespaces),
        "podSelector": build_selector(pods.requirements),
    }
    return item_of("to", ports, peer)


def _rules(items: Iterable[PolicyItem]) -> list[Json]:
    return [
        {"to": peers, "ports": [_port(each) for each in ports]}
        for _, ports, peers in rules(sorted(items))
    ]


def _port(ports: PortRange) -> Json:
    if ports.is_whole:
        return {"protocol": ports.protocol}
    end = {} if ports.first == ports.last else {"endPort": ports.last}
    return {"protocol": ports.protocol, "port": ports.name or ports.first, **end}


def _policy(
    namespace: str, name: str, selects: Requirements, egress: list[Json], allowlist: str = ""
) -> Json:
    """Return a policy; without rules it opens nothing, and closes what no other one opens."""
    spec: Json = {"podSelector": build_selector(selects), "policyTypes": ["Egress"]}
    if egress:
        spec["egress"] = egress
    return generated_object(
        API_VERSION, KIND, {"name": name, "namespace": namespace}, spec, allowlist=allowlist
    )


def _name(item: Json) -> str:
    return str(item["metadata"]["name"])
