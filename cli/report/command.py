"""`sallyport report`: reports for security reviews, made from the ledger."""

from pathlib import Path
from typing import Annotated

import typer

from cli import exits
from cli.flags import (
    ClusterIdFlag,
    ConfigFlag,
    KubeconfigFlag,
    LedgerFlag,
    OutputFlag,
    read_flags,
)
from cli.output import Format, make_console, print_json
from cli.session import log_to_stderr, run_async
from core.weights.documents.events import Severity

REPORT = """**Examples**

    sallyport report

    sallyport report --sample

    sallyport report --period 2026-10 --format html,pdf,csv --to reports/

    sallyport report --since 2026-10-01 --until 2026-10-08 --store frontier

    sallyport report --period 2026-10 --names people.csv --format pdf

    sallyport report --period 2026-10 --fail-on high -o json

    sallyport report --period 2026-10 --verify --anchor /mnt/anchor/heads.jsonl

    sallyport report --period 2026-10 --publish --kubeconfig ~/.kube/config

    sallyport report --period 2026-10 --at-head last

    sallyport report --period 2026-10 --at-head 51234:9f86d081…

Without a period it is the last whole month (UTC). Formats: html, pdf, csv (an
archive of tables), json, oscal, ocsf, sarif, openreports, prometheus. The same
ledger and period give the same bytes. --at-head SIZE:ROOT reads the log's first
SIZE entries alone, as a signed head has them, and so gives the same bytes later,
whatever was stored since; `last` is the newest head, which the report names.
--names FILE is CSV: an id (oid:… or the bare object id), a comma, a name; the
report then says that it names people.
With --verify the whole ledger is verified against the anchors, as by the command
`ledger verify`, and the verdict stands on the first page.
Without --ledger it is that of the setting ledger.url, else what `run` keeps.
Where that has several clusters, --cluster-id names the one that it is of.

**Exit codes**: 0 made; 1 made, and it has open findings as grave as --fail-on,
or --verify found the ledger not sound; 2 the ledger or cluster does not answer, has
another root or no head at SIZE, or has removed what the report is of (nothing
is written), or PDF needs Pango; 64 wrong usage."""


def report(  # noqa: PLR0913, PLR0917  One parameter a flag.
    period: Annotated[
        str | None, typer.Option(metavar="MONTH", help="A month (UTC), such as 2026-10.")
    ] = None,
    since: Annotated[
        str | None, typer.Option(metavar="TIME", help="Instead: from this day or time …")
    ] = None,
    until: Annotated[
        str | None, typer.Option(metavar="TIME", help="… to before this one; else to now.")
    ] = None,
    store: Annotated[str, typer.Option(help="Only this WeightStore.")] = "",
    cluster_id: ClusterIdFlag = None,
    sample: Annotated[  # noqa: FBT002  typer's flags.
        bool, typer.Option("--sample", help="Of the made-up month that `run` brings.")
    ] = False,
    form: Annotated[
        str, typer.Option("--format", metavar="FORMS", help="Which, with commas: see below.")
    ] = "html,pdf",
    to: Annotated[Path, typer.Option(metavar="DIR", help="Where the files go.")] = Path(),
    names: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Names of ids (CSV); else none appear.")
    ] = None,
    fail_on: Annotated[
        Severity | None,
        typer.Option(
            metavar="SEVERITY", help="Exit 1 with open findings so grave: low … critical."
        ),
    ] = None,
    at_head: Annotated[
        str | None,
        typer.Option(metavar="SIZE:ROOT", help="Of the entries of this head alone, or of `last`."),
    ] = None,
    verify: Annotated[  # noqa: FBT002  typer's flags.
        bool, typer.Option("--verify", help="Verify the ledger first; exit 1 if it is not sound.")
    ] = False,
    anchor: Annotated[
        list[Path] | None,
        typer.Option(metavar="FILE", help="Against this anchor; may be given again."),
    ] = None,
    key: Annotated[
        list[Path] | None,
        typer.Option(metavar="PEM", help="The ledger's public key, where settings name none."),
    ] = None,
    publish: Annotated[  # noqa: FBT002  typer's flags.
        bool, typer.Option("--publish", help="Write it into the cluster as OpenReports objects.")
    ] = False,
    ledger: LedgerFlag = None,
    kubeconfig: KubeconfigFlag = None,
    config: ConfigFlag = None,
    output: OutputFlag = Format.TABLE,
) -> None:
    """Say who accessed which weights when, by whom approved, from where; what is missing first."""
    log_to_stderr()
    from cli.report.run import ReportOptions, as_grave, make_reports, print_summary  # noqa: PLC0415 (keeps --help quick)

    options = ReportOptions(
        period=period,
        since=since,
        until=until,
        store=store,
        cluster=cluster_id,
        sample=sample,
        forms=form,
        folder=to,
        names=names,
        publish=publish,
        verify=verify,
        anchors=tuple(anchor or ()),
        keys=tuple(key or ()),
        at_head=at_head,
    )
    settings = read_flags(config, ledger=ledger, kubeconfig=kubeconfig)
    made = run_async(make_reports(settings, options))
    if output is Format.JSON:
        print_json(made)
    else:
        print_summary(made, make_console())
    grave = made.sound is False or (fail_on is not None and as_grave(made, fail_on))
    raise typer.Exit(exits.REFUSED if grave else exits.ADMITTED)
