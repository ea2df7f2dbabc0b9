"""Who reached what: human, service account, identity, store, joined by what was read."""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from audit.reports.display_text import short_label, size_text
from audit.reports.model import ReachRow
from audit.reports.pictures.svg import BLUE, GREY, RED, draw_picture, text, with_title
from core.base.safe_text import shorten
from core.base.svg import element
from core.weights.documents.access import Confidence

MOST_REACHES: Final = 15
"""Ways that are drawn; the odd ones first, then those with most bytes. The table has more."""

NOBODY: Final = "nobody known"

_WIDTH: Final = 720
_BOX: Final = 136
_ROW: Final = 22
_TOP: Final = 24
_HEADS: Final = ("Human", "Service account", "Identity", "Store")


@dataclass
class _Column:
    places: dict[str, float] = field(default_factory=dict)


def draw_reach(rows: Sequence[ReachRow], people: Mapping[str, str]) -> str:
    """Draw it."""
    chosen = sorted(rows, key=lambda row: (not _odd(row), -row.bytes, row.who))[:MOST_REACHES]
    if not chosen:
        return ""
    ways = [_way(row) for row in chosen]
    columns = [_placed(way[column] for way in ways) for column in range(4)]
    tallest = max(len(column.places) for column in columns)
    highest = max(math.log1p(row.bytes) for row in chosen) or 1
    drawn: dict[str, None] = {}
    for row, way in zip(chosen, ways, strict=True):
        width = 1 + 5 * math.log1p(row.bytes) / highest
        for start in range(3):
            drawn[_link(row, way, columns, start, width)] = None
    inside = [*drawn]
    for number, column in enumerate(columns):
        left = _left(number)
        inside.append(text(_HEADS[number], left, 12, font_size=10, font_weight="bold"))
        inside += [_box(name, left, top, people) for name, top in column.places.items()]
    label = "Who reached which store through which service account; a table below says the same"
    return draw_picture(_WIDTH, _TOP + tallest * _ROW + 4, label, *inside)


def _odd(row: ReachRow) -> bool:
    return row.confidence == Confidence.UNATTRIBUTED.value and not row.human


def _way(row: ReachRow) -> tuple[str, str, str, str]:
    account = row.service_account or "no Pod"
    return row.human or NOBODY, account, row.who, row.store


def _placed(names: Iterable[str]) -> _Column:
    column = _Column()
    for name in names:
        column.places.setdefault(name, _TOP + len(column.places) * _ROW)
    return column


def _left(column: int) -> float:
    return column * (_WIDTH - _BOX) / 3


def _link(
    row: ReachRow, way: Sequence[str], columns: Sequence[_Column], column: int, width: float
) -> str:
    middle = (_ROW - 4) / 2
    start_x, end_x = _left(column) + _BOX, _left(column + 1)
    start_y = columns[column].places[way[column]] + middle
    end_y = columns[column + 1].places[way[column + 1]] + middle
    half = (start_x + end_x) / 2
    curve = (
        f"M{start_x:.1f} {start_y:.1f}"
        f"C{half:.1f} {start_y:.1f} {half:.1f} {end_y:.1f} {end_x:.1f} {end_y:.1f}"
    )
    return with_title(
        "path",
        f"{size_text(row.bytes)}, {row.accesses:,} accesses, {row.confidence}",
        d=curve,
        fill="none",
        stroke=RED if _odd(row) else BLUE,
        stroke_opacity=0.55,
        stroke_width=f"{width:.1f}",
    )


def _box(name: str, left: float, top: float, people: Mapping[str, str]) -> str:
    words = short_label(name, people)
    unknown = name in {NOBODY, "no Pod"}
    box = element(
        "rect",
        x=f"{left:.1f}",
        y=f"{top:.1f}",
        width=_BOX,
        height=_ROW - 4,
        rx=3,
        fill=RED if unknown else GREY,
        fill_opacity=0.18,
        stroke=RED if unknown else GREY,
        stroke_width=0.6,
    )
    return element("g", box, text(shorten(words, 22), left + 5, top + 12.5, font_size=9))
