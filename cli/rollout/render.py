"""`sallyport rollout` for people: a table of namespaces, then what would be refused and why."""

import textwrap
from collections.abc import Iterator, Sequence
from typing import Final

from rich.console import Console
from rich.table import Table
from rich.text import Text

from cli.rollout.plan import Plan
from cli.rollout.set import Answer, Did
from cli.rollout.verdicts import Standing, Status, Verdict, WouldRefuse
from core.base.safe_text import safe_line
from core.decision.document_outlook import Outlook

_WIDEST: Final = 120
_MOST_WORKLOADS: Final = 20
_MOST_FINDINGS: Final = 5
_MOST_ASKERS: Final = 3
_MOST_CHANGES: Final = 2
_COLOURS: Final = {
    Verdict.ENFORCES: "dim",
    Verdict.LEFT_OUT: "dim",
    Verdict.READY: "green",
    Verdict.WOULD_REFUSE: "red",
    Verdict.UNKNOWN: "magenta",
}
_WORDS: Final = {
    Verdict.ENFORCES: "enforces",
    Verdict.LEFT_OUT: "left out",
    Verdict.READY: "ready",
    Verdict.UNKNOWN: "not enough evidence",
}


def print_status(status: Status, console: Console) -> None:
    """Print the table, and of each namespace that is not ready what stands against it."""
    table = _table("NAMESPACE", "MODE", "BY", "FROM", "PODS", "VERDICT")
    for each in status.namespaces:
        cells = (each.namespace, each.mode, each.decided_by, each.enforce_from or "–", _pods(each))
        table.add_row(*(Text(safe_line(cell)) for cell in cells), _verdict(each))
    console.print(table)
    for each in status.namespaces:
        if each.workloads or each.evidence:
            console.print()
            _print_namespace(each, console)
    console.print()
    swept = (
        f"the sweep that ended {status.sweep.finished[:19]}Z ({status.sweep.pods} Pods)"
        if status.sweep
        else "no sweep"
    )
    _say(console, f"By {swept}, and by what was asked for since {status.since[:19]}Z.")
    for note in status.notes:
        _say(console, f"Note: {note}.")


def print_plan(plan: Plan, console: Console) -> None:
    """Print a line for each step, and its command."""
    for number, step in enumerate(plan.steps, 1):
        pods = "" if step.pods is None else f", {step.pods} Pods"
        console.print(Text(safe_line(f"{number}. {step.namespace} ({step.mode}{pods})")))
        _say(console, step.what, "   ")
        console.print(Text(safe_line(f"   {step.command}")))
    done, left = plan.done, plan.left_out
    console.print(Text(f"{done} enforce already; {left} are left out by the webhooks."))
    for note in plan.notes:
        _say(console, f"Note: {note}.")


def print_answer(answer: Answer, console: Console) -> None:
    """Print what became of each namespace."""
    for each in answer.namespaces:
        if each.did in {Did.CHANGED, Did.UNCHANGED}:
            announced = f", to enforce from {each.enforce_from}" if each.enforce_from else ""
            told = f" ({each.message})" if each.message else ""
            before = f" (was {each.before})" if each.did is Did.CHANGED else " as before"
            line = f"{each.namespace}: {each.after}{before}{announced}{told}"
        else:
            line = f"{each.namespace}: stays {each.before}: {each.message}"
        console.print(Text(safe_line(line)))


def _table(*columns: str) -> Table:
    table = Table(box=None, pad_edge=False, header_style="bold")
    for column in columns:
        table.add_column(column, overflow="fold")
    return table


def _pods(each: Standing) -> str:
    return "?" if each.pods is None else str(each.pods)


def _verdict(each: Standing) -> Text:
    word = _WORDS.get(each.verdict, f"would refuse {each.would_refuse}")
    return Text(word, style=_COLOURS[each.verdict])


def _print_namespace(each: Standing, console: Console) -> None:
    console.print(Text(safe_line(each.namespace), style="bold"))
    for problem in each.evidence:
        _say(console, f"not known: {problem}", "  ")
    for row in each.workloads[:_MOST_WORKLOADS]:
        console.print(Text(safe_line(f"  {row.workload}: {_seen(row)}")))
        for line in _about(row):
            _say(console, line, "    ")
        console.print(Text(f"    see: sallyport explain {row.decision}"))
    if (more := len(each.workloads) - _MOST_WORKLOADS) > 0:
        _say(console, f"and {more} more: -o json shows them", "  ")


def _seen(row: WouldRefuse) -> str:
    runs = f"{row.pods} Pod{'' if row.pods == 1 else 's'} run" if row.pods else ""
    asked = f"asked for {row.asked} time{'' if row.asked == 1 else 's'}" if row.asked else ""
    return f"{', '.join(filter(None, (runs, asked)))}, last {row.last_seen[:19]}Z"


def _about(row: WouldRefuse) -> Iterator[str]:
    if row.requesters:
        yield f"by {_listed(row.requesters, _MOST_ASKERS)}"
    if row.outlook is Outlook.UNJUDGED:
        yield f"could not be judged: {row.reason}"
    for finding in row.findings[:_MOST_FINDINGS]:
        place = f"{finding.path}: " if finding.path else ""
        yield f"{place}{finding.message}. {finding.remedy}"
    if (more := len(row.findings) - _MOST_FINDINGS) > 0:
        yield f"and {more} more findings"
    for change in row.changes[:_MOST_CHANGES]:
        yield f"or: {change.what}"


def _listed(items: Sequence[str], most: int) -> str:
    more = len(items) - most
    return ", ".join(items[:most]) + (f" and {more} more" if more > 0 else "")


def _say(console: Console, text: str, indent: str = "") -> None:
    width = min(console.width, _WIDEST)
    for line in textwrap.wrap(
        safe_line(text),
        width,
        initial_indent=indent,
        subsequent_indent=indent,
        break_long_words=False,
        break_on_hyphens=False,
    ):
        console.print(Text(line))
