"""`sallyport policy replay --html`: what would change as one file of HTML, without scripts."""

from functools import cache
from pathlib import Path
from typing import Final

import jinja2
from markupsafe import Markup

from audit.reports.page_templates import environment, style, style_hash
from audit.reports.pictures.svg import BLUE, RED
from cli.policy.replay.counts import Changed, Replayed
from cli.policy.replay.pictures import MOST_BARS, bars, columns, named
from cli.policy.replay.render import HEADS
from core.base.errors import SettingsError

_GREEN: Final = "#2f855a"
_AMBER: Final = "#b7791f"
_COLOURS: Final = {"red": RED, "green": _GREEN, "yellow": _AMBER, "magenta": RED}
_LISTS: Final = (
    ("rule", "rules"),
    ("namespace", "namespaces"),
    ("requester", "requesters"),
)


def page(found: Replayed) -> str:
    """Give the page; what others chose is escaped, and nothing is fetched."""
    return _template().render(
        found=found,
        heads={effect.value: words for effect, (words, _) in HEADS.items()},
        pictures={each.effect.value: _pictures(each, found) for each in found.changes},
        lists=_LISTS,
        most=MOST_BARS,
        named=named,
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
