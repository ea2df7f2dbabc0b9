"""`sallyport policy status|activate|rollback`: bundles in a cluster."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated

import typer

from cli import exits
from cli.flags import ConfigFlag, KubeconfigFlag, OutputFlag, read_flags
from cli.output import Format, make_console, print_json
from cli.session import run_async
from core.base.errors import ClusterError
from core.base.safe_text import safe_line

if TYPE_CHECKING:
    from app.settings.root import Settings
    from cli.policy.activation.status import Standing
    from cli.policy.shared.documents import Activation

STATUS = """**Examples**

    sallyport policy status

    sallyport policy status --kubeconfig admin.conf -o json

It says too whether another release built what is in force, and what control
makes of the registry that it follows.

**Exit codes**: 0 what is wanted is in force in every gate; 1 somebody lacks or
refuses it, or what is in the registry is not taken; 2 the cluster did not say;
64 wrong usage."""

ACTIVATE = """**Examples**

    sallyport policy activate my-bundle.tar.gz

    sallyport policy activate 5f0c2d9e7a41

    sallyport policy activate base

    sallyport policy activate my-bundle.tar.gz --wait 300 -o json

`base` is the bundle of each gate's own settings, without which the built-in
one. Needs the verb exempt on namespaces.sallyport.dev of Sallyport's namespace.

**Exit codes**: 0 in force; 1 refused, and by whom; 2 not in force in time, or
the cluster did not answer; 64 wrong usage."""

ROLLBACK = """**Examples**

    sallyport policy rollback

    sallyport policy rollback --now

    sallyport policy rollback -o json

**Exit codes**: 0 in force; 1 refused, and by whom; 2 not in force in time, or
the cluster did not answer; 64 wrong usage, or there is nothing to go back to."""


WaitFlag = Annotated[
    float, typer.Option(help="Seconds to wait until it is active; 0 waits for nothing.", min=0)
]
NowFlag = Annotated[
    bool,
    typer.Option(
        "--now",
        help="Do not wait until every gate has it: each switches once it has. Without control.",
    ),
]


def policy_status(
    kubeconfig: KubeconfigFlag = None,
    config: ConfigFlag = None,
    output: OutputFlag = Format.TABLE,
) -> None:
    """Say which bundle is wanted, which is in force in each gate, and who refuses it."""
    from cli.policy.activation import status as published  # noqa: PLC0415 (keeps --help quick)
    from cli.policy.activation.render import print_standing  # noqa: PLC0415

    settings = read_flags(config, kubeconfig=kubeconfig)

    async def read() -> "Standing":
        async with published.open_store(settings) as store:
            return await published.standing_of(store, settings.namespace)

    found = run_async(read())
    if output is Format.JSON:
        print_json(found)
    else:
        print_standing(found, make_console())
    raise typer.Exit(exits.ADMITTED if found.is_settled else exits.REFUSED)


def policy_activate(  # noqa: PLR0913, PLR0917 (each is a flag)
    bundle: Annotated[
        str, typer.Argument(metavar="FILE|REVISION", help="A bundle, or one that is published.")
    ],
    kubeconfig: KubeconfigFlag = None,
    config: ConfigFlag = None,
    wait: WaitFlag = 60.0,
    now: NowFlag = False,  # noqa: FBT002 (typer's flags)
    output: OutputFlag = Format.TABLE,
) -> None:
    """Publish a bundle, and put it in force in all gates at once when each has loaded it."""
    _change(
        read_flags(config, kubeconfig=kubeconfig), bundle, _ActivationOptions(wait, now, output)
    )


def policy_rollback(
    kubeconfig: KubeconfigFlag = None,
    config: ConfigFlag = None,
    wait: WaitFlag = 60.0,
    now: NowFlag = False,  # noqa: FBT002 (typer's flags)
    output: OutputFlag = Format.TABLE,
) -> None:
    """Put the bundle in force again that was before; or want one no more that still waits."""
    _change(read_flags(config, kubeconfig=kubeconfig), None, _ActivationOptions(wait, now, output))


@dataclass(frozen=True)
class _ActivationOptions:
    wait: float
    now: bool
    output: Format


def _change(settings: "Settings", target: str | None, options: _ActivationOptions) -> None:
    from cli.policy.activation import run  # noqa: PLC0415 (keeps --help quick)
    from cli.policy.activation.status import open_store  # noqa: PLC0415

    async def change() -> "Activation":
        async with open_store(settings) as store:
            return await run.change(store, settings, target, options.wait, at_once=options.now)

    made = run_async(change())
    if made.refused:
        typer.echo(safe_line(f"refused: {made.refused}"), err=True)
    if options.output is Format.JSON:
        print_json(made)
    elif not (made.refused or made.problem):
        typer.echo(safe_line(_activation_text(made, now=options.now)))
    if made.problem:
        raise ClusterError(made.problem)
    raise typer.Exit(exits.REFUSED if made.refused else exits.ADMITTED)


def _activation_text(made: "Activation", *, now: bool) -> str:
    if now:
        return f"{made.wanted} is active"
    if not made.active:
        return f"{made.wanted} is wanted"
    if made.wanted == made.before:
        return f"{made.wanted} is in force still, and nothing else is wanted"
    return f"{made.wanted} is in force, in place of {made.before}"
