"""The command `sallyport explain`."""

from typing import TYPE_CHECKING, Annotated

import typer

from cli.flags import (
    BundleFlag,
    ClusterFlag,
    ConfigFlag,
    GroupFlag,
    KubeconfigFlag,
    LedgerFlag,
    NamespaceFlag,
    OutputFlag,
    read_flags,
)
from cli.output import Format, make_console, print_json
from cli.session import log_to_stderr, run_async
from core.base.errors import SettingsError

if TYPE_CHECKING:
    from app.settings.root import Settings
    from cli.explain.run import NoDecisionError

EXPLAIN = """**Examples**

    sallyport explain 01a1fe42-0ac4-7b5f-946c-9f0144aa65d3

    sallyport explain job.yaml --as alice --cluster examples/cluster

    sallyport explain 01a1fe42 --as bob --kubeconfig ~/.kube/config

    SALLYPORT_LEDGER__URL=postgresql+psycopg://… sallyport explain 01a1fe42

    SALLYPORT_EXPLAIN__URL=https://… sallyport explain 01a1fe42-0ac4-7b5f-…

An id of a finding is explained as by `findings show`.
The first eight digits of an id are enough where no other begins so; the
auditor (`explain.url`), which answers you about your own decisions, wants all.
Files are judged as `review` judges them; what of an object could not be
known is said beside the answer.

**Exit codes**: 0 it was admitted; 1 it was refused; 2 it could not be judged,
or the ledger or cluster does not answer; 64 wrong usage, or nothing to
explain."""


def explain(  # noqa: PLR0913, PLR0917 (one parameter a flag)
    target: Annotated[
        str, typer.Argument(metavar="ID|FILE", help="A decision's id, a manifest, or a decision.")
    ],
    as_user: Annotated[
        str | None, typer.Option("--as", help="Explain it as if this user had asked, today.")
    ] = None,
    as_group: GroupFlag = None,
    namespace: NamespaceFlag = "default",
    ledger: LedgerFlag = None,
    cluster: ClusterFlag = None,
    kubeconfig: KubeconfigFlag = None,
    bundle: BundleFlag = None,
    config: ConfigFlag = None,
    output: OutputFlag = Format.TABLE,
) -> None:
    """Say why a decision was taken, and what would change it: the smallest change first."""
    log_to_stderr()
    from cli.explain.render import print_explanations  # noqa: PLC0415
    from cli.explain.run import NoDecisionError, exit_code, explain_target  # noqa: PLC0415
    from cli.shared.manifests import make_terms  # noqa: PLC0415

    terms = make_terms(None, as_user, tuple(as_group or ()), namespace)
    settings = read_flags(
        config, ledger=ledger, cluster=cluster, kubeconfig=kubeconfig, bundle=bundle
    )
    try:
        explanations = run_async(explain_target(settings, target, terms))
    except NoDecisionError as error:
        _explain_finding(settings, target, output, error)
        return
    if output is Format.JSON:
        print_json(explanations)
    else:
        print_explanations(explanations, make_console())
    raise typer.Exit(exit_code(explanations))


def _explain_finding(
    settings: "Settings", target: str, output: Format, missing: "NoDecisionError"
) -> None:
    """Show the finding of an id that no decision has, as `findings show` does.

    Raises:
        NoDecisionError: no finding has it either.
        AmbiguousIdError: several findings are meant.
    """
    from cli.findings.command import print_shown  # noqa: PLC0415
    from cli.findings.run import show_finding  # noqa: PLC0415
    from cli.shared.ledger_documents import AmbiguousIdError  # noqa: PLC0415

    try:
        shown = run_async(show_finding(settings, target))
    except AmbiguousIdError:
        raise
    except SettingsError:
        raise missing from None
    print_shown(shown, output)
