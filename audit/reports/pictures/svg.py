"""SVG elements as text. What they show is escaped; there is no other way to make one."""

from html import escape
from typing import Final

from audit.reports.display_text import report_line

INK: Final = "#4a5568"
"""Of texts and axes: readable on white; the style sheet lightens it where pages are dark."""

BLUE: Final = "#2b6cb0"
RED: Final = "#c53030"
GREY: Final = "#8a94a6"


def element(name: str, *inside: str, **attributes: object) -> str:
    """Return an element; underscores of attributes stand for dashes, a last one for nothing."""
    listed = "".join(
        f' {key.rstrip("_").replace("_", "-")}="{escape(str(value))}"'
        for key, value in attributes.items()
    )
    content = "".join(inside)
    return f"<{name}{listed}>{content}</{name}>" if content else f"<{name}{listed}/>"


def text(words: str, x: float, y: float, **attributes: object) -> str:
    """Return a text at a place."""
    given = {"fill": INK, "font_size": 10, "font_family": "DejaVu Sans, sans-serif", **attributes}
    return element("text", escape(report_line(words)), x=f"{x:.1f}", y=f"{y:.1f}", **given)


def with_title(name: str, words: str, **attributes: object) -> str:
    """Return an element that says what it is when it is pointed at."""
    return element(name, element("title", escape(report_line(words))), **attributes)


def draw_picture(width: int, height: float, label: str, *inside: str) -> str:
    """Return the whole picture; `label` is for those who cannot see it."""
    return element(
        "svg",
        *inside,
        xmlns="http://www.w3.org/2000/svg",
        viewBox=f"0 0 {width} {height:.0f}",
        width=width,
        height=f"{height:.0f}",
        role="img",
        aria_label=report_line(label),
    )
