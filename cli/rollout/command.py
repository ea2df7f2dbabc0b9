"""`sallyport rollout`: enforcing, namespace by namespace."""

from typing import Annotated, Optional

import typer

from cli.flags import ConfigFlag, KubeconfigFlag, LedgerFlag, OutputFlag, read_flags
from cli.output import Format, make_console, print_json
from cli.session import log_to_stderr, run_async
from core.decision.namespaces import Mode

ROLLOUT = """**Examples**

    sallyport rollout status --kubeconfig ~/.kube/config

    sallyport rollout plan --kubeconfig ~/.kube/config

    sallyport rollout set train --mode warn --from 2026-12-01

Which cluster is said by --kubeconfig or SALLYPORT_KUBECONFIG, which ledger by
--ledger or SALLYPORT_LEDGER__URL.

**Exit codes**: 0 all is ready, or done; 1 something would be refused, or was;
2 it cannot be told; 64 wrong usage. Each command's --help says more."""

STATUS = """**Examples**

    sallyport rollout status --kubeconfig ~/.kube/config

    sallyport rollout status train eval --since 14d

    sallyport rollout status -o json --ledger sqlite:///ledger.db

Which cluster: --kubeconfig or SALLYPORT_KUBECONFIG.
What runs is judged by the last sweep, what was asked for by the gate's
decisions since then. What is mended counts once it was submitted again.
Needs the right to list namespaces, to get the ConfigMap sallyport-gate and
the webhooks' configuration, to list Pods, and the ledger.

**Exit codes**: 0 every namespace is ready or enforces; 1 something would be
refused; 2 for some there is not enough evidence, the cluster or the ledger
does not answer; 64 wrong usage, or no such namespace."""

PLAN = """**Examples**

    sallyport rollout plan --kubeconfig ~/.kube/config

    sallyport rollout plan -o json

Which cluster: --kubeconfig or SALLYPORT_KUBECONFIG.
Those where nothing would be refused come first, of these the ones with the
fewest Pods; then those with the fewest workloads to mend.

**Exit codes**: 0 every namespace is ready or enforces; 1 something would be
refused; 2 for some there is not enough evidence, the cluster or the ledger
does not answer; 64 wrong usage."""

SET = """**Examples**

    sallyport rollout set train --mode warn --from 2026-12-01

    sallyport rollout set train eval --mode enforce

    sallyport rollout set train --mode audit --lower

    sallyport rollout set train --mode enforce --force --dry-run

Which cluster: --kubeconfig or SALLYPORT_KUBECONFIG.
It enforces where status says ready, and changes none of the namespaces that
are named where one is not; --force asks nobody. --from is told in warnings:
nothing begins by itself. Needs the verb exempt on namespaces.sallyport.dev
and patch on namespaces.

**Exit codes**: 0 it is so; 1 something would be refused, or you may not; 2
there is not enough evidence, the cluster or the ledger does not answer; 64
wrong usage, such as a milder mode without --lower."""


app = typer.Typer(
    help="Begin to enforce, namespace by namespace.", no_args_is_help=True, epilog=ROLLOUT
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


@app.command(epilog=STATUS)
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
    from cli.rollout.render import print_status  # noqa: PLC0415
    from cli.rollout.status import RolloutRequest, read_status  # noqa: PLC0415
    from cli.rollout.verdicts import exit_code  # noqa: PLC0415 (keeps --help quick)

    asked = RolloutRequest(tuple(namespaces or ()), since, sweep_age)
    settings = read_flags(config, kubeconfig=kubeconfig, ledger=ledger)
    found = run_async(read_status(settings, asked))
    if output is Format.JSON:
        print_json(found)
    else:
        print_status(found, make_console())
    raise typer.Exit(exit_code(found.namespaces))


@app.command(epilog=PLAN)
def plan(  # noqa: PLR0913, PLR0917 (each is a flag)
    namespaces: NamesArgument = None,
    since: SinceFlag = "7d",
    sweep_age: SweepAgeFlag = "3h",
    ledger: LedgerFlag = None,
    kubeconfig: KubeconfigFlag = None,
    config: ConfigFlag = None,
    output: OutputFlag = Format.TABLE,
) -> None:
    """Return an order, and what to type: the ready namespaces first, of them the small ones."""
    from cli.rollout.plan import plan_of  # noqa: PLC0415 (keeps --help quick)
    from cli.rollout.render import print_plan  # noqa: PLC0415
    from cli.rollout.status import RolloutRequest, read_status  # noqa: PLC0415
    from cli.rollout.verdicts import exit_code  # noqa: PLC0415

    asked = RolloutRequest(tuple(namespaces or ()), since, sweep_age)
    settings = read_flags(config, kubeconfig=kubeconfig, ledger=ledger)
    found = run_async(read_status(settings, asked))
    made = plan_of(found)
    if output is Format.JSON:
        print_json(made)
    else:
        print_plan(made, make_console())
    raise typer.Exit(exit_code(found.namespaces))


@app.command("set", epilog=SET)
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
    from cli.rollout.render import print_answer  # noqa: PLC0415
    from cli.rollout.set import SetOptions, exit_code, set_modes  # noqa: PLC0415 (keeps --help quick)
    from cli.rollout.status import RolloutRequest  # noqa: PLC0415

    asked = RolloutRequest(tuple(namespaces), since, sweep_age)
    options = SetOptions(mode, announced, lower=lower, force=force, dry_run=dry_run)
    settings = read_flags(config, kubeconfig=kubeconfig, ledger=ledger)
    answer = run_async(set_modes(settings, asked, options))
    if output is Format.JSON:
        print_json(answer)
    else:
        print_answer(answer, make_console())
    raise typer.Exit(exit_code(answer))
