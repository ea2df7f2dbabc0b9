"""`sallyport quarantine`: records of logs that could not be read, and why."""

from typing import Annotated

import typer

from cli.flags import (
    ClusterIdFlag,
    ConfigFlag,
    LedgerFlag,
    OutputFlag,
    SinceFlag,
    UntilFlag,
    read_flags,
)
from cli.output import Format, make_console, print_json
from cli.session import run_async

LIST = """**Examples**

    sallyport quarantine list

    sallyport quarantine list --source storage --since 7d -o json

Records of logs that could not be read, with the reason and the place in their
source; never what they say. Mend the reason and let the source be read again:
what is known already is not stored twice.

**Exit codes**: 0 listed, also where there is none; 2 there is no ledger, or it
does not answer; 64 wrong usage."""

SHOW = """**Examples**

    sallyport quarantine show 019e3b2c-5d00-7cd8-acb9-8022e6d133b2

    sallyport quarantine show 019e3b2c --record

With --record it prints how the record begins, as it came: that may hold
anything, secrets too.

**Exit codes**: 0 shown; 2 there is no ledger, or it does not answer; 64 wrong
usage, or no such record."""

app = typer.Typer(help="Lists and shows records of logs that could not be read.")


@app.command("list", epilog=LIST)
def list_(  # noqa: PLR0913, PLR0917 (one parameter a flag)
    source: Annotated[str, typer.Option(help="That came from this source.")] = "",
    since: SinceFlag = "30d",
    until: UntilFlag = None,
    cluster_id: ClusterIdFlag = None,
    limit: Annotated[int, typer.Option(min=1, max=10_000, help="At most so many.")] = 50,
    ledger: LedgerFlag = None,
    config: ConfigFlag = None,
    output: OutputFlag = Format.TABLE,
) -> None:
    """List records in quarantine, the newest first."""
    from cli.quarantine.render import print_list  # noqa: PLC0415 (keeps --help quick)
    from cli.quarantine.run import list_quarantine  # noqa: PLC0415
    from cli.shared.ledger_documents import read_window  # noqa: PLC0415

    settings = read_flags(config, ledger=ledger)
    window = read_window(since, until, cluster_id)
    listed = run_async(list_quarantine(settings, window, source, limit))
    if output is Format.JSON:
        print_json(listed)
    elif listed.records:
        print_list(listed, make_console(400))
    else:
        typer.echo("nothing is in quarantine: ask further back (--since)", err=True)


@app.command(epilog=SHOW)
def show(  # noqa: PLR0913, PLR0917 (one parameter a flag)
    record: Annotated[str, typer.Argument(metavar="ID", help="A record's id.")],
    is_whole: Annotated[  # noqa: FBT002 (typer)
        bool, typer.Option("--record", help="Print how it begins, too.")
    ] = False,
    cluster_id: ClusterIdFlag = None,
    ledger: LedgerFlag = None,
    config: ConfigFlag = None,
    output: OutputFlag = Format.TABLE,
) -> None:
    """Show one record in quarantine: why, and from where."""
    from cli.quarantine.render import print_record  # noqa: PLC0415 (keeps --help quick)
    from cli.quarantine.run import show_record  # noqa: PLC0415

    settings = read_flags(config, ledger=ledger)
    shown = run_async(show_record(settings, record, cluster_id, is_whole=is_whole))
    if output is Format.JSON:
        print_json(shown)
    else:
        print_record(shown, make_console())
