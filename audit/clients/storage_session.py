"""Azure Storage over REST with a bearer token, as what reads and what appends share it.

The CA is read at once, the connections are made when something is asked.
"""

import ssl
import time
from collections.abc import Awaitable, Callable, Mapping
from email.utils import formatdate
from pathlib import Path
from typing import Final

import aiohttp
import yarl

SCOPE: Final = "https://storage.azure.com/.default"
"""What a token is asked for."""

VERSION: Final = "2024-11-04"
"""`x-ms-version`: of the REST API. A block may have 100 MiB since 2022-11-02."""

GetToken = Callable[[str], Awaitable[str]]
"""Gives a token for a scope."""

FOREIGN_ERRORS: Final = (
    aiohttp.ClientError,
    aiohttp.http.HttpProcessingError,
    OSError,
    TimeoutError,
)
"""What is raised where a site cannot be reached, or does not speak HTTP."""


class StorageSession:
    """Requests to one site of Azure Storage, as one identity."""

    def __init__(self, trust: Path | None, timeout_s: float, get_token: GetToken) -> None:
        """Take the CA of the site (PEM; None: the public ones), and what gives tokens.

        Raises:
            OSError: the CA cannot be read.
        """
        self._context = ssl.create_default_context(cafile=trust)
        self._timeout = aiohttp.ClientTimeout(total=timeout_s)
        self._get_token = get_token
        self._session: aiohttp.ClientSession | None = None

    async def close(self) -> None:
        """Close every connection."""
        session, self._session = self._session, None
        if session is not None:
            await session.close()

    async def send(
        self,
        method: str,
        url: str,
        query: Mapping[str, str],
        headers: Mapping[str, str],
        body: bytes | None = None,
    ) -> aiohttp.ClientResponse:
        """Send a request; whoever calls reads the answer within `async with`, or closes it.

        Raises:
            One of FOREIGN_ERRORS, or what `get_token` raises.
        """
        if self._session is None:
            self._session = aiohttp.ClientSession(timeout=self._timeout, raise_for_status=False)
        own = {
            "Authorization": f"Bearer {await self._get_token(SCOPE)}",
            "x-ms-version": VERSION,
            "x-ms-date": formatdate(time.time(), usegmt=True),
        }
        return await self._session.request(
            method,
            yarl.URL(url, encoded=True).with_query(query),
            headers=own | dict(headers),
            data=body,
            ssl=self._context,
            allow_redirects=False,
        )
