"""`sallyport sign-off`: says that a report was read, and shows who has said so."""

from typing import Annotated

import typer

from cli import exits
from cli.flags import ConfigFlag, KubeconfigFlag, OutputFlag, read_flags
from cli.output import Format, make_console, print_json
from cli.session import log_to_stderr, run_async

SIGN_OFF = """**Examples**

    sallyport sign-off sallyport-report-2026-10.json --kubeconfig ~/.kube/config

    sallyport sign-off sha256:4f5e… --note "read with the storage team"

    sallyport sign-off sha256:4f5e… --show -o json

REPORT is a report's JSON, whose digest is computed, or the digest that stands at
the end of every form. It writes an AuditStatement into the cluster, in your
name; the ledger keeps it, and the next report shows it. A report is signed off
once two people have done so. --show writes nothing.

**Exit codes**: 0 signed, and with --show signed off by two people; 1 refused,
and with --show not signed off yet; 2 the cluster does not answer; 64 wrong usage."""


def sign_off(  # noqa: PLR0913, PLR0917 (one parameter a flag)
    report: Annotated[str, typer.Argument(metavar="REPORT", help="Its JSON file, or its digest.")],
    note: Annotated[str, typer.Option(help="What you say to it; others read it.")] = "",
    show: Annotated[bool, typer.Option("--show", help="Only show who has.")] = False,  # noqa: FBT002 (typer)
    kubeconfig: KubeconfigFlag = None,
    config: ConfigFlag = None,
    output: OutputFlag = Format.TABLE,
) -> None:
    """Say that you have read a report; two people sign it off."""
    log_to_stderr()
    from cli.sign_off.run import print_signers, sign_report  # noqa: PLC0415 (keeps --help quick)

    settings = read_flags(config, kubeconfig=kubeconfig)
    made = run_async(sign_report(settings, report, note, show=show))
    if output is Format.JSON:
        print_json(made)
    else:
        print_signers(made, make_console())
    is_done = made.signed_off if show else not made.message
    raise typer.Exit(exits.ADMITTED if is_done else exits.REFUSED)
