"""A fake Azure Resource Manager: a real HTTPS server on loopback, with the tokens of a fake Entra.

It keeps the protocol: api-versions, pages with next links, 429 with Retry-After, errors in ARM's
shape, inherited role assignments, and what PUT and DELETE of role assignments answer.
"""

import re
import ssl
import time
import uuid
from collections import Counter
from pathlib import Path
from typing import Any, Final

from aiohttp import web

from tests.harness.fakes.entra.entra import FakeEntra
from tests.harness.fakes.loop_thread import LoopThread
from tests.harness.programs.pki import Authority

AUTHORIZATION: Final = "/providers/microsoft.authorization/"
DIAGNOSTICS: Final = "/providers/microsoft.insights/diagnosticsettings"
VERSIONS: Final = {"roleassignments": "2022-04-01", "roledefinitions": "2022-04-01",
                   "denyassignments": "2022-04-01", "diagnosticsettings": "2021-05-01-preview",
                   "storageaccounts": "2024-01-01"}  # fmt: skip
PAGE: Final = 3

Json = dict[str, Any]


class FakeResourceManager:
    """One tenant's subscriptions. What it knows is set by `put_…`, what goes wrong by `fail`."""

    def __init__(self, entra: FakeEntra, folder: Path) -> None:
        self.entra = entra
        self._pki = Authority(folder)
        self._pair = self._pki.issue_loopback_server("arm")
        self.resources: dict[str, Json] = {}
        """By path, lower case."""
        self.diagnostics: dict[str, list[Json]] = {}
        """By the blob service's path, lower case."""
        self.forbidden: set[str] = set()
        """Kinds that the application may not read or write: `roleassignments` …"""
        self.faults: list[tuple[int, dict[str, str]]] = []
        """Status and headers of the next answers."""
        self.next_site = ""
        """The site of next links; empty for its own."""
        self.asked: list[tuple[float, str, str]] = []
        """Time, method, path in lower case."""
        self._port = 0
        self._loop = LoopThread()
        self._runner: web.AppRunner | None = None

    def start(self) -> "FakeResourceManager":
        """Serve."""
        self._loop.start()
        self._loop.run(self._serve())
        return self

    def stop(self) -> None:
        """Stop for good."""
        if self._runner is not None:
            self._loop.run(self._runner.cleanup())
        self._loop.stop()

    @property
    def site(self) -> str:
        """Its address."""
        return f"https://localhost:{self._port}"

    @property
    def trust(self) -> Path:
        """Its CA."""
        return self._pki.certificate_path

    def count(self, method: str, kind: str = "") -> int:
        """Return how often something was asked."""
        found = Counter((way, kind in path) for _, way, path in self.asked)
        return found[method, True]

    def put_account(self, resource: str, **properties: Any) -> None:
        """Make a storage account."""
        self.resources[resource.lower()] = {"id": resource, "properties": properties}

    def put_role(self, name: str, **permissions: list[str]) -> str:
        """Make a role; give its definition's id."""
        subscription = "/subscriptions/11111111-1111-1111-1111-111111111111"
        found = f"{subscription}/providers/Microsoft.Authorization/roleDefinitions/{uuid.uuid4()}"
        properties = {"roleName": name, "permissions": [permissions]}
        self.resources[found.lower()] = {"id": found, "properties": properties}
        return found

    def assign(self, scope: str, role: str, principal: str, **more: Any) -> str:
        """Assign a role; give the assignment's id."""
        name = str(uuid.uuid4())
        path = f"{scope}/providers/Microsoft.Authorization/roleAssignments/{name}"
        properties = {"roleDefinitionId": role, "principalId": principal, "scope": scope, **more}
        self.resources[path.lower()] = {"id": path, "name": name, "properties": properties}
        return path

    def deny(self, scope: str, principals: list[str], **more: Any) -> None:
        """Make a deny assignment."""
        name = str(uuid.uuid4())
        path = f"{scope}/providers/Microsoft.Authorization/denyAssignments/{name}"
        named = [{"id": one} for one in principals]
        properties = {"scope": scope, "principals": named, **more}
        self.resources[path.lower()] = {"id": path, "name": name, "properties": properties}

    def assignments(self) -> list[Json]:
        """Return all role assignments."""
        return [one for path, one in self.resources.items() if "/roleassignments/" in path]

    async def _handle(self, request: web.Request) -> web.Response:
        path = request.path.lower().rstrip("/")
        self.asked.append((time.monotonic(), request.method, path))
        if self.faults:
            status, headers = self.faults.pop(0)
            return self._error(status, "Faulty", headers)
        word, _, token = request.headers.get("Authorization", "").partition(" ")
        issued = self.entra.desk.issued.get(token) if word == "Bearer" else None
        if issued is None or not issued.scope.startswith(self.site):
            return self._error(401, "InvalidAuthenticationToken")
        kind = next((each for each in VERSIONS if f"/{each}" in path), "")
        kind = "roleassignments" if "/roleassignments" in path else kind
        for each in ("denyassignments", "roledefinitions", "diagnosticsettings"):
            kind = each if f"/{each}" in path else kind
        if request.query.get("api-version") != VERSIONS.get(kind):
            return self._error(400, "InvalidApiVersionParameter")
        if kind in self.forbidden:
            return self._error(403, "AuthorizationFailed")
        if request.method == "GET":
            return self._get(path, request)
        return await self._write(path, request)

    def _get(self, path: str, request: web.Request) -> web.Response:
        if path.endswith(DIAGNOSTICS):
            return self._page(self.diagnostics.get(path.removesuffix(DIAGNOSTICS), []), request)
        for kind in ("roleassignments", "denyassignments"):
            if path.endswith(f"{AUTHORIZATION}{kind}"):
                scope = path.removesuffix(f"{AUTHORIZATION}{kind}")
                return self._page(self._at(scope, kind), request)
        found = self.resources.get(path)
        return web.json_response(found) if found else self._error(404, "ResourceNotFound")

    def _at(self, scope: str, kind: str) -> list[Json]:
        """Return what is assigned at a scope, above it, or below it."""
        found = []
        for path, one in sorted(self.resources.items()):
            if f"{AUTHORIZATION}{kind}/" not in path:
                continue
            place = str(one["properties"]["scope"]).lower()
            above = f"{scope}/".startswith(f"{place}/") or "managementgroups" in place
            if above or f"{place}/".startswith(f"{scope}/"):
                found.append(one)
        return found

    def _page(self, found: list[Json], request: web.Request) -> web.Response:
        start = int(request.query.get("$skiptoken", "0"))
        body: Json = {"value": found[start : start + PAGE]}
        if start + PAGE < len(found):
            version = request.query["api-version"]
            here = f"{self.next_site or self.site}{request.path}"
            body["nextLink"] = f"{here}?api-version={version}&$skiptoken={start + PAGE}"
        return web.json_response(body)

    async def _write(self, path: str, request: web.Request) -> web.Response:
        named = re.fullmatch(rf"(.*){AUTHORIZATION}roleassignments/([0-9a-f-]{{36}})", path)
        if named is None:
            return self._error(405, "MethodNotAllowed")
        if request.method == "DELETE":
            gone = self.resources.pop(path, None)
            return web.json_response(gone) if gone else web.Response(status=204)
        properties = (await request.json())["properties"]
        scope = request.path[: len(named[1])]
        wanted = _key(properties, scope)
        for there, one in self.resources.items():
            if "/roleassignments/" not in there:
                continue
            same = _key(one["properties"], one["properties"]["scope"]) == wanted
            if there == path and not same:
                return self._error(409, "RoleAssignmentUpdateNotPermitted")
            if same and there != path:
                return self._error(409, "RoleAssignmentExists")
        new = path not in self.resources
        self.resources[path] = {
            "id": request.path,
            "name": named[2],
            "properties": {**properties, "scope": scope},
        }
        return web.json_response(self.resources[path], status=201 if new else 200)

    def _error(self, status: int, code: str, headers: dict[str, str] | None = None) -> web.Response:
        body = {"error": {"code": code, "message": "canary text of ARM's"}}
        return web.json_response(body, status=status, headers=headers)

    async def _serve(self) -> None:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(self._pair.certificate, self._pair.key)
        app = web.Application()
        app.router.add_route("*", "/{path:.*}", self._handle)
        self._runner = web.AppRunner(app, shutdown_timeout=0.1, access_log=None)
        await self._runner.setup()
        await web.TCPSite(self._runner, "127.0.0.1", 0, ssl_context=context).start()
        self._port = self._runner.addresses[0][1]


def _key(properties: Json, scope: str) -> tuple[str, str, str]:
    role, principal = properties["roleDefinitionId"], properties["principalId"]
    return role.lower(), principal.lower(), scope.lower()
