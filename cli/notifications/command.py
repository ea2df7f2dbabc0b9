"""`sallyport notifications`: sinks tried, and how they are."""

from typing import Annotated

import typer

from cli.flags import ConfigFlag, LedgerFlag, OutputFlag, read_flags
from cli.output import Format, make_console, print_json
from cli.session import log_to_stderr, run_async

TEST = """**Examples**

    sallyport notifications test pager --config config.yaml

    sallyport notifications test pager --config config.yaml -o json

Sends one notice that is marked as a test, whatever the sink is told of, and
says what became of it. Run it where the auditor runs: there are the secrets,
and from there the sink must be reached. The auditor's own place in the ledger
is not touched.

**Exit codes**: 0 the sink took it; 1 the sink refuses it for good; 2 the sink
was not reached, or does not take notices now; 64 wrong usage, or no such sink."""

STATUS = """**Examples**

    sallyport notifications status --config config.yaml

    sallyport notifications status --config config.yaml -o json

Of each sink of the settings: how many notices it took, how many were given up,
and since when and why it takes none. With -o json its last dead letters, by the
id that `findings show` takes.

**Exit codes**: 0 every sink takes notices, or has none yet; 1 one takes none
now, or its cursor cannot be read; 2 there is no ledger, or it does not answer;
64 wrong usage."""

app = typer.Typer(help="Tries sinks of notifications, and shows how they are.")


@app.command("test", epilog=TEST)
def try_(
    sink: Annotated[str, typer.Argument(metavar="SINK", help="The sink's name.")],
    config: ConfigFlag = None,
    output: OutputFlag = Format.TABLE,
) -> None:
    """Send a notice that is marked as a test to one sink."""
    from cli.notifications.render import print_tried  # noqa: PLC0415 (keeps --help quick)
    from cli.notifications.run import exit_of_test, try_sink  # noqa: PLC0415

    log_to_stderr()
    tried = run_async(try_sink(read_flags(config), sink))
    if output is Format.JSON:
        print_json(tried)
    else:
        print_tried(tried)
    raise typer.Exit(exit_of_test(tried))


@app.command(epilog=STATUS)
def status(
    ledger: LedgerFlag = None,
    config: ConfigFlag = None,
    output: OutputFlag = Format.TABLE,
) -> None:
    """Show how each sink is."""
    from cli.notifications.render import print_status  # noqa: PLC0415 (keeps --help quick)
    from cli.notifications.run import exit_of_status, read_status  # noqa: PLC0415

    found = run_async(read_status(read_flags(config, ledger=ledger)))
    if output is Format.JSON:
        print_json(found)
    elif found.sinks:
        print_status(found, make_console(400))
    else:
        typer.echo("no sink: name one in notifications.sinks", err=True)
    raise typer.Exit(exit_of_status(found))
