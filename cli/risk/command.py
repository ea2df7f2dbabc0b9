"""`sallyport risk`: who is at risk as Entra ID knows it, and what that does."""

import time
from pathlib import Path
from typing import Annotated, Optional

import typer

from cli import exits
from cli.flags import ClusterFlag, ConfigFlag, KubeconfigFlag, LedgerFlag, OutputFlag, read_flags
from cli.output import Format, make_console, print_json
from cli.session import log_to_stderr, run_async
from core.base.errors import InvalidObjectError
from core.base.safe_text import safe_text
from core.risk.model import Role

RISK = """**Examples**

    sallyport risk status --kubeconfig ~/.kube/config

    sallyport risk table --file risk-table.yaml

    sallyport risk show --help

**Exit codes**: 0 all is well; 1 stale, or a broken table; 2 it cannot be told;
64 wrong usage. Each command's --help says more."""

STATUS = """**Examples**

    sallyport risk status --kubeconfig ~/.kube/config

    sallyport risk status --kubeconfig ~/.kube/config -o json

Stale is what is older than the setting identity.max_age, here as on the
gates. Needs the right to read the Secrets sallyport-risk… (the chart's Role
sallyport-read-risk).

**Exit codes**: 0 what decides is fresh; 1 it is stale; 2 there is no
snapshot, or the cluster does not answer; 64 wrong usage."""

SHOW = """**Examples**

    sallyport risk show oid:5d1f7a2e-63d4-4a86-9b1c-0f2a7c8e4b11

    sallyport risk show client:5d1f7a2e-63d4-4a86-9b1c-0f2a7c8e4b11 -o json

    sallyport risk show train/trainer --kubeconfig ~/.kube/config

Without --kubeconfig it is the cluster of SALLYPORT_KUBECONFIG.
No names are kept: the object id is on the person's page of Entra's portal,
and in decisions. Effects are those of the table in force, for namespaces
without a class unless --namespace-class names one.

**Exit codes**: 0 shown, whatever the risk; 2 there is no snapshot, or the
cluster does not answer; 64 wrong usage, or no such identity."""

TABLE = """**Examples**

    sallyport risk table

    sallyport risk table --file risk-table.yaml --namespace-class secret

    sallyport risk table --kubeconfig ~/.kube/config --role workload

    sallyport risk table --file risk-table.yaml -o json

Without --file it is the one in force in the cluster that is named; without a
cluster the shipped rows alone. A file is what the ConfigMap holds as
table.yaml.

**Exit codes**: 0 it is sound; 1 it is broken, with the field and the fix; 2
the cluster does not answer; 64 wrong usage, or no such file."""

LOOK_BACK = """**Examples**

    sallyport risk look-back oid:5d1f7a2e-63d4-4a86-9b1c-0f2a7c8e4b11

    sallyport risk look-back client:0e3a9a39-8f2d-4d8c-a3f1-0a6d3f3c7b52

    sallyport risk look-back oid:… --since 3d -o json

    sallyport risk look-back oid:… --recorded

Without --kubeconfig it is the cluster of SALLYPORT_KUBECONFIG.
The window begins 49 hours before the risk was known, or before what made it
risky; without a risk, 14 days ago (identity.look_back.days). Records are read
from the auditor of shipping.url, else from --ledger or ledger.url.

**Exit codes**: 0 nothing is left; 1 something is still there; 2 the cluster
or the records cannot be read; 64 wrong usage."""


app = typer.Typer(help="Say who is at risk, and what that does.", no_args_is_help=True, epilog=RISK)

ClassFlag = Annotated[
    str,
    typer.Option(
        "--namespace-class",
        metavar="WORD",
        help="In namespaces whose label sallyport.dev/risk-class is this.",
    ),
]


@app.callback()
def risk() -> None:
    """Say who is at risk, and what that does."""
    log_to_stderr()


@app.command(epilog=STATUS)
def status(
    cluster: ClusterFlag = None,
    kubeconfig: KubeconfigFlag = None,
    config: ConfigFlag = None,
    output: OutputFlag = Format.TABLE,
) -> None:
    """Say how much of Entra ID's risk is known, how old that is, and what is wrong."""
    from cli.risk import status as risk_status  # noqa: PLC0415 (keeps --help and completion quick)
    from cli.risk.snapshot import read_snapshot  # noqa: PLC0415

    settings = read_flags(config, cluster=cluster, kubeconfig=kubeconfig)
    snapshot = run_async(read_snapshot(settings))
    found = risk_status.make_status(snapshot, settings.identity, time.time())
    if output is Format.JSON:
        print_json(found)
    else:
        risk_status.print_status(found, make_console(), time.time())
    raise typer.Exit(risk_status.exit_code(found))


@app.command(epilog=SHOW)
def show(  # noqa: PLR0913, PLR0917 (one parameter a flag)
    subject: Annotated[
        str, typer.Argument(metavar="SUBJECT", help="oid:…, client:…, or NAMESPACE/ACCOUNT.")
    ],
    namespace_class: ClassFlag = "",
    cluster: ClusterFlag = None,
    kubeconfig: KubeconfigFlag = None,
    config: ConfigFlag = None,
    output: OutputFlag = Format.TABLE,
) -> None:
    """Say what is known of one identity, and what each operation of theirs comes to."""
    from cli.risk import show as risk_show  # noqa: PLC0415 (keeps --help and completion quick)
    from cli.risk.snapshot import namespace_class_of  # noqa: PLC0415

    settings = read_flags(config, cluster=cluster, kubeconfig=kubeconfig)
    asked = risk_show.ShowRequest(subject, namespace_class_of(namespace_class))
    found = run_async(risk_show.show_subject(settings, asked, time.time()))
    if output is Format.JSON:
        print_json(found)
    else:
        risk_show.print_shown(found, make_console(), time.time())


@app.command(epilog=TABLE)
def table(  # noqa: PLR0913, PLR0917 (one parameter a flag)
    file: Annotated[
        Path | None, typer.Option(help="Check this table instead.", metavar="FILE")
    ] = None,
    role: Annotated[
        Role,
        typer.Option(metavar="ROLE", help="requester, author (of a workload), or workload."),
    ] = Role.REQUESTER,
    namespace_class: ClassFlag = "",
    group: Annotated[
        Optional[list[str]],  # noqa: UP045 (typer)
        typer.Option(help="For members of this group (an object id); may be repeated."),
    ] = None,
    cluster: ClusterFlag = None,
    kubeconfig: KubeconfigFlag = None,
    config: ConfigFlag = None,
    output: OutputFlag = Format.TABLE,
) -> None:
    """Check a table, and print what each standing comes to for each operation."""
    from cli.risk import table as risk_table  # noqa: PLC0415 (keeps --help and completion quick)
    from cli.risk.snapshot import find_table, groups_of, namespace_class_of  # noqa: PLC0415

    settings = read_flags(config, cluster=cluster, kubeconfig=kubeconfig)
    wanted = risk_table.TableSelection(
        role, namespace_class_of(namespace_class), groups_of(group or ())
    )
    try:
        found, source = run_async(find_table(settings, file))
    except InvalidObjectError as error:
        typer.echo(f"sallyport: {safe_text(str(error))}", err=True)
        raise typer.Exit(exits.REFUSED) from None
    matrix = risk_table.make_matrix(found, source, wanted)
    if output is Format.JSON:
        print_json(matrix)
    else:
        risk_table.print_matrix(matrix, make_console())


@app.command("look-back", epilog=LOOK_BACK)
def look_back(  # noqa: PLR0913, PLR0917 (one parameter a flag)
    subject: Annotated[
        str, typer.Argument(metavar="SUBJECT", help="oid:…, a GUID, client:…, or user:….")
    ],
    since: Annotated[
        str | None, typer.Option(help="Not before: 48h, 3d ago, or a time (RFC 3339).")
    ] = None,
    recorded: Annotated[  # noqa: FBT002 (typer's flag)
        bool, typer.Option("--recorded", help="Show what control found, as the ledger keeps it.")
    ] = False,
    ledger: LedgerFlag = None,
    kubeconfig: KubeconfigFlag = None,
    config: ConfigFlag = None,
    output: OutputFlag = Format.TABLE,
) -> None:
    """List what an identity started, changed or entered of late that is still there."""
    from cli.risk import look_back as looking  # noqa: PLC0415 (keeps --help and completion quick)
    from cli.risk.look_back_render import print_look_backs  # noqa: PLC0415

    settings = read_flags(config, ledger=ledger, kubeconfig=kubeconfig)
    if recorded:
        found = run_async(looking.recorded_of(settings, subject, settings.cluster_id or None))
    else:
        found = run_async(looking.look_back_on(settings, subject, since))
    if output is Format.JSON:
        print_json(found)
    else:
        print_look_backs(found, make_console())
    raise typer.Exit(looking.exit_code(found))
