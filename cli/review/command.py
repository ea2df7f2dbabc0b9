"""The command `sallyport review`."""

from typing import Annotated

import typer

from cli.flags import (
    BundleFlag,
    ClusterFlag,
    ConfigFlag,
    GroupFlag,
    KubeconfigFlag,
    NamespaceFlag,
    read_flags,
)
from cli.output import ReviewFormat, make_console
from cli.session import log_to_stderr, run_async

REVIEW = """**Examples**

    sallyport review job.yaml

    sallyport review --profile pss-baseline pods/

    sallyport review --cluster examples/cluster --as alice job.yaml

    sallyport review --as alice --as-group researchers job.yaml

    kubectl get pods -A -o yaml | sallyport review -o json -

    sallyport review -o sarif deploy/ > sallyport.sarif

    sallyport review --diff git:origin/main -o github deploy/

Fields that no Kubernetes known to this release has (field/unknown) warn or refuse,
as the namespace and the settings say: docs/operate/fields.md.

A workload gets the answer that the gate gives it and, as far as its templates say
what is in its Pods, theirs; where the two differ: docs/operate/workloads.md.

With --diff OLD only what is new counts: 1 where something new is refused.

**Exit codes**: 0 all admitted; 1 something refused; 2 something could not be
judged, or the cluster does not answer; 64 wrong usage, or nothing to review."""


def review(  # noqa: PLR0913, PLR0917 (one parameter a flag)
    files: Annotated[list[str], typer.Argument(help="Files, folders, or - for standard input.")],
    profile: Annotated[str | None, typer.Option(help="Judge by this profile alone.")] = None,
    as_user: Annotated[
        str | None,
        typer.Option("--as", help="Who submits it; else a Pod's account, nobody for others."),
    ] = None,
    as_group: GroupFlag = None,
    namespace: NamespaceFlag = "default",
    cluster: ClusterFlag = None,
    kubeconfig: KubeconfigFlag = None,
    bundle: BundleFlag = None,
    config: ConfigFlag = None,
    diff: Annotated[
        str | None,
        typer.Option(help="Show only what is new since OLD: a path, or git:REV.", metavar="OLD"),
    ] = None,
    output: Annotated[
        ReviewFormat,
        typer.Option(
            "--output", "-o", metavar="FORMAT", help="table, json, sarif, junit or github."
        ),
    ] = ReviewFormat.TABLE,
) -> None:
    """Say what the gate would say of manifests: of Pods, and with --as of other kinds."""
    log_to_stderr()
    from cli.review.diff import review_difference  # noqa: PLC0415
    from cli.review.render import show  # noqa: PLC0415 (keeps --help and completion quick)
    from cli.review.run import exit_code  # noqa: PLC0415
    from cli.review.run import review as run_review  # noqa: PLC0415
    from cli.shared.manifests import make_terms  # noqa: PLC0415

    terms = make_terms(profile, as_user, tuple(as_group or ()), namespace)
    settings = read_flags(config, cluster=cluster, kubeconfig=kubeconfig, bundle=bundle)
    work = review_difference(settings, files, diff, terms) if diff is not None else None
    report = run_async(work or run_review(settings, files, terms))
    show(report, output, make_console())
    raise typer.Exit(exit_code(report.results))
