"""How a snapshot is stored: a small head, and shards that the head names by their digests.

Every byte is under a SHA-256: the head's stands beside it, a shard's stands in the head, at the
shard's place. So a shard that is broken, cut off, swapped with another or of another generation is
told from the right one. Equal snapshots give equal bytes.
"""

import itertools
from collections.abc import Mapping
from typing import Final

import msgspec

from core.base.errors import InvalidObjectError
from core.base.json_errors import UNREADABLE, unreadable
from core.risk.columns import KEY, SHARDS, Base, Beside, sections_of
from core.risk.records import WIDTHS
from core.risk.risk_shards import READABLE, digest_of, pack, unpack
from core.risk.snapshot import FORMAT, Changes, Head, RiskSnapshot

HEAD_NAME: Final = "sallyport-risk"
"""Name of the head's Secret; gates watch this one alone."""

GENERATIONS: Final = ("a", "b")
"""Of the shards: one is in use, the other one is written next."""

HEAD_KEY: Final = "head"
DIGEST_KEY: Final = "sha256"
"""Keys of the Secret's `data`."""


class StoredHead(msgspec.Struct, frozen=True, rename="camel", omit_defaults=True, kw_only=True):
    """What the head's Secret holds, as JSON."""

    format: int
    head: Head
    event_types: tuple[str, ...] = ("",)
    generation: str = ""
    """Of the shards in use; empty where there are none."""
    shards: tuple[str, ...] = ()
    """Their digests, SHA-256 in hexadecimal digits."""
    changes: bytes = b""
    """Records that are new or changed since, packed as those of a shard are."""
    gone: bytes = b""
    """Keys of records that are gone since."""
    rebase: str = ""
    """Who writes the generation that is not in use: a nonce. See `kube.risk_store`."""
    rebase_at: float = 0.0
    """Since when, Unix seconds."""


class _Format(msgspec.Struct):
    format: int


_HEAD: Final = msgspec.json.Decoder(StoredHead)


def shard_name(generation: str, number: int) -> str:
    """Give the name of a shard's Secret: `sallyport-risk-a0` … `sallyport-risk-b15`."""
    return f"{HEAD_NAME}-{generation}{number}"


SECRET_NAMES: Final = (
    HEAD_NAME,
    *itertools.starmap(shard_name, itertools.product(GENERATIONS, range(SHARDS))),
)
"""All Secrets of a snapshot: what RBAC names."""


def head_of(snapshot: RiskSnapshot, generation: str, digests: tuple[str, ...]) -> StoredHead:
    """Give the head of a snapshot whose base is stored so."""
    kept = {key: record for key, record in snapshot.changes.items() if record is not None}
    gone = sorted(key for key, record in snapshot.changes.items() if record is None)
    return StoredHead(
        format=FORMAT,
        head=snapshot.head,
        event_types=snapshot.event_types,
        generation=generation,
        shards=digests,
        changes=pack(sections_of(kept.items(), WIDTHS)) if kept else b"",
        gone=b"".join(gone),
    )


def encode_head(stored: StoredHead) -> dict[str, bytes]:
    """Give the `data` of the head's Secret."""
    content = msgspec.json.encode(stored)
    return {HEAD_KEY: content, DIGEST_KEY: digest_of(content).encode()}


def decode_head(data: Mapping[str, bytes]) -> StoredHead:
    """Read the `data` of the head's Secret.

    Raises:
        InvalidObjectError: something is missing, its digest does not fit, or it is of a format
            that this release cannot read.
    """
    content = data.get(HEAD_KEY, b"")
    if not content or data.get(DIGEST_KEY, b"").decode(errors="replace") != digest_of(content):
        raise _broken(f"data[{DIGEST_KEY}]", f"does not fit data[{HEAD_KEY}]")
    try:
        stored = _HEAD.decode(content)
    except UNREADABLE as error:
        raise unreadable(_WHAT, error, f"data[{HEAD_KEY}]") from None
    if stored.format not in READABLE:
        known = f"{READABLE.start} to {READABLE.stop - 1}"
        problem = f"is {stored.format}; this release reads {known}: run the release that wrote it"
        raise _broken(f"data[{HEAD_KEY}].format", problem)
    sound = stored.generation in GENERATIONS and len(stored.shards) == SHARDS
    if not sound and (stored.generation or stored.shards):
        raise _broken(f"data[{HEAD_KEY}].shards", f"must be {SHARDS}, of generation a or b")
    return stored


def is_newer(data: Mapping[str, bytes]) -> bool:
    """Say whether a head is of a format that only a later release can read."""
    try:
        return msgspec.json.decode(data.get(HEAD_KEY, b""), type=_Format).format >= READABLE.stop
    except UNREADABLE:
        return False


def decode_changes(stored: StoredHead) -> Changes:
    """Read the changes of a head.

    Raises:
        InvalidObjectError: they are no such records.
    """
    gone = stored.gone
    if len(gone) % KEY:
        raise _broken(f"data[{HEAD_KEY}].gone", f"must be keys of {KEY} bytes")
    changed = unpack(stored.changes, f"data[{HEAD_KEY}].changes") if stored.changes else {}
    keys = frozenset(gone[at : at + KEY] for at in range(0, len(gone), KEY))
    return Beside(changed, keys)


def snapshot_of(stored: StoredHead, base: Base) -> RiskSnapshot:
    """Give the snapshot of a head and its base.

    Raises:
        InvalidObjectError: the changes are broken.
    """
    return RiskSnapshot(stored.head, base, decode_changes(stored), stored.event_types)


def without_base(data: Mapping[str, bytes], version: int) -> RiskSnapshot:
    """Give what can be kept of a snapshot whose shards are lost: the table, and the changes.

    Nothing in it says any more that all who are at risk are in it: its coverage is gone.
    """
    try:
        stored = decode_head(data)
        changes = decode_changes(stored)
    except InvalidObjectError:
        return RiskSnapshot(Head(version=version))
    found = stored.head
    head = Head(
        version=max(version, found.version),
        written=found.written,
        tenant=found.tenant,
        table=found.table,
    )
    return RiskSnapshot(head, Base(), changes, stored.event_types)


def _broken(field: str, problem: str) -> InvalidObjectError:
    return InvalidObjectError(_WHAT, field, problem)


_WHAT: Final = "stored risk snapshot"
