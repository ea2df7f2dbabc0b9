"""The auditor over HTTPS: where a gate's frames are kept, each once."""

import asyncio
import hashlib
import ssl
import time
from collections.abc import Mapping, Sequence
from http import HTTPStatus
from pathlib import Path
from typing import Final
from urllib.parse import urlsplit

import aiohttp
import msgspec

from audit.ledger.destination import Receipt
from audit.ledger.frames import Frame, encode_frame
from audit.ledger.wire import (
    CLUSTER_HEADER,
    CONTENT_TYPE,
    FORMAT,
    FORMAT_HEADER,
    PATH,
    Acknowledged,
)
from core.errors import LedgerError, SettingsError
from kube.connector import Connector
from kube.foreign import describe

_LOOK_EVERY_S: Final = 3.0
"""How often the pair's content is looked at. Secret volumes swap a symlink: no mtime."""

_MOST_ANSWER: Final = 1024 * 1024

_FRAMES_BETWEEN_BREATHS: Final = 64
"""Encoded at once; then the event loop has a turn."""

_HINTS: Final[Mapping[int, str]] = {
    HTTPStatus.BAD_REQUEST: "it cannot read them: check that both are of neighbouring releases",
    HTTPStatus.FORBIDDEN: "the client certificate is of another cluster: check cluster_id",
    HTTPStatus.NOT_FOUND: "it is no auditor: check shipping.url",
    HTTPStatus.SERVICE_UNAVAILABLE: "its ledger takes nothing now: see the auditor's log",
}

_FOREIGN: Final = (aiohttp.ClientError, aiohttp.http.HttpProcessingError, OSError)
"""What sending and reading may raise; their texts may hold values."""


class AuditorClient:
    """Delivers frames to one auditor (a `Destination`)."""

    def __init__(
        self, url: str, ca: Path, certificate: Path, key: Path, timeout_s: float = 30.0
    ) -> None:
        """Take the address, the CA to trust it by, and the client's pair, all PEM.

        Raises:
            SettingsError: `url` is no `https://host[:port]`.
        """
        parts = urlsplit(url)
        if parts.scheme != "https" or not parts.hostname or "@" in parts.netloc or parts.query:
            raise SettingsError("shipping.url: must be https://host or https://host:port")
        self._name = parts.netloc
        self._url = f"https://{parts.netloc}{parts.path.rstrip('/')}{PATH}"
        self._files = (ca, certificate, key)
        self._timeout = aiohttp.ClientTimeout(total=timeout_s)
        self._session: aiohttp.ClientSession | None = None
        self._digest = b""
        self._looked = float("-inf")

    async def close(self) -> None:
        """Close every connection."""
        session, self._session = self._session, None
        if session is not None:
            await session.close()

    async def deliver(self, cluster: str, frames: Sequence[Frame]) -> Receipt:
        """Have the auditor keep frames of a cluster.

        Raises:
            LedgerError: it did not say that it keeps all of them.
        """
        body = await _encode(frames)
        try:
            session = await self._current_session()
            answer = await self._post(session, cluster, body)
        except _FOREIGN as error:
            raise LedgerError(f"the auditor {self._name}: no answer: {describe(error)}") from None
        kept = self._read(answer)
        if missing := {frame.id.hex() for frame in frames}.difference(kept.acknowledged):
            message = f"the auditor {self._name} did not acknowledge {len(missing)} frames"
            raise LedgerError(message)
        return Receipt(kept.stored, kept.known, kept.quarantined)

    async def _post(self, session: aiohttp.ClientSession, cluster: str, body: bytes) -> bytes:
        headers = {
            "Content-Type": CONTENT_TYPE,
            FORMAT_HEADER: str(FORMAT),
            CLUSTER_HEADER: cluster,
        }
        request = session.post(
            self._url, data=body, headers=headers, timeout=self._timeout, allow_redirects=False
        )
        async with request as response:
            if response.status != HTTPStatus.OK:
                hint = _HINTS.get(response.status, "see the auditor's log")
                message = f"the auditor {self._name} answered {response.status}: {hint}"
                raise LedgerError(message)
            answer = bytearray()
            async for part in response.content.iter_any():
                answer += part
                if len(answer) > _MOST_ANSWER:
                    raise LedgerError(f"the auditor {self._name}: an answer without an end")
            return bytes(answer)

    def _read(self, answer: bytes) -> Acknowledged:
        try:
            kept = msgspec.json.decode(answer, type=Acknowledged)
        except msgspec.DecodeError:
            raise LedgerError(f"the auditor {self._name}: its answer cannot be read") from None
        if abs(kept.format - FORMAT) > 1:
            message = f"the auditor {self._name} answers in format {kept.format}: upgrade this"
            raise LedgerError(message)
        return kept

    async def _current_session(self) -> aiohttp.ClientSession:
        """Give a session with the files of now, or of before where those are half-written.

        Raises:
            LedgerError: there is no usable pair yet.
        """
        now = time.monotonic()
        if self._session is not None and now - self._looked < _LOOK_EVERY_S:
            return self._session
        self._looked = now
        try:
            contents = await asyncio.to_thread(self._read_files)
            digest = hashlib.sha256(msgspec.json.encode(contents)).digest()
            if self._session is not None and digest == self._digest:
                return self._session
            context = await asyncio.to_thread(self._make_context)
        except OSError as error:  # of which ssl.SSLError is one
            if self._session is not None:
                return self._session
            problem = describe(error)
            raise LedgerError(f"the certificates for shipping cannot be used: {problem}") from None
        await self.close()
        connector = Connector(context, limit=2)
        jar = aiohttp.DummyCookieJar()
        self._session, self._digest = (
            aiohttp.ClientSession(connector=connector, cookie_jar=jar),
            digest,
        )
        return self._session

    def _read_files(self) -> list[bytes]:
        return [path.read_bytes() for path in self._files]

    def _make_context(self) -> ssl.SSLContext:
        """Give a context with the files of now, which must belong together."""
        ca, certificate, key = self._files
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        context.minimum_version = ssl.TLSVersion.TLSv1_2
        context.load_verify_locations(ca)
        # Without the callback OpenSSL would ask a terminal for an encrypted key's password.
        context.load_cert_chain(certificate, key, password=lambda: "")
        return context


async def _encode(frames: Sequence[Frame]) -> bytes:
    parts = []
    for number, frame in enumerate(frames):
        parts.append(encode_frame(frame.kind, frame.id, frame.payload))
        if number % _FRAMES_BETWEEN_BREATHS == 0:
            await asyncio.sleep(0)
    return b"".join(parts)
