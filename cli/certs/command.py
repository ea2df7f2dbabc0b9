"""`sallyport certs`: keys and certificates, and what comes next for them."""

import typer

from cli.flags import ConfigFlag, KubeconfigFlag, OutputFlag, read_flags
from cli.output import Format, make_console, print_json
from cli.session import log_to_stderr, run_async

CERTS = """**Examples**

    sallyport certs status --kubeconfig ~/.kube/config

    sallyport certs status --help

**Exit codes**: 0 all is well; 1 something is wrong or late; 2 it cannot be
told; 64 wrong usage. Each command's --help says more."""

STATUS = """**Examples**

    sallyport certs status --kubeconfig ~/.kube/config

    sallyport certs status --kubeconfig ~/.kube/config -o json

    SALLYPORT_NAMESPACE=guard sallyport certs status --kubeconfig config.yaml

Lifetimes are those of --config (settings certificates.…), else the shipped
ones. Needs the right to read Sallyport's Secrets and Lease in its namespace
and the webhook configurations. No private key is ever printed.

**Exit codes**: 0 all is well; 1 something is broken, or not replaced in time,
or nobody leads; 2 the cluster does not answer, or the right is missing; 64
wrong usage."""


app = typer.Typer(help="Say how keys and certificates stand.", no_args_is_help=True, epilog=CERTS)


@app.callback()
def certs() -> None:
    """Say how keys and certificates stand."""
    log_to_stderr()


@app.command(epilog=STATUS)
def status(
    kubeconfig: KubeconfigFlag = None,
    config: ConfigFlag = None,
    output: OutputFlag = Format.TABLE,
) -> None:
    """Say who signs, who trusts whom, what is replaced when, and what is wrong."""
    from cli.certs import run  # noqa: PLC0415 (keeps --help and completion quick)
    from cli.certs.render import print_status  # noqa: PLC0415

    settings = read_flags(config, kubeconfig=kubeconfig)
    found = run_async(run.read_status(settings))
    if output is Format.JSON:
        print_json(found)
    else:
        print_status(found, make_console())
    raise typer.Exit(run.exit_code(found))
