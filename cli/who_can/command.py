"""`sallyport who-can`: who holds a right in the end, also by way of others."""

from typing import Annotated

import typer

from cli.flags import ClusterFlag, ConfigFlag, KubeconfigFlag, OutputFlag, read_flags
from cli.output import Format, make_console, print_json
from cli.session import log_to_stderr, run_async

WHO_CAN = """**Examples**

    sallyport who-can use gpu-training --kubeconfig ~/.kube/config

    sallyport who-can use gpu-training -n train --cluster my-cluster/

**Exit codes**: 0 listed; 2 the cluster does not answer; 64 wrong usage."""

USE = """**Examples**

    sallyport who-can use gpu-training --kubeconfig ~/.kube/config

    sallyport who-can use gpu-training -n train --cluster my-cluster/

    sallyport who-can use gpu-training --cluster my-cluster/ -o json

Needs the right to list roles and bindings in all namespaces. Through others:
impersonation, tokens, Pods of service accounts, bind, escalate.

**Exit codes**: 0 listed; 2 the cluster does not answer, or does not let all
be read; 64 wrong usage, or no such profile."""


app = typer.Typer(help="Say who holds a right in the end.", no_args_is_help=True, epilog=WHO_CAN)


@app.callback()
def who_can() -> None:
    """Say who holds a right in the end."""
    log_to_stderr()


@app.command(epilog=USE)
def use(  # noqa: PLR0913, PLR0917 (one parameter a flag)
    name: Annotated[str, typer.Argument(metavar="NAME", help="The profile.")],
    namespace: Annotated[
        str | None, typer.Option("--namespace", "-n", help="In this one alone.")
    ] = None,
    cluster: ClusterFlag = None,
    kubeconfig: KubeconfigFlag = None,
    config: ConfigFlag = None,
    output: OutputFlag = Format.TABLE,
) -> None:
    """List everyone who can use a profile, themselves or by becoming another."""
    from cli.who_can.render import print_users  # noqa: PLC0415
    from cli.who_can.run import list_users  # noqa: PLC0415 (keeps --help and completion quick)

    settings = read_flags(config, cluster=cluster, kubeconfig=kubeconfig)
    answer = run_async(list_users(settings, name, namespace))
    if output is Format.JSON:
        print_json(answer)
    else:
        print_users(answer, make_console())
