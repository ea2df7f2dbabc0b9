"""Partitions openings into rules and policies that kube-apiserver and engines can hold. Pure.

Policies only add, so one cut in parts means the same.
"""

import hashlib
from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby
from typing import Final

import msgspec

from core.base.networks import Network, collapse
from core.egress.destinations import PortRange
from egress.model.openings import Block, CompiledAllowlists, Opening, Problem
from egress.render.generated_objects import Json

MAX_BYTES: Final = 512 * 1024
"""Of one object as JSON: etcd takes 1.5 MiB in a request (`--max-request-bytes`)."""
MAX_PEERS: Final = 1000
"""Of one policy: about 40 KB of networks, which is what one changed address costs to send."""

_IPV6: Final = b"\x06"
_RULE_BYTES: Final = 256
_PORT_BYTES: Final = 80

Ports = tuple[PortRange, ...]


def by_allowlist(meaning: CompiledAllowlists) -> Iterator[list[Opening]]:
    """Yield the openings of each allowlist, one or more, which all select the same Pods."""
    ordered = sorted(meaning.openings, key=lambda each: each.allowlist)
    for _, openings in groupby(ordered, key=lambda each: each.allowlist):
        yield list(openings)


class PolicyItem(msgspec.Struct, frozen=True, order=True, gc=False):
    """One peer of a rule. Items that are ordered make the same policies, whoever gave them."""

    field: str
    """Of the rule, such as `to` or `toFQDNs`."""
    ports: Ports
    order: bytes
    """Its place among its like; equal for equal peers alone."""
    peer: bytes
    """As JSON."""

    @property
    def is_ipv6(self) -> bool:
        """Whether it is an IPv6 network."""
        return self.order[:1] == _IPV6

    @property
    def place(self) -> int:
        """A number that is the same wherever and whenever it is worked out."""
        text = msgspec.json.encode((self.field, self.ports, self.peer))
        return int.from_bytes(hashlib.sha256(text).digest()[:8])


def item_of(field: str, ports: Ports, peer: Json | str) -> PolicyItem:
    """Return the item of a peer that is no network: a selector, or the name of an entity."""
    text = msgspec.json.encode(peer, order="deterministic")
    return PolicyItem(field, ports, b"\xff" + text, text)


def block_items(field: str, opened: Iterable[tuple[Ports, Block]]) -> Iterator[PolicyItem]:
    """Yield items for blocks, networks without exceptions collapsed for each list of ports.

    `field` has peers of the shape of NetworkPolicy's `ipBlock`, or it wraps them in it (`to`).
    """
    plain: dict[Ports, list[Network]] = {}
    cut: set[tuple[Ports, Block]] = set()
    for ports, block in opened:
        if block.excepts:
            cut.add((ports, block))
        else:
            plain.setdefault(ports, []).append(block.network)
    for ports, networks in plain.items():
        for network in collapse(networks):
            yield _block_item(field, ports, Block(network))
    for ports, block in cut:
        yield _block_item(field, ports, block)


def _block_item(field: str, ports: Ports, block: Block) -> PolicyItem:
    peer: Json = {"cidr": str(block.network)}
    if block.excepts:
        peer["except"] = [str(each) for each in block.excepts]
    network = block.network
    head = bytes((network.version,)) + network.network_address.packed
    whole = {"ipBlock": peer} if field == "to" else peer
    text = msgspec.json.encode(whole, order="deterministic")
    return PolicyItem(field, ports, head + bytes((network.prefixlen,)) + text, text)


def pack(
    items: Iterable[PolicyItem],
    fixed: int,
    *,
    max_bytes: int = MAX_BYTES,
    max_peers: int = MAX_PEERS,
) -> tuple[dict[int, list[PolicyItem]], list[PolicyItem]]:
    """Cut items, each once, into policies by place; give these, and items that fit into no policy.

    `fixed` is the size of a policy without rules. An item's place is its digest modulo the least
    power of two that will do. So a change of one item writes one policy; and where places come or
    go, items move only to policies that are new, or from some that go: as the new are made before
    the others change, and the rest is deleted after that, no item is away for a moment.
    """
    fitting: list[PolicyItem] = []
    too_large: list[PolicyItem] = []
    for item in sorted(set(items)):
        fits = fixed + _size([item]) <= max_bytes
        (fitting if fits else too_large).append(item)
    places = 1
    while True:
        policies = _by_place(fitting, places)
        if all(
            len(each) <= max_peers and fixed + _size(each) <= max_bytes
            for each in policies.values()
        ):
            return policies, too_large
        places *= 2


def _by_place(items: Iterable[PolicyItem], places: int) -> dict[int, list[PolicyItem]]:
    found: dict[int, list[PolicyItem]] = {}
    for item in items:
        found.setdefault(item.place % places, []).append(item)
    return dict(sorted(found.items()))


def _size(policy: Sequence[PolicyItem]) -> int:
    """Return an upper bound of what items take as the rules of one policy."""
    keys = {(item.field, item.ports) for item in policy}
    rules = sum(_RULE_BYTES + _PORT_BYTES * len(ports) for _, ports in keys)
    return rules + sum(len(item.peer) + 1 for item in policy)


def too_large_problem(opening: Opening) -> Problem:
    """Say that a peer of an opening fits into no policy."""
    message = "the selector of Pods is too large for a policy: shorten it"
    return Problem(opening.allowlist, opening.path, "TooLarge", message)


def rules(policy: Sequence[PolicyItem]) -> Iterator[tuple[str, Ports, list[Json]]]:
    """Yield the rules of a policy: the field, the ports, the peers, of which there is one or more.

    None has an empty list of peers, which would mean everywhere.
    """
    for (field, ports), items in groupby(policy, key=lambda item: (item.field, item.ports)):
        yield field, ports, [msgspec.json.decode(item.peer) for item in items]
