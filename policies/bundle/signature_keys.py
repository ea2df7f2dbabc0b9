"""The keys by which bundles are signed: P-256, RSA and Ed25519, read from PEM."""

from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from cryptography.exceptions import InvalidSignature, UnsupportedAlgorithm
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, padding, rsa
from cryptography.hazmat.primitives.asymmetric.utils import (
    decode_dss_signature,
    encode_dss_signature,
)
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.serialization import load_pem_private_key, load_pem_public_key

from core.base.errors import SettingsError

_P256_BYTES: Final = 32
_LEAST_RSA_BITS: Final = 2048

PublicKey = ec.EllipticCurvePublicKey | rsa.RSAPublicKey | ed25519.Ed25519PublicKey
PrivateKey = ec.EllipticCurvePrivateKey | rsa.RSAPrivateKey | ed25519.Ed25519PrivateKey


def read_public_key(name: str, path: Path) -> PublicKey:
    """Read a public key (PEM); `name` is its id.

    Raises:
        SettingsError: it is missing, or of a kind that signs no bundles.
    """
    try:
        key = load_pem_public_key(path.read_bytes())
    except (OSError, ValueError, UnsupportedAlgorithm) as error:
        raise SettingsError(f"bundles.keys: {name}: {path}: no public key (PEM): {error}") from None
    if (problem := _against(key)) or not isinstance(key, PublicKey):
        raise SettingsError(f"bundles.keys: {name}: {path}: {problem}")
    return key


@dataclass(frozen=True)
class SigningKey:
    """By what a bundle is signed."""

    key: PrivateKey = field(repr=False)
    key_id: str = ""
    """By which a gate knows the public key (`bundles.keys`); it tries all without one."""


def read_signing_key(path: Path, key_id: str = "") -> SigningKey:
    """Read a private key (PEM, without a password).

    Raises:
        SettingsError: it is missing, or of a kind that signs no bundles.
    """
    try:
        key = load_pem_private_key(path.read_bytes(), None)
    except (OSError, ValueError, TypeError, UnsupportedAlgorithm) as error:
        raise SettingsError(f"--signing-key {path}: no private key (PEM): {error}") from None
    public = key.public_key() if isinstance(key, PrivateKey) else None
    if (problem := _against(public)) or not isinstance(key, PrivateKey):
        raise SettingsError(f"--signing-key {path}: {problem}")
    return SigningKey(key, key_id)


def _against(key: object) -> str:
    if isinstance(key, ec.EllipticCurvePublicKey) and isinstance(key.curve, ec.SECP256R1):
        return ""
    if isinstance(key, rsa.RSAPublicKey) and key.key_size >= _LEAST_RSA_BITS:
        return ""
    if isinstance(key, ed25519.Ed25519PublicKey):
        return ""
    return f"must be of the curve P-256, RSA of {_LEAST_RSA_BITS} bits or more, or Ed25519"


def is_signed_by(key: PublicKey, raw: bytes, signed: bytes) -> bool:
    """Return whether `raw` is the key's signature of `signed`, in the form of RFC 7518."""
    try:
        if isinstance(key, rsa.RSAPublicKey):
            key.verify(raw, signed, padding.PKCS1v15(), SHA256())
        elif isinstance(key, ed25519.Ed25519PublicKey):
            key.verify(raw, signed)
        elif len(raw) == 2 * _P256_BYTES:
            numbers = (raw[:_P256_BYTES], raw[_P256_BYTES:])
            r, s = (int.from_bytes(number, "big") for number in numbers)
            key.verify(encode_dss_signature(r, s), signed, ec.ECDSA(SHA256()))
        else:
            return False
    except InvalidSignature:
        return False
    return True


def make_signature(key: PrivateKey, signed: bytes) -> bytes:
    """Return the key's signature of `signed`, in the form of RFC 7518."""
    if isinstance(key, rsa.RSAPrivateKey):
        return key.sign(signed, padding.PKCS1v15(), SHA256())
    if isinstance(key, ed25519.Ed25519PrivateKey):
        return key.sign(signed)
    numbers = decode_dss_signature(key.sign(signed, ec.ECDSA(SHA256())))
    return b"".join(number.to_bytes(_P256_BYTES, "big") for number in numbers)


def algorithm_of(key: PublicKey | PrivateKey) -> str:
    """Name it as RFC 7518 and RFC 8037 do: by the key, never by what a signature says of itself."""
    if isinstance(key, rsa.RSAPublicKey | rsa.RSAPrivateKey):
        return "RS256"
    if isinstance(key, ec.EllipticCurvePublicKey | ec.EllipticCurvePrivateKey):
        return "ES256"
    return "EdDSA"
