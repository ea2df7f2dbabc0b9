"""`sallyport policy replay --html`: what would change as one file of HTML, without scripts.

Pictures are SVG. Everything is escaped.
"""

import datetime as dt
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Final

import jinja2
from markupsafe import Markup

from audit.reports.page_templates import environment, style, style_hash
from audit.reports.pictures.svg import BLUE, GREY, RED, draw_picture, text, with_title
from cli.policy.replay.counts import Changed, Count, Replayed
from cli.policy.replay.render import HEADS
from core.base.errors import SettingsError
from core.base.safe_text import shorten
from core.base.svg import element
from core.base.times import milliseconds_of

MOST_BARS: Final = 10

_WIDTH: Final = 310
_ROW: Final = 26
_NUMBER: Final = 52
"""Kept free on the right for a bar's number."""
_LONGEST: Final = 46

_WIDE: Final = 960
_HIGH: Final = 110
_TOP: Final = 14
_FOOT: Final = 18
_MOST_TICKS: Final = 8
_HOUR_MS: Final = 3_600_000
_DAY_MS: Final = 24 * _HOUR_MS
_STEPS: Final = tuple(
    _HOUR_MS * hours for hours in (1, 2, 3, 6, 12, 24, 48, 96, 168, 336, 672, 1344, 4032)
)
"""Between two ticks of the axis."""

_GREEN: Final = "#2f855a"
_AMBER: Final = "#b7791f"
_COLOURS: Final = {"red": RED, "green": _GREEN, "yellow": _AMBER, "magenta": RED}
_LISTS: Final = (
    ("rule", "rules"),
    ("namespace", "namespaces"),
    ("requester", "requesters"),
)


def bars(counts: Sequence[Count], what: str, colour: str) -> str:
    """Draw how many reviews each has, the first ten; nothing where there is none."""
    listed = counts[:MOST_BARS]
    if not listed:
        return ""
    most = max(each.reviews for each in listed)
    inside = []
    for row, each in enumerate(listed):
        top, name = row * _ROW, display_name(each)
        length = max((_WIDTH - _NUMBER) * each.reviews / most, 2)
        place = {"x": 0, "y": top + 13, "width": f"{length:.1f}", "height": 8, "fill": colour}
        inside.append(text(shorten(name, _LONGEST), 0, top + 9))
        inside.append(with_title("rect", f"{name}: {each.reviews:,}", **place, rx=1))
        inside.append(text(f"{each.reviews:,}", length + 6, top + 21, font_weight="bold"))
    first = ", ".join(f"{display_name(each)} {each.reviews:,}" for each in listed[:3])
    return draw_picture(_WIDTH, len(listed) * _ROW, f"Reviews by {what}: {first}", *inside)


def display_name(count: Count) -> str:
    """Return what people read for what has no name."""
    return {"": "(no namespace)", "…": "all others"}.get(count.name, count.name)


def columns(times: Sequence[Count], since: str, until: str, colour: str) -> str:
    """Draw how many reviews there were in each hour, or on each day, between two times."""
    if not times:
        return ""
    step = _DAY_MS if len(times[0].name) == len("2026-11-22") else _HOUR_MS
    begin = milliseconds_of(since) // step * step
    end = max(milliseconds_of(until), begin + step)
    most = max(each.reviews for each in times)
    scale = _WIDE / (end - begin + step)
    bottom = _TOP + _HIGH
    inside = [
        element("line", x1=0, x2=_WIDE, y1=bottom, y2=bottom, stroke=GREY, stroke_width=0.6),
        text(f"{most:,}", 0, 10, font_size=9),
    ]
    for each in times:
        height = max(_HIGH * each.reviews / most, 1)
        place = {"x": f"{(_ms(each.name) - begin) * scale:.1f}", "y": f"{bottom - height:.1f}"}
        span = {"width": f"{max(step * scale - 0.8, 1):.1f}", "height": f"{height:.1f}"}
        words = f"{_shown(each.name)} UTC: {each.reviews:,}"
        inside.append(with_title("rect", words, **place, **span, fill=colour))
    inside += _axis(begin, end, scale, bottom)
    unit = "day" if step == _DAY_MS else "hour"
    label = f"Reviews by {unit}, at most {most:,}, from {since[:16]} to {until[:16]} UTC"
    return draw_picture(_WIDE, bottom + _FOOT, label, *inside)


def _axis(begin: int, end: int, scale: float, bottom: float) -> list[str]:
    step = next((each for each in _STEPS if (end - begin) / each <= _MOST_TICKS), _STEPS[-1])
    parts = []
    for at in range(-(-begin // step) * step, end, step):
        x = (at - begin) * scale
        time = dt.datetime.fromtimestamp(at / 1000, dt.UTC)
        words = f"{time:%m-%d %H:%M}" if step < _DAY_MS else f"{time:%Y-%m-%d}"
        parts.append(element("line", x1=f"{x:.1f}", x2=f"{x:.1f}", y1=bottom, y2=bottom + 4,
                             stroke=GREY, stroke_width=0.8))  # fmt: skip
        if x < _WIDE - 60:
            parts.append(text(words, x, bottom + 15, font_size=9))
    return parts


def _ms(name: str) -> int:
    return milliseconds_of(f"{name}:00Z" if "T" in name else f"{name}T00:00Z")


def _shown(name: str) -> str:
    return f"{name.replace('T', ' ')}:00" if "T" in name else name


def page(found: Replayed) -> str:
    """Return the page; what others chose is escaped, and nothing is fetched."""
    return _template().render(
        found=found,
        heads={effect.value: words for effect, (words, _) in HEADS.items()},
        pictures={each.effect.value: _pictures(each, found) for each in found.changes},
        lists=_LISTS,
        most=MOST_BARS,
        named=display_name,
        left=sum(each.reviews for each in found.left if each.failure),
        style=style(),
        style_hash=style_hash(),
    )


def write_page(found: Replayed, file: Path) -> None:
    """Write the page.

    Raises:
        SettingsError: the file cannot be written.
    """
    try:
        file.write_text(page(found), encoding="utf-8")
    except OSError as error:
        raise SettingsError(f"--html {file}: {error.strerror}") from error


def _pictures(change: Changed, found: Replayed) -> dict[str, Markup]:
    """Draw one effect: over time, and by what each list counts."""
    colour = _COLOURS.get(HEADS[change.effect][1], BLUE)
    drawn = {"times": columns(change.times, found.since, found.until, colour)}
    for what, name in _LISTS:
        drawn[name] = bars(getattr(change, name), what, colour)
    return {name: Markup(svg) for name, svg in drawn.items()}  # noqa: S704  Escaped there.


@cache
def _template() -> jinja2.Template:
    return environment(Path(__file__).parent / "templates").get_template("replay.html.j2")
