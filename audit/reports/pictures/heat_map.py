"""Heat map of when weights are read: weekdays and hours, on a logarithmic scale."""

import math
from collections.abc import Sequence
from typing import Final

from audit.reports.pictures.svg import BLUE, GREY, RED, draw_picture, text, with_title
from core.base.svg import element

_CELL: Final = 12.4
_HEIGHT: Final = 15
_LEFT: Final = 34
_TOP: Final = 6
_WIDTH: Final = 344
_DAYS: Final = ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")


def draw_heat_map(hours: Sequence[Sequence[int]], label: str, *, odd: bool = False) -> str:
    """Draw accesses by weekday (Monday first) and hour."""
    highest = max((count for row in hours for count in row), default=0)
    inside = []
    for day, row in enumerate(hours):
        top = _TOP + day * _HEIGHT
        inside.append(text(_DAYS[day], 0, top + 11, font_size=9))
        inside += [
            _cell(day, hour, count, highest, RED if odd else BLUE) for hour, count in enumerate(row)
        ]
    bottom = _TOP + 7 * _HEIGHT + 11
    inside += [
        text(f"{hour:02d}", _LEFT + hour * _CELL, bottom, font_size=8) for hour in range(0, 24, 3)
    ]
    return draw_picture(_WIDTH, bottom + 6, label, *inside)


def _cell(day: int, hour: int, count: int, highest: int, colour: str) -> str:
    place = {
        "x": f"{_LEFT + hour * _CELL:.1f}",
        "y": _TOP + day * _HEIGHT,
        "width": _CELL - 1.4,
        "height": _HEIGHT - 1.4,
    }
    if not count:
        return element("rect", **place, fill=GREY, fill_opacity=0.12)
    strength = 0.2 + 0.8 * math.log1p(count) / math.log1p(highest)
    words = f"{_DAYS[day]} {hour:02d}:00 UTC: {count:,}"
    return with_title("rect", words, **place, fill=colour, fill_opacity=f"{strength:.2f}")
