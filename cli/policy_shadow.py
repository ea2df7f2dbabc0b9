"""The command `sallyport policy shadow`."""

from typing import Annotated

import typer

from cli import help_replay as texts
from cli.flags import OutputFlag
from cli.output import Format, make_console, print_json

app = typer.Typer(
    help="A candidate bundle that rides along on live reviews.",
    no_args_is_help=True,
    epilog=texts.SHADOW,
)


@app.callback()
def shadow() -> None:
    """A candidate bundle that rides along on live reviews."""


@app.command(epilog=texts.SHADOW)
def status(
    metrics: Annotated[
        list[str] | None,
        typer.Option(
            metavar="URL",
            help="A gate's metrics; may be repeated.",
            show_default="http://127.0.0.1:9080/metrics",
        ),
    ] = None,
    output: OutputFlag = Format.TABLE,
) -> None:
    """Say what the candidate would have changed since each gate began."""
    from cli.shadow_status import exit_code, print_shadow, read_shadow  # noqa: PLC0415 (keeps --help quick)

    found = read_shadow(metrics or ["http://127.0.0.1:9080/metrics"])
    if output is Format.JSON:
        print_json(found)
    else:
        print_shadow(found, make_console())
    raise typer.Exit(exit_code(found))
