"""`sallyport findings`: what the auditor found in accesses to model weights."""

from typing import TYPE_CHECKING, Annotated, Optional

import typer

from cli import exits
from cli.flags import (
    ClusterIdFlag,
    ConfigFlag,
    KubeconfigFlag,
    LedgerFlag,
    OutputFlag,
    SinceFlag,
    UntilFlag,
    read_flags,
)
from cli.output import Format, make_console, print_json
from cli.session import run_async
from core.weights.audit_statements import FindingState
from core.weights.documents.events import Severity

if TYPE_CHECKING:
    from cli.findings.run import ShownFinding

LIST = """**Examples**

    sallyport findings list

    sallyport findings list --severity high --since 7d

    sallyport findings list --store frontier --who oid:22222222-… -o json

    sallyport findings list --detection ungranted --since 90d --until 30d

    sallyport findings list --state new --state investigating --severity high

Times are those of what was found. --who is a principal (oid:…, client:…, sas:…)
or the human behind it. Without --ledger it is that of the setting ledger.url,
else what `run` keeps.

**Exit codes**: 0 listed, also where there is none; 2 there is no ledger, or it
does not answer; 64 wrong usage."""

SHOW = """**Examples**

    sallyport findings show 01a1630d-b1e7-7505-9713-fbe309e7a0ca

    sallyport findings show 01a1630d -o json

The first eight digits of an id are enough where no other begins so. Requests
and bytes are counted in the ledger, of all accesses that the finding is about
until thirty days after it; its page in docs/detections says which these are.

**Exit codes**: 0 shown; 2 there is no ledger, or it does not answer; 64 wrong
usage, or no such finding."""

SET = """**Examples**

    sallyport findings set 01a1630d --state investigating --owner self

    sallyport findings set 01a1630d --state contained --note "key rotated"

    sallyport findings set 01a1630d --state falseAlarm --note "a restore drill"

    sallyport findings set 01a1630d --state accepted --until 90d --note CHG-9

Writes an AuditStatement into the cluster, in your name: it never changes, and
the ledger keeps it. falseAlarm and accepted close a finding: not for whom it is
about, and a high or critical one is closed once a second person says the same.
Both need a note; name nobody in it. --kubeconfig, or the setting kubeconfig, is
the cluster that the finding is of. No detection is muted by any of it.

**Exit codes**: 0 said; 1 refused; 2 the ledger or the cluster does not answer;
64 wrong usage, or no such finding."""

app = typer.Typer(help="Lists and shows what was found in accesses, and says what was done.")


@app.command("list", epilog=LIST)
def list_(  # noqa: PLR0913, PLR0917 (one parameter a flag)
    severity: Annotated[Severity, typer.Option(help="At least so grave.")] = Severity.LOW,
    detection: Annotated[
        Optional[list[str]],  # noqa: UP045 (typer)
        typer.Option(help="Of this detection; may be repeated."),
    ] = None,
    store: Annotated[str, typer.Option(help="Of this WeightStore.")] = "",
    who: Annotated[str, typer.Option(help="About this principal or human.")] = "",
    state: Annotated[
        Optional[list[FindingState]],  # noqa: UP045 (typer)
        typer.Option(help="In this state; may be repeated."),
    ] = None,
    since: SinceFlag = "30d",
    until: UntilFlag = None,
    cluster_id: ClusterIdFlag = None,
    limit: Annotated[int, typer.Option(min=1, max=10_000, help="At most so many.")] = 50,
    ledger: LedgerFlag = None,
    config: ConfigFlag = None,
    output: OutputFlag = Format.TABLE,
) -> None:
    """List findings, the newest first."""
    from cli.findings.render import print_list  # noqa: PLC0415 (keeps --help quick)
    from cli.findings.run import FindingFilter, list_findings  # noqa: PLC0415
    from cli.shared.detection_names import require_detections  # noqa: PLC0415
    from cli.shared.ledger_documents import read_window  # noqa: PLC0415

    asked = FindingFilter(
        severity=severity,
        detections=require_detections(detection or ()),
        store=store,
        who=who,
        states=frozenset(state or ()),
        limit=limit,
    )
    settings = read_flags(config, ledger=ledger)
    window = read_window(since, until, cluster_id)
    listed = run_async(list_findings(settings, window, asked))
    if output is Format.JSON:
        print_json(listed)
    elif listed.findings:
        print_list(listed, make_console(400))
    else:
        typer.echo("no finding matches: ask for less, or further back (--since)", err=True)


@app.command(epilog=SHOW)
def show(
    finding: Annotated[str, typer.Argument(metavar="ID", help="A finding's id.")],
    cluster_id: ClusterIdFlag = None,
    ledger: LedgerFlag = None,
    config: ConfigFlag = None,
    output: OutputFlag = Format.TABLE,
) -> None:
    """Show one finding: what it comes to, what to do, which case it belongs to."""
    from cli.findings.run import show_finding  # noqa: PLC0415 (keeps --help quick)

    settings = read_flags(config, ledger=ledger)
    print_shown(run_async(show_finding(settings, finding, cluster_id)), output)


@app.command("set", epilog=SET)
def set_(  # noqa: PLR0913, PLR0917 (one parameter a flag)
    finding: Annotated[str, typer.Argument(metavar="ID", help="A finding's id.")],
    state: Annotated[
        Optional[FindingState],  # noqa: UP045 (typer)
        typer.Option(help="How far you are with it."),
    ] = None,
    owner: Annotated[
        Optional[str],  # noqa: UP045 (typer)
        typer.Option(help="Who works on it: self, oid:…, user:…."),
    ] = None,
    note: Annotated[str, typer.Option(help="What you say to it; others read it.")] = "",
    until: Annotated[
        Optional[str],  # noqa: UP045 (typer)
        typer.Option(metavar="TIME", help="Accepted until then: 90d, a day, or a time (UTC)."),
    ] = None,
    cluster_id: ClusterIdFlag = None,
    ledger: LedgerFlag = None,
    kubeconfig: KubeconfigFlag = None,
    config: ConfigFlag = None,
    output: OutputFlag = Format.TABLE,
) -> None:
    """Say how far you are with a finding, whose it is, or a note."""
    from cli.findings.statement import StatementOptions, print_statement, state_finding  # noqa: PLC0415 (keeps --help quick)

    settings = read_flags(config, ledger=ledger, kubeconfig=kubeconfig)
    options = StatementOptions(finding, state, owner, note, until, cluster_id)
    made = run_async(state_finding(settings, options))
    if output is Format.JSON:
        print_json(made)
    else:
        print_statement(made, make_console())
    raise typer.Exit(exits.ADMITTED if made.said else exits.REFUSED)


def print_shown(shown: "ShownFinding", output: Format) -> None:
    """Print a finding as it was asked for."""
    from cli.findings.render import print_finding  # noqa: PLC0415 (keeps --help quick)

    if output is Format.JSON:
        print_json(shown)
    else:
        print_finding(shown, make_console())
