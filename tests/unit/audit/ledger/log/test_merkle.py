"""Merkle trees as RFC 9162 has them: the published vectors, and what must hold for all trees.

The vectors are in transparency-dev/merkle (`testonly/constants.go`, `testonly/reference_test.go`)
and in the C++ tests of certificate-transparency (`merkle_tree_test.cc`), which RFC 9162's trees
equal.
"""

from collections.abc import Sequence
from hashlib import sha256
from typing import Final

import pytest
from hypothesis import given
from hypothesis import strategies as st

from audit.ledger.log.merkle import (
    EMPTY_ROOT,
    Frontier,
    ReadNode,
    consistency_ranges,
    grow,
    hash_leaf,
    inclusion_ranges,
    proof_of,
    proves_consistency,
    proves_inclusion,
    root_of,
)

LEAVES: Final = tuple(
    bytes.fromhex(each)
    for each in (
        "",
        "00",
        "10",
        "2021",
        "3031",
        "40414243",
        "5051525354555657",
        "606162636465666768696a6b6c6d6e6f",
    )
)

ROOTS: Final = tuple(
    bytes.fromhex(each)
    for each in (
        "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
        "6e340b9cffb37a989ca544e6bb780a2c78901d3fb33738768511a30617afa01d",
        "fac54203e7cc696cf0dfcb42c92a1d9dbaf70ad9e621f4bd8d98662f00e3c125",
        "aeb6bcfe274b70a14fb067a5e5578264db0fa9b51af5e0ba159158f329e06e77",
        "d37ee418976dd95753c1c73862b9398fa2a2cf9b4ff0fdfe8b30cd95209614b7",
        "4e3bbb1f7b478dcfe71fb631631519a3bca12c9aefca1612bfce4c13a86264d4",
        "76e67dadbcdf1e10e1b74ddc608abd2f98dfb16fbce75277b5232a127f2087ef",
        "ddb89be403809e325750d3d263cd78929c2942b7942a34b77e122c9594a74c8c",
        "5dc9da79a70659a9ad559cb701ded9a2ab9d823aad2f4960cfe370eff4604328",
    )
)
"""Of the first none, one, two … of LEAVES."""

_A = "6e340b9cffb37a989ca544e6bb780a2c78901d3fb33738768511a30617afa01d"
_AB = "fac54203e7cc696cf0dfcb42c92a1d9dbaf70ad9e621f4bd8d98662f00e3c125"
_ABCD = "d37ee418976dd95753c1c73862b9398fa2a2cf9b4ff0fdfe8b30cd95209614b7"
_B = "96a296d224f285c67bee93c30f8a309157f0daa35dc5b87e410b78630a09cfc7"
_CD = "5f083f0a1a33ca076a95279832580db3e0ef4584bdff1f54c8a360f50de3031e"
_E = "bc1a0643b12e4d2d7c77918f44e0f4f79a838b6cf9ec5b5c283e1f4d88599e6b"
_EF = "0ebc5d3437fbe2db158b9f126a1d118e308181031d0a949f8dededebc558ef6a"
_EFGH = "6b47aaf29ee3c2af9af889bc1fb9254dabd31177f16232dd6aab035ca39bf6e4"
_GH = "ca854ea128ed050b41b35ffc1b87b8eb2bde461e9e3b5596ece6b9d5975a0ae0"

INCLUSION: Final = (
    (0, 1, ()),
    (0, 8, (_B, _CD, _EFGH)),
    (5, 8, (_E, _GH, _ABCD)),
    (2, 3, (_AB,)),
    (1, 5, (_A, _CD, _E)),
)
"""The leaf, the size of the tree, and the proof."""

CONSISTENCY: Final = (
    (1, 1, ()),
    (1, 8, (_B, _CD, _EFGH)),
    (6, 8, (_EF, _GH, _ABCD)),
    (2, 5, (_CD, _E)),
)
"""The size of the tree, of the later one, and the proof."""


_HASHES = [hash_leaf(each) for each in LEAVES]


def _plain(hashes: Sequence[bytes]) -> bytes:
    """Return MTH as section 2.1.1 has it, by recursion."""
    if len(hashes) < 2:
        return hashes[0] if hashes else sha256(b"").digest()
    half = 1
    while half * 2 < len(hashes):
        half *= 2
    return sha256(b"\1" + _plain(hashes[:half]) + _plain(hashes[half:])).digest()


def _reader(hashes: Sequence[bytes]) -> ReadNode:
    def read(level: int, index: int) -> bytes:
        return _plain(hashes[index << level : (index + 1) << level])

    return read


def _made(count: int) -> list[bytes]:
    return [hash_leaf(number.to_bytes(4)) for number in range(count)]


@pytest.mark.parametrize("size", range(9))
def test_roots_are_the_published_ones(size: int) -> None:
    """The root of the first leaves of the vectors is the one published for so many."""
    assert root_of(_HASHES[:size]) == ROOTS[size]


@pytest.mark.parametrize(("index", "size", "proof"), INCLUSION)
def test_inclusion_proofs_are_the_published_ones(
    index: int, size: int, proof: tuple[str, ...]
) -> None:
    """The proof of a leaf is, hash by hash, the published one, and it verifies."""
    made = proof_of(inclusion_ranges(index, size), _reader(_HASHES[:size]))
    assert [each.hex() for each in made] == list(proof)
    assert proves_inclusion(_HASHES[index], index, size, made, ROOTS[size])


@pytest.mark.parametrize(("first", "second", "proof"), CONSISTENCY)
def test_consistency_proofs_are_the_published_ones(
    first: int, second: int, proof: tuple[str, ...]
) -> None:
    """The proof between two trees is, hash by hash, the published one, and it verifies."""
    made = proof_of(consistency_ranges(first, second), _reader(_HASHES[:second]))
    assert [each.hex() for each in made] == list(proof)
    assert proves_consistency(first, second, ROOTS[first], ROOTS[second], made)


@given(st.lists(st.integers(0, 40), max_size=6))
def test_growing_in_steps_is_growing_at_once(steps: list[int]) -> None:
    """However leaves are appended, the frontier's root is that of the plain recursion."""
    hashes = _made(sum(steps))
    frontier, at = Frontier(), 0
    for step in steps:
        frontier, _ = grow(frontier, hashes[at : at + step])
        at += step
        assert frontier.size == at
        assert frontier.root == _plain(hashes[:at])


@given(st.lists(st.integers(0, 40), max_size=6), st.integers(1, 3))
def test_growing_gives_each_whole_subtree_once(steps: list[int], every: int) -> None:
    """All whole subtrees of the levels asked for are given once, with the root of their leaves."""
    hashes = _made(sum(steps))
    frontier, at, given_nodes = Frontier(), 0, {}
    for step in steps:
        frontier, whole = grow(frontier, hashes[at : at + step], every)
        at += step
        for node in whole:
            assert (node.level, node.index) not in given_nodes
            given_nodes[node.level, node.index] = node.hash
    levels = range(every, at.bit_length() + 1, every)
    expected = {
        (level, index): _plain(hashes[index << level : (index + 1) << level])
        for level in levels
        for index in range(at >> level)
    }
    assert given_nodes == expected


@given(st.data(), st.integers(1, 130))
def test_each_leaf_is_proved_and_no_other(data: st.DataObject, size: int) -> None:
    """A proof shows its leaf at its place in its tree, and nothing else."""
    hashes = _made(size)
    index = data.draw(st.integers(0, size - 1))
    root = _plain(hashes)
    proof = proof_of(inclusion_ranges(index, size), _reader(hashes))
    assert proves_inclusion(hashes[index], index, size, proof, root)
    assert not proves_inclusion(hash_leaf(b"other"), index, size, proof, root)
    assert not proves_inclusion(hashes[index], index + size, size, proof, root)
    assert not proves_inclusion(hashes[index], -1, size, proof, root)
    assert not proves_inclusion(hashes[index], index, size, [*proof, root], root)
    if proof:
        other = data.draw(st.integers(0, size - 1).filter(lambda other: other != index))
        assert not proves_inclusion(hashes[index], other, size, proof, root)
        assert not proves_inclusion(hashes[index], index, size, proof[:-1], root)
        assert not proves_inclusion(hashes[index], index, size, proof[1:], root)


@given(st.data(), st.integers(0, 130))
def test_each_beginning_is_proved_and_no_other(data: st.DataObject, second: int) -> None:
    """A proof shows that a tree begins with the smaller one, and with no other of its size."""
    hashes = _made(second)
    first = data.draw(st.integers(0, second))
    roots = _plain(hashes[:first]), _plain(hashes)
    proof = proof_of(consistency_ranges(first, second), _reader(hashes))
    assert proves_consistency(first, second, *roots, proof)
    assert not proves_consistency(first, second, *roots, [*proof, EMPTY_ROOT])
    assert not proves_consistency(second + 1, second, *roots, proof)
    assert not proves_consistency(first, second, hash_leaf(b"other"), roots[1], proof)
    if proof:
        assert not proves_consistency(first, second, roots[0], hash_leaf(b"other"), proof)
        assert not proves_consistency(first, second, *roots, proof[:-1])
        assert not proves_consistency(first, second, *roots, [hash_leaf(b"o"), *proof[1:]])


def test_a_changed_leaf_breaks_consistency() -> None:
    """No proof from the tree as it became covers a leaf that was another before."""
    before, after = _made(50), _made(90)
    before[7] = hash_leaf(b"what it was")
    proof = proof_of(consistency_ranges(50, 90), _reader(after))
    assert not proves_consistency(50, 90, _plain(before), _plain(after), proof)


@pytest.mark.parametrize(("index", "size"), [(0, 0), (3, 3), (-1, 3)])
def test_there_is_no_proof_of_a_leaf_outside(index: int, size: int) -> None:
    """Asking for the proof of a leaf that the tree has not is an error."""
    with pytest.raises(ValueError, match="leaves has none at"):
        inclusion_ranges(index, size)


def test_there_is_no_proof_from_a_larger_tree() -> None:
    """Asking for the proof that a tree begins with a larger one is an error."""
    with pytest.raises(ValueError, match="does not begin"):
        consistency_ranges(4, 3)


@pytest.mark.parametrize(
    ("size", "hashes"), [(2, ()), (3, (EMPTY_ROOT,)), (-1, ()), (1, (b"short",))]
)
def test_a_frontier_has_a_hash_for_each_bit_of_its_size(
    size: int, hashes: tuple[bytes, ...]
) -> None:
    """A frontier that cannot be one is refused where it is made."""
    with pytest.raises(ValueError, match="frontier"):
        Frontier(size, hashes)
