"""Signs the files of bundles: flags, and what they are read into."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from core.base.errors import SettingsError
from core.base.whole_files import write_whole

if TYPE_CHECKING:
    from policies.bundle.signature_keys import SigningKey


SigningKeyFlag = Annotated[
    Path | None,
    typer.Option(metavar="FILE", help="Sign it by this private key (PEM): P-256, RSA, Ed25519."),
]

SigningKeyIdFlag = Annotated[
    str, typer.Option(metavar="ID", help="The key's id in the setting bundles.keys.")
]


def read_signing(key: Path | None, key_id: str) -> "SigningKey | None":
    """Return the signing key of bundles; None where none is given.

    Raises:
        SettingsError: the key cannot be read, or an id is given without one.
    """
    if key is None and key_id:
        raise SettingsError("--signing-key-id: says nothing without --signing-key FILE")
    from policies.bundle.signature_keys import read_signing_key  # noqa: PLC0415 (keeps --help quick)

    return None if key is None else read_signing_key(key, key_id)


def sign_file(path: Path, signing: "SigningKey") -> None:
    """Sign the bundle of a file, which is replaced in one step.

    Raises:
        BundleRefusedError: it cannot be read.
    """
    from policies.bundle.format import add_signature, read_bundle  # noqa: PLC0415 (keeps --help quick)

    read_bundle(path)
    write_whole(path, add_signature(path.read_bytes(), signing, str(path)))
