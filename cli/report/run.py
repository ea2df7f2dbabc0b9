"""Makes reports: reads the ledger, writes the files, says what a reviewer should look at first."""

import asyncio
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import msgspec
from rich.console import Console
from rich.text import Text

from app.records.ledger import open_ledger
from app.settings.root import Settings
from audit.ledger.records.frames import FrameKind
from audit.ledger.store.store import Store
from audit.reports.builder import SAMPLE_CLUSTER, make_report
from audit.reports.html import title_of
from audit.reports.ledger_state import add_verdict, read_ledger, read_ledger_at
from audit.reports.model import AttentionItem, LedgerState, Report
from audit.reports.pages import DocumentPages, ReportRequest
from audit.reports.periods import Period, month_before, parse_period, parse_span
from audit.reports.reader import read_tallies
from audit.reports.tallies.bounded_rows import DistinctTexts
from cli.output import SEVERITY_COLOURS
from cli.report.forms import FORMS, parse_forms
from cli.report.names import read_names
from cli.session import document_progress
from core.base.errors import LedgerError, SettingsError
from core.base.safe_text import safe_line
from core.base.times import milliseconds_of, time_text
from core.weights.documents.events import Severity

FORMAT: Final = 1
"""Version of `sallyport report -o json`."""

_SHOWN: Final = 8
"""Clusters that an error names."""
_LAST_MS: Final = 2**48 - 1
_ORDER: Final = [severity.value for severity in Severity]


@dataclass(frozen=True)
class ReportOptions:
    """What was typed."""

    period: str | None
    since: str | None
    until: str | None
    store: str
    cluster: str | None
    sample: bool
    forms: str
    folder: Path
    names: Path | None
    publish: bool
    verify: bool
    anchors: tuple[Path, ...]
    keys: tuple[Path, ...]
    at_head: str | None = None
    """`SIZE:ROOT`, or `last`."""


class WrittenReport(msgspec.Struct, frozen=True, rename="camel"):
    """`sallyport report -o json`."""

    format: int
    title: str
    begin: str
    end: str
    sample: bool
    digest: str
    head: str
    """`SIZE:ROOT` for `--at-head`; empty where the log was longer than its last signed head."""
    files: list[str]
    published: int
    """Objects that were written into the cluster."""
    accesses: int
    severities: dict[str, int]
    closed: dict[str, int]
    """Of these, the ones that people have closed."""
    sound: bool | None
    """What `--verify` found; null where it was not asked for."""
    attention: list[AttentionItem]


async def make_reports(settings: Settings, options: ReportOptions) -> WrittenReport:
    """Make the report and write its files.

    Raises:
        SettingsError: something that was typed is wrong.
        LedgerError: there is no ledger, or it cannot be read.
        ReportError: a form cannot be made here.
        ClusterError: the cluster does not take it.
    """
    forms, people = parse_forms(options.forms), read_names(options.names)
    if options.publish and settings.kubeconfig is None:
        raise SettingsError("--publish: say into which cluster: give --kubeconfig FILE")
    if not options.folder.is_dir():
        raise SettingsError(f"--to {options.folder}: there is no such folder")
    _check_anchors(options)
    _check_head(options)
    async with open_ledger(settings) as store:
        report = await _read(store, settings, options, people)
    if options.publish and report.scope.sample:
        raise SettingsError("--publish: these records are made up: choose a cluster's own")
    files = [_write(report, form, options.folder) for form in forms]
    published = 0
    if options.publish and settings.kubeconfig is not None:
        from cli.report.openreports import publish  # noqa: PLC0415  A client's import takes a second.

        published = await publish(report, settings.kubeconfig)
    return WrittenReport(
        format=FORMAT,
        title=title_of(report),
        begin=report.scope.begin,
        end=report.scope.end,
        sample=report.scope.sample,
        digest=report.digest,
        head=report.ledger.head,
        files=[str(path) for path in files],
        published=published,
        accesses=report.completeness.accesses,
        severities=report.severities,
        closed=report.closed,
        sound=report.ledger.sound,
        attention=report.attention,
    )


def as_grave(made: WrittenReport, severity: Severity) -> bool:
    """Return whether there is a finding as grave as this that nobody has closed."""
    return any(
        made.severities.get(word, 0) > made.closed.get(word, 0)
        for word in _ORDER[_ORDER.index(severity.value) :]
    )


def print_summary(made: WrittenReport, console: Console) -> None:
    """Say for a person what was made, and what needs attention."""
    sample = " (sample: made up)" if made.sample else ""
    console.print(Text(f"Access to model weights, {made.title}{sample}", style="bold"))
    for one in made.attention:
        word = Text(f"{one.severity:<9}", style=SEVERITY_COLOURS[one.severity])
        console.print(Text.assemble(word, safe_line(one.text)))
    for file in made.files:
        console.print(Text(safe_line(file)))
    if made.published:
        console.print(f"{made.published} OpenReports objects written into the cluster")
    console.print(Text(made.digest, style="dim"))
    if made.head:
        console.print(Text(f"--at-head {made.head}", style="dim"))


def _check_anchors(options: ReportOptions) -> None:
    if options.verify and not options.anchors:
        raise SettingsError(
            "--verify: give --anchor FILE: without one whoever wrote the ledger could have "
            "written it anew"
        )
    for flag, paths in (("--anchor", options.anchors), ("--key", options.keys)):
        if paths and not options.verify:
            raise SettingsError(f"{flag}: give --verify too")
        for path in paths:
            if not path.exists():
                raise SettingsError(f"{flag} {path}: there is no such file")


def _check_head(options: ReportOptions) -> None:
    """Refuse a period that is another one whenever the report is made."""
    fixed = options.period or options.sample or (options.since and options.until)
    if options.at_head is not None and not fixed:
        raise SettingsError(
            "--at-head: say of which period, so that it is the same later: give --period, or "
            "--since and --until"
        )


async def _verified(state: LedgerState, settings: Settings, options: ReportOptions) -> LedgerState:
    """Verify the ledger where that was asked for: all of it, not the period alone."""
    if not options.verify:
        return state
    from cli.shared.ledger_verification import VerifyOptions, verify  # noqa: PLC0415  Few ask for it.

    verify_options = VerifyOptions(anchors=options.anchors, keys=options.keys)
    verdict = await asyncio.to_thread(verify, None, settings, verify_options)
    return add_verdict(state, verdict, len(options.anchors))


async def _read(
    store: Store, settings: Settings, options: ReportOptions, people: dict[str, str]
) -> Report:
    cluster = SAMPLE_CLUSTER if options.sample else options.cluster
    if options.at_head is None:
        state = await read_ledger(store)
    else:
        state = await read_ledger_at(store, options.at_head)
    period = await _period(store, options, state.size)
    at_head = options.at_head is not None
    now_ms = max(period.end_ms, milliseconds_of(state.time) if state.time else 0)
    wanted = ReportRequest(
        period, options.store, cluster, state.size, at_head=at_head, now_ms=now_ms
    )
    tallies = await read_tallies(store, wanted, document_progress())
    if cluster is None:
        _require_one(tallies.clusters)
    state = await _verified(state, settings, options)
    return make_report(tallies, period, state, store=options.store, people=people)


def _require_one(clusters: DistinctTexts) -> None:
    """Refuse to tell of several clusters as if they were one, or of a sample as if it were real.

    Raises:
        SettingsError: the ledger has records of several.
    """
    found = clusters.list()
    if len(found) > 1:
        more = len(found) > _SHOWN or clusters.more
        named = ", ".join(found[:_SHOWN]) + (", …" if more else "")
        sample = " (--sample: the made-up month)" * (SAMPLE_CLUSTER in found)
        raise SettingsError(
            f"--cluster-id: the ledger has records of several clusters for this time: {named}; "
            f"name the one that the report is of{sample}"
        )


async def _period(store: Store, options: ReportOptions, size: int) -> Period:
    now_ms = int(time.time() * 1000)
    if options.period is not None:
        if options.since is not None or options.until is not None:
            raise SettingsError("--period: give either a month, or --since and --until")
        return parse_period(options.period)
    if options.since is not None:
        return parse_span(options.since, options.until or time_text(now_ms // 1000))
    if options.until is not None:
        raise SettingsError("--until: give --since too")
    return await _sample_month(store, size) if options.sample else month_before(now_ms)


async def _sample_month(store: Store, size: int) -> Period:
    """Return the month that the ledger's sample is of: that of the first access of the entries."""
    wanted = ReportRequest(Period(0, _LAST_MS), "", SAMPLE_CLUSTER, size)
    pages = DocumentPages(store, wanted, lambda *_: None, FrameKind.ACCESS, wanted.period)
    while (page := await pages.next()) is not None:
        for document in page:
            at_ms = int.from_bytes(document.id[:6])
            return parse_period(time_text(at_ms // 1000)[:7])
    raise LedgerError(
        "the ledger has no sample month: `sallyport run` makes one in a new ledger, within "
        "its first minute"
    )


def _write(report: Report, form: str, folder: Path) -> Path:
    begin, end = report.scope.begin, report.scope.end
    month = begin[:7] if title_of(report)[0].isalpha() else f"{begin[:10]}-{end[:10]}"
    made = FORMS[form]
    path = folder / f"sallyport-report-{month}{made.suffix}"
    content = made.make(report)
    path.write_bytes(content)
    return path
