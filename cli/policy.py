"""`sallyport policy`: what policy authors need."""

import typer

from cli import help_bundles, help_replay
from cli import help_policy as texts
from cli.logs import log_to_stderr
from cli.policy_bench import policy_bench
from cli.policy_build import policy_build
from cli.policy_bundles import policy_activate, policy_rollback, policy_status
from cli.policy_fetch import policy_fetch
from cli.policy_import import app as import_app
from cli.policy_lint import policy_lint
from cli.policy_new import policy_new
from cli.policy_replay import policy_replay
from cli.policy_schema import policy_schema
from cli.policy_shadow import app as shadow_app
from cli.policy_sign import policy_sign
from cli.policy_test import policy_test

app = typer.Typer(help="Make policies.", no_args_is_help=True, epilog=texts.POLICY)


@app.callback()
def policy() -> None:
    """Make policies."""
    log_to_stderr()


app.command("build", epilog=texts.BUILD)(policy_build)
app.add_typer(import_app, name="import")
app.command("fetch", epilog=help_bundles.FETCH)(policy_fetch)
app.command("sign", epilog=help_bundles.SIGN)(policy_sign)
app.command("activate", epilog=help_bundles.ACTIVATE)(policy_activate)
app.command("rollback", epilog=help_bundles.ROLLBACK)(policy_rollback)
app.command("status", epilog=help_bundles.STATUS)(policy_status)
app.command("new", epilog=texts.NEW)(policy_new)
app.command("lint", epilog=texts.LINT)(policy_lint)
app.command("test", epilog=texts.TEST)(policy_test)
app.command("bench", epilog=texts.BENCH)(policy_bench)
app.command("schema", epilog=texts.SCHEMA)(policy_schema)
app.command("replay", epilog=help_replay.REPLAY)(policy_replay)
app.add_typer(shadow_app, name="shadow")
