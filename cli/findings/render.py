"""Prints findings for people."""

from collections.abc import Iterator

from rich.console import Console
from rich.text import Text

from audit.access.progress import STATE_WORDS, FindingProgress
from audit.reports.attention import plural
from audit.reports.display_text import size_text
from cli.findings.run import FindingList, ShownFinding
from cli.output import SEVERITY_COLOURS
from cli.shared.list_table import NOTHING, print_rows
from core.base.safe_text import safe_line
from core.weights.audit_statements import FindingState


def print_list(listed: FindingList, console: Console) -> None:
    """Print a list, the newest first; there is at least one."""
    rows = [
        {
            "TIME": f"{one.time[:19]}Z",
            "SEVERITY": one.severity.value,
            "STATE": STATE_WORDS[one.state],
            "DETECTION": one.detection,
            "STORE": one.store or NOTHING,
            "WHO": one.who or NOTHING,
            "TITLE": one.title,
            "ID": one.id,
        }
        for one in listed.findings
    ]
    whole = frozenset({"TIME", "SEVERITY", "STATE", "ID"})
    print_rows(console, rows, whole=whole)
    if listed.more:
        console.print(f"and {plural(listed.more, 'older one')}: --limit, or another --until")


def print_finding(shown: ShownFinding, console: Console) -> None:
    """Print one finding whole."""
    row = shown.finding
    title = Text.assemble(
        Text(f"{row.severity}  ", style=SEVERITY_COLOURS[row.severity]),
        Text(safe_line(row.title), style="bold"),
    )
    console.print(title)
    console.print(Text(safe_line(f"When found: {row.detail}")))
    for name, text in _facts(shown):
        console.print(Text.assemble(Text(f"{name:<11}", style="dim"), safe_line(text)))
    console.print(Text(safe_line(f"Do: {row.remedy}")))
    for step in shown.steps:
        console.print(Text(f"  within {plural(step.minutes, 'minute')}: {step.action}"))
    if shown.recoverable:
        console.print(Text(f"Recoverable: {shown.recoverable}"))


def _facts(shown: ShownFinding) -> Iterator[tuple[str, str]]:
    row = shown.finding
    size = f", {size_text(row.bytes)}" if row.bytes else ""
    told = "" if row.counted else " (when found)"
    yield "id", row.id
    yield "found", f"{row.time} by {row.detection}" + (", late" if row.late else "")
    yield "comes to", f"{plural(row.events, 'event')}{size}, {row.first} to {row.last}{told}"
    if row.store or shown.account:
        place = "/".join(word for word in (shown.account, shown.container) if word)
        yield "store", f"{row.store or 'no WeightStore'} ({place or 'no account'})"
    if row.who:
        yield "who", row.who
    for name, words in (("humans", row.requesters), ("from", row.addresses), ("Pods", row.pods)):
        if words:
            yield name, ", ".join(words)
    yield "techniques", " ".join(row.techniques)
    if row.evidence:
        more = f" and {row.more_evidence:,} more" if row.more_evidence else ""
        yield "evidence", f"{', '.join(row.evidence[:5])}{_left(row.evidence)}{more}"
    yield from _progress(row.progress)
    if shown.case is not None:
        yield "case", f"{shown.case.title} ({plural(shown.case.findings, 'finding')})"


def _progress(progress: FindingProgress) -> Iterator[tuple[str, str]]:
    word = STATE_WORDS[FindingState(progress.state)]
    until = f" until {progress.accepted_until}" if progress.accepted_until else ""
    yield "state", f"{word}{until}" + (f", since {progress.since}" if progress.since else "")
    if progress.owner:
        yield "owner", progress.owner
    if progress.waiting:
        yield "waiting", progress.waiting
    if progress.more_statements:
        yield "said", f"{plural(progress.more_statements, 'statement')} before these"
    for one in progress.statements:
        words = STATE_WORDS[FindingState(one.state)] if one.state else ""
        told = [words, f"owner {one.owner}" if one.owner else "", one.note and f"“{one.note}”"]
        why = f" ({one.why})" if one.why else ""
        said = ", ".join(filter(None, told))
        yield "said", f"{one.time} by {one.by or 'nobody known'}: {said}{why}"


def _left(evidence: list[str]) -> str:
    return f" and {len(evidence) - 5} more (-o json)" if len(evidence) > 5 else ""  # noqa: PLR2004
