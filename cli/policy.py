"""`sallyport policy`: what policy authors need."""

import os
import shutil
from pathlib import Path
from typing import Annotated

import typer

from cli import help as texts
from cli.logs import log_to_stderr
from core.errors import SettingsError
from policies import BUILT_IN_BUNDLE, BUILT_IN_REGO

app = typer.Typer(help="Make policies.", no_args_is_help=True, epilog=texts.POLICY)


@app.callback()
def policy() -> None:
    """Make policies."""
    log_to_stderr()


@app.command(epilog=texts.BUILD)
def build(
    output: Annotated[
        Path | None,
        typer.Option(
            "--output", metavar="FILE", help="The bundle.", show_default="the built-in bundle"
        ),
    ] = None,
    site: Annotated[
        list[Path] | None,
        typer.Option(
            "--site", metavar="FOLDER", help="Your own signals, put beside the built-in ones."
        ),
    ] = None,
    opa: Annotated[
        Path | None,
        typer.Option(envvar="SALLYPORT_OPA", metavar="FILE", help="OPA; without it from PATH."),
    ] = None,
) -> None:
    """Compile the built-in policies into a bundle, with signals of your own."""
    from policies.build import build as build_bundle  # noqa: PLC0415 (keeps --help quick)
    from policies.bundle import read_bundle  # noqa: PLC0415

    made = _output(output, site or [])
    build_bundle(_find_opa(opa), BUILT_IN_REGO, made, site or [])
    typer.echo(f"{made}: revision {read_bundle(made).revision}")


def _output(output: Path | None, sites: list[Path]) -> Path:
    """Give where the bundle goes; never with a site's signals into the built-in one's place."""
    if sites and (output is None or output.resolve() == BUILT_IN_BUNDLE.resolve()):
        raise SettingsError(
            "--site: give --output FILE, another than the built-in bundle, which it would overwrite"
        )
    return output or BUILT_IN_BUNDLE


def _find_opa(opa: Path | None) -> Path:
    if opa is None and (found := shutil.which("opa")):
        opa = Path(found)
    if opa is None or not (opa.is_file() and os.access(opa, os.X_OK)):
        where = f"{opa} is no program" if opa else "there is no opa on PATH"
        raise SettingsError(
            f"--opa (SALLYPORT_OPA): {where}; in Sallyport's sources, give "
            '--opa "$(python3 tests/tools/provide.py opa)"'
        )
    return opa
