"""The record of what retention removed, by which a verifier tells policy from tampering. Pure.

What is missing of the log is missing rightly when a record that stands later in the log says so:

- a payload, when its day is before the record's `first_kept_day`;
- a leaf, when its position is before the record's prefix, whose frontier leads to the root of the
  head that the record rests on, and that head's day is before `first_kept_day` by MARGIN_DAYS;
- and `first_kept_day` lies `keep_days - 1` days before the record's own time.
"""

import datetime as dt
from typing import Final

import msgspec

from audit.ledger.log.heads import TreeHead
from audit.ledger.log.merkle import Frontier

FORMAT: Final = 1
"""Version of the record. Readers of release N read FORMAT - 1 and FORMAT + 1 as well."""

MARGIN_DAYS: Final = 3
"""A record's id may be a day ahead of the clock when it is stored, and auditors' clocks may differ:
what the log held at a head is of a day that lies fewer days than this after the head's."""


class _Part(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel"):
    """Frozen, camelCase, defaults left out; fields of later releases are skipped when read."""


class Prefix(_Part, frozen=True, kw_only=True):
    """Leaves that were removed whole, from the log's first on."""

    size: int
    frontier: list[str]
    """Hex: the roots of the whole subtrees that they fall into, the largest first."""
    head: TreeHead
    """Signed when the log had `size` leaves; its root is that of the frontier."""

    @property
    def tree(self) -> Frontier:
        """The frontier.

        Raises:
            ValueError: it is none.
        """
        return Frontier(self.size, tuple(map(bytes.fromhex, self.frontier)))


class Retention(_Part, frozen=True, kw_only=True):
    """What was removed by policy. It is written before anything is."""

    format: int
    id: str
    """UUIDv7 of `time`."""
    time: str
    """RFC 3339, UTC, milliseconds."""
    cluster: str = ""
    """Empty: it is the ledger's own."""
    keep_days: int
    first_kept_day: str
    """`2026-08-25`: whole days (UTC) before it are removed, by the ids of what is stored; what has
    no time of its own goes by the day on which it came."""
    removed: dict[str, int] = {}
    """How many of each kind were to go; what a crash interrupted is counted again."""
    prefix: Prefix | None = None
    """None: no leaf was removed with it."""


def first_kept(today: dt.date, keep_days: int) -> dt.date:
    """Give the first of the whole days that are kept, today's included."""
    return today - dt.timedelta(days=keep_days - 1)


def may_collapse(head: TreeHead, first_kept_day: dt.date) -> bool:
    """Say whether all leaves of a head are of days that are not kept."""
    day = dt.datetime.fromisoformat(head.time).astimezone(dt.UTC).date()
    return day + dt.timedelta(days=MARGIN_DAYS) <= first_kept_day


_ENCODER = msgspec.json.Encoder()
_DECODER = msgspec.json.Decoder(Retention)


def encode_retention(retention: Retention) -> bytes:
    """Give the record as JSON."""
    return _ENCODER.encode(retention)


def decode_retention(content: bytes) -> Retention:
    """Read a record.

    Raises:
        ValueError: it is none; the message names the field.
    """
    retention = _DECODER.decode(content)
    if not FORMAT - 1 <= retention.format <= FORMAT + 1:
        message = f"format {retention.format}: this release reads {FORMAT - 1} to {FORMAT + 1}"
        raise ValueError(message)
    return retention
