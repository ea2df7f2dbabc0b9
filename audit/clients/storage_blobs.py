"""Blobs in containers of Azure Storage, over REST (List Blobs, Get Blob) with a bearer token."""

import asyncio
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass
from http import HTTPStatus
from pathlib import Path
from typing import Final
from urllib.parse import quote, urlsplit
from xml.etree import ElementTree as ET

from audit.clients.storage_session import FOREIGN_ERRORS, GetToken, StorageSession
from core.base.errors import SettingsError, SourceError
from network.error_texts import describe

_MOST_LISTING: Final = 32 * 1024 * 1024
_ATTEMPTS: Final = 5
_LONGEST_WAIT_S: Final = 60.0
_AGAIN: Final = frozenset(
    {
        HTTPStatus.REQUEST_TIMEOUT,
        HTTPStatus.TOO_MANY_REQUESTS,
        HTTPStatus.INTERNAL_SERVER_ERROR,
        HTTPStatus.BAD_GATEWAY,
        HTTPStatus.SERVICE_UNAVAILABLE,
        HTTPStatus.GATEWAY_TIMEOUT,
    }
)
_HINTS: Final[Mapping[int, str]] = {
    HTTPStatus.UNAUTHORIZED: "the token is refused: check the tenant of the sign-in",
    HTTPStatus.FORBIDDEN: "give the identity the role Storage Blob Data Reader on the container, "
    "and this network a way through the account's firewall",
    HTTPStatus.NOT_FOUND: "there is no such container: check site and containers",
}


@dataclass(frozen=True, slots=True)
class ContainerSettings:
    """Which containers are read, and where."""

    site: str
    """`https://ACCOUNT.blob.core.windows.net`."""
    containers: tuple[str, ...]
    """`insights-logs-storageread` and so on."""
    trust: Path | None = None
    """CA of the site (PEM); the public ones where it is None."""
    timeout_s: float = 60.0
    wait_s: float = 1.0
    """Before the first repetition; doubled for each."""

    def __post_init__(self) -> None:
        """Refuse what cannot work, or must not.

        Raises:
            SettingsError: naming the setting and the fix.
        """
        site = urlsplit(self.site)
        if site.scheme != "https" or not site.hostname or site.query or "@" in site.netloc:
            raise SettingsError("weights.container.site: must be https://HOST, without a SAS")
        if not self.containers:
            raise SettingsError("weights.container.containers: name at least one")


class Containers:
    """Containers of one account; a blob's name begins with its container's."""

    def __init__(self, settings: ContainerSettings, get_token: GetToken) -> None:
        """Take the settings and what gives tokens.

        Raises:
            SettingsError: the CA cannot be read.
        """
        try:
            self._session = StorageSession(settings.trust, settings.timeout_s, get_token)
        except OSError as error:
            text = f"weights.container.trust cannot be read ({describe(error)}): give PEM"
            raise SettingsError(text) from None
        self._settings = settings

    async def close(self) -> None:
        """Close every connection."""
        await self._session.close()

    async def names(self, prefix: str) -> AsyncIterator[tuple[str, int]]:
        """Yield the names below a prefix, and their sizes.

        Raises:
            SourceError: they cannot be listed.
        """
        first, _, below = prefix.partition("/")
        for container in self._settings.containers:
            if not prefix or container == first:
                async for name, size in self._listed(container, below):
                    yield f"{container}/{name}", size

    async def _listed(self, container: str, prefix: str) -> AsyncIterator[tuple[str, int]]:
        marker = ""
        while True:
            query = {"restype": "container", "comp": "list", "maxresults": "5000"}
            query |= {"prefix": prefix} if prefix else {}
            query |= {"marker": marker} if marker else {}
            status, body = await self._get(f"/{container}", query, {}, _MOST_LISTING)
            if status != HTTPStatus.OK:
                raise _refused(container, status)
            found, marker = _read_listing(container, body)
            for name, size in found:
                yield name, size
            if not marker:
                return

    async def read(self, name: str, begin: int, length: int) -> bytes:
        """Return bytes of a blob, fewer only at its end; none where it is gone.

        Raises:
            SourceError: it cannot be read.
        """
        headers = {"x-ms-range": f"bytes={begin}-{begin + length - 1}"}
        status, body = await self._get(f"/{quote(name)}", {}, headers, length)
        if status in {HTTPStatus.NOT_FOUND, HTTPStatus.REQUESTED_RANGE_NOT_SATISFIABLE}:
            return b""
        if status == HTTPStatus.PARTIAL_CONTENT:
            return body
        if status == HTTPStatus.OK and not begin:
            return body[:length]
        raise _refused(name, status)

    async def _get(
        self, path: str, query: dict[str, str], headers: dict[str, str], most: int
    ) -> tuple[int, bytes]:
        """Ask, and ask again where it may help.

        Raises:
            SourceError: nothing usable was answered.
        """
        wait = self._settings.wait_s
        for attempt in range(1, _ATTEMPTS + 1):
            try:
                status, body, told = await self._ask(path, query, headers, most)
            except FOREIGN_ERRORS as error:
                if attempt == _ATTEMPTS:
                    raise _unreachable(error) from error
            else:
                if status not in _AGAIN:
                    return status, body
                if attempt == _ATTEMPTS:
                    raise _refused(path.strip("/"), status, told)
                wait = max(wait, told)
            await asyncio.sleep(min(wait, _LONGEST_WAIT_S))
            wait *= 2
        raise AssertionError  # pragma: no cover  The last attempt returns or raises.

    async def _ask(
        self, path: str, query: dict[str, str], headers: dict[str, str], most: int
    ) -> tuple[int, bytes, float]:
        url = self._settings.site.rstrip("/") + path
        async with await self._session.send("GET", url, query, headers) as response:
            body = bytearray()
            async for chunk in response.content.iter_chunked(256 * 1024):
                body += chunk
                if len(body) > most:
                    raise SourceError(f"the site answered with more than {most} bytes")
            told = response.headers.get("Retry-After", "")
            return response.status, bytes(body), float(told) if told.isdigit() else 0.0


def _read_listing(container: str, body: bytes) -> tuple[list[tuple[str, int]], str]:
    """Read an answer of List Blobs: names, sizes, and the marker of the next page."""
    try:
        root = ET.fromstring(body)  # noqa: S314  Expat refuses expanding entities since 2.4.1.
        found = [
            (each.findtext("Name") or "", int(each.findtext("Properties/Content-Length") or 0))
            for each in root.iterfind("Blobs/Blob")
        ]
    except (ET.ParseError, ValueError) as error:
        raise SourceError(f"the listing of {container} is no XML of List Blobs") from error
    return found, root.findtext("NextMarker") or ""


def _refused(what: str, status: int, retry_after_s: float = 0.0) -> SourceError:
    hint = _HINTS.get(status)
    return SourceError(
        f"{what} cannot be read (HTTP {status}): {hint or 'see the storage account'}", retry_after_s
    )


def _unreachable(error: BaseException) -> SourceError:
    return SourceError(
        f"the site cannot be reached ({describe(error)}): check weights.container.site and network"
    )
