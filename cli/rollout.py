"""`sallyport rollout`: enforcing, namespace by namespace."""

import asyncio
from typing import Annotated, Optional

import typer

from cli import help_rollout as texts
from cli.flags import ConfigFlag, KubeconfigFlag, LedgerFlag, OutputFlag, read_flags
from cli.logs import log_to_stderr
from cli.output import Format, make_console, print_json
from core.namespaces import Mode

app = typer.Typer(
    help="Begin to enforce, namespace by namespace.", no_args_is_help=True, epilog=texts.ROLLOUT
)

SinceFlag = Annotated[
    str, typer.Option(help="Look at what was asked for since: 12h, 7d ago, or a time (RFC 3339).")
]
SweepAgeFlag = Annotated[
    str, typer.Option(help="The most that the last sweep may be old: 90m, 3h.")
]
NamesArgument = Annotated[
    Optional[list[str]],  # noqa: UP045 (typer)
    typer.Argument(metavar="NAMESPACE", help="Only these; without any, all."),
]


@app.callback()
def rollout() -> None:
    """Begin to enforce, namespace by namespace."""
    log_to_stderr()


@app.command(epilog=texts.STATUS)
def status(  # noqa: PLR0913, PLR0917 (each is a flag)
    namespaces: NamesArgument = None,
    since: SinceFlag = "7d",
    sweep_age: SweepAgeFlag = "3h",
    ledger: LedgerFlag = None,
    kubeconfig: KubeconfigFlag = None,
    config: ConfigFlag = None,
    output: OutputFlag = Format.TABLE,
) -> None:
    """Say what would be refused, namespace by namespace, if it enforced now."""
    from cli.rollout_standing import exit_code  # noqa: PLC0415 (keeps --help quick)
    from cli.rollout_status import Asked, read_status  # noqa: PLC0415
    from cli.rollout_text import print_status  # noqa: PLC0415

    asked = Asked(tuple(namespaces or ()), since, sweep_age)
    settings = read_flags(config, kubeconfig=kubeconfig, ledger=ledger)
    found = asyncio.run(read_status(settings, asked))
    if output is Format.JSON:
        print_json(found)
    else:
        print_status(found, make_console())
    raise typer.Exit(exit_code(found.namespaces))


@app.command(epilog=texts.PLAN)
def plan(  # noqa: PLR0913, PLR0917 (each is a flag)
    namespaces: NamesArgument = None,
    since: SinceFlag = "7d",
    sweep_age: SweepAgeFlag = "3h",
    ledger: LedgerFlag = None,
    kubeconfig: KubeconfigFlag = None,
    config: ConfigFlag = None,
    output: OutputFlag = Format.TABLE,
) -> None:
    """Give an order, and what to type: the ready namespaces first, of them the small ones."""
    from cli.rollout_plan import plan_of  # noqa: PLC0415 (keeps --help quick)
    from cli.rollout_standing import exit_code  # noqa: PLC0415
    from cli.rollout_status import Asked, read_status  # noqa: PLC0415
    from cli.rollout_text import print_plan  # noqa: PLC0415

    asked = Asked(tuple(namespaces or ()), since, sweep_age)
    settings = read_flags(config, kubeconfig=kubeconfig, ledger=ledger)
    found = asyncio.run(read_status(settings, asked))
    made = plan_of(found)
    if output is Format.JSON:
        print_json(made)
    else:
        print_plan(made, make_console())
    raise typer.Exit(exit_code(found.namespaces))


@app.command("set", epilog=texts.SET)
def set_mode(  # noqa: PLR0913, PLR0917 (each is a flag)
    namespaces: Annotated[list[str], typer.Argument(metavar="NAMESPACE…", help="Which.")],
    mode: Annotated[Mode, typer.Option(help="audit, warn or enforce.", metavar="MODE")],
    announced: Annotated[
        str, typer.Option("--from", metavar="DATE", help="Say from when it is to enforce.")
    ] = "",
    lower: Annotated[bool, typer.Option("--lower", help="Make it milder than it is.")] = False,  # noqa: FBT002
    force: Annotated[  # noqa: FBT002 (typer)
        bool, typer.Option("--force", help="Enforce without asking what that refuses.")
    ] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Write nothing.")] = False,  # noqa: FBT002
    since: SinceFlag = "7d",
    sweep_age: SweepAgeFlag = "3h",
    ledger: LedgerFlag = None,
    kubeconfig: KubeconfigFlag = None,
    config: ConfigFlag = None,
    output: OutputFlag = Format.TABLE,
) -> None:
    """Put namespaces into a mode; to enforce, only where nothing would be refused."""
    from cli.rollout_set import Wish, exit_code, set_modes  # noqa: PLC0415 (keeps --help quick)
    from cli.rollout_status import Asked  # noqa: PLC0415
    from cli.rollout_text import print_answer  # noqa: PLC0415

    asked = Asked(tuple(namespaces), since, sweep_age)
    wish = Wish(mode, announced, lower=lower, force=force, dry_run=dry_run)
    settings = read_flags(config, kubeconfig=kubeconfig, ledger=ledger)
    answer = asyncio.run(set_modes(settings, asked, wish))
    if output is Format.JSON:
        print_json(answer)
    else:
        print_answer(answer, make_console())
    raise typer.Exit(exit_code(answer))
