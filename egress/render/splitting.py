"""Puts what is open into rules and policies, of a size that kube-apiserver and engines bear. Pure.

Policies only add, so one cut in parts means the same.
"""

from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby
from typing import Final

import msgspec

from core.destinations import PortRange
from core.networks import Network, collapse
from egress.openings import Block, Meaning, Opening, Problem
from egress.render.naming import Json

MAX_BYTES: Final = 512 * 1024
"""Of one object as JSON: etcd takes 1.5 MiB in a request (`--max-request-bytes`)."""
MAX_PEERS: Final = 1000
"""Of one policy: about 40 KB of networks, which is what one changed address costs to send."""

Ports = tuple[PortRange, ...]


def by_allowlist(meaning: Meaning) -> Iterator[list[Opening]]:
    """Yield the openings of each allowlist, one or more, which all select the same Pods."""
    ordered = sorted(meaning.openings, key=lambda each: each.allowlist)
    for _, openings in groupby(ordered, key=lambda each: each.allowlist):
        yield list(openings)


class Item(msgspec.Struct, frozen=True, order=True, gc=False):
    """One peer of a rule. Items that are ordered make the same policies, whoever gave them."""

    field: str
    """Of the rule, such as `to` or `toFQDNs`."""
    ports: Ports
    order: bytes
    """Its place among its like; equal for equal peers alone."""
    peer: bytes
    """As JSON."""


def item_of(field: str, ports: Ports, peer: Json) -> Item:
    """Give the item of a peer that is no network."""
    text = msgspec.json.encode(peer, order="deterministic")
    return Item(field, ports, b"\xff" + text, text)


def block_items(field: str, opened: Iterable[tuple[Ports, Block]]) -> Iterator[Item]:
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


def _block_item(field: str, ports: Ports, block: Block) -> Item:
    peer: Json = {"cidr": str(block.network)}
    if block.excepts:
        peer["except"] = [str(each) for each in block.excepts]
    network = block.network
    head = bytes((network.version,)) + network.network_address.packed
    whole = {"ipBlock": peer} if field == "to" else peer
    text = msgspec.json.encode(whole, order="deterministic")
    return Item(field, ports, head + bytes((network.prefixlen,)) + text, text)


def pack(
    items: Iterable[Item], fixed: int, *, max_bytes: int = MAX_BYTES, max_peers: int = MAX_PEERS
) -> tuple[list[list[Item]], list[Item]]:
    """Cut items, each once, into policies; give these, and items that fit into no policy.

    `fixed` is the size of a policy without rules.
    """
    policies: list[list[Item]] = []
    too_large: list[Item] = []
    size, rule = 0, None
    for item in sorted(set(items)):
        of_rule = _rule_size(item)
        of_peer = len(item.peer) + 1
        if fixed + of_rule + of_peer > max_bytes:
            too_large.append(item)
            continue
        key = (item.field, item.ports)
        added = of_peer + (of_rule if key != rule else 0)
        if not policies or size + added > max_bytes or len(policies[-1]) == max_peers:
            policies.append([])
            size, added = fixed, of_peer + of_rule
        policies[-1].append(item)
        size, rule = size + added, key
    return policies, too_large


def too_large_problem(opening: Opening) -> Problem:
    """Say that a peer of an opening fits into no policy."""
    message = "the selector of Pods is too large for a policy: shorten it"
    return Problem(opening.allowlist, opening.path, "TooLarge", message)


def rules(policy: Sequence[Item]) -> Iterator[tuple[str, Ports, list[Json]]]:
    """Yield the rules of a policy: the field, the ports, the peers, of which there is one or more.

    None has an empty list of peers, which would mean everywhere.
    """
    for (field, ports), items in groupby(policy, key=lambda item: (item.field, item.ports)):
        yield field, ports, [msgspec.json.decode(item.peer) for item in items]


def _rule_size(item: Item) -> int:
    """Give an upper bound of what a rule takes beside its peers."""
    return 256 + 80 * len(item.ports)
