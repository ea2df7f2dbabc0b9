"""`sallyport policy`: what policy authors need."""

from pathlib import Path
from typing import Annotated, Literal

import typer

from cli import help_bundles, help_replay
from cli import help_policy as texts
from cli.logs import log_to_stderr
from cli.policy_bench import policy_bench
from cli.policy_bundles import policy_activate, policy_rollback, policy_status
from cli.policy_fetch import policy_fetch
from cli.policy_flags import OpaFlag, RulesFlag, find_opa
from cli.policy_import import app as import_app
from cli.policy_lint import policy_lint
from cli.policy_new import policy_new
from cli.policy_replay import policy_replay
from cli.policy_schema import policy_schema
from cli.policy_shadow import app as shadow_app
from cli.policy_sign import (
    SigningKeyFlag,
    SigningKeyIdFlag,
    policy_sign,
    read_signing,
    sign_file,
)
from cli.policy_test import policy_test
from core.errors import SettingsError
from policies import BUILT_IN_BUNDLE, BUILT_IN_REGO

app = typer.Typer(help="Make policies.", no_args_is_help=True, epilog=texts.POLICY)


@app.callback()
def policy() -> None:
    """Make policies."""
    log_to_stderr()


@app.command(epilog=texts.BUILD)
def build(  # noqa: PLR0913, PLR0917 (one parameter a flag)
    output: Annotated[
        Path | None,
        typer.Option(
            "--output", metavar="FILE", help="The bundle.", show_default="the built-in bundle"
        ),
    ] = None,
    site: Annotated[
        list[Path] | None,
        typer.Option(
            "--site", metavar="FOLDER", help="Your own rules and signals, beside the built-in ones."
        ),
    ] = None,
    rules: RulesFlag = None,
    opa: OpaFlag = None,
    engine: Annotated[
        Literal["embedded", "opa"],
        typer.Option(help="What it is for: an OPA server has more built-in functions."),
    ] = "embedded",
    signing_key: SigningKeyFlag = None,
    signing_key_id: SigningKeyIdFlag = "",
) -> None:
    """Compile the built-in policies into a bundle, with rules and signals of your own."""
    from policies.build import build as build_bundle  # noqa: PLC0415 (keeps --help quick)
    from policies.bundle import read_bundle  # noqa: PLC0415
    from policies.site.choices import NO_CHOICES, read_choices  # noqa: PLC0415

    signing = read_signing(signing_key, signing_key_id)
    made = _output(output, [*(site or ()), *([rules] if rules else ())])
    choices = read_choices(rules) if rules else NO_CHOICES
    own, embedded = site or [], engine == "embedded"
    build_bundle(find_opa(opa), BUILT_IN_REGO, made, own, choices, embedded=embedded)
    if signing is not None:
        sign_file(made, signing)
    typer.echo(f"{made}: revision {read_bundle(made).revision}")


def _output(output: Path | None, sites: list[Path]) -> Path:
    """Give where the bundle goes; never with what is a site's into the built-in one's place."""
    if sites and (output is None or output.resolve() == BUILT_IN_BUNDLE.resolve()):
        raise SettingsError(
            "--site: give --output FILE, another than the built-in bundle, which it would overwrite"
        )
    return output or BUILT_IN_BUNDLE


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
