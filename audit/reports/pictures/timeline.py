"""Bytes that each principal read on each day: one row a principal, each on its own scale."""

from collections.abc import Mapping, Sequence
from typing import Final

from audit.reports.display_text import short_label, size_text
from audit.reports.model import PictureData, TimelineRow
from audit.reports.pictures.svg import BLUE, GREY, RED, draw_picture, text, with_title
from core.base.safe_text import shorten
from core.base.svg import element

_WIDTH: Final = 720
_LEFT: Final = 172
_RIGHT: Final = 84
_ROW: Final = 27
_TOP: Final = 22
_FOOT: Final = 20
_MOST_TICKS: Final = 16


def draw_timeline(
    pictured: PictureData, gap_days: Sequence[bool], people: Mapping[str, str]
) -> str:
    """Draw it; `gap_days` are those on which the storage logs have a gap."""
    if not pictured.lines:
        return ""
    step = (_WIDTH - _LEFT - _RIGHT) / len(pictured.days)
    bottom = _TOP + _ROW * len(pictured.lines)
    inside = [_gap(day, step, bottom) for day, gap in enumerate(gap_days) if gap]
    for number, line in enumerate(pictured.lines):
        inside.append(_row(line, _TOP + _ROW * number, step, pictured.days, people))
    inside.append(_axis(pictured.days, step, bottom))
    inside.append(text("highest day", _WIDTH - _RIGHT + 8, 12, font_size=9))
    label = "Bytes read on each day by principal; the table of principals has the numbers"
    return draw_picture(_WIDTH, bottom + _FOOT, label, *inside)


def _row(
    line: TimelineRow, top: float, step: float, days: Sequence[str], people: Mapping[str, str]
) -> str:
    highest = max(*line.bytes, 1)
    name = "all others" if not line.who else short_label(line.who, people)
    colour = BLUE if line.who else GREY
    base = top + _ROW - 6
    parts = [
        text(
            shorten(line.account or name, 27),
            0,
            base - 8 if line.account else base - 3,
            font_size=10,
        ),
        text(shorten(name, 34), 0, base + 2, font_size=8) if line.account else "",
        element(
            "line", x1=_LEFT, x2=_WIDTH - _RIGHT, y1=base, y2=base, stroke=GREY, stroke_width=0.4
        ),
        text(size_text(highest), _WIDTH - _RIGHT + 8, base - 3, font_size=9),
    ]
    for day, (count, odd) in enumerate(zip(line.bytes, line.odd_bytes, strict=True)):
        left = _LEFT + day * step + step * 0.1
        for some, fill in ((count, colour), (odd, RED)):  # The odd ones over all.
            if some:
                height = max((_ROW - 9) * some / highest, 1)
                place = {"x": f"{left:.1f}", "y": f"{base - height:.1f}"}
                span = {"width": f"{step * 0.8:.1f}", "height": f"{height:.1f}"}
                words = f"{days[day]}: {size_text(some)}"
                parts.append(with_title("rect", words, **place, **span, fill=fill))
    return element("g", *parts)


def _gap(day: int, step: float, bottom: float) -> str:
    return with_title(
        "rect",
        "The storage logs have a gap on this day",
        x=f"{_LEFT + day * step:.1f}",
        y=_TOP - 4,
        width=f"{step:.1f}",
        height=f"{bottom - _TOP + 4:.1f}",
        fill=GREY,
        fill_opacity=0.28,
    )


def _axis(days: Sequence[str], step: float, bottom: float) -> str:
    every = -(-len(days) // _MOST_TICKS)
    ticks = [
        text(
            day[5:],
            _LEFT + number * step + step / 2,
            bottom + 10,
            font_size=8,
            text_anchor="middle",
        )
        for number, day in enumerate(days)
        if number % every == 0
    ]
    return element("g", *ticks)
