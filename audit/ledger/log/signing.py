"""The private key that signs heads: a file in PEM (PKCS 8), made where there is none yet."""

import os
import secrets
from pathlib import Path

from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import (
    Encoding,
    NoEncryption,
    PrivateFormat,
    load_pem_private_key,
)

from core.base.errors import LedgerError


def read_key(path: Path) -> Ed25519PrivateKey | None:
    """Read the key; None where there is no such file.

    Raises:
        LedgerError: it cannot be read, or is no private key of Ed25519.
    """
    try:
        key = load_pem_private_key(path.read_bytes(), None)
    except FileNotFoundError:
        return None
    except OSError as error:
        raise LedgerError(f"ledger.signing_key: {path}: {error.strerror}") from None
    except (ValueError, TypeError, UnsupportedAlgorithm):
        key = None
    if not isinstance(key, Ed25519PrivateKey):
        raise LedgerError(f"ledger.signing_key: {path}: it is no private key of Ed25519 (PEM)")
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
