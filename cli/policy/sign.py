"""`sallyport policy sign`: signs the file of a bundle."""

from pathlib import Path
from typing import Annotated

import typer

from cli.flags import OutputFlag
from cli.output import Format, print_json
from cli.policy.shared.flags import tell
from cli.policy.shared.signatures import SigningKeyIdFlag, sign_file
from core.base.errors import SettingsError

SIGN = """**Examples**

    sallyport policy sign my-bundle.tar.gz --signing-key policy.key

    sallyport policy sign b.tar.gz --signing-key my.key --signing-key-id 2026

    sallyport policy sign b.tar.gz --signing-key my.key -o json

A signature that it has is replaced.

**Exit codes**: 0 signed; 2 it is no bundle; 64 wrong usage."""


def policy_sign(
    bundle: Annotated[Path, typer.Argument(metavar="FILE", help="The bundle; it is replaced.")],
    signing_key: Annotated[
        Path, typer.Option(metavar="FILE", help="Private key (PEM): P-256, RSA, Ed25519.")
    ],
    signing_key_id: SigningKeyIdFlag = "",
    form: OutputFlag = Format.TABLE,
) -> None:
    """Sign a bundle, as OPA does and checks it."""
    from cli.policy.shared.build_time import UNTIMED  # noqa: PLC0415 (keeps --help quick)
    from cli.policy.shared.documents import made_bundle  # noqa: PLC0415
    from policies.bundle.format import read_bundle  # noqa: PLC0415
    from policies.bundle.signature_keys import read_signing_key  # noqa: PLC0415

    if not bundle.exists():
        raise SettingsError(f"{bundle}: no such bundle: make it with 'sallyport policy build'")
    sign_file(bundle, read_signing_key(signing_key, signing_key_id))
    made = read_bundle(bundle)
    if not made.built_at:
        tell(UNTIMED)
    if form is Format.JSON:
        print_json(made_bundle(bundle, made, signed=True, key_id=signing_key_id))
    else:
        typer.echo(f"{bundle}: signed")
