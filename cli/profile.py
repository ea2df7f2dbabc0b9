"""`sallyport profile`: what profiles cover, and which one a workload would need."""

import asyncio
from typing import Annotated

import typer

from cli import help as texts
from cli.flags import BundleFlag, ClusterFlag, ConfigFlag, KubeconfigFlag, OutputFlag, read_flags
from cli.logs import log_to_stderr
from cli.output import Format, make_console, print_json

app = typer.Typer(
    help="Suggest, compare and try profiles.", no_args_is_help=True, epilog=texts.PROFILE
)


@app.callback()
def profile() -> None:
    """Suggest, compare and try profiles."""
    log_to_stderr()


@app.command(epilog=texts.SUGGEST)
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
    from cli import profile_suggest  # noqa: PLC0415 (keeps --help and completion quick)

    settings = read_flags(config, cluster=cluster, kubeconfig=kubeconfig, bundle=bundle)
    work = profile_suggest.suggest_profile(settings, targets, name, generalise=generalise)
    suggestion = asyncio.run(work)
    if output is Format.JSON:
        print_json(suggestion)
    else:
        profile_suggest.print_suggestion(suggestion)
    profile_suggest.print_advice(suggestion)
    raise typer.Exit(suggestion.exit_code)


@app.command(epilog=texts.DIFF)
def diff(  # noqa: PLR0913, PLR0917 (one parameter a flag)
    a: Annotated[str, typer.Argument(metavar="A", help="A profile's name, or a file.")],
    b: Annotated[str, typer.Argument(metavar="B", help="Another's.")],
    cluster: ClusterFlag = None,
    kubeconfig: KubeconfigFlag = None,
    config: ConfigFlag = None,
    output: OutputFlag = Format.TABLE,
) -> None:
    """Say what each of two profiles covers that the other does not."""
    from cli import profile_diff  # noqa: PLC0415 (keeps --help and completion quick)

    settings = read_flags(config, cluster=cluster, kubeconfig=kubeconfig)
    found = asyncio.run(profile_diff.diff_profiles(settings, a, b))
    if output is Format.JSON:
        print_json(found)
    else:
        profile_diff.print_difference(found, make_console())
    raise typer.Exit(found.exit_code)


@app.command(epilog=texts.CHECK)
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
    from cli import profile_check  # noqa: PLC0415 (keeps --help and completion quick)

    settings = read_flags(config, cluster=cluster, kubeconfig=kubeconfig, bundle=bundle)
    checked = asyncio.run(profile_check.check_profile(settings, name, target))
    if output is Format.JSON:
        print_json(checked)
    else:
        profile_check.print_checked(name, checked, make_console())
    raise typer.Exit(profile_check.exit_code(checked))
