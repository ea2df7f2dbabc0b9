"""Prints a review's report in the format that was asked for; for `--diff`, what is new."""

import sys
from collections.abc import Iterable, Iterator, Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Final

import msgspec
from rich.console import Console
from rich.table import Table
from rich.text import Text

from cli.output import ReviewFormat, display_file, print_json
from cli.review.github import github_commands
from cli.review.junit import junit_xml
from cli.review.report import Report, locate
from cli.review.sarif import sarif_log
from cli.shared.results import Result, Reviewed, Unjudged, describe_fill, name_result, verdict_word
from core.base.safe_text import safe_line, safe_text
from core.decision.decision import Finding, Verdict

FORMAT: Final = 1
"""Version of `sallyport review --diff -o json`."""

_MOST: Final = 20
"""Findings shown of one object; JSON has them all."""

_NOT_KNOWN: Final = frozenset(Unjudged) - {Unjudged.KIND, Unjudged.MARKS}


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


class Compared(Reviewed, rename="camel", frozen=True, kw_only=True):
    """An element of the list of reviewed objects, compared with what the object was.

    `verdict` is the whole object's, `findings` are the new ones alone.
    """

    new: bool
    """There was no such object."""
    newly: Verdict
    """What the new findings alone would give; the exit code is made of these."""
    gained: list[str]
    """Privileges that it needs and did not need, covered or not."""
    lost: list[str]
    """Privileges that it needed and does not need."""


class Gone(msgspec.Struct, rename="camel", frozen=True, kw_only=True):
    """An object of the old state that is no more."""

    file: str
    api_version: str
    kind: str
    namespace: str
    name: str


class Difference(msgspec.Struct, rename="camel", frozen=True, kw_only=True):
    """The document of `sallyport review --diff -o json`."""

    format: int = FORMAT
    old: str
    objects: list[Compared]
    gone: list[Gone]


def as_difference(report: Report) -> Difference:
    """Return the document of a report that compares."""
    gone = [msgspec.convert(each, Gone, from_attributes=True) for each in report.gone]
    objects = [_compared(result) for result in report.results]
    return Difference(old=report.old or "", objects=objects, gone=gone)


def _compared(result: Result) -> Compared:
    change = result.change
    fields = msgspec.structs.asdict(result.element)
    return Compared(
        **fields,
        new=change is not None and change.new,
        newly=result.verdict,
        gained=list(change.gained) if change else [],
        lost=list(change.lost) if change else [],
    )


def print_difference(report: Report, console: Console) -> None:
    """Print each object that needs something else than before, what is gone, and a count."""
    changed = [result for result in report.results if _is_shown(result)]
    for result in changed:
        _print(result, console)
    for each in report.gone:
        named = f"{name_result(each)}  (it was in {display_file(each.file)})"
        console.print(_line(Text("gone", style="dim"), named))
    same = len(report.results) - len(changed)
    counts = f"{len(changed)} changed, {same} as before, {len(report.gone)} gone"
    console.print(Text(safe_line(f"Compared with {report.old}: {counts}"), style="dim"))


def _is_shown(result: Result) -> bool:
    change = result.change
    differs = change is not None and (change.new or change.gained or change.lost)
    return bool(differs or result.element.findings)


def _print(result: Result, console: Console) -> None:
    change, element = result.change, result.element
    new = " (new)" if change and change.new else ""
    named = f"{name_result(element, result.place)}{new}  {display_file(element.file)}"
    console.print(_line(verdict_word(result, result.verdict), named))
    for sign, privileges in (("+", change.gained), ("-", change.lost)) if change else ():
        for privilege in privileges:
            console.print(Text(safe_line(f"  {sign} {privilege}")))
    for finding in element.findings[:_MOST]:
        _print_finding(finding, console)
    if len(element.findings) > _MOST:
        console.print(Text(f"  … and {len(element.findings) - _MOST} more"))


def _print_finding(finding: Finding, console: Console) -> None:
    where = f"{finding.path}: " if finding.path else ""
    console.print(Text(safe_line(f"  {where}{finding.message}")))
    console.print(Text(safe_line(f"    Fix: {finding.remedy}")))


def _line(word: Text, text: str) -> Text:
    return Text.assemble(word, "  ", safe_line(text))


def show(report: Report, form: ReviewFormat, console: Console) -> None:
    """Print to standard output; the console is for tables.

    Where that has no words for what was not judged since nobody knows who submits it, or what it
    is, standard error has them: the verdict of such an object reads `allow`. So it is with what
    could not be known of an object.
    """
    has_words = form is ReviewFormat.JUNIT or (form is ReviewFormat.TABLE and report.old is None)
    if not has_words:
        unknown = [each for each in report.results if each.unjudged in _NOT_KNOWN]
        _warn(list_skipped(unknown))
    if form is not ReviewFormat.JSON and not (form is ReviewFormat.TABLE and report.old is None):
        _warn(list_notes(report.results))
    if form is ReviewFormat.TABLE:
        if report.old is None:
            print_reviewed(report.results, console)
        else:
            print_difference(report, console)
    elif form is ReviewFormat.JSON:
        elements = [result.element for result in report.results]
        print_json(elements if report.old is None else as_difference(report))
    elif form is ReviewFormat.JUNIT:
        sys.stdout.buffer.write(junit_xml(report))
    else:
        located = locate(report.results, Path.cwd())
        if form is ReviewFormat.SARIF:
            print_json(sarif_log(report, located, version("sallyport")))
        else:
            sys.stdout.buffer.write(github_commands(report, located).encode())


def _warn(lines: Iterable[str]) -> None:
    sys.stderr.writelines(f"sallyport: {safe_line(line)}\n" for line in lines)
