"""Text made safe to show or log, and cut where it is long.

Text of others may hold terminal escapes or be megabytes long; a traceback may hold values.
"""

import traceback
from collections.abc import Sequence
from pathlib import Path
from typing import Final

LONGEST_PROBLEM: Final = 1000
"""Characters of why something is refused or not taken, as it is announced."""

_FRAMES: Final = 5


def traceback_places(error: BaseException) -> list[str]:
    """Return where an exception was raised: a traceback without lines and without values."""
    frames = traceback.extract_tb(error.__traceback__)[-_FRAMES:]
    return [f"{Path(one.filename).name}:{one.lineno} {one.name}" for one in frames]


def safe_line(text: str, kept: str = "") -> str:
    """Return one line without control characters; line ends are spelt out too.

    `kept` are characters that stay although they do not print.
    """
    return "".join(char if char.isprintable() or char in kept else _spell(char) for char in text)


def safe_text(text: str) -> str:
    """Return lines without any control character but the line ends."""
    return "\n".join(map(safe_line, text.split("\n")))


def safe_excerpt(text: str) -> str:
    """Return as much of a problem as is shown, in one safe line."""
    return safe_line(text[:LONGEST_PROBLEM])[:LONGEST_PROBLEM]


def join_some(items: Sequence[str], most: int) -> str:
    """Return items with commas between, and how many more there are than the most that is shown."""
    more = [f"{len(items) - most} more"] if len(items) > most else []
    return ", ".join([*items[:most], *more])


def printable(text: str, most: int) -> str:
    """Return `text` without control characters, cut to `most` characters.

    For messages of refusals, which are compared word for word: a character is spelt by its number
    alone, where `safe_line` spells as Python does.
    """
    safe = text[: most + 1]
    if not safe.isprintable():
        safe = "".join(c if c.isprintable() else f"\\x{ord(c):02x}" for c in safe)
    return safe if len(safe) <= most else safe[: most - 1] + "…"


def replace_unprintable(text: str, instead: str, kept: str = "") -> str:
    """Return text with `instead` for each character that does not print and is not in `kept`.

    For places that can hold no escape: warnings travel in a header, XML has none for controls.
    """
    if text.isprintable():
        return text
    return "".join(char if char.isprintable() or char in kept else instead for char in text)


def shorten(text: str, most: int, end: str = "…") -> str:
    """Return a text of at most `most` characters, `end` among them where some were left out."""
    return text if len(text) <= most else text[: most - len(end)] + end


def cut_after(text: str, kept: int, end: str = "…") -> str:
    """Return at most the first `kept` characters, and then `end` where some were left out."""
    return text if len(text) <= kept else text[:kept] + end


def _spell(char: str) -> str:
    return char.encode("unicode_escape", errors="replace").decode()
