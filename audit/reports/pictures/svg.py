"""What pictures of reports are made of: texts are cut, made safe and escaped."""

from html import escape
from typing import Final

from audit.reports.display_text import report_line
from core.base.svg import element, picture

INK: Final = "#4a5568"
"""Of texts and axes: readable on white; the style sheet lightens it where pages are dark."""

BLUE: Final = "#2b6cb0"
RED: Final = "#c53030"
GREY: Final = "#8a94a6"


def text(words: str, x: float, y: float, **attributes: object) -> str:
    """Return a text at a place."""
    given = {"fill": INK, "font_size": 10, "font_family": "DejaVu Sans, sans-serif", **attributes}
    return element("text", escape(report_line(words)), x=f"{x:.1f}", y=f"{y:.1f}", **given)


def with_title(name: str, words: str, **attributes: object) -> str:
    """Return an element that says what it is when it is pointed at."""
    return element(name, element("title", escape(report_line(words))), **attributes)


def draw_picture(width: int, height: float, label: str, *inside: str) -> str:
    """Return the whole picture; `label` is for those who cannot see it."""
    return picture(
        *inside,
        viewBox=f"0 0 {width} {height:.0f}",
        width=width,
        height=f"{height:.0f}",
        role="img",
        aria_label=report_line(label),
    )
