"""The command `sallyport policy replay`."""

from pathlib import Path
from typing import Annotated

import typer

from cli.flags import (
    ClusterFlag,
    ConfigFlag,
    KubeconfigFlag,
    LedgerFlag,
    OutputFlag,
    read_flags,
)
from cli.output import Format, make_console, print_json
from cli.session import run_async
from core.base.errors import SettingsError

REPLAY = """**Examples**

    sallyport policy replay --bundle my-bundle.tar.gz

    sallyport policy replay --bundle new.tar.gz --base old.tar.gz --since 30d

    sallyport policy replay --bundle new.tar.gz -n train -o json

    sallyport policy replay --bundle new.tar.gz --html replay.html

    SALLYPORT_LEDGER__URL=postgresql+psycopg://… sallyport policy replay …

Without --base it is compared with the published bundle that is active in the
cluster of --kubeconfig, else with that of the settings, else the built-in one;
the answer says which, and why. Both are judged in the embedded engine.

All but the bundles is as it was when each review was asked for: profiles,
rights, exceptions, risk. Where a bundle finds other privileges, profiles are
those of --cluster or --kubeconfig, else those that are shipped.

**Exit codes**: 0 nothing would newly be refused; 1 something would; 2 some
could not be judged again, or the candidate's policies fail, or the ledger or
cluster does not answer; 64 wrong usage, or nothing was recorded."""


def policy_replay(  # noqa: PLR0913, PLR0917 (each is a flag)
    bundle: Annotated[
        Path, typer.Option("--bundle", metavar="FILE", help="The candidate: a policy bundle.")
    ],
    base: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="What it is compared with.",
            show_default="the bundle in force, as far as it is known",
        ),
    ] = None,
    since: Annotated[
        str, typer.Option(help="What was asked for since: 12h, 7d ago, or a time (RFC 3339).")
    ] = "7d",
    until: Annotated[
        str | None, typer.Option(help="And before: as --since.", show_default="now")
    ] = None,
    namespace: Annotated[
        str | None, typer.Option("--namespace", "-n", help="Of this namespace alone.")
    ] = None,
    jobs: Annotated[
        int, typer.Option(min=0, max=256, help="Processes.", show_default="one a core")
    ] = 0,
    html: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Write it as a page with pictures too.",
            show_default=False,
        ),
    ] = None,
    ledger: LedgerFlag = None,
    cluster: ClusterFlag = None,
    kubeconfig: KubeconfigFlag = None,
    config: ConfigFlag = None,
    output: OutputFlag = Format.TABLE,
) -> None:
    """Judge what was asked for with another bundle, and show in what they differ."""
    from cli.policy.replay.render import print_replayed  # noqa: PLC0415
    from cli.policy.replay.run import ReplayRequest, exit_code, replay  # noqa: PLC0415 (keeps --help quick)

    settings = read_flags(config, ledger=ledger, cluster=cluster, kubeconfig=kubeconfig)
    asked = ReplayRequest(bundle, base, since, until, namespace, jobs)
    if html is not None and not html.parent.is_dir():
        raise SettingsError(f"--html {html}: there is no folder {html.parent}")
    if html is not None and html.is_dir():
        raise SettingsError(f"--html {html}: is a folder: name a file")
    found = run_async(replay(settings, asked))
    if output is Format.JSON:
        print_json(found)
    else:
        print_replayed(found, make_console())
    if html is not None:  # Last: where it cannot be written, the work is not lost.
        from cli.policy.replay.page import write_page  # noqa: PLC0415 (its engine is not needed else)

        write_page(found, html)
    raise typer.Exit(exit_code(found))
