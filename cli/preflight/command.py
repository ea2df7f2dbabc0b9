"""The command `sallyport preflight`."""

from pathlib import Path
from typing import Annotated

import typer

from cli.flags import ConfigFlag, KubeconfigFlag, OutputFlag, read_flags
from cli.output import Format, make_console, print_json
from cli.session import log_to_stderr, run_async

PREFLIGHT = """**Examples**

    sallyport preflight --kubeconfig ~/.kube/config

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


def preflight(
    openapi: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Kubernetes' OpenAPI, for a cluster's."),
    ] = None,
    kubeconfig: KubeconfigFlag = None,
    config: ConfigFlag = None,
    output: OutputFlag = Format.TABLE,
) -> None:
    """Compare the fields of a Kubernetes version with those that this release knows."""
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
