"""`sallyport policy build`: the built-in policies and a site's own, in one bundle."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from cli.output import Format, print_json
from cli.policy.shared.flags import (
    FormFlag,
    OpaFlag,
    RulesFlag,
    choices_of,
    find_opa,
    require_folders,
    tell,
)
from cli.policy.shared.signatures import SigningKeyFlag, SigningKeyIdFlag, read_signing, sign_file
from core.base.errors import BundleRefusedError, SettingsError
from policies import BUILT_IN_BUNDLE, BUILT_IN_REGO

if TYPE_CHECKING:
    from cli.policy.shared.documents import LeftOut

BUILD = """**Examples**

    sallyport policy build

    sallyport policy build --opa ./opa --output builtin.tar.gz

    sallyport policy build --site my-rules --output my-bundle.tar.gz

    sallyport policy build --output my-bundle.tar.gz --signing-key my.key

    sallyport policy build --site my-rules --output my-bundle.tar.gz -o json

    sallyport run --bundle my-bundle.tar.gz

A folder of --site holds Rego in packages sallyport.rules.CATEGORY.NAME or
sallyport.sandbox.FAMILY.NAME, and helpers in site.NAME. Tests (NAME_test.rego)
stay out of the bundle. Cases go into it, and are judged wherever it is loaded.
--built-at says when it was built: control takes no older one by itself.

**Exit codes**: 0 built; 2 the policies were refused, or a case does not hold;
64 wrong usage, or no such folder."""


def policy_build(  # noqa: PLR0913, PLR0917 (one parameter a flag)
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
    built: Annotated[
        int | None,
        typer.Option(
            "--built-at",
            metavar="SECONDS",
            help="When it says that it was built, in Unix seconds; else SOURCE_DATE_EPOCH, or the "
            "time of the commit that is checked out.",
            show_default=False,
        ),
    ] = None,
    signing_key: SigningKeyFlag = None,
    signing_key_id: SigningKeyIdFlag = "",
    form: FormFlag = Format.TABLE,
) -> None:
    """Compile the built-in policies into a bundle, with rules and signals of your own."""
    from cli.policy.build.bundle_cases import BundleCases  # noqa: PLC0415
    from cli.policy.shared.build_time import UNTIMED, built_at  # noqa: PLC0415 (keeps --help quick)
    from cli.policy.shared.documents import made_bundle  # noqa: PLC0415
    from policies.authoring.workspace import WorkspacePaths  # noqa: PLC0415
    from policies.build.builder import build  # noqa: PLC0415
    from policies.bundle.format import read_bundle  # noqa: PLC0415

    own = site or []
    signing = read_signing(signing_key, signing_key_id)
    sources = [*own, *([rules] if rules else ())]
    made = _output(output, sources)
    require_folders(own, "--site ")
    choices = choices_of(rules)
    carrying, at = BundleCases(own, choices), built_at(built, sources)
    embedded = engine == "embedded"
    try:
        build(
            find_opa(opa),
            BUILT_IN_REGO,
            made,
            own,
            choices,
            embedded=embedded,
            carry=carrying.take,
            built_at=at,
        )
    except BundleRefusedError as error:
        raise BundleRefusedError(WorkspacePaths(tuple(own)).named(str(error))) from error
    if signing is not None:
        sign_file(made, signing)
        if not at:
            tell(UNTIMED)
    bundle = read_bundle(made)
    if form is Format.JSON:
        print_json(
            made_bundle(
                made,
                bundle,
                signed=signing is not None,
                key_id=signing_key_id,
                left_out=carrying.left_out,
            )
        )
        return
    _tell_cases(len(bundle.cases), carrying.left_out)
    typer.echo(f"{made}: revision {bundle.revision}")


def _tell_cases(carried: int, left_out: "list[LeftOut]") -> None:
    """Say on standard error which cases are in the bundle, where there are any."""
    if carried or left_out:
        tell(f"{carried} cases are in the bundle, {len(left_out)} left out")
    for each in left_out:
        tell(f"{each.file}: {each.name}: left out: {each.why}")


def _output(output: Path | None, sites: list[Path]) -> Path:
    """Return where the bundle goes; never with what is a site's into the built-in one's place."""
    if sites and (output is None or output.resolve() == BUILT_IN_BUNDLE.resolve()):
        raise SettingsError(
            "--site: give --output FILE, another than the built-in bundle, which it would overwrite"
        )
    return output or BUILT_IN_BUNDLE
