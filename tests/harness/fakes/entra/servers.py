"""The fake Entra's two servers: how they answer, and how they fail."""

import asyncio
import enum
import time
from dataclasses import dataclass
from email.utils import formatdate
from http import HTTPStatus
from typing import TYPE_CHECKING, Any, Final

from aiohttp import web

from identity.entra.graph_requests import Resource
from tests.harness.fakes.entra.directory import PATHS, Record, RefusedQueryError, encoded
from tests.harness.fakes.entra.sign_in import Issued, RefusedTokenError, refusal_of

if TYPE_CHECKING:
    from tests.harness.fakes.entra.entra import FakeEntra

WINDOW_S: Final = 1.0
"""Of Graph's limit: one request."""

SLOW_S: Final = 60.0
LONG: Final = 9 * 1024 * 1024


class Fault(enum.Enum):
    """What goes wrong with a request to Graph."""

    THROTTLED = "429 without Retry-After"
    RETRY_AFTER = "429 with Retry-After: 2"
    UNAVAILABLE = "503"
    SLOW = "no answer for a minute"
    TRUNCATED = "200, and half of the JSON"
    CUT = "the connection ends in the middle of the answer"
    RESET = "the connection ends before the answer"
    NO_JSON = "200, and a page of HTML"
    LONG = "200, and more than is read"
    REDIRECT = "302 to another address"
    FOREIGN_LINK = "a next link to another host"
    ENDLESS = "a next link to the same page, again and again"
    UNAUTHORIZED = "401, whatever the token"


_CANNED: Final[dict[Fault | None, tuple[int, bytes, dict[str, str]]]] = {
    Fault.RETRY_AFTER: (429, b"{}", {"Retry-After": "2"}),
    Fault.UNAVAILABLE: (503, b'{"error":{"code":"x","message":"canary text of Graph\'s"}}', {}),
    Fault.REDIRECT: (302, b"", {"Location": "https://localhost:1/elsewhere"}),
    Fault.NO_JSON: (200, b"<html>canary text of a proxy's</html>", {}),
    Fault.LONG: (200, b" " * LONG, {}),
}


@dataclass(frozen=True, slots=True)
class Asked:
    """A request to Graph."""

    at: float
    """CLOCK_MONOTONIC."""
    resource: Resource | None
    address: str
    """Path and query."""
    status: int


class GraphServer:
    """Microsoft Graph."""

    def __init__(self, entra: "FakeEntra") -> None:
        self._entra = entra
        self.asked: list[Asked] = []
        self.violations = 0
        self.faults: list[list[Any]] = []
        """Fault, resource or None for any, how often (0 for always)."""
        self._last = float("-inf")

    async def handle(self, request: web.Request) -> web.StreamResponse:
        """Answer a request."""
        at = time.monotonic()
        early, self._last = at - self._last < WINDOW_S, at
        self.violations += early
        resource = PATHS.get(request.path)
        fault = None if early else self._fault(resource)
        if early or fault is Fault.THROTTLED:
            response: web.StreamResponse = self._error(429, "TooManyRequests", "Too many requests")
        else:
            response = await self._answered(request, resource, fault)
        self.asked.append(Asked(at, resource, request.path_qs, response.status))
        return response

    def _fault(self, resource: Resource | None) -> Fault | None:
        for fault in self.faults:
            if fault[1] in (None, resource):
                if fault[2] == 1:
                    self.faults.remove(fault)
                elif fault[2]:
                    fault[2] -= 1
                found: Fault = fault[0]
                return found
        return None

    async def _answered(
        self, request: web.Request, resource: Resource | None, fault: Fault | None
    ) -> web.StreamResponse:
        if fault is Fault.SLOW:
            await asyncio.sleep(SLOW_S)
        if fault in _CANNED:
            status, body, headers = _CANNED[fault]
            return self._plain(status, body, headers)
        refused = self._refused(request, resource, fault)
        if refused is not None or resource is None:
            return refused or self._error(404, "Request_ResourceNotFound", "no such resource")
        try:
            query = {name: request.query[name] for name in request.query}
            page = self._entra.directory.page(resource, query, self._entra.site)
        except RefusedQueryError as error:
            return self._error(400, "Request_UnsupportedQuery", str(error))
        return await self._page(request, page, fault)

    def _refused(
        self, request: web.Request, resource: Resource | None, fault: Fault | None
    ) -> web.Response | None:
        token = self._token(request)
        if token is None or fault is Fault.UNAUTHORIZED:
            text = "Lifetime validation failed, the token is expired."
            return self._error(401, "InvalidAuthenticationToken", text)
        if resource is None:
            return None
        if resource.permission not in token.roles:
            directory = resource in {Resource.APPLICATIONS, Resource.GUESTS}
            code = "Authorization_RequestDenied" if directory else "Forbidden"
            text = (
                "Insufficient privileges to complete the operation."
                if directory
                else "You cannot perform the requested operation, required scopes are missing "
                "in the token."
            )
            return self._error(403, code, text)
        if resource.licence and resource.licence not in self._entra.licences:
            return self._error(403, "Forbidden", "Your tenant is not licensed for this feature.")
        return None

    def _token(self, request: web.Request) -> Issued | None:
        word, _, token = request.headers.get("Authorization", "").partition(" ")
        found = self._entra.desk.issued.get(token) if word == "Bearer" else None
        good = found is not None and found.until > self._entra.now()
        return found if good and found and found.scope.startswith(self._entra.site) else None

    async def _page(
        self, request: web.Request, page: Record, fault: Fault | None
    ) -> web.StreamResponse:
        if fault is Fault.FOREIGN_LINK:
            page["@odata.nextLink"] = f"https://graph.example{request.path}?$skiptoken=x"
        if fault is Fault.ENDLESS:
            page["@odata.nextLink"] = f"{self._entra.site}{request.path_qs}"
        body = encoded(page)
        if fault is Fault.TRUNCATED:
            return self._plain(200, body[: len(body) // 2])
        if fault in {Fault.CUT, Fault.RESET}:
            return await self._cut(request, body if fault is Fault.CUT else b"")
        return self._plain(200, body)

    async def _cut(self, request: web.Request, body: bytes) -> web.StreamResponse:
        response = web.StreamResponse(headers={"Content-Length": str(len(body) + 100)})
        if body:
            await response.prepare(request)
            await response.write(body)
        if request.transport is not None:
            request.transport.abort()
        return response

    def _plain(
        self, status: int, body: bytes, headers: dict[str, str] | None = None
    ) -> web.Response:
        date = {"Date": formatdate(self._entra.now(), usegmt=True)}
        kind = {"Content-Type": "application/json"}
        return web.Response(status=status, body=body, headers={**kind, **date, **(headers or {})})

    def _error(
        self, status: int, code: str, text: str, headers: dict[str, str] | None = None
    ) -> web.Response:
        body = {"error": {"code": code, "message": text, "innerError": {"date": "x"}}}
        return self._plain(status, encoded(body), headers)


class TokenServer:
    """The token endpoint, and what describes it."""

    def __init__(self, entra: "FakeEntra") -> None:
        self._entra = entra
        self.count = 0
        self.refusing: tuple[str, int, int] | None = None
        self.endpoint = ""

    async def handle(self, request: web.Request) -> web.Response:
        """Answer a request."""
        entra = self._entra
        base = f"/{entra.tenant}"
        if not request.path.casefold().startswith(base):
            return self._refused(RefusedTokenError("invalid_tenant", 90002), 400)
        if request.path == f"{base}/v2.0/.well-known/openid-configuration":
            return web.json_response(self._description())
        if request.path != f"{base}/oauth2/v2.0/token" or request.method != "POST":
            return web.Response(status=404)
        self.count += 1
        if self.refusing is not None:
            error, code, status = self.refusing
            return self._refused(RefusedTokenError(error, code), status)
        form = {name: str(value) for name, value in (await request.post()).items()}
        try:
            endpoint = self._description()["token_endpoint"]
            answer = entra.desk.answer(form, endpoint, entra.now(), frozenset(entra.permissions))
        except RefusedTokenError as error:
            return self._refused(error, HTTPStatus.UNAUTHORIZED)
        return web.json_response(answer)

    def _description(self) -> dict[str, str]:
        base = f"{self._entra.authority}/{self._entra.tenant}"
        return {
            "issuer": f"{base}/v2.0",
            "authorization_endpoint": f"{base}/oauth2/v2.0/authorize",
            "token_endpoint": self.endpoint or f"{base}/oauth2/v2.0/token",
            "jwks_uri": f"{base}/discovery/v2.0/keys",
        }

    def _refused(self, error: RefusedTokenError, status: int) -> web.Response:
        body = refusal_of(error, self._entra.tenant, self._entra.now())
        return web.json_response(body, status=status)
