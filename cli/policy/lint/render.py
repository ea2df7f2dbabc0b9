"""What `sallyport policy lint` found, as it is shown."""

from collections.abc import Sequence
from typing import Final

import msgspec
import typer
from rich.console import Console
from rich.table import Table
from rich.text import Text

from cli import exits
from core.base.safe_text import safe_line
from policies.authoring.lint.problems import Level, Problem

FORMAT: Final = 1

_COLOURS: Final = {Level.ERROR: "red", Level.WARNING: "yellow"}


class Linted(msgspec.Struct, frozen=True, kw_only=True):
    """What `-o json` prints."""

    format: int = FORMAT
    problems: list[Problem]
    """Ordered by place."""


def exit_code(found: Sequence[Problem]) -> int:
    """Return the exit code: warnings alone are admitted."""
    return exits.REFUSED if errors_in(found) else exits.ADMITTED


def errors_in(found: Sequence[Problem]) -> int:
    """Count what is more than a warning."""
    return sum(each.level is Level.ERROR for each in found)


def print_lines(found: Sequence[Problem]) -> None:
    """Print `file:line:column: what`, for editors."""
    for each in found:
        said = f"{each.level.value}: {each.what} [{each.id}]"
        typer.echo(safe_line(f"{each.file}:{each.line}:{each.column}: {said}"))


def print_table(found: Sequence[Problem], console: Console) -> None:
    """Print a table, and the sum."""
    if found:
        table = Table(box=None, pad_edge=False, header_style="bold")
        for column in ("LEVEL", "WHERE", "WHAT"):
            table.add_column(column, overflow="fold")
        for each in found:
            what = f"{each.what} [{each.id}]" + (f"\n→ {each.hint}" if each.hint else "")
            table.add_row(
                Text(each.level.value, style=_COLOURS[each.level]),
                Text(safe_line(f"{each.file}:{each.line}:{each.column}")),
                Text("\n".join(map(safe_line, what.splitlines()))),
            )
        console.print(table)
        console.print()
    errors = errors_in(found)
    console.print(f"{errors} errors, {len(found) - errors} warnings")
