"""One way to another answer: values that `sallyport explain` shows."""

from typing import Literal

import msgspec


class FieldChange(msgspec.Struct, frozen=True, rename="camel"):
    """One field to change, and how."""

    path: str
    remedy: str


class Change(msgspec.Struct, frozen=True, rename="camel"):
    """One way to another answer."""

    what: str
    """A sentence that begins with what to do."""
    who: Literal["author", "administrator"]
    size: int
    """Fields to change; a right weighs as much as 8."""
    profile: str | None = None
    """The profile that would then be chosen."""
    fields: list[FieldChange] = []
    commands: list[str] = []
    """What an administrator would type."""
