"""How results are printed: tables for people, JSON for programs."""

import enum
import os
import sys
from collections.abc import Sequence
from dataclasses import dataclass

import msgspec
from rich.console import Console
from rich.table import Table
from rich.text import Text

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
"""The word for what is not of a kind that is judged; programs read `allow`."""


class Format(enum.StrEnum):
    """What `-o` takes."""

    TABLE = "table"
    JSON = "json"


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


@dataclass(frozen=True)
class Result:
    """What became of one object: for programs `element`, for people the rest with it."""

    element: Reviewed
    judged: bool = True
    message: str = ""
    """What the gate says to the person who asked; empty when it has nothing to say."""
    place: str = ""
    """Which part of the file it is, where no object could be read."""


def of_decision(reviewed: Reviewed, decision: Decision) -> Result:
    """Give the result with what was decided of its object."""
    findings = decision.findings
    if decision.verdict is Verdict.ERROR:
        rule = f"error/{decision.error_kind}"
        remedy = "Mend the object, or what it is judged with, and review it again."
        findings = [Finding(rule, Action.DENY, decision.field, decision.reason, remedy)]
    element = msgspec.structs.replace(
        reviewed, verdict=decision.verdict, profile=decision.profile, findings=findings
    )
    return Result(element, message=decision.message)


def shown_file(file: str) -> str:
    """Name a file for people."""
    return "standard input" if file == STANDARD_INPUT else file


def as_unicode(path: str) -> str:
    """Give a path that JSON can hold: bytes of a name that are not UTF-8 become U+FFFD."""
    return os.fsencode(path).decode(errors="replace")


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
    for line in _skipped(results):
        console.print(Text(line))
    for result in results:
        if result.message:
            file = safe_line(shown_file(result.element.file))
            console.print()
            console.print(Text(f"{file}:", style="dim"))
            console.print(Text(safe_text(result.message)))


def _row(result: Result) -> tuple[Text, ...]:
    element = result.element
    word = WORDS[element.verdict] if result.judged else SKIPPED
    cells = (_what(result), element.profile or "–", str(len(element.findings)))
    return (
        Text(word, style=COLOURS[element.verdict] if result.judged else "dim"),
        *(Text(safe_line(cell)) for cell in (*cells, shown_file(element.file))),
    )


def _what(result: Result) -> str:
    element = result.element
    if not element.kind:
        return f"({result.place})"
    return name_object(element.kind, element.namespace, element.name)


def name_object(kind: str, namespace: str, name: str) -> str:
    """Name an object for people: `Pod train/worker-0`."""
    shown = name or "(unnamed)"
    return f"{kind} {namespace}/{shown}" if namespace else f"{kind} {shown}"


def _skipped(results: Sequence[Result]) -> list[str]:
    """Say of what was not judged why, and when it will be."""
    kinds = [result.element.kind for result in results if not result.judged]
    namespaces = kinds.count("Namespace")
    others = len(kinds) - namespaces
    lines = []
    if others:
        named = safe_line(", ".join(sorted(set(kinds) - {"Namespace"})))
        what = (
            "1 object of a kind that is" if others == 1 else f"{others} objects of kinds that are"
        )
        lines.append(
            f"{what} not judged in this release ({named}); "
            "their Pods are judged when they are created."
        )
    if namespaces:
        what = "1 Namespace" if namespaces == 1 else f"{namespaces} Namespaces"
        lines.append(
            f"{what} not judged: --as USER, without --profile, says who would change their marks."
        )
    return [f"\n{lines[0]}", *lines[1:]] if lines else []
