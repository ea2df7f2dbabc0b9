"""Clients of one auditor over mutual TLS: the channel, and where a gate's frames are kept.

The client's pair is read again when it changes. Long answers come in pages.
"""

import asyncio
import hashlib
import ssl
import time
from collections.abc import Mapping, Sequence
from http import HTTPStatus
from pathlib import Path
from typing import Any, Final, Protocol, TypeVar
from urllib.parse import SplitResult, urlsplit

import aiohttp
import msgspec

from audit.ledger.records.destination import Receipt
from audit.ledger.records.frames import Frame, encode_frame
from audit.ledger.server.frames_protocol import (
    CLUSTER_HEADER,
    CONTENT_TYPE,
    FORMAT,
    FORMAT_HEADER,
    PATH,
    Acknowledged,
)
from core.base.errors import LedgerError, SettingsError
from core.base.json_errors import DECODE_ERRORS
from network.connector import Connector
from network.error_texts import describe

_LOOK_EVERY_S: Final = 3.0
"""How often the pair's content is looked at. Secret volumes swap a symlink: no mtime."""

_HINTS: Final[Mapping[int, str]] = {
    HTTPStatus.BAD_REQUEST: "it cannot read this: check that both are of neighbouring releases",
    HTTPStatus.FORBIDDEN: "the client certificate is of another cluster or process: "
    "check cluster_id, shipping.cert and shipping.token",
    HTTPStatus.NOT_FOUND: "it is no auditor, or of an earlier release: check shipping.url",
    HTTPStatus.SERVICE_UNAVAILABLE: "its ledger takes nothing now: see the auditor's log",
}

_FOREIGN: Final = (aiohttp.ClientError, aiohttp.http.HttpProcessingError, OSError)
"""What sending and reading may raise; their texts may hold values."""

_MOST_ANSWER: Final = 1024 * 1024

_FRAMES_BETWEEN_BREATHS: Final = 64
"""Encoded at once; then the event loop has a turn."""


def read_auditor_url(url: str, setting: str) -> SplitResult:
    """Return the parts of the auditor's address, which a setting has.

    Raises:
        SettingsError: it is no `https://host[:port]`, or it holds credentials, which are not
            repeated.
    """
    try:
        parts = urlsplit(url)
        is_right = parts.scheme == "https" and parts.hostname and parts.port != 0
    except ValueError:  # Brackets, or a port, that are none.
        is_right = False
    if not is_right or "@" in parts.netloc or parts.query:
        raise SettingsError(f"{setting}: must be https://host or https://host:port")
    return parts


class AuditorChannel:
    """Sends requests to one auditor."""

    def __init__(  # noqa: PLR0913  Where it is, and the files that it is reached with.
        self,
        url: str,
        ca: Path,
        certificate: Path,
        key: Path,
        timeout_s: float = 30.0,
        *,
        token: Path | None = None,
    ) -> None:
        """Take the address, the CA to trust it by, and the client's pair, all PEM.

        `token` is the file of a projected service account token, which is sent along.

        Raises:
            SettingsError: `url` is no `https://host[:port]`.
        """
        self._token = token
        parts = read_auditor_url(url, "shipping.url")
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
            **await asyncio.to_thread(self._proof),
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

    def _proof(self) -> dict[str, str]:
        """Return the header that says which Pod this is: kubelet writes a new token each hour.

        Raises:
            LedgerError: there is no token yet.
        """
        if self._token is None:
            return {}
        try:
            token = self._token.read_text(encoding="ascii").strip()
        except (OSError, UnicodeDecodeError) as error:
            raise LedgerError(f"shipping.token cannot be read: {describe(error)}") from None
        return {"Authorization": f"Bearer {token}"}

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
        """Return a session with the files of now, or of before where those are half-written.

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
        """Return a context with the files of now, which must belong together."""
        ca, certificate, key = self._files
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        context.minimum_version = ssl.TLSVersion.TLSv1_2
        context.load_verify_locations(ca)
        # Without the callback OpenSSL would ask a terminal for an encrypted key's password.
        context.load_cert_chain(certificate, key, password=lambda: "")
        return context


class AnswerPage(Protocol):
    """What every such answer says."""

    @property
    def format(self) -> int:
        """Its version."""

    @property
    def next(self) -> str:
        """Id to go on after; empty on the last page."""


P = TypeVar("P", bound=AnswerPage)


def read_page(channel: AuditorChannel, answer: bytes, shape: type[P], known: int, after: str) -> P:
    """Read a page of format `known`, the one before or the one after; `after` is what was asked.

    Raises:
        LedgerError: it cannot be read, or its pages would not end.
    """
    name = channel.name
    try:
        page = msgspec.json.decode(answer, type=shape)
    except DECODE_ERRORS:
        raise LedgerError(f"the auditor {name}: its answer cannot be read") from None
    if abs(page.format - known) > 1:
        raise LedgerError(f"the auditor {name} answers in format {page.format}: upgrade this")
    if page.next and page.next <= after:
        raise LedgerError(f"the auditor {name}: pages without an end")
    return page


class AuditorClient:
    """Delivers frames to one auditor (a `Destination`)."""

    def __init__(self, channel: AuditorChannel) -> None:
        self.channel = channel
        """For those who ask the same auditor."""

    async def close(self) -> None:
        """Close every connection."""
        await self.channel.close()

    async def deliver(self, cluster: str, frames: Sequence[Frame]) -> Receipt:
        """Have the auditor keep frames of a cluster.

        Raises:
            LedgerError: it did not say that it keeps all of them.
        """
        body = await _encode(frames)
        answer = await self.channel.post(PATH, cluster, CONTENT_TYPE, body, _MOST_ANSWER)
        kept = self._read(answer)
        if missing := {frame.id.hex() for frame in frames}.difference(kept.acknowledged):
            message = f"the auditor {self.channel.name} did not acknowledge {len(missing)} frames"
            raise LedgerError(message)
        return Receipt(kept.stored, kept.known, kept.quarantined)

    def _read(self, answer: bytes) -> Acknowledged:
        name = self.channel.name
        try:
            kept = msgspec.json.decode(answer, type=Acknowledged)
        except msgspec.DecodeError:
            raise LedgerError(f"the auditor {name}: its answer cannot be read") from None
        if abs(kept.format - FORMAT) > 1:
            message = f"the auditor {name} answers in format {kept.format}: upgrade this"
            raise LedgerError(message)
        return kept


async def _encode(frames: Sequence[Frame]) -> bytes:
    parts = []
    for number, frame in enumerate(frames):
        parts.append(encode_frame(frame.kind, frame.id, frame.payload))
        if number % _FRAMES_BETWEEN_BREATHS == 0:
            await asyncio.sleep(0)
    return b"".join(parts)
