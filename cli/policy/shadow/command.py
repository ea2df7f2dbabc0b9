"""The command `sallyport policy shadow`."""

from typing import Annotated

import typer

from cli.flags import OutputFlag
from cli.output import Format, make_console, print_json

SHADOW = """**Examples**

    SALLYPORT_SHADOW__BUNDLE=new.tar.gz sallyport run

    sallyport policy shadow status

    sallyport policy shadow status --metrics http://10.0.0.7:9080/metrics

Give --metrics once for each gate: what they count is added up. To say that it
may be promoted, 100 reviews and a tenth of all must have been compared.

**Exit codes**: 0 nothing would newly be refused; 1 something would; 2 nothing
can be said, or not all: a gate does not answer, has another candidate or none,
or some reviews could not be judged by it, or too few were compared; 64 wrong usage."""


app = typer.Typer(
    help="A candidate bundle that rides along on live reviews.",
    no_args_is_help=True,
    epilog=SHADOW,
)


@app.callback()
def shadow() -> None:
    """A candidate bundle that rides along on live reviews."""


@app.command(epilog=SHADOW)
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
    from cli.policy.shadow.status import exit_code, print_shadow, read_shadow  # noqa: PLC0415 (keeps --help quick)

    found = read_shadow(metrics or ["http://127.0.0.1:9080/metrics"])
    if output is Format.JSON:
        print_json(found)
    else:
        print_shadow(found, make_console())
    raise typer.Exit(exit_code(found))
