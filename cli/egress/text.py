"""`sallyport egress plan` and `explain` for people."""

import sys
from collections.abc import Iterable, Iterator
from typing import Final

import msgspec
from rich.console import Console
from rich.text import Text

from core.base.safe_text import safe_line
from egress.analysis.explanation import CitedIntent, Explanation
from egress.analysis.plan import AllowlistPlan, Change
from egress.model.openings import Problem

_COLOURS: Final = {"+": "green", "-": "red"}
_VERDICTS: Final = {
    "open": ("OPEN", "green"),
    "partly": ("PARTLY OPEN", "yellow"),
    "closed": ("CLOSED", "red"),
    "unlimited": ("OPEN, AND NOT BY AN INTENT", "yellow"),
}
_INDENT: Final = "    "


def print_plan(plan: AllowlistPlan, console: Console) -> None:
    """Print what opens and closes, then what is to be known of it."""
    for change in plan.changes:
        style = "yellow" if change.waits else _COLOURS[change.sign]
        _line(console, _change(change), style)
        if change.waits:
            _line(console, f"{_INDENT}not yet: {change.waits}", "yellow")
    if not plan.changes:
        _line(console, "Nothing opens or closes.")
    else:
        console.print()
        _line(console, _summary(plan.changes))
    for problem in plan.problems:
        colour = "red" if problem.closes else "yellow"
        _line(
            console,
            f"{'closed' if problem.closes else 'note'}: {describe_problem(problem)}",
            colour,
        )
    for beside in plan.beside:
        _line(console, f"beside it: Pod {beside.namespace}/{beside.pod} {beside.why}", "yellow")
    for note in plan.notes:
        _line(console, f"note: {note}", "yellow")


def _change(change: Change) -> str:
    intents = ", ".join(change.allowlists)
    by = f" (allowlist {intents})" if intents else ""
    return f"{change.sign} {change.who} → {change.to} {change.ports}{by}{_pods(change)}"


def _pods(change: Change) -> str:
    if not change.pods:
        return "; no Pod runs so"
    more = change.pods - len(change.examples)
    shown = ", ".join(change.examples) + (f" and {more} more" if more > 0 else "")
    return f"; {change.pods} Pod{'' if change.pods == 1 else 's'}: {shown}"


def _summary(changes: Iterable[Change]) -> str:
    changes = list(changes)
    opened = sum(each.sign == "+" and not each.waits for each in changes)
    waiting = sum(bool(each.waits) for each in changes)
    closed = len(changes) - opened - waiting
    return f"{opened} opened, {closed} closed, {waiting} waiting."


def describe_problem(problem: Problem) -> str:
    """Return a problem with its place, as a line."""
    path = f" {problem.path}" if problem.path else ""
    return f"EgressAllowlist {problem.allowlist}{path}: {problem.message} ({problem.reason})"


def warn_problems(namespace: str, problems: Iterable[Problem]) -> None:
    """Say on standard error what of the allowlists of a namespace stays closed, or is broad."""
    for each in problems:
        word = "closed" if each.closes else "note"
        line = safe_line(f"{word}: {namespace}: {describe_problem(each)}")
        sys.stderr.write(f"sallyport: {line}\n")


def print_explanation(answer: Explanation, console: Console) -> None:
    """Print the verdict, which intents say so, and what is missing."""
    word, colour = _VERDICTS[answer.verdict]
    head = f"{word}: {answer.pod} ({answer.service_account}) → {answer.to} {answer.port}"
    _line(console, head, colour)
    _line(console, f"  {answer.why}")
    for line in _details(answer):
        _line(console, line)


def _details(answer: Explanation) -> Iterator[str]:
    for cited in answer.by:
        yield from _cited(cited)
    if answer.open_addresses:
        yield f"  open:      {', '.join(answer.open_addresses)}"
    if answer.closed_addresses and answer.verdict != "unlimited":
        yield f"  closed:    {', '.join(answer.closed_addresses)}"
    for near in answer.near:
        yield f"  near:      {near.what}: {near.why}"
    if answer.add:
        yield f"  to add:    - {msgspec.json.encode(answer.add).decode()}"
    for warning in answer.warnings:
        yield f"  careful:   {warning}"


def _cited(cited: CitedIntent) -> Iterator[str]:
    yield f"  allowlist: {cited.allowlist}, {cited.path}"
    yield f"             owner {cited.owner}, until {cited.expires_at}: {cited.reason}"


def _line(console: Console, text: str, style: str = "") -> None:
    console.print(Text(safe_line(text), style=style))
