"""The command `sallyport`."""

import asyncio
from importlib.metadata import version
from typing import Annotated, Any, NoReturn, Optional

import typer
from typer.exceptions import TyperException

from cli import exits, help_report, help_verify, processes
from cli import help as texts
from cli.certs import app as certs_app
from cli.egress import app as egress_app
from cli.flags import (
    BundleFlag,
    ClusterFlag,
    ConfigFlag,
    KubeconfigFlag,
    LedgerFlag,
    OutputFlag,
    read_flags,
)
from cli.ledger_app import app as ledger_app
from cli.logs import log_to_stderr
from cli.output import Format, ReviewFormat, make_console, print_json
from cli.policy import app as policy_app
from cli.profile import app as profile_app
from cli.report import report
from cli.risk import app as risk_app
from cli.rollout import app as rollout_app
from cli.sandbox import app as sandbox_app
from cli.text import safe_text
from cli.weights import app as weights_app
from cli.who_can import app as who_can_app
from core.decision import Verdict
from core.document import Source
from core.errors import SallyportError, SettingsError
from core.namespaces import Mode

app = typer.Typer(
    name="sallyport",
    help="Judges what may run in a Kubernetes cluster: by what it needs, and by who may have it.",
    no_args_is_help=True,
    rich_markup_mode="markdown",
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
    epilog=texts.ROOT,
)
app.add_typer(certs_app, name="certs")
app.add_typer(egress_app, name="egress")
app.add_typer(ledger_app, name="ledger")
app.add_typer(policy_app, name="policy")
app.add_typer(profile_app, name="profile")
app.add_typer(risk_app, name="risk")
app.add_typer(rollout_app, name="rollout")
app.add_typer(sandbox_app, name="sandbox")
app.add_typer(weights_app, name="weights")
app.add_typer(who_can_app, name="who-can")

GroupFlag = Annotated[
    Optional[list[str]], typer.Option(help="A group of that user's; may be repeated.")  # noqa: UP045 (typer)
]
NamespaceFlag = Annotated[str, typer.Option("--namespace", "-n", help="For what names none.")]


def _version(value: bool) -> None:  # noqa: FBT001 (typer's callback)
    if value:
        typer.echo(f"sallyport {version('sallyport')}")
        raise typer.Exit


@app.callback()
def root(
    _: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    """Judges what may run in a Kubernetes cluster: by what it needs, and who may have it."""


@app.command(epilog=texts.REVIEW)
def review(
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
    from cli.formats.show import show  # noqa: PLC0415 (keeps --help and completion quick)
    from cli.review import exit_code  # noqa: PLC0415
    from cli.review import review as run_review  # noqa: PLC0415
    from cli.review_diff import review_difference  # noqa: PLC0415
    from cli.subjects import make_terms  # noqa: PLC0415

    terms = make_terms(profile, as_user, tuple(as_group or ()), namespace)
    settings = read_flags(config, cluster=cluster, kubeconfig=kubeconfig, bundle=bundle)
    work = review_difference(settings, files, diff, terms) if diff is not None else None
    report = asyncio.run(work or run_review(settings, files, terms))
    show(report, output, make_console())
    raise typer.Exit(exit_code(report.results))


@app.command(epilog=texts.EXPLAIN)
def explain(
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
    from cli.explain import exit_code, explain_target, print_explanations  # noqa: PLC0415
    from cli.subjects import make_terms  # noqa: PLC0415

    terms = make_terms(None, as_user, tuple(as_group or ()), namespace)
    settings = read_flags(
        config, ledger=ledger, cluster=cluster, kubeconfig=kubeconfig, bundle=bundle
    )
    explanations = asyncio.run(explain_target(settings, target, terms))
    if output is Format.JSON:
        print_json(explanations)
    else:
        print_explanations(explanations, make_console())
    raise typer.Exit(exit_code(explanations))


@app.command(epilog=help_verify.VERIFY)
def verify(
    namespace: Annotated[
        str, typer.Option("--namespace", "-n", help="One that is judged and exists.")
    ] = "default",
    default_mode: Annotated[
        Mode | None,
        typer.Option(help="Of namespaces without the label; else as the gate's ConfigMap says."),
    ] = None,
    kubeconfig: KubeconfigFlag = None,
    config: ConfigFlag = None,
    output: OutputFlag = Format.TABLE,
) -> None:
    """Ask a cluster by dry runs whether what arrives is judged; in a Pod, its own."""
    log_to_stderr()
    from cli.verify import exit_code, print_verified  # noqa: PLC0415 (keeps --help quick)
    from cli.verify import verify as run_verify  # noqa: PLC0415

    settings = read_flags(config, kubeconfig=kubeconfig, default_mode=default_mode)
    by_settings = default_mode is not None
    verified = asyncio.run(run_verify(settings, namespace, by_settings=by_settings))
    if output is Format.JSON:
        print_json(verified)
    else:
        print_verified(verified, make_console())
    raise typer.Exit(exit_code(verified))


@app.command(epilog=texts.DECISIONS)
def decisions(
    namespace: Annotated[
        str | None, typer.Option("--namespace", "-n", help="In this namespace.")
    ] = None,
    user: Annotated[
        str | None, typer.Option(help="Asked for by this user, or oid:…, user:…, system:….")
    ] = None,
    rule: Annotated[str | None, typer.Option(help="With a finding of this rule.")] = None,
    verdict: Annotated[
        Optional[list[Verdict]],  # noqa: UP045 (typer)
        typer.Option(metavar="VERDICT", help="allow, warn, deny or error; may be repeated."),
    ] = None,
    since: Annotated[
        str | None, typer.Option(help="Not before: 15m, 2h, 3d ago, or a time (RFC 3339).")
    ] = None,
    kind: Annotated[str | None, typer.Option(help="Of this kind.")] = None,
    name: Annotated[str | None, typer.Option(help="Of this name.")] = None,
    source: Annotated[
        Source | None, typer.Option(help="Taken by this webhook, or by the sweep.")
    ] = None,
    cluster_id: Annotated[str | None, typer.Option(help="Of the cluster with this id.")] = None,
    limit: Annotated[int, typer.Option(min=1, max=10_000, help="At most so many.")] = 50,
    follow: Annotated[
        bool, typer.Option("--follow", "-f", help="Go on with those that come; end with Ctrl-C.")
    ] = False,
    ledger: LedgerFlag = None,
    config: ConfigFlag = None,
    output: OutputFlag = Format.TABLE,
) -> None:
    """List the decisions that were recorded, the newest first; with -f the newest last."""
    from cli import decisions as listed  # noqa: PLC0415 (keeps --help and completion quick)

    filters = {"namespace": namespace, "rule": rule, "kind": kind, "name": name, "source": source}
    chosen = {**filters, "verdicts": frozenset(verdict or ()), "limit": limit}
    query = listed.make_query({**chosen, "cluster": cluster_id}, user, since)
    settings = read_flags(config, ledger=ledger)
    ask = listed.follow if follow else listed.show
    asyncio.run(ask(settings, query, output, make_console(400)))


@app.command(epilog=texts.APPROVE)
def approve(
    kind: Annotated[str, typer.Argument(metavar="KIND", help="pex, grant, eal, store …: below.")],
    name: Annotated[str, typer.Argument(metavar="NAME", help="Its name, or its file: below.")],
    namespace: Annotated[str, typer.Option("--namespace", "-n", help="Its namespace.")] = "default",
    days: Annotated[int, typer.Option(min=1, max=90, help="For so many days at most.")] = 90,
    reason: Annotated[str, typer.Option(help="What you say to it; others can read it.")] = "",
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Approve without asking.")] = False,
    show: Annotated[bool, typer.Option("--show", help="Only show it.")] = False,
    kubeconfig: KubeconfigFlag = None,
    config: ConfigFlag = None,
    output: OutputFlag = Format.TABLE,
) -> None:
    """Show what two people approve, such as an exception, and approve it as it was shown."""
    log_to_stderr()
    from cli.approve import Wish, answer_approval  # noqa: PLC0415 (keeps --help and completion quick)

    wish = Wish(kind, namespace, name, days=days, reason=reason, yes=yes, show=show)
    raise typer.Exit(answer_approval(read_flags(config, kubeconfig=kubeconfig), wish, output))


app.command(epilog=help_report.REPORT)(report)
app.command(epilog=texts.GATE)(processes.gate)
app.command(epilog=texts.CONTROL)(processes.control)
app.command(epilog=texts.AUDITOR)(processes.auditor)
app.command(epilog=texts.RUN)(processes.run)


def main(arguments: list[str] | None = None, name: str = "sallyport") -> NoReturn:
    """Run the command line; turn errors that are foreseen into one line and an exit code."""
    try:
        code = app(arguments, standalone_mode=False, prog_name=name)
    except TyperException as error:
        fail(_usage(error), exits.USAGE)
    except typer.Abort:
        fail("interrupted", exits.INTERRUPTED)
    except SettingsError as error:
        fail(str(error), exits.USAGE)
    except SallyportError as error:
        fail(str(error), exits.NOT_JUDGED)
    except OSError as error:
        what = f"{error.filename}: " if error.filename is not None else ""
        fail(f"{what}{error.strerror or error}", exits.USAGE if what else exits.NOT_JUDGED)
    raise SystemExit(code)


def _usage(error: Any) -> str:
    """Give the message, and where help is. The message is empty where help was printed."""
    path = error.ctx.command_path if error.ctx else "sallyport"
    return f"{error.format_message() or 'name a command'}\nTry: {path} --help"


def fail(message: str, code: int) -> NoReturn:
    """End with one line on standard error."""
    typer.echo(f"sallyport: {safe_text(message)}", err=True)
    raise SystemExit(code)
