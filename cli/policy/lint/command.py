"""`sallyport policy lint`: what cannot be right about rules."""

import enum
import shutil
from pathlib import Path
from typing import Annotated

import typer

from cli.output import make_console, print_json
from cli.policy.shared.flags import (
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

LINT = """**Examples**

    sallyport policy lint my-rules

    sallyport policy lint my-rules --watch

    sallyport policy lint my-rules -o json

    sallyport policy lint my-rules -o lines

`opa fmt`, `opa check --strict` with the schemas of the input, regal if it is
on PATH, and Sallyport's own rules about what is undefined.

**Exit codes**: 0 nothing, or warnings alone; 1 errors were found; 2 it could
not be read; 64 wrong usage."""


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
    from cli.policy.lint import render as linting  # noqa: PLC0415 (keeps --help quick)
    from policies.authoring.lint.linter import lint  # noqa: PLC0415

    require_folders(folders)
    program = find_opa(opa)

    def once() -> int:
        regal = shutil.which("regal")
        if regal is None:
            tell("regal is not on PATH: what it would find is not looked for")
        found = lint(program, folders, choices_of(rules), Path(regal) if regal else None)
        if output is LintFormat.JSON:
            print_json(linting.Linted(problems=found))
        elif output is LintFormat.LINES:
            linting.print_lines(found)
        else:
            linting.print_table(found, make_console())
        return linting.exit_code(found)

    paths = [*folders, *([rules] if rules else ())]
    raise typer.Exit(run_once_or_watch(once, paths, watched=watch))
