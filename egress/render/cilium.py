"""Renders openings as CiliumNetworkPolicies (cilium.io/v2). Pure.

Cilium knows names: it looks at what the cluster's DNS answers to a Pod, lets it ask for the names
of its allowlists alone, and opens the addresses of these answers; where it may not (AKS without
Advanced Container Networking Services, or with LocalDNS) names go by the addresses learnt of them.
Addresses of Pods and nodes match no CIDR there, so Services are said by their selectors. What
Cilium cannot say is refused with the reason. Read in cilium/cilium v1.20.2; versions by its upgrade
notes.
"""

from collections.abc import Iterable, Iterator, Sequence
from typing import Final

import msgspec

from core.base import names
from core.base.networks import Network, any_holds, subtract
from core.egress.destinations import MAX_PORT, PortRange
from core.egress.dns_names import ANY, WILDCARD, is_wildcard
from core.kubernetes.label_selectors import Requirement, Requirements, sort_requirements
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
from egress.model.reserved_ranges import (
    ALWAYS_RESERVED,
    EVERYWHERE_ELSE,
    PRIVATE_OR_TRANSLATED,
)
from egress.render.cilium_dns import (
    but_dns_addresses,
    but_dns_pods,
    dns_rules,
    without_dns,
    without_port,
)
from egress.render.cilium_words import (
    LABELS_WRITTEN_OUT,
    MANY_LABELS,
    PORT_RANGES,
    RenderedOpening,
    find_inexpressible_ports,
    find_unseen_label,
    map_entries,
    name_patterns,
    open_on,
    selector,
    selector_of,
)
from egress.render.generated_objects import (
    BREAK_GLASS,
    DEFAULT_DENY,
    DNS,
    GUARD,
    Json,
    allow_name,
    generated_object,
)
from egress.render.guards import RangeGuard, build_guards, names_some_of, ranges_in_opening
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
from egress.render.target import RenderedNamespace, RenderTarget, family_of

API_VERSION: Final = "cilium.io/v2"
KIND: Final = "CiliumNetworkPolicy"

MAP_ENTRIES: Final = 16_384
"""Of the policy map of one endpoint (`bpf-policy-map-max`)."""
WARN_AT: Final = MAP_ENTRIES * 8 // 10

_API_SERVER: Final = "kube-apiserver"
"""The entity: on nodes and elsewhere, by the endpoints of its Service; also on AKS, on the way out
(cilium pull request 32464)."""
_DNS_FIELD: Final = "dns"
"""Not of a rule: names that DNS may be asked for."""


def render_opening(opening: Opening, target: RenderTarget) -> RenderedOpening:
    """Return what is said of an opening; of one that cannot be said nothing but the reason."""
    if why := next(_unsaid(opening, target), ""):
        return RenderedOpening(problems=(_problem(opening, why),))
    found = _said(opening, target)
    if found.opening is not None or any(each.closes for each in found.problems):
        return found
    return msgspec.structs.replace(found, opening=opening)


def _unsaid(opening: Opening, target: RenderTarget) -> Iterator[str]:
    """Yield why it cannot be said as a whole."""
    peer, engine = opening.peer, target.engine
    ports = (
        (each for backend in peer.backends for each in backend.ports)
        if isinstance(peer, Service)
        else opening.ports
    )
    yield from find_inexpressible_ports(tuple(ports), engine)
    selectors = [opening.selects]
    match peer:
        case Pods():
            selectors.append(peer.requirements)
        case Service(is_api_server=False):
            selectors.append(peer.selector)
            yield from _unsaid_service(peer)
        case Name(pattern=pattern):
            yield from _unsaid_name(pattern, target)
    for each in filter(None, map(find_unseen_label, selectors)):
        yield f"Cilium leaves the label {each} out of Pods' identities: select by another one"


def _unsaid_service(peer: Service) -> Iterator[str]:
    if not peer.selector:
        yield (
            f"Service {peer.namespace}/{peer.name} has no selector, and Cilium's CIDR rules match "
            "no Pods: name the Pods (`pods`) instead"
        )
    if len({backend.ports for backend in peer.backends}) > 1:
        yield (
            f"the Pods behind Service {peer.namespace}/{peer.name} listen on different ports, and "
            "a selector would open each one's on all: give the Service a number as targetPort"
        )


def _unsaid_name(pattern: str, target: RenderTarget) -> Iterator[str]:
    if is_wildcard(pattern) and not target.engine.learns_names:
        yield "names go by the addresses learnt of them, and a wildcard has none: name each host"
    if pattern == ANY and target.engine.kind == "cilium-aks":
        yield "AKS takes no wildcard for every name: name domains, such as *.example.com"
    if f".{pattern}".endswith(f".{target.dns.domain}"):
        yield f"{pattern} is a name of the cluster's own, behind which are Pods: write `service`"


def _said(opening: Opening, target: RenderTarget) -> RenderedOpening:
    peer, ports = opening.peer, opening.ports
    match peer:
        case Addresses(blocks):
            return _render_blocks(opening, blocks, target)
        case Name():
            return _name(opening, peer, target)
        case Pods():
            return but_dns_pods(opening, _endpoints(peer, [ports]), peer, target)
        case Service(backends=backends, is_api_server=True):
            own = tuple(sorted({one for each in backends for one in each.ports}))
            items = (item_of("toEntities", own, _API_SERVER),) if own else ()
            return RenderedOpening(items=items, entries=len(backends) * map_entries(own))
        case Service():
            pods = Pods(peer.namespace, peer.selector)
            listening = [backend.ports for backend in peer.backends[:1]]
            return but_dns_pods(opening, _endpoints(pods, listening), pods, target)


def _name(opening: Opening, peer: Name, target: RenderTarget) -> RenderedOpening:
    asked, ports = _asked(peer.pattern, target), opening.ports
    if not target.engine.learns_names:
        return _render_blocks(opening, map(Block, peer.addresses), target)
    if peer.pinned:
        said = _render_blocks(opening, map(Block, peer.addresses), target)
        return msgspec.structs.replace(said, names=asked)
    items = tuple(
        item_of("toFQDNs", ports, each) for each in name_patterns(peer.pattern, target.engine)
    )
    if target.dns.addresses:  # A name may lead there, and its rule names no names.
        cut = (without_port(each, target.dns.port) for each in items)
        items = tuple(each for each in cut if each is not None)
    entries = max(1, len(peer.addresses)) * map_entries(ports)
    problems = tuple(_narrowed(opening, peer.pattern, target))
    return RenderedOpening(items=items, names=asked, entries=entries, problems=problems)


def _endpoints(pods: Pods, ports: Sequence[Ports]) -> RenderedOpening:
    """Return Pods on ports; one list of them at most."""
    return RenderedOpening(
        items=tuple(item_of("toEndpoints", each, selector_of(pods)) for each in ports),
        entries=sum(map(map_entries, ports)),
    )


def _render_blocks(
    opening: Opening, blocks: Iterable[Block], target: RenderTarget
) -> RenderedOpening:
    """Return networks, but for those of Pods and Services, which no CIDR rule matches.

    In the nodes' subnets it matches what is neither: other machines, private endpoints.
    """
    wanted = tuple(blocks)
    found = [each for each in wanted if not _is_unmatched(each.network, target)]
    problems: list[Problem] = []
    if lost := [each.network for each in wanted if _is_unmatched(each.network, target)]:
        shown = ", ".join(map(str, lost))
        why = (
            f"{shown} lies in the networks of Pods or Services, which no CIDR rule of Cilium's "
            "matches: name `pods` or `service`"
        )
        problems.append(_problem(opening, why))
    found, left_out = but_dns_addresses(found, opening, target)
    problems += left_out
    if near := [each.network for each in found if any_holds(target.nodes, each.network)]:
        shown = ", ".join(map(str, near))
        why = (
            f"{shown} lies in the nodes' subnets: what is no node there is open, nodes stay closed"
        )
        problems.append(Problem(opening.allowlist, opening.path, "NodesClosed", why, closes=False))
    pieces = sum(len(subtract(each.network, each.excepts)) for each in found)
    return RenderedOpening(
        blocks=tuple((opening.ports, each) for each in found),
        entries=pieces * map_entries(opening.ports),
        problems=tuple(problems),
        opening=_with_blocks(opening, found) if found else None,
    )


def _with_blocks(opening: Opening, blocks: Iterable[Block]) -> Opening:
    """Return an opening to these networks alone, or to a name with these addresses."""
    peer: Addresses | Name = Addresses(tuple(blocks))
    if isinstance(opening.peer, Name):
        addresses = tuple(each.network for each in blocks)
        peer = msgspec.structs.replace(opening.peer, addresses=addresses)
    return msgspec.structs.replace(opening, peer=peer)


def _is_unmatched(network: Network, target: RenderTarget) -> bool:
    """Return whether a network lies where all addresses are the cluster's own."""
    return any_holds(target.ranges, network) and not any_holds(target.nodes, network)


def _asked(pattern: str, target: RenderTarget) -> tuple[str, ...]:
    """Return the names that Pods ask for: a name itself, and under each domain of a search list."""
    if pattern == ANY:
        return (pattern,)
    return (pattern, *(f"{pattern}.{domain}" for domain in target.dns.search))


def _narrowed(opening: Opening, pattern: str, target: RenderTarget) -> Iterator[Problem]:
    if pattern.startswith(WILDCARD) and target.engine.version < MANY_LABELS:
        message = (
            f"names with more than {LABELS_WRITTEN_OUT} labels before those of {pattern} stay "
            "closed: Cilium knows wildcards for any number of them from 1.19"
        )
        yield Problem(opening.allowlist, opening.path, "Narrowed", message, closes=False)


def _problem(opening: Opening, why: str) -> Problem:
    return Problem(opening.allowlist, opening.path, "CannotSay", why)


def render(meaning: CompiledAllowlists, target: RenderTarget) -> RenderedNamespace:
    """Return the policies of an enrolled namespace."""
    spared = _spared(meaning, target)
    objects = _floor(meaning, spared, target)
    problems: list[Problem] = []
    entries: dict[str, int] = {}
    rendered: list[Opening] = []
    for openings in by_allowlist(meaning):
        said = [render_opening(opening, target) for opening in openings]
        problems += (problem for each in said for problem in each.problems)
        size = sum(each.entries for each in said)
        if size > MAP_ENTRIES:
            problems += (_too_many(opening, size) for opening in openings)
            continue
        for account in _accounts(openings[0].selects):
            entries[account] = entries.get(account, 0) + size
        made, found = _allowlist(meaning.namespace, openings, said, target)
        objects += made
        problems += found
        too_large = {each.path for each in found}
        written = (each.opening for each in said if each.opening is not None)
        rendered += (each for each in written if each.path not in too_large)
    problems += _crowded(meaning, entries)
    ordered = sorted(objects, key=lambda item: str(item["metadata"]["name"]))
    return RenderedNamespace(
        tuple(ordered), tuple(sorted(set(problems))), tuple(rendered), spared=spared
    )


def _spared(meaning: CompiledAllowlists, target: RenderTarget) -> tuple[Opening, ...]:
    """Return the openings that guards are cut around."""
    ranges = (*target.reserved, *ALWAYS_RESERVED, *PRIVATE_OR_TRANSLATED)
    openings = (*meaning.openings, *meaning.spared)
    return tuple(each for each in openings if names_some_of(each, ranges))


def _floor(
    meaning: CompiledAllowlists, spared: Sequence[Opening], target: RenderTarget
) -> list[Json]:
    """Return what every namespace has.

    Nothing is open but DNS, and reserved addresses are denied, private ones too unless an opening
    names them.
    """
    # A Pod's resolver tries each name under the cluster's zone first, and musl's gives up where
    # such a question is refused. The cluster's DNS answers for that zone itself, and asks nobody.
    zone = name_patterns(f"*.{target.dns.domain}", target.engine)
    namespace, dns, closed = meaning.namespace, target.dns, selector(meaning.selects)
    guards = build_guards(spared, target.reserved, dns.addresses)
    private: tuple[RangeGuard, ...] = ()
    if target.engine.learns_names:  # Whoever owns a name chooses where it leads.
        private = build_guards(spared, PRIVATE_OR_TRANSLATED, dns.addresses, ranges_in_opening)
    return [
        _policy(namespace, DEFAULT_DENY, closed, {"egress": [{}]}),
        _policy(namespace, DNS, closed, {"egress": dns_rules(target, zone)}),
        *_guards(meaning, GUARD, guards, _kept_closed(meaning)),
        *_guards(meaning, f"{GUARD}-private", private, _kept_closed(meaning)),
        *_dns_guards(meaning, spared, target),
        *_break_glass(meaning, spared, target),
    ]


def _kept_closed(meaning: CompiledAllowlists) -> Requirements | None:
    """Return which Pods no BreakGlass opens; None for none."""
    if meaning.opened is None:
        return meaning.selects
    others = (Requirement(each.key, "NotIn", each.values) for each in meaning.opened)
    return sort_requirements((*meaning.selects, *others)) if meaning.opened else None


def _break_glass(
    meaning: CompiledAllowlists, spared: Sequence[Opening], target: RenderTarget
) -> Iterator[Json]:
    """Yield what opens every connection of Pods, but to what is reserved everywhere.

    Of the guards these have those alone that deny that. DNS is told by itself: a rule without ports
    leaves the names as they are that the rules of DNS name.
    """
    who = meaning.open_pods
    if who is None:
        return
    guards = build_guards(spared, ALWAYS_RESERVED, target.dns.addresses)
    yield from _guards(meaning, f"{GUARD}-open", guards, who)
    families = target.engine.ip_families
    blocks = (each for each in EVERYWHERE_ELSE if family_of(each.network) in families)
    items = sorted(block_items("toCIDRSet", (((), each) for each in blocks)))
    outside = [{field: peers} for field, _, peers in rules(items)]
    pods = {"toEndpoints": [selector_of(Pods("", namespaces=()))]}
    nodes = {"toEntities": ["host", "remote-node", "unmanaged", _API_SERVER]}
    rules_of = {"egress": [pods, nodes, *outside, *dns_rules(target, None)]}
    yield _policy(meaning.namespace, BREAK_GLASS, selector(who), rules_of)


def _guards(
    meaning: CompiledAllowlists,
    name: str,
    guards: Iterable[RangeGuard],
    who: Requirements | None,
) -> Iterator[Json]:
    """Yield the policies of guards for some Pods; None for no Pods."""
    if who is not None:
        for index, each in enumerate(guards):
            yield _guard(meaning.namespace, f"{name}-{index}", each, who)


def _dns_guards(
    meaning: CompiledAllowlists, spared: Sequence[Opening], target: RenderTarget
) -> Iterator[Json]:
    """Yield what denies reserved addresses of the cluster's DNS on all ports but its own.

    The other guards spare them, and a name's owner could answer with them.
    """
    dns = target.dns
    reserved = [each for each in dns.addresses if any_holds(target.reserved, each)]
    if target.engine.version < PORT_RANGES:
        return
    every = (PortRange(protocol, 1, MAX_PORT) for protocol in ("TCP", "UDP"))
    but_dns = tuple(part for each in every for part in without_dns(each, dns.port))
    for index, each in enumerate(build_guards(spared, reserved)):
        yield _guard(meaning.namespace, f"{GUARD}-dns-{index}", each, meaning.selects, but_dns)


def _guard(
    namespace: str, name: str, guard: RangeGuard, who: Requirements, ports: Ports = ()
) -> Json:
    """Return the policy of a guard for some Pods; without ports it denies all of them."""
    if guard.but_for:
        others = Requirement(names.EGRESS_ACCOUNT_LABEL, "NotIn", guard.but_for)
        who = sort_requirements((*who, others))
    items = sorted(block_items("toCIDRSet", ((ports, block) for block in guard.blocks)))
    on = open_on(ports) if ports else [{}]
    denied = [{field: peers, **each} for field, _, peers in rules(items) for each in on]
    return _policy(namespace, name, selector(who), {"egressDeny": denied})


def _allowlist(
    namespace: str, openings: list[Opening], said: list[RenderedOpening], target: RenderTarget
) -> tuple[list[Json], list[Problem]]:
    """Return the policies of one allowlist; `said` is of its openings."""
    allowlist, selects = openings[0].allowlist, selector(openings[0].selects)
    empty = _policy(namespace, allow_name(allowlist, 0), selects, {}, allowlist)
    fixed = len(msgspec.json.encode([empty, dns_rules(target, [])]))
    policies, too_large = pack(_items(said, target), fixed)
    problems = []
    if too_large:
        problems = [
            too_large_problem(opening)
            for opening, each in zip(openings, said, strict=True)
            if pack(_items([each], target), fixed)[1]
        ]
    return [
        _policy(
            namespace,
            allow_name(allowlist, index),
            selects,
            {"egress": list(_rules(items, target))},
            allowlist,
        )
        for index, items in policies.items()
    ], problems


def _items(said: list[RenderedOpening], target: RenderTarget) -> Iterator[PolicyItem]:
    yield from block_items("toCIDRSet", (block for each in said for block in each.blocks))
    for each in said:
        yield from each.items
        for name in each.names:
            for pattern in name_patterns(name, target.engine):
                yield item_of(_DNS_FIELD, (), pattern)


def _rules(items: list[PolicyItem], target: RenderTarget) -> Iterator[Json]:
    for field, ports, peers in rules(items):
        if field == _DNS_FIELD:
            yield from dns_rules(target, peers)
        else:
            yield from ({field: peers, **each} for each in open_on(ports))


def _accounts(selects: Requirements) -> Iterator[str]:
    for each in selects:
        if each.key == names.EGRESS_ACCOUNT_LABEL:
            yield from each.values


def _too_many(opening: Opening, size: int) -> Problem:
    message = (
        f"the allowlist takes about {size} entries of Cilium's policy map, which has {MAP_ENTRIES} "
        "for a Pod: all of it stays closed until it is narrower"
    )
    return Problem(opening.allowlist, opening.path, "TooManyEntries", message)


def _crowded(meaning: CompiledAllowlists, entries: dict[str, int]) -> Iterator[Problem]:
    """Yield warnings of allowlists that fill a Pod's policy map together.

    None is closed for what others take: then removing one of them would open another. Cilium itself
    leaves out what goes beyond, so more is closed, and nothing is open that nobody named.
    """
    for openings in by_allowlist(meaning):
        size = max((entries.get(each, 0) for each in _accounts(openings[0].selects)), default=0)
        if size > WARN_AT:
            message = (
                f"with others takes about {size} of the {MAP_ENTRIES} entries of Cilium's policy "
                "map for a Pod: what goes beyond stays closed, whichever it is"
            )
            yield Problem(openings[0].allowlist, "spec.to", "PolicyMapFull", message, closes=False)


def _policy(
    namespace: str, name: str, endpoints: Json, rules_of: Json, allowlist: str = ""
) -> Json:
    spec = {"endpointSelector": endpoints, **rules_of}
    metadata = {"name": name, "namespace": namespace}
    return generated_object(API_VERSION, KIND, metadata, spec, allowlist=allowlist)
