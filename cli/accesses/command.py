"""`sallyport accesses`: requests to the storage of model weights, as the ledger has them."""

from typing import Annotated, Optional

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
from core.weights.documents.access import Act, SignedBy

LIST = """**Examples**

    sallyport accesses list --store frontier --since 2h

    sallyport accesses list --ungranted --since 7d

    sallyport accesses list --finding 01a1630d-b1e7-7505-9713-fbe309e7a0ca

    sallyport accesses list --signed-by sas --act read --since 30d -o json

The oldest come first. Where there are more, the last line gives --after for the
next page. --finding lists those that a finding counts, whatever the window;
--who is a principal (oid:…, client:…, sas:…) or a human behind its Pods.

**Exit codes**: 0 listed, also where there is none; 2 there is no ledger, or it
does not answer; 64 wrong usage, or no such finding."""

SHOW = """**Examples**

    sallyport accesses show 01a1630d-a172-7727-ac1b-02dbe3fbcecf

Prints all that is known of it, as JSON.

**Exit codes**: 0 shown; 2 there is no ledger, or it does not answer; 64 wrong
usage, or no such access."""

app = typer.Typer(help="Lists and shows requests to the storage of model weights.")


@app.command("list", epilog=LIST)
def list_(  # noqa: PLR0913, PLR0917 (one parameter a flag)
    store: Annotated[str, typer.Option(help="Of this WeightStore.")] = "",
    who: Annotated[str, typer.Option(help="By this principal or human.")] = "",
    address: Annotated[str, typer.Option("--from", help="From this address.")] = "",
    act: Annotated[
        Optional[list[Act]],  # noqa: UP045 (typer)
        typer.Option(help="What was done; may be repeated."),
    ] = None,
    signed_by: Annotated[
        Optional[list[SignedBy]],  # noqa: UP045 (typer)
        typer.Option(help="How it was signed; may be repeated."),
    ] = None,
    ungranted: Annotated[  # noqa: FBT002 (typer)
        bool, typer.Option("--ungranted", help="That no AccessGrant covered.")
    ] = False,
    finding: Annotated[
        str, typer.Option(metavar="ID", help="That this finding counts, instead of a window.")
    ] = "",
    since: SinceFlag = "24h",
    until: UntilFlag = None,
    cluster_id: ClusterIdFlag = None,
    after: Annotated[
        str, typer.Option(metavar="ID", help="The next page: after this access.")
    ] = "",
    limit: Annotated[int, typer.Option(min=1, max=10_000, help="At most so many.")] = 50,
    ledger: LedgerFlag = None,
    config: ConfigFlag = None,
    output: OutputFlag = Format.TABLE,
) -> None:
    """List accesses, the oldest first."""
    from cli.accesses.render import print_list  # noqa: PLC0415 (keeps --help quick)
    from cli.accesses.run import AccessFilter, check_filter, list_accesses  # noqa: PLC0415
    from cli.shared.ledger_documents import read_window  # noqa: PLC0415

    asked = AccessFilter(
        store=store,
        who=who,
        address=address,
        acts=frozenset(act or ()),
        signed_by=frozenset(signed_by or ()),
        ungranted=ungranted,
        after=after.lower(),
        limit=limit,
    )
    check_filter(asked)
    settings = read_flags(config, ledger=ledger)
    window = read_window(since, until, cluster_id)
    listed = run_async(list_accesses(settings, window, asked, finding))
    if output is Format.JSON:
        print_json(listed)
    elif listed.accesses:
        print_list(listed, make_console(400))
    else:
        typer.echo("no access matches: ask for less, or further back (--since)", err=True)


@app.command(epilog=SHOW)
def show(
    access: Annotated[str, typer.Argument(metavar="ID", help="An access's id.")],
    cluster_id: ClusterIdFlag = None,
    ledger: LedgerFlag = None,
    config: ConfigFlag = None,
) -> None:
    """Print one access, as JSON."""
    from cli.accesses.run import show_access  # noqa: PLC0415 (keeps --help quick)

    settings = read_flags(config, ledger=ledger)
    print_json(run_async(show_access(settings, access, cluster_id)))
