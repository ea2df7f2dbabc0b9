"""The keys of the ledger's heads: the public half of its own, and those that a reader trusts."""

import base64
from collections.abc import Iterable
from pathlib import Path

import msgspec
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

from app.records.ledger import signing_key
from app.settings.root import Settings
from audit.ledger.log.heads import key_id
from audit.ledger.log.keys import pem_key, read_key
from core.base.errors import LedgerError


class PublicKey(msgspec.Struct, frozen=True, kw_only=True):
    """`sallyport ledger key -o json`."""

    id: str
    pem: str
    raw: str
    """Base64."""


def public_of(settings: Settings) -> PublicKey:
    """Return the public half of the ledger's key.

    Raises:
        LedgerError: it cannot be read, or is none.
    """
    path = signing_key(settings)
    private = read_key(path)
    if private is None:
        raise LedgerError(f"ledger.signing_key: {path}: there is no such file")
    key = private.public_key()
    pem = key.public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo).decode()
    return PublicKey(id=key_id(key), pem=pem, raw=_raw(key))


def read_trusted_keys(paths: Iterable[Path]) -> list[Ed25519PublicKey]:
    """Read public keys in PEM.

    Raises:
        SettingsError: one is none of Ed25519.
        OSError: one cannot be read.
    """
    return [pem_key(path.read_bytes(), str(path)) for path in paths]


def trusted_keys_of(settings: Settings, paths: Iterable[Path]) -> list[str]:
    """Return the keys that an export or a proof says it is signed with, raw in base64.

    Without paths it is the ledger's own, where it can be read here.
    """
    given = list(map(_raw, read_trusted_keys(paths)))
    if given:
        return given
    try:
        return [public_of(settings).raw]
    except LedgerError:
        return []


def _raw(key: Ed25519PublicKey) -> str:
    return base64.b64encode(key.public_bytes_raw()).decode()
