"""Leaves of the ledger's log: what of a record is hashed, so that its payload may be removed. Pure.

    header = format (1 byte, 1) kind (1) cluster-length (1) cluster (UTF-8) id-length (1) id
    leaf   = SHA-256(0x00 header SHA-256(payload)), as RFC 9162, section 2.1.1

A payload that retention removed leaves its header and digest, which verify without it.
"""

from dataclasses import dataclass
from hashlib import sha256
from typing import Final

FORMAT: Final = 1
"""Of the header; its first byte."""

MOST_PART: Final = 255
"""Bytes of a cluster's name, and of an id: their lengths are one byte."""

MARK_BYTES: Final = 4
"""Of a leaf's hash that an anchor keeps, so that the first bad record can be named."""


@dataclass(frozen=True, slots=True)
class Leaf:
    """One record of the log, without its payload."""

    kind: int
    """A `records.frames.FrameKind`, or what a frame that cannot be read said it was."""
    cluster: str
    id: bytes
    digest: bytes
    """SHA-256 of the payload."""

    @property
    def hash(self) -> bytes:
        """The hash that the tree is made of."""
        return leaf_hash(leaf_header(self.kind, self.cluster, self.id), self.digest)


def leaf_of(kind: int, cluster: str, record_id: bytes, payload: bytes) -> Leaf:
    """Return the leaf of a record."""
    return Leaf(kind, cluster, record_id, payload_digest(payload))


def payload_digest(payload: bytes) -> bytes:
    """Return what a leaf keeps of a payload."""
    return sha256(payload).digest()


def leaf_header(kind: int, cluster: str, record_id: bytes) -> bytes:
    """Return what of a leaf stands before the payload's digest.

    Raises:
        ValueError: the cluster's name or the id is longer than MOST_PART bytes, or the kind is no
            byte.
    """
    return header_prefix(kind, cluster, len(record_id)) + record_id


def header_prefix(kind: int, cluster: str, id_length: int) -> bytes:
    """Return what stands before the id, which many leaves have in common.

    Raises:
        ValueError: as `leaf_header`.
    """
    name = cluster.encode()
    if len(name) > MOST_PART or id_length > MOST_PART:
        message = f"a leaf holds no cluster's name or id of more than {MOST_PART} bytes"
        raise ValueError(message)
    return bytes((FORMAT, kind, len(name))) + name + bytes((id_length,))


def leaf_hash(header: bytes, digest: bytes) -> bytes:
    """Return the hash of a leaf of its header and its payload's digest."""
    return sha256(b"\0" + header + digest).digest()


def mark_of(leaf: bytes) -> bytes:
    """Return what an anchor keeps of a leaf's hash."""
    return leaf[:MARK_BYTES]
