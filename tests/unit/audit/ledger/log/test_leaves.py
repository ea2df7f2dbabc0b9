"""Leaves: the bytes that are hashed are those that are written down."""

from hashlib import sha256

import pytest

from audit.ledger.log.leaves import Leaf, leaf_of, mark_of


def test_a_leaf_is_hashed_as_it_is_written_down() -> None:
    """The hash is over format, kind, cluster, id and the payload's digest, and only these."""
    leaf = leaf_of(5, "prod-é", bytes(range(16)), b'{"a":1}')
    header = b"\x01\x05\x07prod-\xc3\xa9\x10" + bytes(range(16))
    assert leaf.hash == sha256(b"\0" + header + sha256(b'{"a":1}').digest()).digest()
    assert mark_of(leaf.hash) == leaf.hash[:4]


@pytest.mark.parametrize(
    "other",
    [
        leaf_of(2, "a", b"id", b"payload"),
        leaf_of(1, "b", b"id", b"payload"),
        leaf_of(1, "ai", b"d", b"payload"),
        leaf_of(1, "", b"aid", b"payload"),
        leaf_of(1, "a", b"i", b"dpayload"),
        leaf_of(1, "a", b"id", b"other"),
    ],
    ids=["kind", "cluster", "bounds", "no cluster", "id's bounds", "payload"],
)
def test_whatever_differs_gives_another_hash(other: Leaf) -> None:
    """No two records that differ in anything share a hash, wherever a part ends."""
    assert other.hash != leaf_of(1, "a", b"id", b"payload").hash


@pytest.mark.parametrize(
    ("kind", "cluster", "record_id"),
    [(1, "c" * 256, b""), (1, "é" * 128, b""), (1, "c", bytes(256)), (256, "c", b"")],
    ids=["cluster", "cluster in bytes", "id", "kind"],
)
def test_what_fits_no_header_is_refused(kind: int, cluster: str, record_id: bytes) -> None:
    """A part that is longer than its length can say is an error, and never cut short."""
    with pytest.raises(ValueError, match=r"leaf|byte"):
        _ = leaf_of(kind, cluster, record_id, b"").hash
