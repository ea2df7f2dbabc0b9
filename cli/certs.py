"""`sallyport certs`: keys and certificates, and what comes next for them."""

import asyncio

import typer

from cli import help_certs as texts
from cli.flags import ConfigFlag, KubeconfigFlag, OutputFlag, read_flags
from cli.logs import log_to_stderr
from cli.output import Format, make_console, print_json

app = typer.Typer(
    help="Say how keys and certificates stand.", no_args_is_help=True, epilog=texts.CERTS
)


@app.callback()
def certs() -> None:
    """Say how keys and certificates stand."""
    log_to_stderr()


@app.command(epilog=texts.STATUS)
def status(
    kubeconfig: KubeconfigFlag = None,
    config: ConfigFlag = None,
    output: OutputFlag = Format.TABLE,
) -> None:
    """Say who signs, who trusts whom, what is replaced when, and what is wrong."""
    from cli import certs_status  # noqa: PLC0415 (keeps --help and completion quick)
    from cli.certs_text import print_status  # noqa: PLC0415

    settings = read_flags(config, kubeconfig=kubeconfig)
    found = asyncio.run(certs_status.read_status(settings))
    if output is Format.JSON:
        print_json(found)
    else:
        print_status(found, make_console())
    raise typer.Exit(certs_status.exit_code(found))
