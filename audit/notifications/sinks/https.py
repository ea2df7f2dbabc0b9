"""HTTP as sinks share it: one session each, TLS verified, bounded answers, and what a status means.

An address may be a secret (Slack, Teams): neither it nor an answer is ever quoted.
"""

import ssl
from collections.abc import Mapping
from http import HTTPStatus
from pathlib import Path
from typing import Final
from urllib.parse import urlsplit

import aiohttp
import yarl

from audit.notifications.sink import NoticeRefusedError, SinkAwayError
from core.base.errors import SettingsError
from network.connector import Connector
from network.error_texts import describe
from network.retry_after import read_date, read_retry_after

TIMEOUT_S: Final = 30.0

_MOST_ANSWER: Final = 64 * 1024
_CONNECTIONS: Final = 4

_OF_THE_SINK: Final = {
    HTTPStatus.UNAUTHORIZED: "check its key",
    HTTPStatus.FORBIDDEN: "check its key, and what that may do",
    HTTPStatus.NOT_FOUND: "check its address",
    HTTPStatus.METHOD_NOT_ALLOWED: "check its address: what is there takes no POST",
    HTTPStatus.NOT_ACCEPTABLE: "check its address, and what filters requests before it",
    HTTPStatus.PROXY_AUTHENTICATION_REQUIRED: "a proxy stands in between",
    HTTPStatus.GONE: "its address was withdrawn; make a new one",
    HTTPStatus.REQUEST_TIMEOUT: "it is slow",
    HTTPStatus.MISDIRECTED_REQUEST: "check its address: that server is another's",
    HTTPStatus.TOO_EARLY: "it asks to wait",
    HTTPStatus.UPGRADE_REQUIRED: "it wants another protocol; check its address",
    HTTPStatus.TOO_MANY_REQUESTS: "it asks to wait",
}
"""Of the statuses 4xx those that say nothing of the notice: all others refuse it for good."""

_FOREIGN_ERRORS: Final = (
    aiohttp.ClientError,
    aiohttp.http.HttpProcessingError,
    OSError,
    TimeoutError,
    ValueError,  # What yarl and http.cookies raise of an address.
)


def require_https(url: str, what: str) -> str:
    """Return an address of HTTPS without user and fragment; `what` names where it was given.

    Raises:
        SinkAwayError: it is none. It is not repeated.
    """
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError:
        port, parts = 0, urlsplit("")
    is_plain = parts.username is None and not parts.fragment and port != 0
    if parts.scheme != "https" or not parts.hostname or not is_plain or not url.isascii():
        raise SinkAwayError(f"{what}: is no address of HTTPS; give https://HOST/PATH")
    return url


def tls_context(trust: Path | None, setting: str) -> ssl.SSLContext:
    """Return a context that verifies servers, by a CA (PEM) or by the public ones.

    Raises:
        SettingsError: the CA cannot be read.
    """
    try:
        return ssl.create_default_context(cafile=trust)
    except OSError as error:
        raise SettingsError(f"{setting}: cannot be read ({describe(error)}); give PEM") from None


class HttpsClient:
    """Posts to one server. The connections are made when something is sent."""

    def __init__(self, context: ssl.SSLContext, timeout_s: float = TIMEOUT_S) -> None:
        self._context = context
        self._timeout = aiohttp.ClientTimeout(total=timeout_s)
        self._session: aiohttp.ClientSession | None = None

    async def close(self) -> None:
        """Close every connection."""
        session, self._session = self._session, None
        if session is not None:
            await session.close()

    async def post(self, url: str, body: bytes, headers: Mapping[str, str]) -> None:
        """Post, and return when the answer is 2xx.

        Raises:
            SinkAwayError: it is not reached, or says something of itself.
            NoticeRefusedError: it refuses what was posted.
        """
        if self._session is None:
            self._session = aiohttp.ClientSession(
                connector=Connector(self._context, _CONNECTIONS),
                cookie_jar=aiohttp.DummyCookieJar(),
                timeout=self._timeout,
                trust_env=False,
            )
        own = {"User-Agent": "sallyport"}
        try:
            async with self._session.post(
                yarl.URL(url, encoded=True),
                data=body,
                headers=own | dict(headers),
                allow_redirects=False,
            ) as response:
                await response.content.read(_MOST_ANSWER)  # So that the connection is kept.
                status = response.status
                wait_s = read_retry_after(
                    response.headers.get("Retry-After"), read_date(response.headers.get("Date"))
                )
        except _FOREIGN_ERRORS as error:
            raise SinkAwayError(describe(error)) from None
        _require_success(status, wait_s)


def _require_success(status: int, wait_s: float) -> None:
    if HTTPStatus.OK <= status < HTTPStatus.MULTIPLE_CHOICES:
        return
    said = f"it answers {status}"
    if status < HTTPStatus.BAD_REQUEST:
        raise SinkAwayError(f"{said}, a redirect: give the address that it leads to")
    if status >= HTTPStatus.INTERNAL_SERVER_ERROR:
        raise SinkAwayError(said, wait_s)
    fix = _OF_THE_SINK.get(HTTPStatus(status) if status in _STATUSES else HTTPStatus.BAD_REQUEST)
    if fix:
        raise SinkAwayError(f"{said}: {fix}", wait_s)
    raise NoticeRefusedError(said)


_STATUSES: Final = frozenset(map(int, HTTPStatus))
