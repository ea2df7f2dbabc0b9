"""`sallyport risk status`: how far Entra ID's risk is known, and how old that is."""

from collections import Counter
from collections.abc import Iterator
from typing import Final

import msgspec
from rich.console import Console
from rich.table import Table as Grid
from rich.text import Text

from app.settings.identity import IdentitySection
from cli import exits
from cli.risk.snapshot import SITES_TABLE, table_in_force
from cli.risk.words import format_age, shown_time
from core.base.safe_text import safe_line
from core.risk.model import RiskSource
from core.risk.snapshot import Coverage, Head, RiskSnapshot
from identity.risk.standings import AHEAD_S

_SORTS: Final = {
    "users": "users",
    "service principals": "service_principals",
    "detections of users": "user_events",
    "detections of service principals": "service_principal_events",
    "applications": "applications",
    "guests": "guests",
    "behaviour": "behaviour",
}
"""What people call each coverage, and where the head has it."""

_DECIDING: Final = frozenset({"users", "service principals"})
"""Those by whose age identities are stale (`identity.risk.standings`)."""

_OPTIONAL: Final = {
    "guests": "not asked for: identity.guests is off",
    "behaviour": "not asked for: there is no auditor, or identity.behaviour.enabled is off",
}
"""Those that are not asked for everywhere, and why one would not be."""

FORMAT: Final = 1
"""Version of what programs read."""


class Known(msgspec.Struct, frozen=True, rename="camel", kw_only=True):
    """How far one sort of knowledge goes."""

    sort: str
    as_of: float | None
    """Unix seconds."""
    age_seconds: float | None
    stale: bool
    unlicensed: bool
    problem: str
    fix: str
    """What to do about it; empty where nothing is wrong."""


class Counted(msgspec.Struct, frozen=True, rename="camel", kw_only=True):
    """How many identities one family says the same of."""

    family: str
    kind: str
    state: str
    level: str
    count: int


class Status(msgspec.Struct, frozen=True, rename="camel", kw_only=True):
    """What `-o json` prints."""

    format: int = FORMAT
    version: int
    written: float
    tenant: str
    fresh: bool
    knowledge: list[Known]
    counts: list[Counted]
    applications: int
    acting: int
    """Identities that do something unusual now."""
    table: str
    """Whose rows come first: a ConfigMap, or `shipped` alone."""
    table_digest: str
    records: int
    changes: int
    """Of these records, those since the base was written."""
    max_age_seconds: float
    """From which age on this command says stale: the setting here, not the gates'."""


def make_status(snapshot: RiskSnapshot, section: IdentitySection, now: float) -> Status:
    """Return the status of a snapshot at a time (Unix seconds)."""
    head = snapshot.head
    knowledge = list(_knowledge(head, section.max_age, now))
    return Status(
        version=head.version,
        written=head.written,
        tenant=head.tenant,
        fresh=not any(each.stale for each in knowledge if each.sort in _DECIDING),
        knowledge=knowledge,
        counts=_counts(snapshot),
        applications=sum(1 for _ in snapshot.applications()),
        acting=sum(1 for _, acting in snapshot.behaviours() if now < acting.until),
        table=SITES_TABLE if head.table else "shipped",
        table_digest=table_in_force(snapshot).digest,
        records=sum(1 for _ in snapshot.records()),
        changes=len(snapshot.changes),
        max_age_seconds=section.max_age,
    )


def exit_code(status: Status) -> int:
    """Return 0 where what decides is fresh, else 1."""
    return exits.ADMITTED if status.fresh else exits.REFUSED


def print_status(status: Status, console: Console, now: float) -> None:
    """Print it for people."""
    word, style = ("fresh", "green") if status.fresh else ("STALE", "red")
    written = f"version {status.version}, written {format_age(now - status.written)} ago"
    console.print(Text.assemble("risk is ", (word, style), f"; {written}"))
    console.print(Text(safe_line(f"tenant {status.tenant or 'not named'}")))
    console.print()
    console.print(_grid(status))
    console.print()
    for fix, sorts in _fixes(status).items():
        console.print(Text(safe_line(f"{', '.join(sorts)}: {fix}")))
    _print_counts(status, console)
    console.print(Text(f"table: {status.table}, {status.table_digest[:19]}"))
    console.print(Text(f"records: {status.records}; {status.changes} changed since the base"))


def _fixes(status: Status) -> dict[str, list[str]]:
    """Return the sorts of knowledge that something is wrong with, by the fix."""
    found: dict[str, list[str]] = {}
    for each in status.knowledge:
        if each.problem or each.unlicensed or each.stale:
            found.setdefault(each.fix, []).append(each.sort)
    return found


def _grid(status: Status) -> Grid:
    grid = Grid(box=None, pad_edge=False, header_style="bold")
    for column in ("WHAT", "AS OF", "AGE", "STATE"):
        grid.add_column(column, overflow="fold")
    for each in status.knowledge:
        as_of = "never" if each.as_of is None else shown_time(each.as_of)
        age = "–" if each.age_seconds is None else format_age(each.age_seconds)
        grid.add_row(each.sort, as_of, age, _state(each))
    return grid


def _state(each: Known) -> Text:
    if each.unlicensed:
        return Text("no licence", style="red")
    if each.problem:
        return Text("not kept up", style="red" if each.stale else "yellow")
    if each.stale:
        return Text("stale", style="red")
    if each.as_of is None:
        return Text(each.fix or "not known yet", style="dim")
    return Text("kept up", style="green")


def _print_counts(status: Status, console: Console) -> None:
    if _fixes(status):
        console.print()
    if not status.counts:
        console.print(Text("nobody is listed as at risk, or ever was"))
    else:
        grid = Grid(box=None, pad_edge=False, header_style="bold")
        for column in ("SAID BY", "OF", "STATE", "LEVEL", "COUNT"):
            grid.add_column(column, justify="right" if column == "COUNT" else "left")
        for each in status.counts:
            grid.add_row(each.family, each.kind, each.state, each.level, str(each.count))
        console.print(grid)
    console.print(
        Text(f"applications known: {status.applications}; acting unusually: {status.acting}")
    )
    console.print()


def _knowledge(head: Head, max_age_s: float, now: float) -> Iterator[Known]:
    for sort, name in _SORTS.items():
        coverage: Coverage = getattr(head, name)
        age = None if coverage.as_of is None else now - coverage.as_of
        stale = age is None or not -AHEAD_S <= age <= max_age_s
        if coverage.unlicensed or (sort in _OPTIONAL and coverage.as_of is None):
            stale = False
        yield Known(
            sort=sort,
            as_of=coverage.as_of,
            age_seconds=None if age is None else round(age, 3),
            stale=stale,
            unlicensed=coverage.unlicensed,
            problem=coverage.problem,
            fix=_fix(sort, coverage, stale=stale),
        )


def _fix(sort: str, coverage: Coverage, *, stale: bool) -> str:
    if coverage.unlicensed:
        return "the tenant has no licence for it: nobody is assessed, and nobody counts as clean"
    if coverage.problem:
        return coverage.problem
    if stale:
        return "see whether control leads and reaches Graph: its log, and sallyport_loop_errors"
    return _OPTIONAL.get(sort, "") if coverage.as_of is None else ""


def _counts(snapshot: RiskSnapshot) -> list[Counted]:
    found = Counter(
        (family.name.lower(), entry.kind.value, entry.state.value, entry.level.value)
        for family in RiskSource
        for _, entry in snapshot.entries(family)
    )
    return [
        Counted(family=family, kind=kind, state=state, level=level, count=count)
        for (family, kind, state, level), count in sorted(
            found.items(), key=lambda item: (-item[1], item[0])
        )
    ]
