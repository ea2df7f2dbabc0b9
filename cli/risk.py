"""`sallyport risk`: who is at risk as Entra ID knows it, and what that does."""

import asyncio
import time
from pathlib import Path
from typing import Annotated, Optional

import typer

from cli import exits
from cli import help_risk as texts
from cli.flags import ClusterFlag, ConfigFlag, KubeconfigFlag, LedgerFlag, OutputFlag, read_flags
from cli.logs import log_to_stderr
from cli.output import Format, make_console, print_json
from cli.text import safe_text
from core.errors import InvalidObjectError
from core.risk import Role

app = typer.Typer(
    help="Say who is at risk, and what that does.", no_args_is_help=True, epilog=texts.RISK
)

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


@app.command(epilog=texts.STATUS)
def status(
    cluster: ClusterFlag = None,
    kubeconfig: KubeconfigFlag = None,
    config: ConfigFlag = None,
    output: OutputFlag = Format.TABLE,
) -> None:
    """Say how much of Entra ID's risk is known, how old that is, and what is wrong."""
    from cli import risk_status  # noqa: PLC0415 (keeps --help and completion quick)
    from cli.risk_reading import read_snapshot  # noqa: PLC0415

    settings = read_flags(config, cluster=cluster, kubeconfig=kubeconfig)
    snapshot = asyncio.run(read_snapshot(settings))
    found = risk_status.make_status(snapshot, settings.identity, time.time())
    if output is Format.JSON:
        print_json(found)
    else:
        risk_status.print_status(found, make_console(), time.time())
    raise typer.Exit(risk_status.exit_code(found))


@app.command(epilog=texts.SHOW)
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
    from cli import risk_show  # noqa: PLC0415 (keeps --help and completion quick)
    from cli.risk_reading import namespace_class_of  # noqa: PLC0415

    settings = read_flags(config, cluster=cluster, kubeconfig=kubeconfig)
    asked = risk_show.Asked(subject, namespace_class_of(namespace_class))
    found = asyncio.run(risk_show.show_subject(settings, asked, time.time()))
    if output is Format.JSON:
        print_json(found)
    else:
        risk_show.print_shown(found, make_console(), time.time())


@app.command(epilog=texts.TABLE)
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
    from cli import risk_table  # noqa: PLC0415 (keeps --help and completion quick)
    from cli.risk_reading import find_table, groups_of, namespace_class_of  # noqa: PLC0415

    settings = read_flags(config, cluster=cluster, kubeconfig=kubeconfig)
    wanted = risk_table.Wanted(role, namespace_class_of(namespace_class), groups_of(group or ()))
    try:
        found, source = asyncio.run(find_table(settings, file))
    except InvalidObjectError as error:
        typer.echo(f"sallyport: {safe_text(str(error))}", err=True)
        raise typer.Exit(exits.REFUSED) from None
    matrix = risk_table.make_matrix(found, source, wanted)
    if output is Format.JSON:
        print_json(matrix)
    else:
        risk_table.print_matrix(matrix, make_console())


@app.command("look-back", epilog=texts.LOOK_BACK)
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
    from cli import look_back as looking  # noqa: PLC0415 (keeps --help and completion quick)
    from cli.look_back_text import print_look_backs  # noqa: PLC0415

    settings = read_flags(config, ledger=ledger, kubeconfig=kubeconfig)
    if recorded:
        found = asyncio.run(looking.recorded_of(settings, subject, settings.cluster_id or None))
    else:
        found = asyncio.run(looking.look_back_on(settings, subject, since))
    if output is Format.JSON:
        print_json(found)
    else:
        print_look_backs(found, make_console())
    raise typer.Exit(looking.exit_code(found))
