"""`sallyport policy lint`: what cannot be right about rules."""

import enum
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console
from rich.table import Table
from rich.text import Text

from cli import exits
from cli.output import make_console, print_json
from cli.policy_flags import (
    FoldersArgument,
    OpaFlag,
    RulesFlag,
    WatchFlag,
    choices_of,
    find_opa,
    require_folders,
    run_once_or_watch,
    tell,
)
from cli.text import safe_line

if TYPE_CHECKING:
    from policies.authoring.lint import Problem

_COLOURS = {"error": "red", "warning": "yellow"}


class LintFormat(enum.StrEnum):
    """What `-o` of `sallyport policy lint` takes."""

    TABLE = "table"
    JSON = "json"
    LINES = "lines"
    """`file:line:column: what`, for editors."""


def policy_lint(
    folders: FoldersArgument,
    rules: RulesFlag = None,
    watch: WatchFlag = False,  # noqa: FBT002 (typer's flag)
    opa: OpaFlag = None,
    output: Annotated[
        LintFormat, typer.Option("--output", "-o", metavar="FORMAT", help="table, json or lines.")
    ] = LintFormat.TABLE,
) -> None:
    """Find what cannot be right about your rules, and what is undefined in them."""
    from policies.authoring.lint.linting import lint  # noqa: PLC0415 (keeps --help quick)

    require_folders(folders)
    program = find_opa(opa)

    def once() -> int:
        regal = shutil.which("regal")
        if regal is None:
            tell("regal is not on PATH: what it would find is not looked for")
        found = lint(program, folders, choices_of(rules), Path(regal) if regal else None)
        _show(found, output, make_console())
        return exits.REFUSED if any(_is_error(each) for each in found) else exits.ADMITTED

    paths = [*folders, *([rules] if rules else ())]
    raise typer.Exit(run_once_or_watch(once, paths, watched=watch))


def _is_error(problem: "Problem") -> bool:
    return problem.level.value == "error"


def _show(found: "Sequence[Problem]", output: LintFormat, console: Console) -> None:
    if output is LintFormat.JSON:
        print_json(found)
        return
    if output is LintFormat.LINES:
        for each in found:
            said = f"{each.level.value}: {each.what} [{each.id}]"
            typer.echo(safe_line(f"{each.file}:{each.line}:{each.column}: {said}"))
        return
    if found:
        table = Table(box=None, pad_edge=False, header_style="bold")
        for column in ("LEVEL", "WHERE", "WHAT"):
            table.add_column(column, overflow="fold")
        for each in found:
            level = each.level.value
            what = f"{each.what} [{each.id}]" + (f"\n→ {each.hint}" if each.hint else "")
            table.add_row(
                Text(level, style=_COLOURS[level]),
                Text(safe_line(f"{each.file}:{each.line}:{each.column}")),
                Text("\n".join(map(safe_line, what.splitlines()))),
            )
        console.print(table)
        console.print()
    errors = sum(map(_is_error, found))
    console.print(f"{errors} errors, {len(found) - errors} warnings")
