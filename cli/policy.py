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
        Path,
        typer.Option(
            "--output", metavar="FILE", help="The bundle.", show_default="the built-in bundle"
        ),
    ] = BUILT_IN_BUNDLE,
    opa: Annotated[
        Path | None,
        typer.Option(envvar="SALLYPORT_OPA", metavar="FILE", help="OPA; without it from PATH."),
    ] = None,
) -> None:
    """Compile the built-in policies into a bundle."""
    from policies.build import build as build_bundle  # noqa: PLC0415 (keeps --help quick)
    from policies.bundle import read_bundle  # noqa: PLC0415

    build_bundle(_find_opa(opa), BUILT_IN_REGO, output)
    typer.echo(f"{output}: revision {read_bundle(output).revision}")


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
