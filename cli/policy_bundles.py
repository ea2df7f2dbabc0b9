"""`sallyport policy status|activate|rollback`: bundles in a cluster."""

import asyncio
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console
from rich.table import Table
from rich.text import Text

from cli import exits
from cli.flags import ConfigFlag, KubeconfigFlag, OutputFlag, read_flags
from cli.output import Format, make_console, print_json
from cli.text import safe_line
from core.errors import BundleRefusedError

if TYPE_CHECKING:
    from cli.policy_published import Standing
    from cli.settings import Settings

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
    from cli import policy_published as published  # noqa: PLC0415 (keeps --help quick)

    settings = read_flags(config, kubeconfig=kubeconfig)

    async def read() -> "Standing":
        async with published.open_store(settings) as store:
            return await published.standing_of(store, settings.namespace)

    found = asyncio.run(read())
    if output is Format.JSON:
        print_json(found)
    else:
        print_standing(found, make_console())
    raise typer.Exit(exits.ADMITTED if found.is_settled else exits.REFUSED)


def policy_activate(
    bundle: Annotated[
        str, typer.Argument(metavar="FILE|REVISION", help="A bundle, or one that is published.")
    ],
    kubeconfig: KubeconfigFlag = None,
    config: ConfigFlag = None,
    wait: WaitFlag = 60.0,
    now: NowFlag = False,  # noqa: FBT002 (typer's flags)
) -> None:
    """Publish a bundle, and put it in force in all gates at once when each has loaded it."""
    _change(read_flags(config, kubeconfig=kubeconfig), bundle, wait, now=now)


def policy_rollback(
    kubeconfig: KubeconfigFlag = None,
    config: ConfigFlag = None,
    wait: WaitFlag = 60.0,
    now: NowFlag = False,  # noqa: FBT002 (typer's flags)
) -> None:
    """Put the bundle in force again that was before; or want one no more that still waits."""
    _change(read_flags(config, kubeconfig=kubeconfig), None, wait, now=now)


def print_standing(found: "Standing", console: Console) -> None:
    """Print it for people: what is refused last."""
    style = "green" if found.is_settled else "red"
    console.print(Text.assemble("active: ", (safe_line(found.active), style)), end="")
    waits = f"; wanted: {found.wanted}" if found.wanted != found.active else ""
    console.print(Text(safe_line(f"{waits}; before: {found.previous}")))
    for table in (_bundles(found), _gates(found)):
        if table.row_count:
            console.print()
            console.print(table)
    if found.gone:
        console.print()
        said = f"gone, nobody waits for them (nothing heard for 75 s): {', '.join(found.gone)}"
        console.print(Text(safe_line(said)))
    for gate in [*found.gates, *([found.control] if found.control else [])]:
        lines = [f"{gate.name} refuses {name}: {why}" for name, why in gate.refused.items()]
        lines += [f"{gate.name} tries again: {gate.problem}"] if gate.problem else []
        for line in lines:
            console.print()
            console.print(Text(safe_line(line), style="red"))


def _bundles(found: "Standing") -> Table:
    table = _grid("BUNDLE", "PUBLISHED", "FROM")
    for one in found.bundles:
        table.add_row(*map(_cell, (one.revision, one.published or "–", one.source or "–")))
    return table


def _gates(found: "Standing") -> Table:
    table = _grid("GATE", "IN FORCE", "REVISION", "READY", "SEEN")
    for one in found.gates:
        ready = ", ".join(each for each in one.loaded if each != one.in_force) or "–"
        table.add_row(*map(_cell, (one.name, one.in_force, one.revision, ready, one.seen)))
    return table


def _grid(*columns: str) -> Table:
    table = Table(box=None, pad_edge=False, header_style="bold")
    for column in columns:
        table.add_column(column, overflow="fold")
    return table


def _cell(text: str) -> Text:
    return Text(safe_line(text))


def _change(settings: "Settings", target: str | None, wait: float, *, now: bool) -> None:
    from cli import policy_published as published  # noqa: PLC0415 (keeps --help quick)

    async def change() -> str:
        async with published.open_store(settings) as store:
            if target is None:
                head = await published.want_previous(store, at_once=now)
            else:
                head = await published.want(store, settings, target, at_once=now)
            if wait and not now:
                await published.wait_until_active(store, head, wait)
                if head.wanted == head.active:
                    return f"{head.wanted} is in force still, and nothing else is wanted"
                return f"{head.wanted} is in force, in place of {head.active}"
            return f"{head.wanted} is {'active' if now else 'wanted'}"

    try:
        typer.echo(asyncio.run(change()))
    except BundleRefusedError as error:
        typer.echo(f"refused: {error}", err=True)
        raise typer.Exit(exits.REFUSED) from error
