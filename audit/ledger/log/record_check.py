"""Checks that records say what their leaves say: whose they are, and when they were made."""

from collections import Counter, deque
from typing import Final

import msgspec

from audit.ledger.log.problems import (
    Flaw,
    Problem,
    RecordPlace,
    id_ms,
    id_text,
    is_uuid7,
    make_problem,
)
from audit.ledger.records.frames import FrameKind
from core.base.times import DAY_MS, is_at, milli_text

LATE_MS: Final = 3_600_000
"""A record that came later than this after its own time is counted as late."""

AHEAD_MS: Final = DAY_MS
"""How far ahead of the auditor's clock a record may be; beyond it the store puts it aside."""

_AT_ONCE: Final = frozenset(
    kind.value
    for kind in (
        FrameKind.DECISION,
        FrameKind.REFUSAL,
        FrameKind.SWEEP,
        FrameKind.LOOK_BACK,
        FrameKind.REFUSED,
        FrameKind.INTAKE,
        FrameKind.RETENTION,
        FrameKind.ADOPTION,
    )
)
"""Kinds whose time is when they were recorded: only a spool can make them late. Accesses,
activities, lives and changes carry the time of what they tell, which may lie far back."""

_LAST_KIND: Final = max(FrameKind).value
_MOST_PROBLEMS: Final = 20
_MOST_EXAMPLES: Final = 5
_MOST_NEAR: Final = 65_536


class _RecordHead(msgspec.Struct, gc=False):
    """What every document says of itself."""

    id: str = ""
    cluster: str = ""
    time: str = ""
    allowed: bool | None = None


_DECODER: Final = msgspec.json.Decoder(_RecordHead)


class RecordCheck:
    """What the records that went by say, and which of them contradict their leaves."""

    def __init__(self, most_late_ms: int) -> None:
        """Take how late a record may come that only a spool can have made late."""
        self.problems: list[Problem] = []
        self.kinds: Counter[int] = Counter()
        self.clusters: Counter[str] = Counter()
        self.late = 0
        """Records of kinds that are recorded at once that came over an hour late."""
        self.examples: list[RecordPlace] = []
        """The first of them."""
        self.aside = 0
        """Records that cannot be read: the ledger's quarantine."""
        self._most_late_ms = most_late_ms
        self._stored_after = 0
        self._newest: tuple[int, RecordPlace] | None = None
        self._near: set[tuple[int, str, bytes]] = set()
        self._order: deque[tuple[int, str, bytes]] = deque()

    def leaf(
        self, where: RecordPlace, payload: bytes | None, *, aside: bool, adopted: bool = False
    ) -> None:
        """Judge a record; one that was removed has only its leaf, and what is aside may be any.

        One that was adopted came with an upgrade: it may be as old as it likes.
        """
        self.kinds[where.kind] += 1
        self.clusters[where.cluster] += 1
        self.aside += aside
        if aside:  # Whoever delivers what cannot be kept chooses its id, and may do so twice.
            return
        self._demand_new(where)
        if not is_uuid7(where.id):
            self._say(make_problem(Flaw.DOCUMENT, "its id is no UUID of version 7", where))
            return
        made = id_ms(where.id)
        if self._newest is None or made > self._newest[0]:
            self._newest = made, where
        if self._stored_after and not adopted and made < self._stored_after - LATE_MS:
            self._judge_late(where, self._stored_after - made)
        if payload is not None and 0 < where.kind <= _LAST_KIND:
            self._judge_document(where, payload, made)

    def head(self, time_ms: int) -> None:
        """Note that all up to here was stored when the log had this head."""
        newest, self._newest = self._newest, None
        if newest and newest[0] > time_ms + AHEAD_MS:
            says = f"its time lies over a day after {milli_text(time_ms)}, when it was there"
            self._say(make_problem(Flaw.AHEAD, says, newest[1]))
        self._stored_after = max(self._stored_after, time_ms)

    def _judge_late(self, where: RecordPlace, by_ms: int) -> None:
        if where.kind not in _AT_ONCE:
            return
        self.late += 1
        if len(self.examples) < _MOST_EXAMPLES:
            self.examples.append(where)
        if by_ms > self._most_late_ms:
            hours = by_ms // 3_600_000
            says = (
                f"it was stored after {milli_text(self._stored_after)}, {hours:,} hours after its"
            )
            self._say(make_problem(Flaw.BACK_DATED, f"{says} own time", where))

    def _judge_document(self, where: RecordPlace, payload: bytes, made: int) -> None:
        try:
            own = _DECODER.decode(payload)
        except (ValueError, RecursionError):
            self._say(make_problem(Flaw.DOCUMENT, "its document cannot be read", where))
            return
        if own.id != id_text(where.id):
            says = f"its document says that its id is {own.id[:64]!r}"
        elif own.cluster != where.cluster:
            says = f"its document says that it is of the cluster {own.cluster[:64]!r}"
        elif own.time and not is_at(own.time, made):
            says = f"its document says that it is of {own.time[:64]!r}"
        elif where.kind == FrameKind.REFUSAL and own.allowed:
            says = "its document says that it was allowed, and the log calls it a refusal"
        else:
            return
        self._say(make_problem(Flaw.DOCUMENT, says, where))

    def _demand_new(self, where: RecordPlace) -> None:
        """Demand that none of the records just before has the same id."""
        key = (where.kind, where.cluster, where.id)
        if key in self._near:
            self._say(make_problem(Flaw.DUPLICATE, "it stands in the log a second time", where))
            return
        self._near.add(key)
        self._order.append(key)
        if len(self._order) > _MOST_NEAR:
            self._near.discard(self._order.popleft())

    def _say(self, found: Problem) -> None:
        if len(self.problems) < _MOST_PROBLEMS:
            self.problems.append(found)
