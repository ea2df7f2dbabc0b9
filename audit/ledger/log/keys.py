"""Keys of a log's heads: the private key that signs, the public keys that are trusted.

The private key is a file in PEM (PKCS 8), made where there is none yet.
"""

import base64
import binascii
import os
import secrets
from collections.abc import Iterable
from pathlib import Path

from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey
from cryptography.hazmat.primitives.serialization import (
    Encoding,
    NoEncryption,
    PrivateFormat,
    load_pem_private_key,
    load_pem_public_key,
)

from audit.ledger.log.heads import TreeHead, is_signed, key_id
from core.base.errors import LedgerError, SettingsError


def read_key(path: Path, named: str = "ledger.signing_key") -> Ed25519PrivateKey | None:
    """Read the key; None where there is no such file. Errors name it as `named`.

    Raises:
        LedgerError: it cannot be read, or is no private key of Ed25519.
    """
    try:
        key = load_pem_private_key(path.read_bytes(), None)
    except FileNotFoundError:
        return None
    except OSError as error:
        raise LedgerError(f"{named}: {path}: {error.strerror}") from None
    except (ValueError, TypeError, UnsupportedAlgorithm):
        key = None
    if not isinstance(key, Ed25519PrivateKey):
        raise LedgerError(f"{named}: {path}: it is no private key of Ed25519 (PEM)")
    return key


def make_key(path: Path) -> Ed25519PrivateKey:
    """Make a key for this user alone; where another process just made one, give that.

    Raises:
        LedgerError: the file cannot be written.
    """
    key = Ed25519PrivateKey.generate()
    content = key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
    made = path.with_name(f".{path.name}.{secrets.token_hex(8)}")
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        try:
            _write(made, content)
            os.link(made, path)  # Whole, or not at all; and never over another.
        finally:
            made.unlink(missing_ok=True)
    except FileExistsError:
        return read_key(path) or key
    except OSError as error:
        raise LedgerError(f"ledger.signing_key: {path}: {error.strerror}") from None
    return key


def _write(path: Path, content: bytes) -> None:
    file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600)
    try:
        os.write(file, content)
        os.fsync(file)
    finally:
        os.close(file)


class LogKeys:
    """The keys of a log, and whose word is taken for which of them are its own.

    Keys that the reader has are trusted. Without any, those are that the anchors name: a key of the
    log's own, which no anchor has seen, proves nothing.
    """

    def __init__(self, given: Iterable[Ed25519PublicKey], told: Iterable[Ed25519PublicKey]) -> None:
        """Take the reader's keys, and those that the log says it is signed with."""
        self._given = {key_id(key): key for key in given}
        self._known = {key_id(key): key for key in told} | self._given
        self.anchored: dict[str, None] = {}
        """Ids of keys that anchored heads are signed with, in their order."""

    @property
    def has_given(self) -> bool:
        """Whether the reader has keys."""
        return bool(self._given)

    def judge(self, head: TreeHead) -> str:
        """Say what is wrong with a head's signature; empty where it is right."""
        if not head.key:  # Noted by a person: size and root.
            return ""
        if self._given and head.key not in self._given:
            return f"the head of {head.size:,} records is signed with the key {head.key}, not yours"
        if head.key not in self._known:
            return f"the key {head.key} of its head of {head.size:,} records is not here (--key)"
        if not is_signed(head, self._known[head.key]):
            return f"the signature of the head of {head.size:,} records is wrong"
        return ""

    def judge_anchored(self, head: TreeHead) -> str:
        """Say what is wrong with the signature of an anchor's head, whose key is trusted then."""
        says = self.judge(head)
        if head.key and not says:
            self.anchored[head.key] = None
        return says

    def untrusted(self, used: Iterable[str]) -> list[str]:
        """Return those of these ids that neither the reader nor an anchor has vouched for."""
        trusted = self._given or self.anchored
        return [each for each in used if trusted and each not in trusted]


def public_key(text: str) -> Ed25519PublicKey:
    """Read a raw public key in base64.

    Raises:
        ValueError: it is none.
    """
    try:
        return Ed25519PublicKey.from_public_bytes(base64.b64decode(text, validate=True))
    except binascii.Error:
        raise ValueError("keys: a key is not base64") from None


def pem_key(content: bytes, name: str) -> Ed25519PublicKey:
    """Read a public key in PEM.

    Raises:
        SettingsError: it is none of Ed25519.
    """
    try:
        key = load_pem_public_key(content)
    except (ValueError, UnsupportedAlgorithm):
        key = None
    if not isinstance(key, Ed25519PublicKey):
        raise SettingsError(f"--key {name}: it is no public key of Ed25519 (PEM)")
    return key
