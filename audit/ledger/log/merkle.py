"""Merkle trees of RFC 9162, section 2.1: roots, growing, and proofs with their verification. Pure.

A tree is known by its size and by its frontier: the roots of the whole subtrees that it falls
into, the largest first. Proofs are given as ranges of leaves, so that whoever has leaves, tiles or
an export reads no more than is needed. Nothing but hashlib is used: a verifier may copy this file.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from hashlib import sha256
from typing import Final

HASH_BYTES: Final = 32

EMPTY_ROOT: Final = sha256(b"").digest()
"""Of no leaves at all (2.1.1)."""

Range = tuple[int, int]
"""Leaves from the first, which is included, to the last, which is not."""

Node = tuple[int, int]
"""A whole subtree: its level (leaves are of level 0) and its index among those of the level."""

ReadNode = Callable[[int, int], bytes]
"""Gives the hash of a node by its level and index."""


def hash_leaf(data: bytes) -> bytes:
    """Return the hash of a leaf's data (2.1.1)."""
    return sha256(b"\0" + data).digest()


def hash_node(left: bytes, right: bytes) -> bytes:
    """Return the hash of a node with these two below it (2.1.1)."""
    return sha256(b"\1" + left + right).digest()


@dataclass(frozen=True, slots=True)
class Frontier:
    """What is known of a tree that only grows: its size and the roots of its whole subtrees."""

    size: int = 0
    hashes: tuple[bytes, ...] = ()
    """One for each bit that is set in `size`, the highest first."""

    def __post_init__(self) -> None:
        """Demand as many hashes as the size has bits.

        Raises:
            ValueError: there are more or fewer, or one is no SHA-256.
        """
        if self.size < 0 or len(self.hashes) != self.size.bit_count():
            message = f"a tree of {self.size} leaves has no frontier of {len(self.hashes)} hashes"
            raise ValueError(message)
        if any(len(each) != HASH_BYTES for each in self.hashes):
            raise ValueError("a hash of the frontier is not 32 bytes long")

    @property
    def root(self) -> bytes:
        """The root of the tree."""
        return fold(self.hashes)


@dataclass(frozen=True, slots=True)
class WholeSubtree:
    """A subtree that became whole when its tree grew."""

    level: int
    index: int
    hash: bytes


def grow(
    frontier: Frontier, leaves: Sequence[bytes], every: int = 0
) -> tuple[Frontier, list[WholeSubtree]]:
    """Append hashes of leaves; give the tree after it, and the subtrees that became whole.

    Of those only the ones whose level is a multiple of `every` (and no leaf) are given.
    """
    size = frontier.size + len(leaves)
    hashes = list(frontier.hashes)
    start, row, level = frontier.size, list(leaves), 0
    after: list[bytes] = []
    whole: list[WholeSubtree] = []
    while size >> level:
        if every and level and level % every == 0:
            whole += [WholeSubtree(level, start + at, each) for at, each in enumerate(row)]
        if start & 1:
            row.insert(0, hashes.pop())
        if len(row) & 1:
            after.append(row.pop())
        row = [
            sha256(b"\1" + left + right).digest()
            for left, right in zip(row[::2], row[1::2], strict=True)
        ]
        start >>= 1
        level += 1
    return Frontier(size, tuple(reversed(after))), whole


def fold(hashes: Sequence[bytes]) -> bytes:
    """Return the root of neighbouring whole subtrees, the largest first, which fall off in size."""
    if not hashes:
        return EMPTY_ROOT
    root = hashes[-1]
    for each in reversed(hashes[:-1]):
        root = hash_node(each, root)
    return root


def root_of(leaves: Sequence[bytes]) -> bytes:
    """Return the root of a tree with these hashes of leaves."""
    return grow(Frontier(), leaves)[0].root


def whole_nodes(begin: int, end: int) -> Iterator[Node]:
    """Yield the whole subtrees that leaves fall into, the largest first.

    `begin` must be where a subtree of so many leaves may begin, as in all ranges of proofs.
    """
    while begin < end:
        level = (end - begin).bit_length() - 1
        yield level, begin >> level
        begin += 1 << level


def range_root(begin: int, end: int, read: ReadNode) -> bytes:
    """Return the root over a range of a proof, from the nodes that it falls into."""
    return fold([read(level, index) for level, index in whole_nodes(begin, end)])


def inclusion_ranges(index: int, size: int) -> list[Range]:
    """Return the ranges whose roots prove that a leaf is in a tree of this size (2.1.3.1).

    Raises:
        ValueError: there is no such leaf in it.
    """
    if not 0 <= index < size:
        message = f"a tree of {size} leaves has none at {index}"
        raise ValueError(message)
    ranges: list[Range] = []
    begin, end = 0, size
    while end - begin > 1:
        middle = begin + _largest_power_below(end - begin)
        if index < middle:
            ranges.append((middle, end))
            end = middle
        else:
            ranges.append((begin, middle))
            begin = middle
    return ranges[::-1]


def consistency_ranges(first: int, second: int) -> list[Range]:
    """Return the ranges whose roots prove that a tree of one size began the other (2.1.4.1).

    Raises:
        ValueError: the sizes are none, or the first is larger.
    """
    if not 0 <= first <= second:
        message = f"a tree of {second} leaves does not begin with one of {first}"
        raise ValueError(message)
    ranges: list[Range] = []
    begin, end = 0, second
    while first not in {0, end}:
        middle = begin + _largest_power_below(end - begin)
        if first <= middle:
            ranges.append((middle, end))
            end = middle
        else:
            ranges.append((begin, middle))
            begin = middle
    if begin:  # Else the verifier has it: it is the root of the first tree.
        ranges.append((begin, end))
    return ranges[::-1]


def proof_of(ranges: Sequence[Range], read: ReadNode) -> list[bytes]:
    """Return the proof of `inclusion_ranges` or `consistency_ranges`."""
    return [range_root(begin, end, read) for begin, end in ranges]


def proves_inclusion(
    leaf: bytes, index: int, size: int, proof: Sequence[bytes], root: bytes
) -> bool:
    """Return whether a proof shows the hash of a leaf to be at its place in a tree (2.1.3.2)."""
    if not 0 <= index < size:
        return False
    at, last, found = index, size - 1, leaf
    for each in proof:
        if last == 0:
            return False
        if at & 1 or at == last:
            found = hash_node(each, found)
            while not at & 1 and at:
                at, last = at >> 1, last >> 1
        else:
            found = hash_node(found, each)
        at, last = at >> 1, last >> 1
    return last == 0 and found == root


def proves_consistency(
    first: int, second: int, first_root: bytes, second_root: bytes, proof: Sequence[bytes]
) -> bool:
    """Return whether a proof shows that the second tree begins with the first (2.1.4.2)."""
    if not 0 <= first <= second:
        return False
    if first in {0, second}:
        expected = EMPTY_ROOT if first == 0 else second_root
        return not proof and first_root == expected
    path = list(proof) if first & (first - 1) else [first_root, *proof]
    if not path:
        return False
    at, last = first - 1, second - 1
    while at & 1:
        at, last = at >> 1, last >> 1
    old = new = path[0]
    for each in path[1:]:
        if last == 0:
            return False
        if at & 1 or at == last:
            old, new = hash_node(each, old), hash_node(each, new)
            while not at & 1 and at:
                at, last = at >> 1, last >> 1
        else:
            new = hash_node(new, each)
        at, last = at >> 1, last >> 1
    return last == 0 and old == first_root and new == second_root


def _largest_power_below(number: int) -> int:
    """Return the largest power of two that is smaller."""
    return 1 << (number - 1).bit_length() - 1
