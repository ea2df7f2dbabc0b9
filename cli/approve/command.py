"""The command `sallyport approve`."""

from typing import Annotated

import typer

from cli.flags import (
    ConfigFlag,
    KubeconfigFlag,
    OutputFlag,
    read_flags,
)
from cli.output import Format
from cli.session import log_to_stderr

APPROVE = """**Examples**

    sallyport approve policyexception llama -n ml --kubeconfig ~/.kube/config

    sallyport approve pex llama -n ml --kubeconfig ~/.kube/config --show

    sallyport approve pex llama -n ml --kubeconfig ~/.kube/config --yes -o json

    sallyport approve eal packages -n research --kubeconfig ~/.kube/config

    sallyport approve eds model-registry --kubeconfig ~/.kube/config

    sallyport approve breakglass fabric-down --kubeconfig ~/.kube/config

    sallyport approve profile gpu.yaml --kubeconfig ~/.kube/config

    sallyport approve grant llama -n research --kubeconfig ~/.kube/config

    sallyport approve store llama.yaml --kubeconfig ~/.kube/config

    sallyport approve store-removal llama --kubeconfig ~/.kube/config

Short names: `pex` (PolicyException), `eal` (EgressAllowlist), `eds` (EgressDestinations), `agr`
or `grant` (AccessGrant). Of `profile` and `store` (WeightStore) NAME is a file: what it will be is
approved before it is applied.

It ends with what is approved, or after --days (a profile's or a store's after 7). What changed
since it was shown is not approved. `kubectl delete approval NAME`, or `clusterapproval NAME` of an
EgressDestinations, a BreakGlass, a profile or a store, takes an approval back.

**Exit codes**: 0 approved, or shown; 1 refused, or you said no; 2 the cluster
does not answer; 64 wrong usage, or no such object."""


def approve(  # noqa: PLR0913, PLR0917 (one parameter a flag)
    kind: Annotated[str, typer.Argument(metavar="KIND", help="pex, grant, eal, store …: below.")],
    name: Annotated[str, typer.Argument(metavar="NAME", help="Its name, or its file: below.")],
    namespace: Annotated[str, typer.Option("--namespace", "-n", help="Its namespace.")] = "default",
    days: Annotated[int, typer.Option(min=1, max=90, help="For so many days at most.")] = 90,
    reason: Annotated[str, typer.Option(help="What you say to it; others can read it.")] = "",
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Approve without asking.")] = False,  # noqa: FBT002 (typer)
    show: Annotated[bool, typer.Option("--show", help="Only show it.")] = False,  # noqa: FBT002 (typer)
    kubeconfig: KubeconfigFlag = None,
    config: ConfigFlag = None,
    output: OutputFlag = Format.TABLE,
) -> None:
    """Show what two people approve, such as an exception, and approve it as it was shown."""
    log_to_stderr()
    from cli.approve.run import ApprovalOptions, answer_approval  # noqa: PLC0415 (keeps --help and completion quick)

    options = ApprovalOptions(kind, namespace, name, days=days, reason=reason, yes=yes, show=show)
    raise typer.Exit(answer_approval(read_flags(config, kubeconfig=kubeconfig), options, output))
