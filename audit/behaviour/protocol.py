"""The protocol of `GET /v1/behaviour?since=CURSOR`, by which `control` asks over mutual TLS."""

import re
from typing import Final

import msgspec

FORMAT: Final = 1
"""Version of the answer. Readers of release N read FORMAT - 1 and FORMAT + 1 as well."""

PATH: Final = "/v1/behaviour"
SINCE: Final = "since"

MOST_ACTING: Final = 2000
"""Identities of one answer."""

MOST_ANSWER: Final = 1024 * 1024
"""Bytes of an answer: 2,000 identities with seven behaviours each have some 500 KB."""

_CURSOR: Final = re.compile(r"([0-9a-f]{16})\.([0-9]{1,15})")


class UnusualIdentity(msgspec.Struct, frozen=True):
    """What one identity does that is unusual."""

    key: str
    """`core.risk.model.identity_key`, 32 hexadecimal digits."""
    until: dict[str, int]
    """By a word of `core.risk.model.Behaviour`, the Unix second from which it counts no more."""


class BehaviourAnswer(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """Who does something unusual."""

    format: int
    cursor: str
    """Where to ask on. Of another auditor, or of one that began anew, it means: from the start."""
    learning: str
    """Why nothing can be told yet, for a person; empty where it can."""
    more: bool
    """Whether there is more behind `cursor` now."""
    unusual: list[UnusualIdentity]


def make_cursor(epoch: str, number: int) -> str:
    """Return where the next question goes on."""
    return f"{epoch}.{number}"


def read_cursor(cursor: str) -> tuple[str, int] | None:
    """Return the auditor's life that a cursor is of, and the number; None where it is none."""
    found = _CURSOR.fullmatch(cursor)
    return (found[1], int(found[2])) if found else None
