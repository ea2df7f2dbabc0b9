"""The command `sallyport decisions`."""

from typing import Annotated, Optional

import typer

from cli.flags import (
    ClusterIdFlag,
    ConfigFlag,
    LedgerFlag,
    OutputFlag,
    UntilFlag,
    read_flags,
)
from cli.output import Format, make_console
from cli.session import run_async
from core.base.errors import SettingsError
from core.decision.document import DecisionSource

DECISIONS = """**Examples**

    sallyport decisions --verdict deny --since 2h

    sallyport decisions -n train --user alice

    sallyport decisions --rule privileges/host/network -o json

    sallyport decisions --verdict refused --since 7d --until 1d

    sallyport decisions --follow --verdict deny --verdict error

Without --ledger it is that of the setting ledger.url, else what `run` keeps.
Where there are more, the last line gives --before for the next page.
A user name is looked for as its pseudonym too. `explain ID` says more of one.

**Exit codes**: 0 listed, also where none matches; 2 there is no ledger, or it
does not answer; 64 wrong usage; 130 ended with Ctrl-C."""


def decisions(  # noqa: PLR0913, PLR0917 (one parameter a flag)
    namespace: Annotated[
        str | None, typer.Option("--namespace", "-n", help="In this namespace.")
    ] = None,
    user: Annotated[
        str | None, typer.Option(help="Asked for by this user, or oid:…, user:…, system:….")
    ] = None,
    rule: Annotated[str | None, typer.Option(help="With a finding of this rule.")] = None,
    verdict: Annotated[
        Optional[list[str]],  # noqa: UP045 (typer)
        typer.Option(
            metavar="VERDICT",
            help="allow, warn, deny or error, or as the list says it: refused; may be repeated.",
        ),
    ] = None,
    since: Annotated[
        str | None, typer.Option(help="Not before: 15m, 2h, 3d ago, or a time (RFC 3339).")
    ] = None,
    until: UntilFlag = None,
    before: Annotated[
        str | None, typer.Option(metavar="ID", help="The next page: older than this decision.")
    ] = None,
    kind: Annotated[str | None, typer.Option(help="Of this kind.")] = None,
    name: Annotated[str | None, typer.Option(help="Of this name.")] = None,
    source: Annotated[
        DecisionSource | None, typer.Option(help="Taken by this webhook, or by the sweep.")
    ] = None,
    cluster_id: ClusterIdFlag = None,
    limit: Annotated[int, typer.Option(min=1, max=10_000, help="At most so many.")] = 50,
    follow: Annotated[  # noqa: FBT002 (typer)
        bool, typer.Option("--follow", "-f", help="Go on with those that come; end with Ctrl-C.")
    ] = False,
    ledger: LedgerFlag = None,
    config: ConfigFlag = None,
    output: OutputFlag = Format.TABLE,
) -> None:
    """List the decisions that were recorded, the newest first; with -f the newest last."""
    from cli.decisions import run as listed  # noqa: PLC0415 (keeps --help and completion quick)
    from cli.shared.decision_queries import make_query, read_verdicts  # noqa: PLC0415

    if follow and (until is not None or before is not None):
        raise SettingsError("--follow: it shows what comes; leave --until and --before out")
    filters = {"namespace": namespace, "rule": rule, "kind": kind, "name": name, "source": source}
    chosen = {**filters, "verdicts": read_verdicts(verdict or ()), "limit": limit}
    query = make_query({**chosen, "cluster": cluster_id}, user, since, until, before)
    settings = read_flags(config, ledger=ledger)
    ask = listed.follow if follow else listed.show
    run_async(ask(settings, query, output, make_console(400)))
