"""A review as a table: verdicts, what was skipped, then what the gate says of each object."""

from collections.abc import Iterator, Sequence

from rich.console import Console
from rich.table import Table
from rich.text import Text

from cli.output import display_file
from cli.shared.results import Result, Unjudged, describe_fill, name_result, verdict_word
from core.base.safe_text import safe_line, safe_text
from core.decision.decision import Verdict


def print_reviewed(results: Sequence[Result], console: Console) -> None:
    """Print a table of verdicts, what was skipped, then what the gate says of each object."""
    table = Table(box=None, pad_edge=False, header_style="bold")
    for column in ("VERDICT", "OBJECT", "PROFILE", "FINDINGS", "FILE"):
        table.add_column(column, overflow="fold")
    for result in results:
        table.add_row(*_row(result))
    console.print(table)
    if lines := list_skipped(results):
        console.print()
        for line in lines:
            console.print(Text(line))
    for result in results:
        if result.message:
            file = safe_line(display_file(result.element.file))
            console.print()
            console.print(Text(f"{file}:", style="dim"))
            console.print(Text(safe_text(result.message)))
    for result in results:
        for line in _besides(result):
            console.print(Text(safe_line(line)))


def _besides(result: Result) -> Iterator[str]:
    """Word the sandbox, what would be filled in, and what could not be known."""
    element = result.element
    named = f"{display_file(element.file)}: {name_result(element)}"
    if element.sandbox and element.verdict is not Verdict.DENY:
        yield ""
        yield f"{named}: runs with the RuntimeClass {element.sandbox}: {result.why_sandboxed}."
    if element.defaults:
        yield ""
        yield f"{named}: {element.profile} fills in, when Pods are created:"
        yield from map(describe_fill, element.defaults)
    if element.notes:
        yield ""
        yield from (f"{named}: {note}." for note in element.notes)


def list_notes(results: Sequence[Result]) -> list[str]:
    """Return what could not be known of objects, a line for each."""
    return [
        f"{display_file(result.element.file)}: {name_result(result.element)}: {note}."
        for result in results
        for note in result.element.notes
    ]


def _row(result: Result) -> tuple[Text, ...]:
    element = result.element
    cells = (_what(result), element.profile or "–", str(len(element.findings)))
    return (
        verdict_word(result, element.verdict),
        *(Text(safe_line(cell)) for cell in (*cells, display_file(element.file))),
    )


def _what(result: Result) -> str:
    named = name_result(result.element, result.place)
    return named if result.element.kind else f"({named})"


def list_skipped(results: Sequence[Result]) -> list[str]:
    """Say of what was not judged why, and what to do."""
    kinds: dict[Unjudged, list[str]] = {}
    for result in results:
        if result.unjudged:
            kinds.setdefault(result.unjudged, []).append(result.element.kind)
    return [_skipped_line(why, kinds[why]) for why in Unjudged if why in kinds]


def _skipped_line(why: Unjudged, kinds: Sequence[str]) -> str:
    count, one = len(kinds), len(kinds) == 1
    named = safe_line(", ".join(sorted(set(kinds))))
    if why is Unjudged.KIND:
        what = "1 object of a kind that is" if one else f"{count} objects of kinds that are"
        then = "their Pods are judged when they are created"
        return f"{what} not judged in this release ({named}); {then}."
    if why is Unjudged.SUBMITTER:
        return f"{count} object{'' if one else 's'} not judged ({named}): {why}."
    if why is Unjudged.MARKS:
        return f"{count} Namespace{'' if one else 's'} not judged: {why}."
    return f"{count} object{'' if one else 's'} left alone ({named}): {why}."
