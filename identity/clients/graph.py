"""Asks Microsoft Graph: one request at a time, as seldom as its limit demands."""

import asyncio
import ssl
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from http import HTTPStatus
from pathlib import Path
from typing import Final

import aiohttp
import yarl

from core.base.errors import EntraError, NotLeaderError, SettingsError
from identity.clients.microsoft_http import (
    PacedClient,
    open_session,
    read_answer,
)
from identity.clients.tokens import GRAPH_SCOPE, Tokens, require_site
from identity.entra.endpoints import GRAPH, GRAPH_RATE_S
from identity.entra.graph_answers import RESTING, graph_error
from identity.entra.graph_requests import Resource
from network.retry_after import read_date, read_retry_after

MOST_BYTES: Final = 8 * 1024 * 1024
"""Of one answer: 500 identities take some 100 KiB."""

_CONNECT_S: Final = 3.0
"""A leader that has lost the Lease must not begin to ask when another one may (`LeaseSettings`)."""

_EARLY_S: Final = 0.002
"""So much too early an event loop may wake a sleeper (uvloop counts milliseconds)."""

_HEADERS: Final = {
    "Accept": "application/json",
    "Prefer": "include-unknown-enum-members",
    "User-Agent": "sallyport",
}


@dataclass(frozen=True, slots=True)
class GraphSettings:
    """Where Graph is, and how often it may be asked."""

    site: str = GRAPH
    trust: Path | None = None
    """CA of Graph (PEM); the public ones where it is None."""
    rate_s: float = GRAPH_RATE_S
    """From an answer to the next request; a tenant has one request a second over all apps."""
    timeout_s: float = 30.0

    def __post_init__(self) -> None:
        """Refuse what cannot work, or must not.

        Raises:
            SettingsError: naming the setting and the fix.
        """
        require_site("identity.graph", self.site)
        if self.rate_s < 1:
            raise SettingsError("identity.rate: must be 1 second or more: Graph allows no less")


@dataclass(frozen=True, slots=True)
class GraphAnswer:
    """What Graph answered with 200. Times are Unix seconds of Graph's clock, where it tells them.

    So what is known as of when does not depend on the clock of this machine.
    """

    body: bytes
    asked_at: float
    """When it was asked, or up to a second before: everything that changed earlier is in it."""
    now: float
    """When it answered."""
    skew_s: float = 0.0
    """By how much this machine's clock is ahead of Graph's."""


class Graph(PacedClient):
    """Graph as one application. All requests go through `get`, one after the other."""

    def __init__(self, tokens: Tokens, settings: GraphSettings) -> None:
        opened = partial(
            open_session,
            settings.trust,
            "identity.trust",
            total_s=settings.timeout_s,
            connect_s=_CONNECT_S,
            keeps=False,
        )
        super().__init__(tokens, settings.rate_s, opened)
        self._settings = settings
        self.begin()

    def begin(self) -> None:
        """Begin a term: another leader may just have asked."""
        self._pace.begin(time.monotonic())

    async def get(self, resource: Resource, url: str, require: Callable[[], None]) -> GraphAnswer:
        """Wait for the time to ask, and ask; once more with another token, if one is refused.

        Args:
            resource: what it is part of.
            url: one that `identity.entra.graph_requests` made or found to be ours.
            require: raises where this process must not ask (any more); called right before.

        Raises:
            EntraError: there is no answer, or not the one that was asked for.
            NotLeaderError: `require` says so.
        """
        async with self._turn:
            try:
                answer = await self._trying(resource, url, require)
            except EntraError as error:
                if error.kind not in RESTING:
                    self.back_off(error.retry_after_s)
                raise
            return answer

    async def _trying(
        self, resource: Resource, url: str, require: Callable[[], None]
    ) -> GraphAnswer:
        try:
            return await self._ask(resource, url, require)
        except EntraError as error:
            if error.kind not in {"unauthorized", "permission"}:
                raise
            self._tokens.distrust()  # Permissions are in the token: that is made anew as well.
            if error.kind == "permission":
                raise
        return await self._ask(resource, url, require)

    async def _ask(self, resource: Resource, url: str, require: Callable[[], None]) -> GraphAnswer:
        token = await self._tokens.get(f"{self._settings.site.rstrip('/')}{GRAPH_SCOPE}")
        session = self._opened()
        await asyncio.sleep(self.wait_s + _EARLY_S)
        require()
        headers = {**_HEADERS, "Authorization": f"Bearer {token}"}
        try:
            return await self._exchange(session, resource, url, headers)
        except (EntraError, NotLeaderError):
            raise
        except (aiohttp.ClientError, TimeoutError, ValueError, ssl.SSLError) as error:
            raise _broken(resource, error) from error
        finally:
            self._pace.answered(time.monotonic())

    async def _exchange(
        self,
        session: aiohttp.ClientSession,
        resource: Resource,
        url: str,
        headers: dict[str, str],
    ) -> GraphAnswer:
        began = time.monotonic()
        address = yarl.URL(url, encoded=True)
        async with session.get(
            address, headers=headers, allow_redirects=False, middlewares=(_once(resource),)
        ) as response:
            here, took = time.time(), time.monotonic() - began
            date = read_date(response.headers.get("Date"))
            body = await read_answer(response, MOST_BYTES, f"Graph, {resource.value}")
            if response.status == HTTPStatus.OK:
                now = here if date is None else date
                return GraphAnswer(body, now - took, now, here - now)
            wait = read_retry_after(response.headers.get("Retry-After"), date)
            raise graph_error(response.status, body, resource, wait)


def _once(resource: Resource) -> aiohttp.ClientMiddlewareType:
    """Let a request be sent once: aiohttp sends a GET again at once when its connection is cut."""
    sent = False

    async def send(
        request: aiohttp.ClientRequest, handler: aiohttp.ClientHandlerType
    ) -> aiohttp.ClientResponse:
        nonlocal sent
        if sent:
            raise EntraError(f"Graph, {resource.value}: the connection was cut", "cut")
        sent = True
        return await handler(request)

    return send


def _broken(resource: Resource, error: Exception) -> EntraError:
    asked = f"Graph, {resource.value}"
    if isinstance(error, aiohttp.ClientConnectorCertificateError | aiohttp.ClientSSLError):
        text = "Graph's certificate is not trusted; see identity.trust"
        return EntraError(f"{asked}: {text}", "unreachable")
    if isinstance(error, aiohttp.ServerTimeoutError | TimeoutError):
        return EntraError(f"{asked}: no answer in time", "timeout")
    if isinstance(error, aiohttp.ClientPayloadError | aiohttp.ServerDisconnectedError):
        return EntraError(f"{asked}: the connection was cut", "cut")
    kind = type(error).__name__
    return EntraError(f"{asked}: cannot be reached ({kind}); check identity.graph", "unreachable")
