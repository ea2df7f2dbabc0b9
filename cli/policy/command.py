"""`sallyport policy`: what policy authors need."""

import typer

from cli.policy.activation.command import (
    ACTIVATE,
    ROLLBACK,
    STATUS,
    policy_activate,
    policy_rollback,
    policy_status,
)
from cli.policy.bench.command import BENCH, policy_bench
from cli.policy.build.command import BUILD, policy_build
from cli.policy.fetch import FETCH, policy_fetch
from cli.policy.gatekeeper_import.command import app as import_app
from cli.policy.lint.command import LINT, policy_lint
from cli.policy.new import NEW, policy_new
from cli.policy.replay.command import REPLAY, policy_replay
from cli.policy.schema import SCHEMA, policy_schema
from cli.policy.shadow.command import app as shadow_app
from cli.policy.sign import SIGN, policy_sign
from cli.policy.test.command import TEST, policy_test
from cli.session import log_to_stderr

POLICY = """**Examples**

    sallyport policy new labels/team --into my-rules

    sallyport policy lint my-rules

    sallyport policy test my-rules

    sallyport policy bench my-rules

    sallyport policy build --site my-rules --output my-bundle.tar.gz

**Exit codes**: 0 done; 1 something failed or was found; 2 the policies were
refused, or could not be judged; 64 wrong usage. Each command's --help says
more."""


app = typer.Typer(help="Make policies.", no_args_is_help=True, epilog=POLICY)


@app.callback()
def policy() -> None:
    """Make policies."""
    log_to_stderr()


app.command("build", epilog=BUILD)(policy_build)
app.add_typer(import_app, name="import")
app.command("fetch", epilog=FETCH)(policy_fetch)
app.command("sign", epilog=SIGN)(policy_sign)
app.command("activate", epilog=ACTIVATE)(policy_activate)
app.command("rollback", epilog=ROLLBACK)(policy_rollback)
app.command("status", epilog=STATUS)(policy_status)
app.command("new", epilog=NEW)(policy_new)
app.command("lint", epilog=LINT)(policy_lint)
app.command("test", epilog=TEST)(policy_test)
app.command("bench", epilog=BENCH)(policy_bench)
app.command("schema", epilog=SCHEMA)(policy_schema)
app.command("replay", epilog=REPLAY)(policy_replay)
app.add_typer(shadow_app, name="shadow")
