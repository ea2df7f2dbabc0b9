"""Text made safe to show or log.

Text of others may hold terminal escapes or be megabytes long; a traceback may hold values.
"""

import traceback
from pathlib import Path
from typing import Final

from core.policy_bundles import LONGEST_PROBLEM

_FRAMES: Final = 5


def traceback_places(error: BaseException) -> list[str]:
    """Return where an exception was raised: a traceback without lines and without values."""
    frames = traceback.extract_tb(error.__traceback__)[-_FRAMES:]
    return [f"{Path(one.filename).name}:{one.lineno} {one.name}" for one in frames]


def safe_line(text: str) -> str:
    """Return one line without control characters; line ends are spelt out too."""
    return "".join(char if char.isprintable() else _spell(char) for char in text)


def safe_excerpt(text: str) -> str:
    """Return as much of a problem as is shown, in one safe line."""
    return safe_line(text[:LONGEST_PROBLEM])[:LONGEST_PROBLEM]


def _spell(char: str) -> str:
    return char.encode("unicode_escape", errors="replace").decode()


def safe_text(text: str) -> str:
    """Return lines without any control character but the line ends."""
    return "\n".join(map(safe_line, text.split("\n")))
