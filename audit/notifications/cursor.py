"""How far a sink was told of the ledger's log, as it is kept in the ledger's own database.

It moves on only after the sink has acknowledged: who is killed in between tells the same again,
with the same ids.
"""

from collections.abc import Callable
from typing import Final

import msgspec

from core.base.document_part import require_format

FORMAT: Final = 1
"""Release N reads N - 1 and N + 1 as well."""

MOST_LETTERS: Final = 500
"""Dead letters that are kept, the last ones; `dead` counts all."""

_MARKS: Final = 24
"""Of the time after which a notice is given up."""


class DeadLetter(msgspec.Struct, frozen=True, rename="camel"):
    """A notice that was given up; what it says is in the ledger, under its id."""

    id: str
    event: str
    position: int
    """In the ledger's log."""
    time_ms: int
    """Unix time: when it was given up."""
    reason: str


class LogMark(msgspec.Struct, frozen=True, array_like=True):
    """That the log had so many entries at a time."""

    time_ms: int
    size: int


class SinkCursor(msgspec.Struct, kw_only=True, rename="camel"):
    """What is known of one sink. `position` is the next entry of the log that it is told."""

    format: int = FORMAT
    position: int
    marks: list[LogMark] = []
    """While entries wait: by these it is known how long."""
    sent: int = 0
    dead: int = 0
    letters: list[DeadLetter] = []
    failing_since_ms: int = 0
    """Unix time of the first failure since the last success; 0 where the last try succeeded."""
    told: list[str] = []
    """Ids of what is due at a time and not in the log, while it is due."""
    problem: str = ""
    """Why the last try failed."""

    def note_size(self, size: int, now_ms: int, give_up_ms: int) -> bool:
        """Note how long the log is, now and then; say whether that was noted."""
        is_due = not self.marks or now_ms - self.marks[-1].time_ms >= give_up_ms // _MARKS
        if size <= self.position or not is_due or (self.marks and self.marks[-1].size == size):
            return False
        self.marks.append(LogMark(now_ms, size))
        return True

    def waits_too_long(self, position: int, now_ms: int, give_up_ms: int) -> bool:
        """Return whether an entry was in the log so long ago that it is given up."""
        return any(
            position < mark.size and now_ms - mark.time_ms >= give_up_ms for mark in self.marks
        )

    def come_to(self, position: int) -> None:
        """Note that all entries before a position were told, or given up."""
        self.position = max(self.position, position)
        self.marks = [mark for mark in self.marks if mark.size > self.position]

    def bury(self, letter: DeadLetter) -> None:
        """Note that a notice was given up."""
        self.dead += 1
        self.letters = [*self.letters, letter][-MOST_LETTERS:]


_DECODER: Final = msgspec.json.Decoder(SinkCursor)

encode_cursor: Final[Callable[[SinkCursor], bytes]] = msgspec.json.Encoder().encode


def decode_cursor(content: bytes) -> SinkCursor:
    """Read a cursor of this format, the one before or the one after.

    Raises:
        ValueError: it is none; the message names the field.
    """
    cursor = _DECODER.decode(content)
    require_format(cursor.format, FORMAT)
    return cursor


def unreadable_cursor(error: ValueError) -> str:
    """Return what is wrong with a sink whose cursor cannot be read, and what to do."""
    return (
        f"its cursor cannot be read ({error}): it is of a later release; "
        "give the sink another name, and `since`"
    )


def checkpoint_of(sink: str) -> str:
    """Return the name of the checkpoint in which a sink's cursor is kept."""
    return f"notifications/{sink}"
