"""Verifies security event tokens by the keys that their issuer publishes (RFC 7517), over HTTPS.

The keys' address is a setting: what a token says of keys (`jku`, `x5u`, `jwk`, `x5c`) is not read.
Signed JSON that two readers could understand differently is refused.
"""

import asyncio
import base64
import binascii
import json
import ssl
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import aiohttp
import jwt

from core.base.errors import SettingsError
from identity.push.security_events import MOST_BYTES, SecurityEventSettings
from network.connector import Connector
from network.error_texts import describe

ALGORITHMS: Final[Mapping[str, str]] = {
    "RS256": "RSA",
    "RS384": "RSA",
    "RS512": "RSA",
    "PS256": "RSA",
    "PS384": "RSA",
    "PS512": "RSA",
    "ES256": "EC",
    "ES384": "EC",
    "ES512": "EC",
    "EdDSA": "OKP",
}
"""What a token may be signed with, and the `kty` of keys for it. Never `none`, never a shared
secret: whoever can verify could sign."""

TYPES: Final = frozenset({"secevent+jwt", "application/secevent+jwt"})
"""`typ`, by which a token of another sort cannot pass for an event (RFC 8417, 2.3)."""

MOST_KEY_BYTES: Final = 256 * 1024

MOST_KEYS: Final = 100

MOST_TRIED: Final = 8
"""Keys that one token is verified with: several only where it names none."""

REFRESH_S: Final = 3600.0
"""After which the keys are fetched anew: one that is withdrawn counts no longer."""

LONGEST_S: Final = 24 * 3600.0
"""For which keys are used while their site cannot be reached."""

RETRY_S: Final = 10.0
"""Between two attempts to reach it."""

UNKNOWN_S: Final = 300.0
"""Between two fetches because of a key that is not among those known."""

_TIMEOUT: Final = aiohttp.ClientTimeout(total=5.0)
_FOREIGN: Final = (aiohttp.ClientError, OSError, ssl.SSLError)
_JWS: Final = jwt.PyJWS(algorithms=list(ALGORITHMS))
_OK: Final = 200


def strict_json(content: bytes) -> dict[str, Any]:
    """Read a JSON object in which no name stands twice, and no number is NaN.

    Of a name that stands twice one reader takes the first value and another the last (RFC 7519,
    4): what is verified would not be what is read.

    Raises:
        ValueError: it is none; the text quotes nothing of it.
    """
    try:
        found = json.loads(content.decode(), object_pairs_hook=_once, parse_constant=_no_constant)
    except RecursionError:
        raise ValueError("nested too deeply") from None
    except json.JSONDecodeError as error:
        raise ValueError(f"no JSON at byte {error.pos}") from None
    if not isinstance(found, dict):
        raise ValueError("not an object")  # noqa: TRY004  It is a value that came from outside.
    return found


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise ValueError("a name stands twice")
    return found


def _no_constant(_: str) -> None:
    raise ValueError("no JSON number")


@dataclass(frozen=True, slots=True)
class VerifiedToken:
    """A token that the issuer signed; nothing else of it has been looked at."""

    claims: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class UnverifiedToken:
    """A token that is not the issuer's, or none; `of_key` says which. Quotes nothing of it."""

    text: str
    of_key: bool


@dataclass(frozen=True, slots=True)
class KeysUnavailable:
    """It cannot be said yet: the keys cannot be had, or not again so soon."""

    text: str
    retry_s: float


class SigningKeys:
    """One issuer's keys, remembered."""

    def __init__(
        self, settings: SecurityEventSettings, clock: Callable[[], float] = time.monotonic
    ) -> None:
        """Take the settings, and what counts seconds.

        Raises:
            SettingsError: the CA cannot be read.
        """
        self._url = settings.keys_url
        self._clock = clock
        self._context = _context(settings)
        self._session: aiohttp.ClientSession | None = None
        self._turn = asyncio.Lock()
        self._keys: tuple[Mapping[str, Any], ...] = ()
        self._fetched = self._tried = self._asked = float("-inf")
        self._problem = ""

    @property
    def problem(self) -> str:
        """Why the keys could not be fetched when that was tried last; empty when they could."""
        return self._problem

    async def close(self) -> None:
        """Close every connection."""
        session, self._session = self._session, None
        if session is not None:
            await session.close()

    async def verify(self, token: bytes) -> VerifiedToken | UnverifiedToken | KeysUnavailable:
        """Verify a token: give its claims, why it is not the issuer's, or why keys are missing."""
        header = _read_header(token)
        if isinstance(header, UnverifiedToken):
            return header
        keys = await self._keys_for(header)
        if not isinstance(keys, tuple):
            return keys
        for key in keys:
            payload = _payload(token, key, header.algorithm)
            if payload is not None:
                return _read_payload(payload)
        return UnverifiedToken("the signature is wrong", of_key=True)

    async def _keys_for(
        self, header: "_Header"
    ) -> tuple[Mapping[str, Any], ...] | UnverifiedToken | KeysUnavailable:
        async with self._turn:
            now = self._clock()
            if now - self._fetched > REFRESH_S and now - self._tried >= RETRY_S:
                await self._fetch()
            if now - self._fetched > LONGEST_S:
                return KeysUnavailable("the issuer's keys cannot be had now", RETRY_S)
            if keys := _fitting(self._keys, header):
                return keys
            if any(header.key_id == key.get("kid") for key in self._keys if "kid" in key):
                return UnverifiedToken("its key is not for its algorithm", of_key=True)
            since = now - self._asked
            if since < UNKNOWN_S:
                return KeysUnavailable(
                    "its key is not known; keys were fetched just now", UNKNOWN_S - since
                )
            self._asked = now
            await self._fetch()
            if self._problem:
                return KeysUnavailable("its key is not known, and keys cannot be had now", RETRY_S)
            keys = _fitting(self._keys, header)
            return keys or UnverifiedToken("the issuer has no such key", of_key=True)

    async def _fetch(self) -> None:
        """Fetch the keys; where that fails those known stay, and `problem` says why."""
        self._tried = self._clock()
        try:
            content = await self._get()
            self._keys = _read_keys(content)
        except _FOREIGN as error:
            self._problem = describe(error)
        except ValueError as error:
            self._problem = f"what the site gives is no JSON Web Key Set: {error}"
        else:
            self._fetched, self._problem = self._tried, ""

    async def _get(self) -> bytes:
        if self._session is None:
            connector = Connector(self._context, 2)
            self._session = aiohttp.ClientSession(connector=connector, timeout=_TIMEOUT)
        asked = {"Accept": "application/json, application/jwk-set+json"}
        async with self._session.get(self._url, headers=asked, allow_redirects=False) as answer:
            if answer.status != _OK:
                raise ValueError(f"status {answer.status}")
            content = bytearray()
            async for part in answer.content.iter_chunked(16 * 1024):
                content += part
                if len(content) > MOST_KEY_BYTES:
                    raise ValueError(f"more than {MOST_KEY_BYTES:,} bytes")
            return bytes(content)


@dataclass(frozen=True, slots=True)
class _Header:
    algorithm: str
    key_id: str | None


def _context(settings: SecurityEventSettings) -> ssl.SSLContext:
    try:
        return ssl.create_default_context(cafile=settings.trust)
    except OSError as error:
        text = f"identity.security_events.trust: cannot be read ({describe(error)}): give PEM"
        raise SettingsError(text) from None


def _read_header(token: bytes) -> _Header | UnverifiedToken:
    """Read what a token says of itself, as strictly as it is verified later."""
    if len(token) > MOST_BYTES or token.count(b".") != 2:  # noqa: PLR2004  RFC 7515, 7.1.
        return UnverifiedToken("no JSON Web Signature in compact form", of_key=False)
    try:
        header = strict_json(_decode(token.partition(b".")[0]))
    except ValueError:
        return UnverifiedToken("its header is no JSON object", of_key=False)
    typ, algorithm, key_id = (header.get(name) for name in ("typ", "alg", "kid"))
    text, of_key = "", False
    if not isinstance(typ, str) or typ.lower() not in TYPES:
        text = "typ must be secevent+jwt"
    elif "crit" in header or "b64" in header:
        text = "crit and b64 are not supported"
    elif not isinstance(key_id, str | None):
        text = "kid must be a string"
    elif not isinstance(algorithm, str) or algorithm not in ALGORITHMS:
        text, of_key = f"alg must be one of {', '.join(ALGORITHMS)}", True
    else:
        return _Header(algorithm, key_id)
    return UnverifiedToken(text, of_key)


def _decode(part: bytes) -> bytes:
    try:
        return base64.b64decode(part + b"=" * (-len(part) % 4), b"-_", validate=True)
    except binascii.Error:
        raise ValueError("no base64url") from None


def _read_keys(content: bytes) -> tuple[Mapping[str, Any], ...]:
    """Return the keys of a set that may sign, and are public.

    Raises:
        ValueError: it is no set, or a very large one.
    """
    keys = strict_json(content).get("keys")
    if not isinstance(keys, list) or len(keys) > MOST_KEYS:
        raise ValueError(f"keys must be a list of at most {MOST_KEYS}")
    return tuple(key for key in keys if isinstance(key, dict) and _may_sign(key))


def _may_sign(key: Mapping[str, Any]) -> bool:
    operations = key.get("key_ops", ["verify"])
    return (
        key.get("kty") in ALGORITHMS.values()
        and isinstance(key.get("kid"), str | None)
        and key.get("use", "sig") == "sig"
        and isinstance(operations, list)
        and "verify" in operations
        and "d" not in key
    )


def _fitting(keys: Sequence[Mapping[str, Any]], header: _Header) -> tuple[Mapping[str, Any], ...]:
    """Return the keys that a token may be signed with."""
    kind = ALGORITHMS[header.algorithm]
    found = [
        key
        for key in keys
        if key["kty"] == kind
        and key.get("alg", header.algorithm) == header.algorithm
        and header.key_id in {None, key.get("kid")}
    ]
    return tuple(found[:MOST_TRIED])


def _payload(token: bytes, key: Mapping[str, Any], algorithm: str) -> bytes | None:
    """Return what a key signed with an algorithm; None where it did not sign this."""
    try:
        loaded = jwt.PyJWK(dict(key), algorithm)
        found = _JWS.decode_complete(
            token,
            loaded,
            [algorithm],
            {"enforce_minimum_key_length": True, "verify_signature": True},
        )
    except (jwt.PyJWTError, ValueError, TypeError):
        return None
    payload = found["payload"]
    return payload if isinstance(payload, bytes) else None


def _read_payload(payload: bytes) -> VerifiedToken | UnverifiedToken:
    try:
        return VerifiedToken(strict_json(payload))
    except ValueError:
        return UnverifiedToken(
            "its claims are no JSON object in which each name is once", of_key=False
        )
