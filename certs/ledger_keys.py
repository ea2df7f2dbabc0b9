"""The keys that sign the ledger: Ed25519, replaced in time, their public parts kept for good.

What was signed is verified years later: so a public key is never dropped. The next key is made,
and its public part shown, `overlap` before it signs, so that verifiers know it by then.
"""

import datetime as dt
import hashlib
from dataclasses import dataclass, field, replace
from typing import Final

from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

_SKEW: Final = dt.timedelta(minutes=5)


@dataclass(frozen=True)
class LedgerKeySettings:
    """When keys are replaced."""

    period: dt.timedelta = dt.timedelta(days=365)
    """How long one key signs."""
    overlap: dt.timedelta = dt.timedelta(days=30)
    """How long before it signs a key is shown."""


@dataclass(frozen=True)
class PublicKey:
    """What verifiers need of one key."""

    id: str
    """SHA-256 of `raw`, in hex."""
    raw: bytes
    """32 bytes (RFC 8032)."""
    since: dt.datetime
    """From when on it signs, or has signed."""
    until: dt.datetime | None = None
    """When it stopped; None while it has not."""


@dataclass(frozen=True)
class LedgerKeys:
    """All signing keys of a ledger."""

    current: bytes = field(repr=False)
    """Private key, PEM (PKCS 8)."""
    coming: bytes | None = field(repr=False)
    """Private key that signs next; None until `overlap` before."""
    public: tuple[PublicKey, ...]
    """Former, current, coming: in the order in which they sign."""


def key_id(raw: bytes) -> str:
    """Return the id of a public key: SHA-256 of its 32 bytes, in hex."""
    return hashlib.sha256(raw).hexdigest()


def plan_ledger_keys(
    found: LedgerKeys | None, now: dt.datetime, settings: LedgerKeySettings
) -> LedgerKeys:
    """Return the keys that are to be there; nothing but the keys made depends on chance.

    What is broken is replaced, and what can still be read of it is kept: public keys always.
    """
    keys = _repair(found, now)
    shown = _named(keys, keys.current)
    if shown.since > now + _SKEW:  # Made by a clock that was ahead: it signs all the same.
        keys = _with(keys, replace(shown, since=now))
        shown = _named(keys, keys.current)
    ends = shown.since + settings.period
    if keys.coming is None and now >= ends - settings.overlap:
        coming = _make()
        public = _public(coming, max(ends, now + settings.overlap))
        keys = LedgerKeys(keys.current, coming, (*keys.public, public))
    if keys.coming is not None and now >= _named(keys, keys.coming).since:
        keys = _promote(keys, keys.coming, now)
    return keys


def _repair(found: LedgerKeys | None, now: dt.datetime) -> LedgerKeys:
    """Keep what can be read; where the current key cannot, the coming one or a new one signs."""
    public = found.public if found else ()
    current = found.current if found and _raw(found.current) else None
    coming = found.coming if found and _raw(found.coming) else None
    if current is None and coming is not None:
        current, coming = coming, None
    current = current or _make()
    kept = {key_id(raw) for raw in (_raw(current), _raw(coming)) if raw}
    former = [
        key if key.id in kept or key.until else replace(key, until=max(now, key.since))
        for key in public
        if key.id in kept or key.since <= now + _SKEW
    ]
    known = {key.id for key in former}
    added = [_public(pem, now) for pem in (current, coming) if pem]
    every = (*former, *(key for key in added if key.id not in known))
    return LedgerKeys(current, coming, every)


def _promote(keys: LedgerKeys, coming: bytes, now: dt.datetime) -> LedgerKeys:
    keys = _with(keys, replace(_named(keys, keys.current), until=now))
    keys = _with(keys, replace(_named(keys, coming), since=now))
    return LedgerKeys(coming, None, keys.public)


def _with(keys: LedgerKeys, changed: PublicKey) -> LedgerKeys:
    public = tuple(changed if key.id == changed.id else key for key in keys.public)
    return replace(keys, public=public)


def _named(keys: LedgerKeys, pem: bytes) -> PublicKey:
    identifier = key_id(_raw(pem) or b"")
    return next(key for key in keys.public if key.id == identifier)


def _make() -> bytes:
    form, secrecy = serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    return Ed25519PrivateKey.generate().private_bytes(serialization.Encoding.PEM, form, secrecy)


def _public(pem: bytes, since: dt.datetime) -> PublicKey:
    raw = _raw(pem) or b""
    return PublicKey(key_id(raw), raw, since)


def _raw(pem: bytes | None) -> bytes | None:
    """Return the public part of a private key; None where it cannot be read."""
    try:
        key = serialization.load_pem_private_key(pem or b"", password=None)
    except (ValueError, TypeError):
        return None
    return key.public_key().public_bytes_raw() if isinstance(key, Ed25519PrivateKey) else None
