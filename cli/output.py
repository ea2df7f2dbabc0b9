"""How results are printed: tables for people, JSON for programs."""

import enum
import os
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import msgspec
from rich.console import Console
from rich.table import Table
from rich.text import Text

from cli.explain_sandbox import why_sandboxed
from cli.text import safe_line, safe_text
from core.decision import Action, Decision, Finding, Verdict

STANDARD_INPUT = "-"

COLOURS = {
    Verdict.ALLOW: "green",
    Verdict.WARN: "yellow",
    Verdict.DENY: "red",
    Verdict.ERROR: "magenta",
}
WORDS = {
    Verdict.ALLOW: "allowed",
    Verdict.WARN: "warned",
    Verdict.DENY: "refused",
    Verdict.ERROR: "not judged",
}
SKIPPED = "skipped"
"""The word for what was not judged; programs read `allow`."""


class Unjudged(enum.StrEnum):
    """Why an object was not judged, and what to do about it."""

    KIND = "not of a kind that is judged"
    SUBMITTER = "say who submits it: --as USER, or --profile NAME"
    MARKS = "--as USER, without --profile, says who would change their marks"
    UNKNOWN = "of an unknown kind: review its CustomResourceDefinition with it, or --cluster has it"
    TEMPLATE = (
        "of an unknown kind, and holds what looks like a Pod template: "
        "review its CustomResourceDefinition with it, or --cluster has it"
    )
    HIDDEN = "of a kind whose definition does not say all its fields: it may carry Pods"


class Format(enum.StrEnum):
    """What `-o` takes."""

    TABLE = "table"
    JSON = "json"


class ReviewFormat(enum.StrEnum):
    """What `-o` of `sallyport review` takes."""

    TABLE = "table"
    JSON = "json"
    SARIF = "sarif"
    JUNIT = "junit"
    GITHUB = "github"


class Fill(msgspec.Struct, frozen=True):
    """A field that a profile's defaults would set in a Pod."""

    path: str
    """From the root of the object; what ends in `[]` is a new element of that list."""
    value: Any


class Reviewed(msgspec.Struct, rename="camel", frozen=True, kw_only=True):
    """One element of `sallyport review -o json` (docs/reference/review-json.md)."""

    file: str
    api_version: str = ""
    kind: str = ""
    namespace: str = ""
    name: str = ""
    verdict: Verdict = Verdict.ALLOW
    profile: str | None = None
    sandbox: str | None = None
    findings: list[Finding] = []
    defaults: list[Fill] = []
    """What the gate would fill in, in Pods, from the defaults of `profile`."""
    notes: list[str] = []
    """What this review could not know of the object."""


@dataclass(frozen=True)
class Change:
    """How an object differs from what it was, as `--diff` compares them."""

    new: bool
    """There was no such object."""
    gained: tuple[str, ...] = ()
    """Privileges that it needs and did not need."""
    lost: tuple[str, ...] = ()
    """Privileges that it needed and does not need."""


@dataclass(frozen=True)
class Result:
    """What became of one object: for programs `element`, for people the rest with it."""

    element: Reviewed
    unjudged: Unjudged | None = None
    """Why it was not judged, if it was not."""
    message: str = ""
    """What the gate says to the person who asked; empty when it has nothing to say."""
    place: str = ""
    """Which part of the file it is, where no object could be read."""
    file: str = ""
    """The file as it was given, which may be no Unicode."""
    part: str = ""
    """Where in the file, as messages say it: `#2:items[3]`, or `, line 3`."""
    needs: frozenset[str] = frozenset()
    """The privileges that the object needs."""
    why_sandboxed: str = ""
    """Why its Pods must run in a sandbox, if they must."""
    change: Change | None = None
    """With `--diff`; `element` has only the findings that are new then."""

    @property
    def verdict(self) -> Verdict:
        """The object's verdict; with `--diff`, what the new findings alone make of it."""
        if self.change is None or self.element.verdict is Verdict.ERROR:
            return self.element.verdict
        actions = {finding.action for finding in self.element.findings}
        if Action.DENY in actions:
            return Verdict.DENY
        return Verdict.WARN if actions else Verdict.ALLOW


def of_decision(reviewed: Reviewed, decision: Decision) -> Result:
    """Give the result with what was decided of its object."""
    element = msgspec.structs.replace(
        reviewed,
        verdict=decision.verdict,
        profile=decision.profile,
        sandbox=(decision.isolation.runtime or None) if decision.isolation else None,
        findings=findings_of(decision),
    )
    needs = frozenset(need.privilege for need in decision.evidence.needs)
    isolation = decision.isolation
    why = why_sandboxed(isolation) if isolation and isolation.runtime else ""
    return Result(element, message=decision.message, needs=needs, why_sandboxed=why)


def findings_of(decision: Decision) -> list[Finding]:
    """Give what was found; of an error, why nobody could judge."""
    if decision.verdict is not Verdict.ERROR:
        return decision.findings
    rule = f"error/{decision.error_kind}"
    remedy = "Mend the object, or what it is judged with, and review it again."
    return [Finding(rule, Action.DENY, decision.field, decision.reason, remedy)]


def shown_file(file: str) -> str:
    """Name a file for people."""
    return "standard input" if file == STANDARD_INPUT else file


def as_unicode(path: str) -> str:
    """Give a path that JSON can hold: bytes of a name that are not UTF-8 become U+FFFD."""
    return os.fsencode(path).decode(errors="replace")


def make_console(width: int = 160) -> Console:
    """Give where tables go; `width` is for those that go to a file or a pipe."""
    shown = None if sys.stdout.isatty() else width
    return Console(highlight=False, soft_wrap=True, width=shown)


def print_json(value: object) -> None:
    """Print JSON, indented, with a newline at its end."""
    sys.stdout.buffer.write(msgspec.json.format(msgspec.json.encode(value), indent=2) + b"\n")


def print_reviewed(results: Sequence[Result], console: Console) -> None:
    """Print a table of verdicts, what was skipped, then what the gate says of each object."""
    table = Table(box=None, pad_edge=False, header_style="bold")
    for column in ("VERDICT", "OBJECT", "PROFILE", "FINDINGS", "FILE"):
        table.add_column(column, overflow="fold")
    for result in results:
        table.add_row(*_row(result))
    console.print(table)
    if lines := skipped(results):
        console.print()
        for line in lines:
            console.print(Text(line))
    for result in results:
        if result.message:
            file = safe_line(shown_file(result.element.file))
            console.print()
            console.print(Text(f"{file}:", style="dim"))
            console.print(Text(safe_text(result.message)))
    for result in results:
        for line in _besides(result):
            console.print(Text(safe_line(line)))


def _besides(result: Result) -> Iterator[str]:
    """Word the sandbox, what would be filled in, and what could not be known."""
    element = result.element
    named = f"{shown_file(element.file)}: {name_result(element)}"
    if element.sandbox and element.verdict is not Verdict.DENY:
        yield ""
        yield f"{named}: runs with the RuntimeClass {element.sandbox}: {result.why_sandboxed}."
    if element.defaults:
        yield ""
        yield f"{named}: {element.profile} fills in, when Pods are created:"
        yield from map(worded, element.defaults)
    if element.notes:
        yield ""
        yield from (f"{named}: {note}." for note in element.notes)


def worded(fill: Fill) -> str:
    """Give a field that would be filled in, as a line for people."""
    return f"  {fill.path}: {msgspec.json.encode(fill.value).decode()}"


def told(results: Sequence[Result]) -> list[str]:
    """Give what could not be known of objects, a line for each."""
    return [
        f"{shown_file(result.element.file)}: {name_result(result.element)}: {note}."
        for result in results
        for note in result.element.notes
    ]


def _row(result: Result) -> tuple[Text, ...]:
    element = result.element
    cells = (_what(result), element.profile or "–", str(len(element.findings)))
    return (
        verdict_word(result, element.verdict),
        *(Text(safe_line(cell)) for cell in (*cells, shown_file(element.file))),
    )


def verdict_word(result: Result, verdict: Verdict) -> Text:
    """Give a result's verdict as people read it, in its colour."""
    if result.unjudged:
        return Text(SKIPPED, style="dim")
    return Text(WORDS[verdict], style=COLOURS[verdict])


def _what(result: Result) -> str:
    named = name_result(result.element, result.place)
    return named if result.element.kind else f"({named})"


def name_result(element: Reviewed, place: str = "") -> str:
    """Name the object of an element for people; `place` where none could be read."""
    return name_object(element.kind, element.namespace, element.name) if element.kind else place


def name_object(kind: str, namespace: str, name: str) -> str:
    """Name an object for people: `Pod train/worker-0`."""
    shown = name or "(unnamed)"
    return f"{kind} {namespace}/{shown}" if namespace else f"{kind} {shown}"


def skipped(results: Sequence[Result]) -> list[str]:
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
