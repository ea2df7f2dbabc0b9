"""Texts for people: sizes, times, ids; and hostile text made harmless. Pure.

Names of blobs, user agents and whatever a caller chose may hold anything: what is not printable,
directions of writing among it, is spelt out.
"""

from collections.abc import Mapping
from typing import Final

from core.base.safe_text import cut_after, safe_line

_UNITS: Final = ("B", "KiB", "MiB", "GiB", "TiB", "PiB")
_STEP: Final = 1024
_SHORT: Final = 8
_NARROW_SPACE: Final = "\u202f"
_MOST: Final = 600
"""Characters shown of one text."""


def report_line(text: str) -> str:
    """Return one line without control characters, cut where it is very long.

    The narrow space that sets thousands apart stays.
    """
    return safe_line(cut_after(text, _MOST), kept=_NARROW_SPACE)


def size_text(count: int) -> str:
    """Return bytes as `1.3 TiB`."""
    value = float(count)
    for unit in _UNITS:
        if value < _STEP or unit == _UNITS[-1]:
            return f"{value:.0f} {unit}" if unit == "B" else f"{value:.1f} {unit}"
        value /= _STEP
    raise AssertionError(count)


def number_text(count: int) -> str:
    """Return a number with its thousands apart."""
    return f"{count:,}".replace(",", "\u202f")


def minute_text(time: str) -> str:
    """Return an RFC 3339 time to the minute, as `2026-10-04 02:11`."""
    return time[:16].replace("T", " ") if time else "–"


def short_label(label: str, people: Mapping[str, str] | None = None) -> str:
    """Return a label that fits into a picture.

    A name where there is one, else the id's beginning.
    """
    if people and label in people:
        return report_line(people[label])
    kind, colon, rest = label.partition(":")
    if colon and len(rest) > _SHORT + 4:
        return report_line(f"{kind}:{rest[:_SHORT]}…")
    return report_line(label)


def percent_text(part: int, whole: int) -> str:
    """Return a part as per cent; never 100 where something is missing, nor 0 where it is not."""
    if not whole:
        return "–"
    value = 100 * part / whole
    if part < whole and value > 99.9:  # noqa: PLR2004  What rounds to 100.
        return "> 99.9\u202f%"
    if part and value < 0.1:  # noqa: PLR2004  What rounds to 0.
        return "< 0.1\u202f%"
    return f"{value:.1f}\u202f%"
