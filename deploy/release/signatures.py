"""Signatures that `cosign verify-blob --key` and `openssl dgst -verify` check."""

import base64
from pathlib import Path

from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec

from tests.tools.provide import CannotProvideError

Key = ec.EllipticCurvePrivateKey


def read_key(file: Path) -> Key:
    """Read a private key: ECDSA on P-256, PEM (PKCS #8), without a password.

    Raises:
        CannotProvideError: it cannot be read, or is another one.
    """
    try:
        key = serialization.load_pem_private_key(file.read_bytes(), password=None)
    except (OSError, ValueError, TypeError, UnsupportedAlgorithm) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is no PEM without a password"
        raise CannotProvideError(f"--key {file}: {reason}") from None
    if not isinstance(key, ec.EllipticCurvePrivateKey) or not isinstance(key.curve, ec.SECP256R1):
        raise CannotProvideError(f"--key {file}: it must be ECDSA on P-256")
    return key


def sign(key: Key, content: bytes) -> str:
    """Return the signature (DER) of SHA-256, in base64."""
    return base64.b64encode(key.sign(content, ec.ECDSA(hashes.SHA256()))).decode()


def public_pem(key: Key) -> bytes:
    """Return the public key, PEM (SubjectPublicKeyInfo)."""
    return key.public_key().public_bytes(
        serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo
    )
