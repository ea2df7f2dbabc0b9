"""A problem that a linter finds: how bad it is, where, and what to do about it.

It is also read out of what programs print: `file:line:column: what`.
"""

import enum
import re
from typing import Final

import msgspec

_PLACE: Final = re.compile(
    r"(?P<file>[^\s:]+\.\w+):(?P<line>\d+)(?::(?P<column>\d+))?: (?P<what>.+)"
)


class Level(enum.Enum):
    """How bad it is."""

    ERROR = "error"
    WARNING = "warning"


class Problem(msgspec.Struct, frozen=True, order=True):
    """One thing that is wrong, where, and what to do about it."""

    file: str
    line: int
    column: int
    id: str
    """What `# lint:ignore ID` names, on the line or on the one above."""
    level: Level = msgspec.field(default=Level.ERROR)
    what: str = ""
    hint: str = ""


def problem_of(said: str, id_: str, file: str, hint: str = "") -> Problem:
    """Make a finding of an error's text; where it names no place, of `file`."""
    found = next(filter(None, map(_PLACE.search, said.splitlines())), None)
    if found is None:
        return Problem(file, 1, 1, id_, Level.ERROR, " ".join(said.split()), hint)
    return Problem(
        found["file"],
        int(found["line"]),
        int(found["column"] or 1),
        id_,
        Level.ERROR,
        found["what"],
        hint,
    )
