"""A storage account on loopback, over TLS: blobs to list and read, and append blobs that only grow.

As "List Blobs" and "Get Blob" (Azure Storage REST API) say: a bearer token and a version are
demanded, pages have markers that mean something to nobody else, ranges answer 206, those past the
end 416, and a throttled account 503 with Retry-After.

As "Put Blob", "Append Block", "Get Blob Properties" and "Get Blob" (Azure Storage REST API) say:
`If-None-Match: *` makes a blob once (409 BlobAlreadyExists), an append names where it goes
(`x-ms-blob-condition-appendpos`, else 412), and what is there is never written again (409
BlobImmutableDueToPolicy).
"""

import base64
import re
import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Final
from xml.sax.saxutils import escape

from aiohttp import web

from tests.harness.programs.pki import Authority

TOKEN: Final = "canary-token-of-storage"
_RANGE: Final = re.compile(r"bytes=(\d+)-(\d+)")


@dataclass
class FakeAppendBlobs:
    """The blobs of one container, by path."""

    blobs: dict[str, list[bytes]] = field(default_factory=dict)
    """Blocks."""
    lose: int = 0
    """So many appends are done, and not answered."""
    immutable: bool = False
    """Whether the policy allows no appends either."""
    site: str = ""

    @asynccontextmanager
    async def serving(self, authority: Authority) -> AsyncIterator["FakeAppendBlobs"]:
        """Listen until it is left."""
        pair = authority.issue_loopback_server("append-blobs")
        context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
        context.load_cert_chain(pair.certificate, pair.key)
        app = web.Application(client_max_size=8 * 1024 * 1024)
        app.router.add_route("*", "/{tail:.*}", self._handle)
        runner = web.AppRunner(app, access_log=None)
        await runner.setup()
        try:
            site = web.TCPSite(runner, "127.0.0.1", 0, ssl_context=context)
            await site.start()
            self.site = f"https://127.0.0.1:{runner.addresses[0][1]}"
            yield self
        finally:
            await runner.cleanup()

    def content(self) -> bytes:
        """Return all blobs, one after another."""
        return b"".join(block for _, blocks in sorted(self.blobs.items()) for block in blocks)

    async def _handle(self, request: web.Request) -> web.StreamResponse:
        if request.headers.get("Authorization") != f"Bearer {TOKEN}":
            return _error(401, "NoAuthenticationInformation")
        if request.headers.get("x-ms-version", "") < "2022-11-02":
            return _error(400, "UnsupportedHeader")
        if request.method == "PUT" and request.query.get("comp") == "appendblock":
            return await self._append(request)
        if request.method == "PUT":
            return self._create(request)
        return self._read(request)

    def _create(self, request: web.Request) -> web.Response:
        if request.headers.get("x-ms-blob-type") != "AppendBlob":
            return _error(400, "InvalidHeaderValue")
        if request.path in self.blobs:
            if request.headers.get("If-None-Match") == "*":
                return _error(409, "BlobAlreadyExists")
            return _error(409, "BlobImmutableDueToPolicy")
        self.blobs[request.path] = []
        return web.Response(status=201)

    async def _append(self, request: web.Request) -> web.Response:
        blocks = self.blobs.get(request.path)
        if blocks is None:
            return _error(404, "BlobNotFound")
        if self.immutable:
            return _error(409, "BlobImmutableDueToPolicy")
        length = sum(map(len, blocks))
        if request.headers.get("x-ms-blob-condition-appendpos", str(length)) != str(length):
            return _error(412, "AppendPositionConditionNotMet")
        blocks.append(await request.read())
        if self.lose:
            self.lose -= 1
            assert request.transport is not None
            request.transport.abort()
        return web.Response(status=201, headers={"x-ms-blob-append-offset": str(length)})

    def _read(self, request: web.Request) -> web.Response:
        blocks = self.blobs.get(request.path)
        if blocks is None:
            return _error(404, "BlobNotFound")
        content = b"".join(blocks)
        headers = {"x-ms-blob-committed-block-count": str(len(blocks))}
        if request.method == "HEAD":
            return web.Response(headers=headers | {"Content-Length": str(len(content))})
        chosen = _RANGE.fullmatch(request.headers.get("x-ms-range", ""))
        if chosen is None:
            return web.Response(body=content, headers=headers)
        part = content[int(chosen[1]) : int(chosen[2]) + 1]
        return web.Response(status=206, body=part, headers=headers)


def _error(status: int, code: str) -> web.Response:
    return web.Response(status=status, headers={"x-ms-error-code": code})


_DATE: Final = re.compile(r"[A-Z][a-z]{2}, \d\d [A-Z][a-z]{2} \d{4} \d\d:\d\d:\d\d GMT")


@dataclass
class FakeBlobs:
    """The blobs of one account, by `container/name`; tests put them in."""

    blobs: dict[str, bytes] = field(default_factory=dict)
    page: int = 5000
    """Names of one page, at most."""
    faults: list[tuple[int, str]] = field(default_factory=list)
    """Statuses and Retry-After that come before the next answers."""
    asked: list[tuple[str, str]] = field(default_factory=list)
    """Paths and ranges, in their order."""
    site: str = ""

    @asynccontextmanager
    async def serving(self, authority: Authority) -> AsyncIterator["FakeBlobs"]:
        """Listen until it is left."""
        pair = authority.issue_loopback_server("blobs")
        context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
        context.load_cert_chain(pair.certificate, pair.key)
        app = web.Application()
        app.router.add_route("*", "/{tail:.*}", self._handle)
        runner = web.AppRunner(app, access_log=None)
        await runner.setup()
        try:
            site = web.TCPSite(runner, "127.0.0.1", 0, ssl_context=context)
            await site.start()
            self.site = f"https://127.0.0.1:{runner.addresses[0][1]}"
            yield self
        finally:
            await runner.cleanup()

    async def _handle(self, request: web.Request) -> web.Response:
        self.asked.append((request.path, request.headers.get("x-ms-range", "")))
        if self.faults:
            status, after = self.faults.pop(0)
            return web.Response(status=status, headers={"Retry-After": after} if after else {})
        if request.method != "GET" or not _DATE.fullmatch(request.headers.get("x-ms-date", "")):
            return web.Response(status=400)
        if request.headers.get("Authorization") != f"Bearer {TOKEN}":
            return web.Response(status=401)
        if request.headers.get("x-ms-version", "") < "2017-11-09":
            return web.Response(status=403)  # Older versions know no bearer tokens.
        if request.query.get("comp") == "list":
            return self._list(request.path.strip("/"), request)
        return self._get(request)

    def _list(self, container: str, request: web.Request) -> web.Response:
        if not any(name.startswith(f"{container}/") for name in self.blobs):
            return web.Response(status=404)
        prefix = f"{container}/{request.query.get('prefix', '')}"
        marker = base64.urlsafe_b64decode(request.query.get("marker", "")).decode()
        names = sorted(name for name in self.blobs if name.startswith(prefix) and name >= marker)
        shown, rest = names[: self.page], names[self.page :]
        blobs = "".join(
            f"<Blob><Name>{escape(name.partition('/')[2])}</Name><Properties>"
            f"<Content-Length>{len(self.blobs[name])}</Content-Length>"
            "<BlobType>AppendBlob</BlobType></Properties></Blob>"
            for name in shown
        )
        after = base64.urlsafe_b64encode(rest[0].encode()).decode() if rest else ""
        body = (
            '\ufeff<?xml version="1.0" encoding="utf-8"?><EnumerationResults>'
            f"<Blobs>{blobs}</Blobs><NextMarker>{after}</NextMarker></EnumerationResults>"
        )
        return web.Response(body=body.encode(), content_type="application/xml")

    def _get(self, request: web.Request) -> web.Response:
        content = self.blobs.get(request.path.removeprefix("/"))
        if content is None:
            return web.Response(status=404)
        found = _RANGE.fullmatch(request.headers.get("x-ms-range", ""))
        if found is None:
            return web.Response(body=content)
        begin, end = int(found[1]), int(found[2])
        if begin >= len(content):
            return web.Response(status=416)
        return web.Response(status=206, body=content[begin : end + 1])
