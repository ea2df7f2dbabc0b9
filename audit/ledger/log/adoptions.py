"""Whether what the log took in without having recorded it came rightly: by an upgrade."""

from typing import Final

from audit.ledger.log.adoption import FIRST_DAYS, Adoption, decode_adoption
from audit.ledger.log.problems import Problem, Where, Wrong, id_ms, ms_text, problem
from audit.ledger.records.frames import FrameKind

_FORMER: Final = frozenset({FrameKind.DECISION, FrameKind.SWEEP, FrameKind.LOOK_BACK})
"""Kinds that the release without a log stored; and what it could not read."""

_DAY_MS: Final = 86_400_000
_MOST_PROBLEMS: Final = 20


class Adoptions:
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

    def record(self, where: Where, payload: bytes) -> None:
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

    def takes(self, where: Where, *, aside: bool) -> bool:
        """Say whether the next leaf was taken in."""
        if not self._rest:
            return False
        self._rest -= 1
        if where.kind not in _FORMER and not aside:
            self._say("it was taken in, and an earlier release had no such records", where)
        self.records += 1
        return True

    def is_open(self, now_ms: int) -> bool:
        """Say whether an upgrade may still be going on."""
        return not self.is_done and not self._is_late(now_ms)

    def _wrong_with(self, read: Adoption, where: Where) -> str:
        said = f"it took in {read.records:,} records that were not recorded here"
        if self.is_done:
            return f"{said}, and one before it says that this is done"
        if read.records and self._is_late(max(id_ms(where.id), self._stored_ms)):
            return f"{said}, over {FIRST_DAYS} days after {ms_text(self._begun_ms)}"
        return ""

    def _is_late(self, time_ms: int) -> bool:
        return bool(self._begun_ms) and time_ms > self._begun_ms + FIRST_DAYS * _DAY_MS

    def _say(self, says: str, where: Where) -> None:
        if len(self.problems) < _MOST_PROBLEMS:
            self.problems.append(problem(Wrong.ADOPTED, says, where))
