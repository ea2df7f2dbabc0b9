"""Says for each opening what a CiliumNetworkPolicy has of it, and what it cannot have. Pure."""

from collections.abc import Iterable, Iterator, Sequence

import msgspec

from core.base.networks import any_holds, subtract
from core.egress.dns_names import ANY, is_wildcard
from egress.model.openings import Addresses, Block, Name, Opening, Pods, Problem, Service
from egress.render.cilium_words import (
    LABELS_WRITTEN_OUT,
    MANY_LABELS,
    map_entries,
    of_namespace,
    patterns,
    unsaid_ports,
    unseen_label,
)
from egress.render.generated_objects import Json
from egress.render.partition import Item, Ports, item_of
from egress.render.target import Target


class Said(msgspec.Struct, frozen=True):
    """What policies have of an opening."""

    blocks: tuple[tuple[Ports, Block], ...] = ()
    items: tuple[Item, ...] = ()
    """Peers that are no networks."""
    names: tuple[str, ...] = ()
    """What Pods may ask the cluster's DNS for."""
    entries: int = 0
    """Of the policy map, of each Pod that it is open for."""
    problems: tuple[Problem, ...] = ()


def said_of(opening: Opening, target: Target) -> Said:
    """Give what is said of an opening; of one that cannot be said nothing but the reason."""
    if why := next(_unsaid(opening, target), ""):
        return Said(problems=(_problem(opening, why),))
    return _said(opening, target)


def _unsaid(opening: Opening, target: Target) -> Iterator[str]:
    """Yield why it cannot be said as a whole."""
    peer, engine = opening.peer, target.engine
    ports = (
        (each for backend in peer.backends for each in backend.ports)
        if isinstance(peer, Service)
        else opening.ports
    )
    yield from unsaid_ports(tuple(ports), engine)
    selectors = [opening.selects]
    match peer:
        case Pods():
            selectors.append(peer.requirements)
        case Service():
            selectors.append(peer.selector)
            yield from _unsaid_service(peer)
        case Name(pattern=pattern):
            yield from _unsaid_name(pattern, target)
    for each in filter(None, map(unseen_label, selectors)):
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


def _unsaid_name(pattern: str, target: Target) -> Iterator[str]:
    if pattern == ANY and target.engine.kind == "cilium-aks":
        yield "AKS takes no wildcard for every name: name domains, such as *.example.com"
    if f".{pattern}".endswith(f".{target.dns.domain}"):
        yield f"{pattern} is a name of the cluster's own, behind which are Pods: write `service`"


def _said(opening: Opening, target: Target) -> Said:
    peer, ports = opening.peer, opening.ports
    match peer:
        case Addresses(blocks):
            return _blocks(opening, blocks, target)
        case Name():
            return _name(opening, peer, target)
        case Pods():
            return _endpoints(of_namespace(peer.namespace, peer.requirements), [ports])
        case Service():
            selector = of_namespace(peer.namespace, peer.selector)
            return _endpoints(selector, [backend.ports for backend in peer.backends[:1]])


def _name(opening: Opening, peer: Name, target: Target) -> Said:
    asked, ports = _asked(peer.pattern, target), opening.ports
    if peer.pinned:
        said = _blocks(opening, map(Block, peer.addresses), target)
        return msgspec.structs.replace(said, names=asked)
    items = tuple(item_of("toFQDNs", ports, each) for each in patterns(peer.pattern, target.engine))
    entries = max(1, len(peer.addresses)) * map_entries(ports)
    problems = tuple(_narrowed(opening, peer.pattern, target))
    return Said(items=items, names=asked, entries=entries, problems=problems)


def _endpoints(selector: Json, ports: Sequence[Ports]) -> Said:
    """Give Pods on ports; one list of them at most."""
    return Said(
        items=tuple(item_of("toEndpoints", each, selector) for each in ports),
        entries=sum(map(map_entries, ports)),
    )


def _blocks(opening: Opening, blocks: Iterable[Block], target: Target) -> Said:
    """Give networks, but for those of Pods, Services and nodes, which no CIDR rule matches."""
    wanted = tuple(blocks)
    found = [each for each in wanted if not any_holds(target.ranges, each.network)]
    lost = [each for each in wanted if any_holds(target.ranges, each.network)]
    problems: tuple[Problem, ...] = ()
    if lost:
        shown = ", ".join(str(each.network) for each in lost)
        why = f"Cilium's CIDR rules match neither Pods nor nodes, where {shown} lies: name `pods`"
        problems = (_problem(opening, why),)
    pieces = sum(len(subtract(each.network, each.excepts)) for each in found)
    return Said(
        blocks=tuple((opening.ports, each) for each in found),
        entries=pieces * map_entries(opening.ports),
        problems=problems,
    )


def _asked(pattern: str, target: Target) -> tuple[str, ...]:
    """Give the names that Pods ask for: a name itself, and under each domain of a search list."""
    if pattern == ANY:
        return (pattern,)
    return (pattern, *(f"{pattern}.{domain}" for domain in target.dns.search))


def _narrowed(opening: Opening, pattern: str, target: Target) -> Iterator[Problem]:
    if is_wildcard(pattern) and pattern != ANY and target.engine.version < MANY_LABELS:
        message = (
            f"names with more than {LABELS_WRITTEN_OUT} labels before those of {pattern} stay "
            "closed: Cilium knows wildcards for any number of them from 1.19"
        )
        yield Problem(opening.allowlist, opening.path, "Narrowed", message, closes=False)


def _problem(opening: Opening, why: str) -> Problem:
    return Problem(opening.allowlist, opening.path, "CannotSay", why)
