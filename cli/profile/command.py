"""`sallyport profile`: what profiles cover, and which one a workload would need."""

from typing import Annotated

import typer

from cli.flags import BundleFlag, ClusterFlag, ConfigFlag, KubeconfigFlag, OutputFlag, read_flags
from cli.output import Format, make_console, print_json
from cli.session import log_to_stderr, run_async

PROFILE = """**Examples**

    sallyport profile suggest train --kubeconfig ~/.kube/config

    sallyport profile diff restricted pss-restricted

    sallyport profile check restricted train --kubeconfig ~/.kube/config

**Exit codes**: 0 covered, or the same; 1 something is refused, or differs;
2 something could not be judged; 64 wrong usage."""

SUGGEST = """**Examples**

    sallyport profile suggest deployment.yaml > profile.yaml

    sallyport profile suggest train --kubeconfig ~/.kube/config --name train

    sallyport profile suggest logging --cluster my-cluster/ --generalise

Of a cluster it reads the Pods that run. What has a / or ends in .yaml is a
file. Advice goes to standard error: profiles that are there and do as well.

**Exit codes**: 0 it covers all; 1 something no profile can cover; 2 something
could not be judged, or the cluster does not answer; 64 wrong usage, or
nothing found."""

DIFF = """**Examples**

    sallyport profile diff pss-baseline pss-restricted

    sallyport profile diff train new/train.yaml --kubeconfig ~/.kube/config

What counts is what is covered, not how it is written. A file's relaxations
all count; what it includes is looked for in the cluster.

**Exit codes**: 0 both cover the same; 1 they differ; 2 the cluster does not
answer; 64 wrong usage, or no such profile."""

CHECK = """**Examples**

    sallyport profile check restricted train --kubeconfig ~/.kube/config

    sallyport profile check restricted train --cluster my-cluster/

    sallyport profile check pss-baseline manifests/ -o json

It is judged as where the namespace enforces, whoever asks. Its ceiling does
not count, nor the profile that it names.

**Exit codes**: 0 all would be admitted; 1 something would be refused; 2
something could not be judged, or the cluster does not answer; 64 wrong
usage, no such profile, or nothing to judge."""


app = typer.Typer(help="Suggest, compare and try profiles.", no_args_is_help=True, epilog=PROFILE)


@app.callback()
def profile() -> None:
    """Suggest, compare and try profiles."""
    log_to_stderr()


@app.command(epilog=SUGGEST)
def suggest(  # noqa: PLR0913, PLR0917 (one parameter a flag)
    targets: Annotated[
        list[str], typer.Argument(metavar="NAMESPACE|FILE…", help="What runs there, or stands so.")
    ],
    name: Annotated[
        str | None, typer.Option(help="The profile's; without it the namespace's.")
    ] = None,
    generalise: Annotated[  # noqa: FBT002 (a flag)
        bool, typer.Option("--generalise", help="Put a pattern for long lists, and say so.")
    ] = False,
    cluster: ClusterFlag = None,
    kubeconfig: KubeconfigFlag = None,
    bundle: BundleFlag = None,
    config: ConfigFlag = None,
    output: OutputFlag = Format.TABLE,
) -> None:
    """Write the least profile that covers what runs in namespaces, or what files need."""
    from cli.profile import suggest as profile_suggest  # noqa: PLC0415 (keeps --help and completion quick)

    settings = read_flags(config, cluster=cluster, kubeconfig=kubeconfig, bundle=bundle)
    work = profile_suggest.suggest_profile(settings, targets, name, generalise=generalise)
    suggestion = run_async(work)
    if output is Format.JSON:
        print_json(suggestion)
    else:
        profile_suggest.print_suggestion(suggestion)
    profile_suggest.print_advice(suggestion)
    raise typer.Exit(suggestion.exit_code)


@app.command(epilog=DIFF)
def diff(  # noqa: PLR0913, PLR0917 (one parameter a flag)
    a: Annotated[str, typer.Argument(metavar="A", help="A profile's name, or a file.")],
    b: Annotated[str, typer.Argument(metavar="B", help="Another's.")],
    cluster: ClusterFlag = None,
    kubeconfig: KubeconfigFlag = None,
    config: ConfigFlag = None,
    output: OutputFlag = Format.TABLE,
) -> None:
    """Say what each of two profiles covers that the other does not."""
    from cli.profile import diff as profile_diff  # noqa: PLC0415 (keeps --help and completion quick)

    settings = read_flags(config, cluster=cluster, kubeconfig=kubeconfig)
    found = run_async(profile_diff.diff_profiles(settings, a, b))
    if output is Format.JSON:
        print_json(found)
    else:
        profile_diff.print_difference(found, make_console())
    raise typer.Exit(found.exit_code)


@app.command(epilog=CHECK)
def check(  # noqa: PLR0913, PLR0917 (one parameter a flag)
    name: Annotated[str, typer.Argument(metavar="NAME", help="The profile.")],
    target: Annotated[str, typer.Argument(metavar="NAMESPACE|FILE", help="What is to be judged.")],
    cluster: ClusterFlag = None,
    kubeconfig: KubeconfigFlag = None,
    bundle: BundleFlag = None,
    config: ConfigFlag = None,
    output: OutputFlag = Format.TABLE,
) -> None:
    """Say what runs in a namespace and would be refused under a profile."""
    from cli.profile import check as profile_check  # noqa: PLC0415 (keeps --help and completion quick)

    settings = read_flags(config, cluster=cluster, kubeconfig=kubeconfig, bundle=bundle)
    checked = run_async(profile_check.check_profile(settings, name, target))
    if output is Format.JSON:
        print_json(checked)
    else:
        profile_check.print_checked(name, checked, make_console())
    raise typer.Exit(profile_check.exit_code(checked))
