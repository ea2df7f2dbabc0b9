"""Flags that several commands of `sallyport policy` share, and what they are read into."""

import os
import shutil
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

import typer

from cli.output import Format
from core.base.errors import SallyportError, SettingsError
from core.base.safe_text import safe_line

if TYPE_CHECKING:
    from policies.site.choices import Choices

OpaFlag = Annotated[
    Path | None,
    typer.Option(envvar="SALLYPORT_OPA", metavar="FILE", help="OPA; without it from PATH."),
]
RulesFlag = Annotated[
    Path | None,
    typer.Option(
        metavar="FILE", help="Which rules hold where, what they do, and their parameters."
    ),
]
FoldersArgument = Annotated[
    list[Path], typer.Argument(metavar="FOLDER…", help="Your rules and signals.")
]
WatchFlag = Annotated[
    bool, typer.Option("--watch", help="Begin again at each change, until Ctrl-C.")
]

FormFlag = Annotated[
    Format, typer.Option("-o", metavar="FORMAT", help="How to print: table or json.")
]
"""As OutputFlag, where `--output` names a file."""

_CLEAR: Final = "\x1b[2J\x1b[H"


def find_opa(opa: Path | None) -> Path:
    """Return the program, from the flag or PATH.

    Raises:
        SettingsError: there is none; says where one comes from.
    """
    if opa is None and (found := shutil.which("opa")):
        opa = Path(found)
    if opa is None or not (opa.is_file() and os.access(opa, os.X_OK)):
        where = f"{opa} is no program" if opa else "there is no opa on PATH"
        raise SettingsError(
            f"--opa (SALLYPORT_OPA): {where}; in Sallyport's sources, give "
            '--opa "$(python3 tests/tools/provide.py opa)"'
        )
    return opa


def require_folders(folders: Sequence[Path], flag: str = "") -> None:
    """Demand that each is a folder; `flag`, with a space, is what named it.

    Raises:
        SettingsError: one is none.
    """
    for folder in folders:
        if not folder.is_dir():
            raise SettingsError(
                f"{flag}{folder}: no such folder: name one of rules, or make its first "
                "with 'sallyport policy new CATEGORY/NAME --into FOLDER'"
            )


def choices_of(rules: Path | None) -> "Choices":
    """Read the file of --rules.

    Raises:
        SettingsError: there is no such file.
        BundleRefusedError: see `read_choices`.
    """
    if rules and not rules.exists():
        raise SettingsError(f"--rules {rules}: no such file: name the one that chooses the rules")
    from policies.site.choices import NO_CHOICES, read_choices  # noqa: PLC0415 (quick --help)

    return read_choices(rules) if rules else NO_CHOICES


def tell(line: str) -> None:
    """Say on standard error what is being done."""
    sys.stderr.write(f"{safe_line(line)}\n")


def run_once_or_watch(work: Callable[[], int], paths: Sequence[Path], *, watched: bool) -> int:
    """Do the work and give its exit code; or, if it is watched, again and again, and then 0."""
    if not watched:
        return work()
    from policies.authoring.file_watch import watch  # noqa: PLC0415 (quick --help)

    def again() -> None:
        if sys.stdout.isatty():
            sys.stdout.write(_CLEAR)
        try:
            work()
        except (SallyportError, OSError) as error:
            tell(f"sallyport: {error}")
        sys.stdout.flush()
        tell("waiting for changes; Ctrl-C ends it")

    watch(paths, again)
    return 0
