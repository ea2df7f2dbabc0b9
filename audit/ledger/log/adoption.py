"""The record of what an upgrade took into the log, and the check that it came rightly.

An earlier release had no log. Once, after the upgrade, its rows get their leaves: in each step such
a record comes first, and so many leaves follow it. The last one says that it is done. A verifier
takes it for an upgrade only where it stands in the log's first days.
"""

from typing import Final

import msgspec

from audit.ledger.log.problems import (
    Flaw,
    Problem,
    RecordPlace,
    id_ms,
    make_problem,
    make_row_problem,
)
from audit.ledger.records.frames import FrameKind
from core.base.document_part import require_format
from core.base.times import DAY_MS, milli_text

FORMAT: Final = 1
"""Version of the record. Readers of release N read FORMAT - 1 and FORMAT + 1 as well."""

OPEN_DAYS: Final = 1
"""For so long after the upgrade an earlier release may go on writing beside the new one."""

MOST_OPEN_DAYS: Final = 6
"""After so many days nothing is taken in any more, also if it is not done."""

FIRST_DAYS: Final = 7
"""Days after the log's first head in which a verifier expects such records."""


class Adoption(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel"):
    """The next leaves were taken in, and not recorded when they say."""

    format: int
    id: str
    """UUIDv7 of `time`."""
    time: str
    """RFC 3339, UTC, milliseconds."""
    cluster: str = ""
    """Empty: it is the ledger's own."""
    records: int
    """Leaves that follow; they prove nothing about the time before this one's."""
    last: bool = False
    """Whether it is done: nothing is taken in ever after."""


_ENCODER = msgspec.json.Encoder()
_DECODER = msgspec.json.Decoder(Adoption)


def adoption_of(identity: str, now_ms: int, records: int, *, last: bool = False) -> Adoption:
    """Return the record of a time (milliseconds since the epoch)."""
    time = milli_text(now_ms)
    return Adoption(format=FORMAT, id=identity, time=time, records=records, last=last)


def encode_adoption(adoption: Adoption) -> bytes:
    """Return the record as JSON."""
    return _ENCODER.encode(adoption)


def decode_adoption(content: bytes) -> Adoption:
    """Read a record.

    Raises:
        ValueError: it is none; the message names the field.
    """
    adoption = _DECODER.decode(content)
    require_format(adoption.format, FORMAT)
    if adoption.records < 0:
        raise ValueError("records: there are no fewer than 0")
    return adoption


_FORMER: Final = frozenset({FrameKind.DECISION, FrameKind.SWEEP, FrameKind.LOOK_BACK})
"""Kinds that the release without a log stored; and what it could not read."""

_MOST_PROBLEMS: Final = 20


class AdoptionCheck:
    """What a log took in, and when it was done."""

    def __init__(self) -> None:
        self.records = 0
        """Leaves that were taken in."""
        self.is_done = False
        """Whether a record says that nothing is taken in any more."""
        self.problems: list[Problem] = []
        self._rest = 0
        self._begun_ms = 0
        self._stored_ms = 0

    def head(self, time_ms: int) -> None:
        """Note a head that the log has here."""
        self.begun(time_ms)
        self._stored_ms = max(self._stored_ms, time_ms)

    def begun(self, time_ms: int) -> None:
        """Note a time at which there was a log."""
        self._begun_ms = min(self._begun_ms or time_ms, time_ms)

    def record(self, where: RecordPlace, payload: bytes) -> None:
        """Judge a record by itself, and expect its leaves."""
        try:
            read = decode_adoption(payload)
        except ValueError as error:
            self._say(f"it cannot be read: {error}", where)
            return
        if self._rest:
            self._say(f"{self._rest:,} leaves of the one before it are missing", where)
        says = self._wrong_with(read, where)
        if says:
            self._say(says, where)
        self._rest = 0 if says else read.records
        self.is_done = self.is_done or read.last

    def takes(self, where: RecordPlace, *, aside: bool) -> bool:
        """Return whether the next leaf was taken in."""
        if not self._rest:
            return False
        self._rest -= 1
        if where.kind not in _FORMER and not aside:
            self._say("it was taken in, and an earlier release had no such records", where)
        self.records += 1
        return True

    def is_open(self, now_ms: int) -> bool:
        """Return whether an upgrade may still be going on."""
        return not self.is_done and not self._is_late(now_ms)

    def judge_open(self, table: str) -> list[Problem]:
        """Say that rows are taken in though it is done, or was never begun: `table` says so.

        Where it was begun and is late, an auditor that starts ends it.
        """
        if self.records and not self.is_done:
            return []
        says = "the log's own row says that rows of an earlier release are to be taken in"
        return [make_row_problem(Flaw.COLUMN, says, None, table, "adopt_until_ms")]

    def _wrong_with(self, read: Adoption, where: RecordPlace) -> str:
        said = f"it took in {read.records:,} records that were not recorded here"
        if self.is_done:
            return f"{said}, and one before it says that this is done"
        if read.records and self._is_late(max(id_ms(where.id), self._stored_ms)):
            return f"{said}, over {FIRST_DAYS} days after {milli_text(self._begun_ms)}"
        return ""

    def _is_late(self, time_ms: int) -> bool:
        return bool(self._begun_ms) and time_ms > self._begun_ms + FIRST_DAYS * DAY_MS

    def _say(self, says: str, where: RecordPlace) -> None:
        if len(self.problems) < _MOST_PROBLEMS:
            self.problems.append(make_problem(Flaw.ADOPTED, says, where))
