"""Of which days a memory was kept, and where in the log stands what came too late to be in it."""

from itertools import pairwise
from typing import Final

import msgspec

FORMAT: Final = 2
"""Of what `saved` gives."""

MOST_LATE: Final = 256
"""Spans of what came late; beyond, the two that are nearest to each other become one."""

_NEAR: Final = 1000
"""Positions: what came late and is no farther from each other is one span."""


class KeptDay(msgspec.Struct, frozen=True, array_like=True):
    """A memory as it was when the first document of a day came."""

    day: int
    """Since 1970-01-01."""
    position: int
    """All before this position of the log was in it."""
    forgotten_s: float
    """Unix seconds: it had forgotten what ended before."""


class Late(msgspec.Struct, array_like=True):
    """A stretch of the log with documents that came days late."""

    first: int
    last: int
    earliest: int
    """Day of the earliest."""


class Days(msgspec.Struct, array_like=True):
    """All that are kept, in the order of the log, which is that of the days."""

    format: int = FORMAT
    kept: list[KeptDay] = []
    late: list[Late] = []
    changed: bool = False

    def newest(self, position: int) -> int | None:
        """Give the newest day that the log had come to before a position; None before the first."""
        for each in reversed(self.kept):
            if each.position < position:
                return each.day
        return None

    def last_with(self, unix_s: float) -> KeptDay | None:
        """Give the last that had not forgotten what ended at a time."""
        for each in reversed(self.kept):
            if each.forgotten_s <= unix_s:
                return each
        return None

    def note_late(self, position: int, day: int) -> bool:
        """Note a document of a day that came late; say whether that is new."""
        for span in self.late:
            if span.first <= position <= span.last and span.earliest <= day:
                return False
        self.changed = True
        last = self.late[-1] if self.late else None
        if last is None or not last.first <= position <= last.last + _NEAR:
            self.late.append(Late(position, position, day))
            self.late.sort(key=lambda span: span.first)
            if len(self.late) > MOST_LATE:
                self._join_nearest()
            return True
        last.last = max(last.last, position)
        last.earliest = min(last.earliest, day)
        return True

    def saved(self) -> bytes:
        """Give all of it as MessagePack."""
        return msgspec.msgpack.encode(self)

    def _join_nearest(self) -> None:
        apart = [after.first - before.last for before, after in pairwise(self.late)]
        place = apart.index(min(apart))
        one, other = self.late[place : place + 2]
        one.last, one.earliest = max(one.last, other.last), min(one.earliest, other.earliest)
        del self.late[place + 1]


def read_days(content: bytes) -> Days:
    """Read what `Days.saved` gave; of another format none are known, and they are kept anew."""
    try:
        days = msgspec.msgpack.decode(content, type=Days)
    except msgspec.MsgspecError:
        return Days()
    return days if days.format == FORMAT else Days()
