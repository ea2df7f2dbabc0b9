"""How results are printed: tables for people, JSON for programs."""

import enum
import os
import sys
from typing import TYPE_CHECKING

import msgspec

from core.decision.decision import Verdict

if TYPE_CHECKING:
    from rich.console import Console

STANDARD_INPUT = "-"

COLOURS = {
    Verdict.ALLOW: "green",
    Verdict.WARN: "yellow",
    Verdict.DENY: "red",
    Verdict.ERROR: "magenta",
}
SEVERITY_COLOURS = {"critical": "red", "high": "red", "medium": "yellow", "low": "blue"}
WORDS = {
    Verdict.ALLOW: "allowed",
    Verdict.WARN: "warned",
    Verdict.DENY: "refused",
    Verdict.ERROR: "not judged",
}


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


def display_file(file: str) -> str:
    """Name a file for people."""
    return "standard input" if file == STANDARD_INPUT else file


def as_unicode(path: str) -> str:
    """Return a path that JSON can hold: bytes of a name that are not UTF-8 become U+FFFD."""
    return os.fsencode(path).decode(errors="replace")


def make_console(width: int = 160) -> "Console":
    """Return where tables go; `width` is for those that go to a file or a pipe."""
    from rich.console import Console  # noqa: PLC0415 (keeps --help and completion quick)

    shown = None if sys.stdout.isatty() else width
    return Console(highlight=False, soft_wrap=True, width=shown)


def print_json(value: object) -> None:
    """Print JSON, indented, with a newline at its end."""
    sys.stdout.buffer.write(msgspec.json.format(msgspec.json.encode(value), indent=2) + b"\n")


def name_object(kind: str, namespace: str, name: str) -> str:
    """Name an object for people: `Pod train/worker-0`."""
    shown = name or "(unnamed)"
    return f"{kind} {namespace}/{shown}" if namespace else f"{kind} {shown}"
