"""`sallyport sandbox`: what runs outside the sandbox, and should not."""

from typing import Annotated

import typer

from cli.flags import ClusterIdFlag, ConfigFlag, LedgerFlag, OutputFlag, read_flags
from cli.output import Format, make_console, print_json
from cli.session import log_to_stderr, run_async

SANDBOX = """**Examples**

    sallyport sandbox report

    sallyport sandbox report --help

**Exit codes**: 0 all that should run in a sandbox does; 1 something does not;
2 the ledger does not answer; 64 wrong usage."""

REPORT = """**Examples**

    sallyport sandbox report

    sallyport sandbox report -n train

    sallyport sandbox report -o json --ledger sqlite:///ledger.db

What runs is not moved: it says what to create anew. Without --ledger it is
that of the setting ledger.url, else what `run` keeps. Who asked is known of
Pods that the gate has admitted.

**Exit codes**: 0 all that should run in a sandbox does; 1 something does not;
2 no sweep has ended yet, there is no ledger, or it does not answer; 64 wrong
usage."""


app = typer.Typer(help="Say what runs outside the sandbox.", no_args_is_help=True, epilog=SANDBOX)


@app.callback()
def sandbox() -> None:
    """Say what runs outside the sandbox."""
    log_to_stderr()


@app.command(epilog=REPORT)
def report(
    namespace: Annotated[
        str | None, typer.Option("--namespace", "-n", help="In this namespace.")
    ] = None,
    cluster_id: ClusterIdFlag = None,
    ledger: LedgerFlag = None,
    config: ConfigFlag = None,
    output: OutputFlag = Format.TABLE,
) -> None:
    """List what should run in a sandbox and does not, by the last sweep: the riskiest first."""
    from cli.sandbox.render import print_report  # noqa: PLC0415
    from cli.sandbox.run import exit_code, read_report  # noqa: PLC0415 (keeps --help quick)

    settings = read_flags(config, ledger=ledger)
    found = run_async(read_report(settings, cluster_id, namespace))
    if output is Format.JSON:
        print_json(found)
    else:
        print_report(found, namespace, make_console())
    raise typer.Exit(exit_code(found))
