"""Guards: rules that deny reserved addresses, for engines that can deny. Pure.

Where an engine learns addresses of names by itself, nobody but a rule that denies keeps a name's
owner from answering with the metadata service's.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Final

import msgspec

from core.base import names
from core.base.networks import Network, any_holds, collapse, holds, subtract
from egress.model.openings import Addresses, Block, Name, Opening, Service

MOST_NAMED: Final = 256
"""Networks that guards of a namespace are cut around one by one. Each hole takes some ten entries
of the policy map of every Pod, and all pairs of them are compared."""


class RangeGuard(msgspec.Struct, frozen=True):
    """Addresses that are denied to all Pods of a namespace but those of some service accounts."""

    blocks: tuple[Block, ...]
    """Never empty."""
    but_for: tuple[str, ...] = ()
    """Values of the gate's label; sorted."""


def names_some_of(opening: Opening, ranges: Sequence[Network]) -> bool:
    """Return whether an opening names, as such, addresses in one of the ranges."""
    return any(
        any_holds(ranges, block.network) or any(holds(block.network, each) for each in ranges)
        for block in _blocks(opening)
    )


def reserved_in_opening(opening: Opening, reserved: Sequence[Network]) -> tuple[Network, ...]:
    """Return the reserved ranges that an opening names, collapsed."""
    return collapse(
        part
        for block in _blocks(opening)
        if any_holds(reserved, block.network)
        for part in subtract(block.network, block.excepts)
    )


def _blocks(opening: Opening) -> tuple[Block, ...]:
    """Return the addresses that an opening names as such, and not by what a name's owner says."""
    match opening.peer:
        case Addresses(found):
            return found
        case Name(_, addresses, pinned=True):
            return tuple(map(Block, addresses))
        case Service(backends=backends, is_api_server=True):
            return tuple(Block(one) for each in backends for one in each.addresses)
        case _:
            return ()


def ranges_in_opening(opening: Opening, ranges: Sequence[Network]) -> tuple[Network, ...]:
    """Return what of ranges an opening names, collapsed, whether it names more or less."""
    return collapse(
        part
        for block in _blocks(opening)
        for whole in subtract(block.network, block.excepts)
        for part in (whole, *(each for each in ranges if holds(whole, each)))
        if any_holds(ranges, part)
    )


def build_guards(
    openings: Iterable[Opening],
    reserved: Sequence[Network],
    spared: Sequence[Network] = (),
    named: Callable[[Opening, Sequence[Network]], tuple[Network, ...]] = reserved_in_opening,
) -> tuple[RangeGuard, ...]:
    """Return what is denied, so that no guard denies a Pod what an opening of its own names.

    `spared` is denied to nobody: the addresses of the cluster's DNS. `named` says what of the
    ranges an opening names.

    Accounts are spared as a whole: for the other Pods of an account that some opening names the
    range for, it is closed as everything is, and only names may lead there. Who names a part of a
    range that others name is spared in that part alone; where more than `MOST_NAMED` parts are
    named, in the whole range.
    """
    accounts = _accounts_by_network(openings, reserved, named)
    if len(accounts) > MOST_NAMED:
        accounts = _by_range(accounts, reserved)
    open_there = collapse((*accounts, *spared))
    base = tuple(_without(each, open_there) for each in reserved if not any_holds(open_there, each))
    found = [RangeGuard(base)] if base else []
    by_accounts: dict[tuple[str, ...], list[Block]] = {}
    for network in sorted(accounts, key=_place):
        if any_holds(spared, network):
            continue
        who = set().union(*(some for other, some in accounts.items() if holds(other, network)))
        others = (*(each for each in accounts if each != network), *spared)
        parts = collapse(each for each in others if holds(network, each))
        if subtract(network, parts):
            by_accounts.setdefault(tuple(sorted(who)), []).append(Block(network, parts))
    found += [RangeGuard(tuple(blocks), who) for who, blocks in sorted(by_accounts.items())]
    return tuple(found)


def _place(network: Network) -> tuple[int, int, int]:
    return network.version, int(network.network_address), network.prefixlen


def _accounts_by_network(
    openings: Iterable[Opening],
    reserved: Sequence[Network],
    named: Callable[[Opening, Sequence[Network]], tuple[Network, ...]],
) -> Mapping[Network, frozenset[str]]:
    found: dict[Network, frozenset[str]] = {}
    for opening in openings:
        for network in named(opening, reserved):
            found[network] = found.get(network, frozenset()) | frozenset(_accounts(opening))
    return found


def _by_range(
    accounts: Mapping[Network, frozenset[str]], ranges: Sequence[Network]
) -> Mapping[Network, frozenset[str]]:
    """Return the same by whole ranges."""
    found: dict[Network, frozenset[str]] = {}
    for network, who in accounts.items():
        whole = next((each for each in ranges if holds(each, network)), network)
        found[whole] = found.get(whole, frozenset()) | who
    return found


def _accounts(opening: Opening) -> Iterator[str]:
    """Yield the values of the gate's label that an opening selects."""
    for each in opening.selects:
        if each.key == names.EGRESS_ACCOUNT_LABEL and each.operator == "In":
            yield from each.values


def _without(network: Network, named: Iterable[Network]) -> Block:
    return Block(network, tuple(each for each in named if holds(network, each)))
