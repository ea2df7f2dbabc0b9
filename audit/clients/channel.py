"""The way to one auditor: HTTPS with the client's pair, which is read again when it changes."""

import asyncio
import hashlib
import ssl
import time
from collections.abc import Mapping
from http import HTTPStatus
from pathlib import Path
from typing import Any, Final
from urllib.parse import urlsplit

import aiohttp
import msgspec

from audit.ledger.server.frames_protocol import CLUSTER_HEADER, FORMAT, FORMAT_HEADER
from core.base.errors import LedgerError, SettingsError
from kube.client.connector import Connector
from kube.client.errors import describe

_LOOK_EVERY_S: Final = 3.0
"""How often the pair's content is looked at. Secret volumes swap a symlink: no mtime."""

_HINTS: Final[Mapping[int, str]] = {
    HTTPStatus.BAD_REQUEST: "it cannot read this: check that both are of neighbouring releases",
    HTTPStatus.FORBIDDEN: "the client certificate is of another cluster or process: "
    "check cluster_id and shipping.cert",
    HTTPStatus.NOT_FOUND: "it is no auditor, or of an earlier release: check shipping.url",
    HTTPStatus.SERVICE_UNAVAILABLE: "its ledger takes nothing now: see the auditor's log",
}

_FOREIGN: Final = (aiohttp.ClientError, aiohttp.http.HttpProcessingError, OSError)
"""What sending and reading may raise; their texts may hold values."""


class AuditorChannel:
    """Sends requests to one auditor."""

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
        self.name = parts.netloc
        self._base = f"https://{parts.netloc}{parts.path.rstrip('/')}"
        self._files = (ca, certificate, key)
        self._timeout = aiohttp.ClientTimeout(total=timeout_s)
        self._session: aiohttp.ClientSession | None = None
        self._digest = b""
        self._looked = float("-inf")
        self._opening = asyncio.Lock()

    async def close(self) -> None:
        """Close every connection."""
        session, self._session = self._session, None
        if session is not None:
            await session.close()

    async def post(
        self, path: str, cluster: str, content_type: str, body: bytes, most: int
    ) -> bytes:
        """Send a body for a cluster, and give the answer, of at most `most` bytes.

        Raises:
            LedgerError: there is no answer, or it is none of success.
        """
        headers = {"Content-Type": content_type}
        return await self._request("POST", path, cluster, most, data=body, headers=headers)

    async def get(self, path: str, cluster: str, parameters: Mapping[str, str], most: int) -> bytes:
        """Ask something about a cluster, and give the answer, of at most `most` bytes.

        Raises:
            LedgerError: there is no answer, or it is none of success.
        """
        return await self._request("GET", path, cluster, most, params=parameters)

    async def _request(self, method: str, path: str, cluster: str, most: int, **sent: Any) -> bytes:
        sent["headers"] = {
            FORMAT_HEADER: str(FORMAT),
            CLUSTER_HEADER: cluster,
            **sent.get("headers", {}),
        }
        try:
            session = await self._current_session()
            async with session.request(
                method,
                f"{self._base}{path}",
                timeout=self._timeout,
                allow_redirects=False,
                **sent,
            ) as response:
                return await self._read(response, most)
        except _FOREIGN as error:
            raise LedgerError(f"the auditor {self.name}: no answer: {describe(error)}") from None

    async def _read(self, response: aiohttp.ClientResponse, most: int) -> bytes:
        if response.status != HTTPStatus.OK:
            hint = _HINTS.get(response.status, "see the auditor's log")
            raise LedgerError(f"the auditor {self.name} answered {response.status}: {hint}")
        answer = bytearray()
        async for part in response.content.iter_any():
            answer += part
            if len(answer) > most:
                raise LedgerError(f"the auditor {self.name}: an answer without an end")
        return bytes(answer)

    async def _current_session(self) -> aiohttp.ClientSession:
        """Give a session with the files of now, or of before where those are half-written.

        Raises:
            LedgerError: there is no usable pair yet.
        """
        async with self._opening:
            now = time.monotonic()
            if self._session is not None and now - self._looked < _LOOK_EVERY_S:
                return self._session
            self._looked = now
            return await self._opened_session()

    async def _opened_session(self) -> aiohttp.ClientSession:
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
