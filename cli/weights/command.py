"""`sallyport weights`: who can open the weights; logs of accesses, taken into a ledger by hand."""

from typing import Annotated

import typer

from cli import exits
from cli.flags import ConfigFlag, KubeconfigFlag, LedgerFlag, OutputFlag, read_flags
from cli.output import Format, make_console, print_json
from cli.session import log_to_stderr, run_async
from core.base.safe_text import safe_line

WEIGHTS = """**Examples**

    sallyport weights access

    sallyport weights ingest --cluster-id prod logs/

**Exit codes**: 0 all is well; 1 something differs, or some records were
refused; 2 it could not be done; 64 wrong usage. Each command's --help says
more."""

ACCESS = """**Examples**

    sallyport weights access

    sallyport weights access llama --kubeconfig admin.yaml

    sallyport weights access -o json | jq '.stores[].differing'

`control` reads Azure's role assignments, every five minutes, where
weights.azure.enabled says so and the WeightStore names its resourceId. This
shows what it last read: who can do what, and where that is not what the
WeightStore and the AccessGrants that live say. What could not be read is
named, and is never taken for nobody.

It needs the right to get the ConfigMap sallyport-store-access in Sallyport's
own namespace, and asks Azure for nothing.

**Exit codes**: 0 all is as written; 1 something differs; 2 not all was read,
or nothing yet; 64 wrong usage."""

INGEST = """**Examples**

    sallyport weights ingest --cluster-id prod insights-logs/

    sallyport weights ingest --cluster-id prod PT1H.json activity.json.gz

    az storage blob download … | sallyport weights ingest --cluster-id prod -

    sallyport weights ingest --ledger sqlite:///ledger.db -o json logs/

    sallyport weights ingest --stores stores/ logs/

    sallyport weights ingest --stores all.yaml --cluster-id prod-2025 logs/

A folder is a container of exported logs or a copy of one; files hold JSON
lines, a list, indented documents one after another, or answers of REST APIs
({"value": [...]}), also under gzip. Each record tells which log it is of:
storage's, Azure's activity log, Entra ID's or kube-apiserver's audit log.
Records of no concern are counted by kind (-o json lists all). What is in the
ledger already is known and not stored again, so the same may be given twice.
Give what is of the same days in one command: what comes after it is late.

An auditor that takes in the same cluster's logs waits meanwhile.

--stores FOLDER (a file, - or several) needs no cluster: YAML or JSON of
WeightStores, AccessGrants and their Approvals, as they are printed by
`kubectl get weightstores,accessgrants,approvals -A -o yaml`. They are recorded
at the times that they name, so the `report` shows grants too. A grant counts
from when the second Approval in the files was made; other kinds are counted and
left. An error in any of them ends it before anything is stored.
It is kept under the cluster id `files` unless --cluster-id names one, in the
ledger that `run` keeps unless --ledger names one. No record of Pods is
there then, so no access has a Pod: docs/operate/weight-logs.md.

**Exit codes**: 0 every record is in the ledger; 1 some are in quarantine, with
their reasons; 2 the ledger, a file or an object of --stores cannot be read; 64
wrong usage."""


app = typer.Typer(
    help="Say who can open the model weights, and take in logs of who did.",
    no_args_is_help=True,
    epilog=WEIGHTS,
)


@app.callback()
def weights() -> None:
    """Say who can open the model weights, and take in logs of who did."""
    log_to_stderr()


@app.command(epilog=ACCESS)
def access(
    store: Annotated[
        str | None, typer.Argument(metavar="STORE", help="The WeightStore; else all of them.")
    ] = None,
    kubeconfig: KubeconfigFlag = None,
    config: ConfigFlag = None,
    output: OutputFlag = Format.TABLE,
) -> None:
    """Say who can open the weights by Azure's rules, and what differs from what is written."""
    from cli.weights import access as weights_access  # noqa: PLC0415 (keeps --help and completion quick)
    from cli.weights.render import print_accesses  # noqa: PLC0415

    settings = read_flags(config, kubeconfig=kubeconfig)
    asking = weights_access.find_accesses(settings.kubeconfig, settings.namespace, store)
    found = run_async(asking)
    if output is Format.JSON:
        print_json(found)
    else:
        print_accesses(found, make_console())
    raise typer.Exit(weights_access.exit_code(found))


@app.command(epilog=INGEST)
def ingest(  # noqa: PLR0913, PLR0917  One parameter a flag.
    sources: Annotated[
        list[str], typer.Argument(metavar="SOURCE...", help="Files, folders, or - for input.")
    ],
    cluster_id: Annotated[
        str | None, typer.Option(help="Whose logs they are; else cluster_id of the settings.")
    ] = None,
    stores: Annotated[
        list[str] | None,
        typer.Option(
            metavar="FOLDER", help="Judge by the WeightStores and AccessGrants of these files."
        ),
    ] = None,
    ledger: LedgerFlag = None,
    config: ConfigFlag = None,
    output: OutputFlag = Format.TABLE,
) -> None:
    """Attribute, judge and store what logs say; what is known already is not stored again."""
    from cli.weights.ingest import ingest_logs, lines_of  # noqa: PLC0415 (keeps --help quick)

    settings = read_flags(config, cluster_id=cluster_id, ledger=ledger)
    taken = run_async(ingest_logs(settings, sources, stores or ()))
    if output is Format.JSON:
        print_json(taken)
    else:
        console = make_console()
        for line in lines_of(taken):
            console.print(safe_line(line), markup=False, highlight=False)
    raise typer.Exit(exits.REFUSED if taken.refused else exits.ADMITTED)
