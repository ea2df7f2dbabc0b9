"""Asks Azure Resource Manager: GET, PUT and DELETE, paged lists, at its pace.

Learn, "Understand how Azure Resource Manager throttles requests": token buckets by subscription and
by tenant; 429 comes with Retry-After. One request at a time, and none before that.
"""

import asyncio
import ssl
import time
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass
from functools import partial
from http import HTTPStatus
from pathlib import Path
from typing import Any, Final
from urllib.parse import urlsplit

import aiohttp
import msgspec
import yarl

from core.base.errors import EntraError
from identity.azure_roles.arm_responses import Page, read_shape
from identity.clients.microsoft_http import (
    PacedClient,
    open_session,
    read_answer,
)
from identity.clients.tokens import GRAPH_SCOPE, Tokens, require_site
from identity.entra.endpoints import RESOURCE_MANAGER
from network.retry_after import read_date, read_retry_after

MOST_BYTES: Final = 8 * 1024 * 1024
"""Of one answer."""

MOST_PAGES: Final = 200
"""Of one list: a subscription has 4,000 role assignments at most."""

_CONNECT_S: Final = 5.0
_WRITTEN: Final = frozenset({HTTPStatus.OK, HTTPStatus.CREATED, HTTPStatus.ACCEPTED})
_REMOVED: Final = _WRITTEN | {HTTPStatus.NO_CONTENT, HTTPStatus.NOT_FOUND}


@dataclass(frozen=True, slots=True)
class ManagerSettings:
    """Where Azure Resource Manager is, and how often it may be asked."""

    site: str = RESOURCE_MANAGER
    trust: Path | None = None
    """CA (PEM); the public ones where it is None."""
    rate_s: float = 0.1
    """From an answer to the next request."""
    timeout_s: float = 30.0

    def __post_init__(self) -> None:
        """Refuse what cannot work.

        Raises:
            SettingsError: naming the setting and the fix.
        """
        require_site("weights.azure.manager", self.site)


class ResourceManager(PacedClient):
    """Azure Resource Manager as one application."""

    def __init__(self, tokens: Tokens, settings: ManagerSettings) -> None:
        opened = partial(
            open_session,
            settings.trust,
            "weights.azure.trust",
            total_s=settings.timeout_s,
            connect_s=_CONNECT_S,
            keeps=True,
        )
        super().__init__(tokens, settings.rate_s, opened)
        self._settings = settings

    async def get(self, path: str, version: str, require: Callable[[], None]) -> bytes:
        """Return one resource.

        Raises:
            EntraError: there is no answer, or not the one that was asked for; its `kind` is
                `permission` where the application may not, `absent` where there is none.
            NotLeaderError: `require` says so.
        """
        status, body = await self._asking("GET", f"{path}?api-version={version}", require)
        if status == HTTPStatus.NOT_FOUND:
            raise EntraError(f"{_named(path)}: there is none", "absent")
        return body

    async def each(
        self, path: str, version: str, require: Callable[[], None], query: str = ""
    ) -> AsyncIterator[msgspec.Raw]:
        """Yield what a list has, page by page.

        Raises:
            EntraError: as `get`, or the list leads elsewhere or does not end.
            NotLeaderError: `require` says so.
        """
        url = f"{path}?api-version={version}{query}"
        seen: set[str] = set()
        for _ in range(MOST_PAGES):
            status, body = await self._asking("GET", url, require)
            if status == HTTPStatus.NOT_FOUND:
                raise EntraError(f"{_named(path)}: there is none", "absent")
            page = read_shape(body, Page, _named(path))
            assert isinstance(page, Page)  # noqa: S101  As asked for.
            for one in page.value:
                yield one
            if not page.next_link:
                return
            url = self._own(page.next_link, path)
            if url in seen:
                break
            seen.add(url)
        raise EntraError(f"{_named(path)}: the list does not end", "endless")

    async def put(
        self, path: str, version: str, body: Any, require: Callable[[], None]
    ) -> HTTPStatus:
        """Write a resource; CONFLICT is an answer: it is there already, or in another form.

        Raises:
            EntraError: as `get`.
            NotLeaderError: `require` says so.
        """
        url = f"{path}?api-version={version}"
        status, _ = await self._asking("PUT", url, require, msgspec.json.encode(body))
        if status not in _WRITTEN | {HTTPStatus.CONFLICT}:
            raise EntraError(f"{_named(path)}: HTTP {status.value} to a PUT", "rejected")
        return status

    async def delete(self, path: str, version: str, require: Callable[[], None]) -> None:
        """Remove a resource, or find it gone.

        Raises:
            EntraError: as `get`.
            NotLeaderError: `require` says so.
        """
        status, _ = await self._asking("DELETE", f"{path}?api-version={version}", require)
        if status not in _REMOVED:
            raise EntraError(f"{_named(path)}: HTTP {status.value} to a DELETE", "rejected")

    def _own(self, link: str, path: str) -> str:
        """Return the path of a next link of this site's: a token is sent nowhere else."""
        here, there = urlsplit(self._settings.site), urlsplit(link)
        if (there.scheme, there.netloc.lower()) != (here.scheme, here.netloc.lower()):
            raise EntraError(f"{_named(path)}: a next link to another site", "foreign-link")
        return f"{there.path}?{there.query}"

    async def _asking(
        self, method: str, url: str, require: Callable[[], None], body: bytes | None = None
    ) -> tuple[HTTPStatus, bytes]:
        async with self._turn:
            token = await self._tokens.get(f"{self._settings.site}{GRAPH_SCOPE}")
            await asyncio.sleep(self.wait_s)
            require()
            try:
                return await self._exchange(method, url, token, body)
            except (aiohttp.ClientError, TimeoutError, ssl.SSLError) as error:
                self.back_off(0.0)
                kind = type(error).__name__
                text = f"{_named(url)}: cannot be reached ({kind}); check weights.azure"
                raise EntraError(text, "unreachable") from error
            finally:
                self._pace.answered(time.monotonic())

    async def _exchange(
        self, method: str, url: str, token: str, body: bytes | None
    ) -> tuple[HTTPStatus, bytes]:
        headers = {"Authorization": f"Bearer {token}", "User-Agent": "sallyport"}
        if body is not None:
            headers["Content-Type"] = "application/json"
        address = yarl.URL(f"{self._settings.site}{url}", encoded=True)
        async with self._opened().request(
            method, address, headers=headers, data=body, allow_redirects=False
        ) as response:
            content = await read_answer(response, MOST_BYTES, _named(url))
            wait = read_retry_after(
                response.headers.get("Retry-After"), read_date(response.headers.get("Date"))
            )
            return self._judged(response.status, content, url, wait)

    def _judged(
        self, status: int, content: bytes, url: str, wait: float
    ) -> tuple[HTTPStatus, bytes]:
        asked = _named(url)
        if status == HTTPStatus.TOO_MANY_REQUESTS or status >= HTTPStatus.INTERNAL_SERVER_ERROR:
            self.back_off(wait)
            kind = "throttled" if status == HTTPStatus.TOO_MANY_REQUESTS else "server-error"
            raise EntraError(f"{asked}: HTTP {status}; it is asked again later", kind, wait)
        self.succeeded()
        if status == HTTPStatus.UNAUTHORIZED:
            self._tokens.distrust()
            raise EntraError(f"{asked}: the token is not accepted", "unauthorized")
        if status == HTTPStatus.FORBIDDEN:
            self._tokens.distrust()
            text = "the application may not: give it the role Reader there, or what it lacks"
            raise EntraError(f"{asked}: {text}", "permission")
        answered = {*_REMOVED, HTTPStatus.CONFLICT}
        if status not in answered:
            raise EntraError(f"{asked}: HTTP {status}", "rejected")
        return HTTPStatus(status), content


def _named(url: str) -> str:
    """Name what was asked: provider and kind, and no id."""
    path = url.partition("?")[0]
    provider = path.rpartition("/providers/")[2].split("/")
    return f"Azure Resource Manager, {'/'.join(provider[:2])}"
