"""The command `sallyport verify`."""

from typing import Annotated

import typer

from cli.flags import (
    ConfigFlag,
    KubeconfigFlag,
    OutputFlag,
    read_flags,
)
from cli.output import Format, make_console, print_json
from cli.session import log_to_stderr, run_async
from core.decision.namespaces import Mode

VERIFY = """**Examples**

    sallyport verify --kubeconfig ~/.kube/config

    sallyport verify -n research -o json --kubeconfig ~/.kube/config

    sallyport verify --from research/notebook-0 --kubeconfig ~/.kube/config

    helm test sallyport -n sallyport-system --logs

Asks by dry runs: are the webhooks registered, is a workload judged, is a Pod
refused that nobody may run, are the marks of a namespace guarded? Nothing is
written. With --from it also tries, inside a Pod that runs, whether that Pod
reaches the gate's port. That takes the right to exec there (a Sallyport that guards
its namespace judges and records it), the right to get the ConfigMap sallyport-gate,
python3, bash with timeout, or nc in the Pod's image, and a Pod that may connect to
kube-apiserver, which shows that it can connect at all. In a Pod it asks as the Pod's
service account. Which mode holds is read from the ConfigMap
sallyport-gate, and whether gates must prove which they are from the ConfigMap
sallyport-auditor; with --default-mode no ConfigMap is read.

**Exit codes**: 0 all holds; 1 something is broken; 2 the cluster does not
answer, or something else stands between; 64 wrong usage."""


def verify(  # noqa: PLR0913, PLR0917 (one parameter a flag)
    namespace: Annotated[
        str, typer.Option("--namespace", "-n", help="One that is judged and exists.")
    ] = "default",
    default_mode: Annotated[
        Mode | None,
        typer.Option(help="Of namespaces without the label; else as the gate's ConfigMap says."),
    ] = None,
    from_pod: Annotated[
        str | None,
        typer.Option("--from", metavar="NAMESPACE/POD", help="Try the gate's port from there."),
    ] = None,
    kubeconfig: KubeconfigFlag = None,
    config: ConfigFlag = None,
    output: OutputFlag = Format.TABLE,
) -> None:
    """Ask a cluster by dry runs whether what arrives is judged; in a Pod, its own."""
    log_to_stderr()
    from cli.verify.render import print_verified  # noqa: PLC0415 (keeps --help quick)
    from cli.verify.run import exit_code  # noqa: PLC0415
    from cli.verify.run import verify as run_verify  # noqa: PLC0415

    settings = read_flags(config, kubeconfig=kubeconfig, default_mode=default_mode)
    by_settings = default_mode is not None
    verified = run_async(
        run_verify(settings, namespace, by_settings=by_settings, from_pod=_pod_of(from_pod))
    )
    if output is Format.JSON:
        print_json(verified)
    else:
        print_verified(verified, make_console())
    raise typer.Exit(exit_code(verified))


def _pod_of(text: str | None) -> tuple[str, str] | None:
    if text is None:
        return None
    namespace, slash, pod = text.partition("/")
    if not (namespace and slash and pod) or "/" in pod:
        raise typer.BadParameter("name a Pod that runs, as NAMESPACE/POD", param_hint="--from")
    return namespace, pod
