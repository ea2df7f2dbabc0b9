"""Finds what is wrong with rules before they are asked: a form, a gap, something undefined."""

import enum

import msgspec


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
