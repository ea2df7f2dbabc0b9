"""A report as HTML: one file without scripts, readable by eye, by ear and on paper.

What was chosen by others (names of blobs, reasons, addresses) is escaped by the template engine,
and what is not printable is spelt out. A Content-Security-Policy lets nothing in but its own style.
Ids have short forms, each unlike all others in the report, with a list of them at the end.
"""

import base64
import re
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any, Final

import jinja2
import msgspec
from markupsafe import Markup

from audit.access.progress import STATE_WORDS
from audit.reports.attention import plural
from audit.reports.display_text import percent_text, size_text
from audit.reports.model import FindingRow, Report
from audit.reports.page_templates import environment, style, style_hash
from audit.reports.periods import month_period, unix_ms_of
from audit.reports.pictures.heat_map import draw_heat_map
from audit.reports.pictures.reach_map import draw_reach
from audit.reports.pictures.timeline import draw_timeline
from core.base.times import DAY_MS
from core.weights.documents.access import Confidence

MOST_WHOLE: Final = 40
"""Findings that are shown with all that they say, those alike once; a table has the others."""

_IDENTITY_LABEL: Final = re.compile(
    r"(oid|client|user|group|sas|account-key|delegation-sas):(\S{13,})"
)
_IN_TEXT: Final = re.compile(r"(oid|client|user|group|sas):[0-9a-f-]{13,}")
_SHORTEST: Final = 8

_MOST_SAID: Final = 8
"""Statements about a finding that are shown, the last ones."""

_MOST_SAME: Final = 32
"""Times of findings alike that are named."""

_TEMPLATES: Final = Path(__file__).parent / "templates"

_WORDS: Final = {
    Confidence.EXACT.value: "exact",
    Confidence.ONE_OF.value: "one of several Pods",
    Confidence.NODE.value: "by node",
    Confidence.UNATTRIBUTED.value: "unattributed",
}

_LABEL: Final = re.compile(r'aria-label="([^"]*)"')

_TITLE: Final = re.compile(r"<title>[^<]*</title>")

_SECTIONS: Final = (
    ("completeness", "How complete this is"),
    ("pictures", "The period in pictures"),
    ("cases", "Cases and findings"),
    ("since", "What was done since"),
    ("comparison", "Beside the period before"),
    ("access", "Who accessed which weights"),
    ("unattributed", "What no Pod answers for"),
    ("grants", "Grants: given, used, unused"),
    ("exceptions", "Exceptions and changes of policy"),
    ("decisions", "Decisions of the gate by namespace"),
    ("activities", "What happened around the stores"),
    ("ledger", "How to check this report"),
    ("identities", "Identities in this report"),
)

_MONTHS: Final = (
    "January", "February", "March", "April", "May", "June", "July",
    "August", "September", "October", "November", "December",
)  # fmt: skip
"""In English whatever the locale is."""


class IdentityEntry(msgspec.Struct, frozen=True):
    """One identity."""

    label: str
    short: str
    name: str
    """Where the operator gave one."""


def shorten_ids(text: str, shorts: Mapping[str, str]) -> str:
    """Return a sentence with the short forms of the ids in it."""
    return _IN_TEXT.sub(lambda found: shorts.get(found[0], found[0]), text)


def list_identities(report: Report) -> list[IdentityEntry]:
    """Return every identity that a report names, in the order of their ids."""
    labels = sorted(set(_labels(msgspec.to_builtins(report))))
    shorts = _shorten(labels)
    return [IdentityEntry(label, shorts[label], report.people.get(label, "")) for label in labels]


def _labels(value: Any) -> Iterator[str]:
    if isinstance(value, dict):
        for key, each in value.items():
            yield from _labels(key)
            yield from _labels(each)
    elif isinstance(value, list):
        for each in value:
            yield from _labels(each)
    elif isinstance(value, str) and _IDENTITY_LABEL.fullmatch(value):
        yield value


def _shorten(labels: list[str]) -> dict[str, str]:
    """Cut each label where it is unlike its neighbours in the order, and not before 8 digits."""
    cut = {}
    for number, label in enumerate(labels):
        length = label.index(":") + 1 + _SHORTEST
        for neighbour in labels[number - 1 : number] + labels[number + 1 : number + 2]:
            while label[:length] == neighbour[:length] and length < len(label):
                length += 1
        cut[label] = f"{label[:length]}…" if length < len(label) - 1 else label
    return cut


def render_html(report: Report, *, printed: bool = False) -> str:
    """Return the page; `printed` for paper, with pictures that nobody points at."""
    known = report.completeness
    pictured, people = report.pictured, report.people
    pictures = {
        "timeline": draw_timeline(pictured, _gap_days(report), people),
        "heat": draw_heat_map(pictured.hours, "Accesses by weekday and hour"),
        "odd_heat": draw_heat_map(pictured.odd_hours, "Odd accesses by weekday and hour", odd=True),
        "reach": draw_reach(report.reached, people),
    }
    entries = list_identities(report)
    shorts = {entry.label: entry.short for entry in entries}
    return _template().render(
        directory=entries,
        shorts=shorts,
        brief=lambda text: shorten_ids(text, shorts),
        report=report,
        title=title_of(report),
        style=style(),
        style_hash=style_hash(),
        sections=_SECTIONS,
        pictures={
            name: Markup(_flat(svg) if printed else svg)  # noqa: S704  Escaped there.
            for name, svg in pictures.items()
        },
        nobody=known.confidence.get(Confidence.UNATTRIBUTED.value, 0),
        records_read=sum(row.read for row in known.sources),
        records_known=sum(row.known for row in known.sources),
        records_late=sum(row.late for row in known.sources),
        words=_WORDS,
        share=percent_text,
        groups=_groups(report),
        touched=[one for one in report.findings if one.progress.statements],
        state_words={state.value: word for state, word in STATE_WORDS.items()},
        most_said=_MOST_SAID,
        plural=plural,
        most_whole=MOST_WHOLE,
        most_same=_MOST_SAME,
    )


def _flat(svg: str) -> str:
    """Return a picture as an image: a page's elements each cost time where it is laid out."""
    label = _LABEL.search(svg)
    if label is None:
        return svg
    content = base64.b64encode(_TITLE.sub("", svg).encode()).decode()
    return f'<img alt="{label[1]}" src="data:image/svg+xml;base64,{content}">'


def _groups(report: Report) -> list[list[FindingRow]]:
    """Put findings that say the same together, in the order of the first of each."""
    groups: dict[tuple[str, ...], list[FindingRow]] = {}
    for one in report.findings:
        key = (one.severity, one.detection, one.title, one.who, one.store)
        groups.setdefault(key, []).append(one)
    return list(groups.values())


def title_of(report: Report) -> str:
    """Name the period: a whole month by its name."""
    begin, end = unix_ms_of(report.scope.begin), unix_ms_of(report.scope.end)
    year, number_ = int(report.scope.begin[:4]), int(report.scope.begin[5:7])
    whole = month_period(year, number_)
    if (whole.begin_ms, whole.end_ms) == (begin, end):
        return f"{_MONTHS[number_ - 1]} {year}"
    return f"{report.scope.begin[:10]} to {report.scope.end[:10]}"


def _gap_days(report: Report) -> list[bool]:
    first = unix_ms_of(report.scope.begin) // DAY_MS
    days = [False] * len(report.pictured.days)
    for gap in report.completeness.gaps:
        if gap.log == "storage":
            begin, end = unix_ms_of(gap.begin) // DAY_MS, (unix_ms_of(gap.end) - 1) // DAY_MS
            for day in range(max(begin - first, 0), min(end - first + 1, len(days))):
                days[day] = True
    return days


@cache
def _template() -> jinja2.Template:
    made = environment(_TEMPLATES)
    made.filters |= {"size": size_text, "grant": lambda grant: grant.partition("@")[0]}
    return made.get_template("report.html.j2")
