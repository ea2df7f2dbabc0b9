"""Signatures of bundles, as OPA makes and checks them: `opa` can check ours, and we its own.

A file `.signatures.json` holds a JWS (RFC 7515) over the list of all other files with their
SHA-256; of `.manifest` and `data.json` it is that of their canonical form
(https://www.openpolicyagent.org/docs/management-bundles#signing, open-policy-agent/opa
v1/bundle/hash.go). The few lines of JWS are ours, since a gate imports no library of tokens
(docs/adr/0054-bundles-are-swapped.md).
"""

import base64
import binascii
import contextlib
import hashlib
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Any, Final

import msgspec

from core.base.errors import BundleRefusedError

if TYPE_CHECKING:  # What is not signed is read without the libraries of keys.
    from policies.bundle.signature_keys import PublicKey, SigningKey

SIGNATURES: Final = ".signatures.json"

_STRUCTURED: Final = frozenset({".manifest", "data.json"})
_FIX: Final = "sign it with 'sallyport policy build --signing-key FILE'"


@dataclass(frozen=True)
class BundleKeys:
    """Public keys, one of which must have signed a bundle; without any, none need be signed."""

    by_id: "Mapping[str, PublicKey]" = field(default_factory=dict)


NO_KEYS: Final = BundleKeys()


def read_keys(files: Mapping[str, Path]) -> BundleKeys:
    """Read public keys (PEM), by their ids.

    Raises:
        SettingsError: one is missing, or of a kind that signs no bundles.
    """
    if not files:
        return NO_KEYS
    from policies.bundle.signature_keys import read_public_key  # noqa: PLC0415 (slow)

    return BundleKeys({name: read_public_key(name, path) for name, path in files.items()})


def sign(files: Mapping[str, bytes], signing: "SigningKey") -> bytes:
    """Return the content of `.signatures.json` for the files of a bundle, by name."""
    from policies.bundle.signature_keys import algorithm_of, make_signature  # noqa: PLC0415 (slow)

    key, key_id = signing.key, signing.key_id
    listed = [
        {"name": name, "hash": _hash(name, content), "algorithm": "SHA-256"}
        for name, content in sorted(files.items())
        if name != SIGNATURES
    ]
    header = {"alg": algorithm_of(key), "typ": "JWT"} | ({"kid": key_id} if key_id else {})
    payload = {"files": listed} | ({"keyid": key_id} if key_id else {})
    signed = f"{_encode(_json(header))}.{_encode(_json(payload))}"
    token = f"{signed}.{_encode(make_signature(key, signed.encode()))}"
    return _json({"signatures": [token]})


def verify(files: Mapping[str, bytes], keys: BundleKeys, where: str) -> str:
    """Demand that one of the keys has signed exactly these files; give the id of the key.

    Raises:
        BundleRefusedError: none has, or the files are not those that were signed.
    """
    if SIGNATURES not in files:
        raise BundleRefusedError(f"{where}: it is not signed: {_FIX}")
    payload, key_id = _verified(files[SIGNATURES], keys, where)
    try:
        listed = {
            str(one["name"]).lstrip("/"): (str(one["hash"]), str(one["algorithm"]))
            for one in payload["files"]
        }
    except (KeyError, TypeError):
        raise BundleRefusedError(f"{where}: its signature lists no files: {_FIX}") from None
    present = {name: content for name, content in files.items() if name != SIGNATURES}
    if odd := sorted(listed.keys() ^ present.keys()):
        how = "is not signed" if odd[0] in present else "is signed and missing"
        raise BundleRefusedError(f"{where}: {odd[0]} {how}: {_FIX}")
    for name, content in sorted(present.items()):
        digest, algorithm = listed[name]
        if algorithm != "SHA-256":
            message = f"{where}: {name} is signed by its {algorithm}: sign it by SHA-256"
            raise BundleRefusedError(message)
        if digest != _hash(name, content):
            raise BundleRefusedError(f"{where}: {name} is not what was signed: {_FIX}")
    return key_id


def _verified(content: bytes, keys: BundleKeys, where: str) -> tuple[dict[str, Any], str]:
    """Return the payload of the one signature, and whose it is."""
    from policies.bundle.signature_keys import algorithm_of, is_signed_by  # noqa: PLC0415 (slow)

    try:
        tokens = msgspec.json.decode(content, type=dict[str, Any])["signatures"]
        (token,) = tokens  # OPA too refuses several.
        head, body, signature = str(token).split(".")
        header = msgspec.json.decode(_decode(head), type=dict[str, Any])
        payload = msgspec.json.decode(_decode(body), type=dict[str, Any])
        signed, raw = f"{head}.{body}".encode(), _decode(signature)
    except (KeyError, TypeError, ValueError, RecursionError, binascii.Error):
        message = f"{where}: its {SIGNATURES} cannot be read: {_FIX}"
        raise BundleRefusedError(message) from None
    named = header.get("kid") or payload.get("keyid") or ""
    if not isinstance(named, str):
        raise BundleRefusedError(f"{where}: its {SIGNATURES} cannot be read: {_FIX}")
    tried = {named: keys.by_id[named]} if named in keys.by_id else keys.by_id
    for key_id, key in tried.items():
        if header.get("alg") == algorithm_of(key) and is_signed_by(key, raw, signed):
            return payload, key_id
    known = ", ".join(sorted(keys.by_id))
    whose = f" ({named})" if named else ""
    raise BundleRefusedError(
        f"{where}: none of the keys in bundles.keys ({known}) has signed it{whose}: {_FIX}"
    )


def is_structured(name: str) -> bool:
    """Return whether a bundle's file is JSON that is read as such, and signed in canonical form."""
    return PurePosixPath(name).name in _STRUCTURED


def _hash(name: str, content: bytes) -> str:
    if is_structured(name):
        with contextlib.suppress(ValueError, RecursionError):
            return _canonical_hash(content)
    return hashlib.sha256(content).hexdigest()


def _canonical_hash(content: bytes) -> str:
    """Hash JSON as OPA does: keys sorted, nothing between, numbers as they were written."""
    digest = hashlib.sha256()
    for text in _walk(json.loads(content, parse_float=_Number, parse_int=_Number)):
        digest.update(text.encode())
    return digest.hexdigest()


class _Number(str):
    """A number as its author wrote it."""

    __slots__ = ()


def _walk(value: Any) -> Iterator[str]:
    if isinstance(value, dict):
        yield "{"
        for number, key in enumerate(sorted(value, key=str.encode)):
            yield f"{',' if number else ''}{_text(key)}:"
            yield from _walk(value[key])
        yield "}"
    elif isinstance(value, list):
        yield "["
        for number, each in enumerate(value):
            if number:
                yield ","
            yield from _walk(each)
        yield "]"
    else:
        yield str(value) if isinstance(value, _Number) else _text(value)


def _text(value: Any) -> str:
    """Write a string, true, false or null as Go's encoding/json does without HTML escapes."""
    text = json.dumps(value, ensure_ascii=False)
    return text.replace("\u2028", "\\u2028").replace("\u2029", "\\u2029")


def _json(value: object) -> bytes:
    return json.dumps(value, separators=(",", ":")).encode()


def _encode(content: bytes) -> str:
    return base64.urlsafe_b64encode(content).rstrip(b"=").decode()


def _decode(text: str) -> bytes:
    return base64.b64decode(text + "=" * (-len(text) % 4), altchars=b"-_", validate=True)
