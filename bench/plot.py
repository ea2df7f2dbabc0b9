"""Line charts as SVG, for pages that are read in a browser: no library, the same every time."""

import math
import sys
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from html import escape
from typing import Final

from core.base.svg import element, picture, text_element

_WIDTH: Final = 640
_HEIGHT: Final = 360
_LEFT: Final = 70
_RIGHT: Final = 150
_TOP: Final = 40
_BOTTOM: Final = 50
_LABEL: Final = 34
"""The least distance of two labels of the x axis."""

_NOTHING: Final = 1e-9
_COLOURS: Final = ("#1f5fa8", "#c2571a", "#2f7d4f", "#7a4a9c")

Point = tuple[float, float]


@dataclass(frozen=True)
class Series:
    """One line."""

    name: str
    points: Sequence[Point]
    """At least one; x above 0."""


@dataclass(frozen=True)
class Chart:
    """A chart: x is logarithmic, y begins at 0."""

    title: str
    x: str
    y: str
    series: Sequence[Series]

    def svg(self) -> str:
        """Draw it."""
        xs = sorted({x for one in self.series for x, _ in one.points})
        top = _nice(max(y for one in self.series for _, y in one.points))
        scale = _Scale(xs[0], xs[-1], top)
        parts = [
            text_element("title", escape(self.title)),
            element("rect", width=_WIDTH, height=_HEIGHT, fill="#fff"),
            _text(_LEFT, 22, self.title, size=15),
            *_grid(scale, xs, top),
            _text((_LEFT + _WIDTH - _RIGHT) / 2, _HEIGHT - 10, self.x, anchor="middle"),
            _text(_LEFT, _TOP - 6, self.y),
            *(part for index, one in enumerate(self.series) for part in _line(scale, one, index)),
        ]
        drawn = picture(
            *(f"\n{part}" for part in parts),
            "\n",
            viewBox=f"0 0 {_WIDTH} {_HEIGHT}",
            font_family="sans-serif",
            font_size=12,
            role="img",
        )
        return f"{drawn}\n"


@dataclass(frozen=True)
class _Scale:
    first: float
    last: float
    top: float

    def at(self, point: Point) -> Point:
        """Return the place of a point on the page."""
        x, y = point
        span = math.log(self.last / self.first) or 1.0
        wide, high = _WIDTH - _LEFT - _RIGHT, _HEIGHT - _TOP - _BOTTOM
        return _LEFT + wide * math.log(x / self.first) / span, _TOP + high * (1 - y / self.top)


def _nice(value: float) -> float:
    """Return the next 1, 2 or 5 times a power of ten; 1 for nothing, or next to it."""
    if value < sys.float_info.min:
        return 1.0
    power = 10.0 ** math.floor(math.log10(value))
    return next(power * step for step in (1, 2, 5, 10) if value <= power * step * (1 + 1e-9))


def _grid(scale: _Scale, xs: Iterable[float], top: float) -> Iterator[str]:
    right = _WIDTH - _RIGHT
    for step in range(6):
        value = top * step / 5
        _, y = scale.at((scale.first, value))
        yield element("path", d=f"M{_LEFT} {y:.1f}H{right}", stroke="#ddd")
        yield _text(_LEFT - 6, y + 4, f"{value:,g}", anchor="end")
    last = -math.inf
    for value in xs:
        x, y = scale.at((value, 0))
        yield element("path", d=f"M{x:.1f} {y:.1f}v5", stroke="#555")
        if x - last >= _LABEL:
            last = x
            yield _text(x, y + 18, f"{value:,.0f}", anchor="middle")


def _line(scale: _Scale, series: Series, index: int) -> Iterator[str]:
    colour = _COLOURS[index % len(_COLOURS)]
    places = [scale.at(point) for point in sorted(series.points)]
    path = " ".join(f"{x:.1f},{y:.1f}" for x, y in places)
    yield element("polyline", points=path, fill="none", stroke=colour, stroke_width=2)
    for x, y in places:
        yield element("circle", cx=f"{x:.1f}", cy=f"{y:.1f}", r=3, fill=colour)
    yield _text(_WIDTH - _RIGHT + 14, _TOP + 16 * (index + 1), series.name, fill=colour)


def _text(  # noqa: PLR0913  What SVG's text has.
    x: float, y: float, text: str, *, anchor: str = "start", size: int = 12, fill: str = "#222"
) -> str:
    place = {"x": f"{x:.1f}", "y": f"{y:.1f}"}
    return text_element(
        "text", escape(text), **place, text_anchor=anchor, font_size=size, fill=fill
    )
