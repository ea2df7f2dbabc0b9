"""`sallyport cases`: findings that tell one story."""

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
from core.weights.documents.events import Severity

LIST = """**Examples**

    sallyport cases list

    sallyport cases list --severity high --since 90d -o json

Findings belong to one case where they are about the same principal and store,
or share a Pod, a human or a rare address, within three days. A case is made
when it is read: its id is that of its first finding in the window.

**Exit codes**: 0 listed, also where there is none; 2 there is no ledger, or it
does not answer; 64 wrong usage."""

SHOW = """**Examples**

    sallyport cases show 01a13264-f6c0-746a-9b4f-caf52527aea0

    sallyport cases show 01a13264 --since 90d -o json

Give the window that `cases list` was given. The first digits of the id are
enough where no other begins so. Requests and bytes are counted in the ledger,
each access once.

**Exit codes**: 0 shown; 2 there is no ledger, or it does not answer; 64 wrong
usage, or no such case."""

app = typer.Typer(help="Lists and shows what findings tell together.")


@app.command("list", epilog=LIST)
def list_(  # noqa: PLR0913, PLR0917 (one parameter a flag)
    severity: Annotated[Severity, typer.Option(help="At least so grave.")] = Severity.LOW,
    since: SinceFlag = "30d",
    until: UntilFlag = None,
    cluster_id: ClusterIdFlag = None,
    limit: Annotated[int, typer.Option(min=1, max=10_000, help="At most so many.")] = 50,
    ledger: LedgerFlag = None,
    config: ConfigFlag = None,
    output: OutputFlag = Format.TABLE,
) -> None:
    """List cases, the gravest first."""
    from cli.cases.render import print_list  # noqa: PLC0415 (keeps --help quick)
    from cli.cases.run import list_cases  # noqa: PLC0415
    from cli.shared.ledger_documents import read_window  # noqa: PLC0415

    settings = read_flags(config, ledger=ledger)
    window = read_window(since, until, cluster_id)
    listed = run_async(list_cases(settings, window, severity, limit))
    if output is Format.JSON:
        print_json(listed)
    elif listed.cases:
        print_list(listed, make_console(400))
    else:
        typer.echo("no case matches: ask further back (--since)", err=True)


@app.command(epilog=SHOW)
def show(  # noqa: PLR0913, PLR0917 (one parameter a flag)
    case: Annotated[str, typer.Argument(metavar="ID", help="A case's id.")],
    since: SinceFlag = "30d",
    until: UntilFlag = None,
    cluster_id: ClusterIdFlag = None,
    ledger: LedgerFlag = None,
    config: ConfigFlag = None,
    output: OutputFlag = Format.TABLE,
) -> None:
    """Show one case: its timeline, and what it comes to."""
    from cli.cases.render import print_case  # noqa: PLC0415 (keeps --help quick)
    from cli.cases.run import show_case  # noqa: PLC0415
    from cli.shared.ledger_documents import read_window  # noqa: PLC0415

    window = read_window(since, until, cluster_id)
    shown = run_async(show_case(read_flags(config, ledger=ledger), window, case))
    if output is Format.JSON:
        print_json(shown)
    else:
        print_case(shown.case, make_console())
