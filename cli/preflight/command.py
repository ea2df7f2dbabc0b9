"""The commands `sallyport preflight` and `sallyport preflight cluster`."""

from pathlib import Path
from typing import Annotated

import typer

from cli.flags import ConfigFlag, KubeconfigFlag, OutputFlag, read_flags
from cli.output import Format, make_console, print_json
from cli.session import log_to_stderr, run_async

PREFLIGHT = """**Examples**

    sallyport preflight --kubeconfig ~/.kube/config

    sallyport preflight cluster --kubeconfig ~/.kube/config

    sallyport preflight --openapi swagger.json

    sallyport preflight --openapi swagger.json -o json

Before an upgrade of Kubernetes: compares the fields that kinds have with those
that this release knows. The fields come from a cluster's own OpenAPI, that of a
test cluster of the new version say, or from a file: `api/openapi-spec/swagger.json`
of Kubernetes' repository at the version's tag. Of a cluster it reads what
operators have added (the ConfigMap sallyport-fields), and asks by a dry run which
unknown fields kube-apiserver fills into a Pod by itself. Nothing is written.

It compares both ways: an OpenAPI that lacks fields which this version of
Kubernetes has is incomplete, or of another minor than the release knows. Kinds
that a cluster does not serve are named, and the others compared.

A cluster's user needs the rights to get `/openapi/v3`, to create Pods in the
namespace `default`, and to get the ConfigMaps sallyport-fields and
sallyport-filled-fields in Sallyport's namespace. Without one of the last three the
fields are compared, and what could not be read is said. A Sallyport that guards
`default` judges the dry run, too.

**Exit codes**: 0 each field is known; 1 some are not; 2 the OpenAPI lacks known
fields, or the cluster does not answer, refuses, or says nothing of a kind that it
serves; 64 wrong usage, or a file that is no OpenAPI or says nothing of a kind."""


CLUSTER = """**Examples**

    sallyport preflight cluster --kubeconfig ~/.kube/config

    sallyport preflight cluster --kubeconfig config.yaml --values-out v.yaml

    sallyport preflight cluster --kubeconfig config.yaml -o json

Before the first installation: looks at the version of Kubernetes, the network and
its policies, LocalDNS, webhooks and policy engines of others and their order,
namespaces of the cluster itself, who may create Pods and what runs with privileges
of the node, and how large all is. Each finding has its fix; below them stand values
of the chart that fit: what is printed is a values file. Nothing is written to the
cluster.

It needs the right to list Nodes, DaemonSets, Namespaces, Pods, Deployments, Services
and ConfigMaps of kube-system, webhook configurations, roles and bindings. What could
not be read is said.

**Exit codes**: 0 nothing stands in the way; 1 something is to be mended first, or
looked at; 2 something could not be read, or the cluster does not answer; 64 wrong
usage."""


app = typer.Typer(
    help="Look before an installation, or before an upgrade of Kubernetes.",
    invoke_without_command=True,
    epilog=PREFLIGHT,
)


@app.callback()
def preflight(
    context: typer.Context,
    openapi: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Kubernetes' OpenAPI, for a cluster's."),
    ] = None,
    kubeconfig: KubeconfigFlag = None,
    config: ConfigFlag = None,
    output: OutputFlag = Format.TABLE,
) -> None:
    """Compare the fields of a Kubernetes version with those that this release knows."""
    if context.invoked_subcommand is not None:
        if openapi is not None or kubeconfig is not None or config is not None:
            raise typer.BadParameter(f"give flags after {context.invoked_subcommand}")
        return
    log_to_stderr()
    from cli.preflight.render import print_compared  # noqa: PLC0415 (keeps --help quick)
    from cli.preflight.run import compare_cluster, compare_file  # noqa: PLC0415

    if openapi is not None:
        if kubeconfig is not None or config is not None:
            raise typer.BadParameter(
                "compares with a file and asks no cluster: leave --kubeconfig and --config out",
                param_hint="--openapi",
            )
        compared = compare_file(openapi)
    else:
        settings = read_flags(config, kubeconfig=kubeconfig)
        compared = run_async(compare_cluster(settings))
    if output is Format.JSON:
        print_json(compared)
    else:
        print_compared(compared, make_console())
    raise typer.Exit(compared.exit_code)


@app.command(epilog=CLUSTER)
def cluster(
    values_out: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Write the values there, too.")
    ] = None,
    kubeconfig: KubeconfigFlag = None,
    config: ConfigFlag = None,
    output: OutputFlag = Format.TABLE,
) -> None:
    """Look at a cluster before Sallyport is installed, and propose values of the chart."""
    log_to_stderr()
    from cli.preflight.cluster.render import commented, print_cluster  # noqa: PLC0415
    from cli.preflight.cluster.run import look_at_cluster  # noqa: PLC0415 (keeps --help quick)
    from core.base.whole_files import write_whole  # noqa: PLC0415

    found = run_async(look_at_cluster(read_flags(config, kubeconfig=kubeconfig)))
    if values_out is not None:
        write_whole(values_out, commented(found).encode())
    if output is Format.JSON:
        print_json(found)
    else:
        print_cluster(found, make_console())
    raise typer.Exit(found.exit_code)
