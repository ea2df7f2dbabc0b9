"""Lines that several commands of `sallyport egress` print."""

import sys
import textwrap
from collections.abc import Iterable
from typing import Final

from rich.console import Console
from rich.text import Text

from core.base.safe_text import safe_line
from egress.model.openings import Problem

_NARROWEST: Final = 40


def print_line(console: Console, text: str, style: str = "") -> None:
    """Print a line in one style."""
    console.print(Text(safe_line(text), style=style))


def print_indented(console: Console, text: str, by: int, style: str = "") -> None:
    """Print a line so many columns from the left; on a terminal broken where it is too long."""
    line = safe_line(text)
    lines = [f"{' ' * by}{line}"]
    if console.is_terminal:
        lines = textwrap.wrap(
            line,
            max(console.width, _NARROWEST),
            initial_indent=" " * by,
            subsequent_indent=" " * (by + 2),
            break_on_hyphens=False,
        )
    for each in lines:
        console.print(Text(each, style=style))


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
