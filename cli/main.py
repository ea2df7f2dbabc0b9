"""The command `sallyport`."""

from importlib.metadata import version
from typing import Annotated, Any, NoReturn

import typer
from typer.exceptions import TyperException

from cli import exits
from cli.accesses.command import app as accesses_app
from cli.approve.command import APPROVE, approve
from cli.cases.command import app as cases_app
from cli.certs.command import app as certs_app
from cli.decisions.command import DECISIONS, decisions
from cli.egress.command import app as egress_app
from cli.explain.command import EXPLAIN, explain
from cli.findings.command import app as findings_app
from cli.ledger.command import app as ledger_app
from cli.notifications.command import app as notifications_app
from cli.policy.command import app as policy_app
from cli.preflight.command import app as preflight_app
from cli.processes.command import AUDITOR, CONTROL, GATE, RUN, auditor, control, gate, run
from cli.profile.command import app as profile_app
from cli.quarantine.command import app as quarantine_app
from cli.report.command import REPORT, report
from cli.review.command import REVIEW, review
from cli.risk.command import app as risk_app
from cli.rollout.command import app as rollout_app
from cli.sandbox.command import app as sandbox_app
from cli.sign_off.command import SIGN_OFF, sign_off
from cli.status.command import STATUS, status
from cli.support_bundle.command import SUPPORT_BUNDLE, support_bundle
from cli.verify.command import VERIFY, verify
from cli.weights.command import app as weights_app
from cli.who_can.command import app as who_can_app
from core.base.errors import SallyportError, SettingsError
from core.base.safe_text import safe_text

ROOT = """**Examples**

    sallyport run

    sallyport review examples/pods/first-denial.yaml

    sallyport review --help

**Exit codes**: 0 all is well; 1 something refused; 2 something could not be
judged or begun; 64 wrong usage. Each command's --help says more."""


app = typer.Typer(
    name="sallyport",
    help="Judges what may run in a Kubernetes cluster: by what it needs, and by who may have it.",
    no_args_is_help=True,
    rich_markup_mode="markdown",
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
    epilog=ROOT,
)
app.add_typer(accesses_app, name="accesses")
app.add_typer(cases_app, name="cases")
app.add_typer(certs_app, name="certs")
app.add_typer(egress_app, name="egress")
app.add_typer(findings_app, name="findings")
app.add_typer(ledger_app, name="ledger")
app.add_typer(notifications_app, name="notifications")
app.add_typer(policy_app, name="policy")
app.add_typer(preflight_app, name="preflight")
app.add_typer(profile_app, name="profile")
app.add_typer(quarantine_app, name="quarantine")
app.add_typer(risk_app, name="risk")
app.add_typer(rollout_app, name="rollout")
app.add_typer(sandbox_app, name="sandbox")
app.add_typer(weights_app, name="weights")
app.add_typer(who_can_app, name="who-can")


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


app.command(epilog=REVIEW)(review)
app.command(epilog=EXPLAIN)(explain)
app.command(epilog=STATUS)(status)
app.command(epilog=SUPPORT_BUNDLE)(support_bundle)
app.command(epilog=VERIFY)(verify)
app.command(epilog=DECISIONS)(decisions)
app.command(epilog=APPROVE)(approve)
app.command(epilog=REPORT)(report)
app.command(epilog=SIGN_OFF)(sign_off)
app.command(epilog=GATE)(gate)
app.command(epilog=CONTROL)(control)
app.command(epilog=AUDITOR)(auditor)
app.command(epilog=RUN)(run)


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
    """Return the message, and where help is. The message is empty where help was printed."""
    path = error.ctx.command_path if error.ctx else "sallyport"
    return f"{error.format_message() or 'name a command'}\nTry: {path} --help"


def fail(message: str, code: int) -> NoReturn:
    """End with one line on standard error."""
    typer.echo(f"sallyport: {safe_text(message)}", err=True)
    raise SystemExit(code)
