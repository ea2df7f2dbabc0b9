"""`sallyport weights`: who can open the weights; logs of accesses, taken into a ledger by hand."""

import asyncio
from typing import Annotated

import typer

from cli import exits
from cli import help_weights as texts
from cli.flags import ConfigFlag, KubeconfigFlag, LedgerFlag, OutputFlag, read_flags
from cli.logs import log_to_stderr
from cli.output import Format, make_console, print_json

app = typer.Typer(
    help="Say who can open the model weights, and take in logs of who did.",
    no_args_is_help=True,
    epilog=texts.WEIGHTS,
)


@app.callback()
def weights() -> None:
    """Say who can open the model weights, and take in logs of who did."""
    log_to_stderr()


@app.command(epilog=texts.ACCESS)
def access(
    store: Annotated[
        str | None, typer.Argument(metavar="STORE", help="The WeightStore; else all of them.")
    ] = None,
    kubeconfig: KubeconfigFlag = None,
    config: ConfigFlag = None,
    output: OutputFlag = Format.TABLE,
) -> None:
    """Say who can open the weights by Azure's rules, and what differs from what is written."""
    from cli import weights_access  # noqa: PLC0415 (keeps --help and completion quick)

    settings = read_flags(config, kubeconfig=kubeconfig)
    asking = weights_access.find_accesses(settings.kubeconfig, settings.namespace, store)
    found = asyncio.run(asking)
    if output is Format.JSON:
        print_json(found)
    else:
        weights_access.print_accesses(found, make_console())
    raise typer.Exit(weights_access.exit_code(found))


@app.command(epilog=texts.INGEST)
def ingest(
    sources: Annotated[
        list[str], typer.Argument(metavar="SOURCE...", help="Files, folders, or - for input.")
    ],
    cluster_id: Annotated[
        str | None, typer.Option(help="Whose logs they are; else cluster_id of the settings.")
    ] = None,
    ledger: LedgerFlag = None,
    config: ConfigFlag = None,
    output: OutputFlag = Format.TABLE,
) -> None:
    """Attribute, judge and store what logs say; what is known already is not stored again."""
    from cli.weights_ingest import lines_of, take_in  # noqa: PLC0415 (keeps --help quick)

    settings = read_flags(config, cluster_id=cluster_id, ledger=ledger)
    taken = asyncio.run(take_in(settings, sources))
    if output is Format.JSON:
        print_json(taken)
    else:
        console = make_console()
        for line in lines_of(taken):
            console.print(line)
    raise typer.Exit(exits.REFUSED if taken.refused else exits.ADMITTED)
