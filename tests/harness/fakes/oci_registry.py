"""An OCI registry on loopback, over TLS, with tokens: as much of its API as is used."""

import base64
import hashlib
import json
import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Final

from aiohttp import web

from tests.harness.programs.pki import Authority
from tests.harness.programs.ports import free_ports

NAME: Final = "policies/site"
USER, PASSWORD = "robot", "secret"
TOKEN: Final = "a-token-of-an-hour"
LAYER: Final = "application/vnd.oci.image.layer.v1.tar+gzip"


@dataclass
class Registry:
    """What it holds, by digest; anonymous until `signed_in` says otherwise."""

    port: int
    signed_in: bool = False
    blobs: dict[str, bytes] = field(default_factory=dict)
    asked: list[str] = field(default_factory=list)
    credentials: list[str] = field(default_factory=list)
    """What it was given to sign in with, tokens and passwords."""
    token: str = TOKEN
    realm: str = ""
    redirects_to: str = ""
    """Where blobs are, if elsewhere."""
    tags: dict[str, str] = field(default_factory=dict)
    """Digests of manifests, by tag."""
    failing: int = 0
    """A status that it answers in place of everything, at length."""
    failing_tokens: int = 0
    """The same, of its token service alone."""

    def push(self, *layers: bytes, media_type: str = LAYER) -> str:
        """Keep an image; give its reference."""
        described = [{"mediaType": media_type, "digest": self._keep(each)} for each in layers]
        manifest = json.dumps({"schemaVersion": 2, "layers": described}).encode()
        return f"127.0.0.1:{self.port}/{NAME}@{self._keep(manifest)}"

    def tag(self, name: str, *layers: bytes) -> str:
        """Keep an image under a tag, which it may have had for another; give its reference."""
        self.tags[name] = self.push(*layers).rpartition("@")[2]
        return f"127.0.0.1:{self.port}/{NAME}:{name}"

    def _keep(self, content: bytes) -> str:
        digest = f"sha256:{hashlib.sha256(content).hexdigest()}"
        self.blobs[digest] = content
        return digest

    async def give(self, request: web.Request) -> web.Response:
        """Answer for a manifest or a blob."""
        self.asked.append(request.path)
        self.note_credentials(request)
        if self.failing:
            return web.Response(status=self.failing, body=bytes(2 << 20))
        if self.signed_in and request.headers.get("Authorization") != f"Bearer {self.token}":
            realm = self.realm or f"https://127.0.0.1:{self.port}/token"
            scope = f'service="r",scope="repository:{NAME}:pull"'
            challenge = {"WWW-Authenticate": f'Bearer realm="{realm}",{scope}'}
            return web.Response(status=401, headers=challenge)
        digest = request.match_info["digest"]
        digest = self.tags.get(digest, digest)
        if self.redirects_to and "/blobs/" in request.path:
            raise web.HTTPTemporaryRedirect(f"{self.redirects_to}/{digest}")
        if digest not in self.blobs:
            return web.Response(status=404)
        return web.Response(body=self.blobs[digest])

    def note_credentials(self, request: web.Request) -> None:
        """Keep what somebody signs in with."""
        self.credentials += request.headers.getall("Authorization", [])

    async def give_token(self, request: web.Request) -> web.Response:
        """Return a token to who has the password."""
        self.note_credentials(request)
        if self.failing_tokens:
            return web.Response(status=self.failing_tokens, body=bytes(2 << 20))
        login = base64.b64encode(f"{USER}:{PASSWORD}".encode()).decode()
        known = request.headers.get("Authorization") == f"Basic {login}"
        if not known or request.query.get("scope") != f"repository:{NAME}:pull":
            return web.json_response({"errors": [{"code": "DENIED"}]}, status=401)
        return web.json_response({"token": self.token})


@asynccontextmanager
async def registry(authority: Authority) -> AsyncIterator[Registry]:
    """Serve one until left."""
    (port,) = free_ports(1)
    made = Registry(port)
    app = web.Application()
    for what in ("manifests", "blobs"):
        app.router.add_get(f"/v2/{NAME}/{what}/{{digest}}", made.give)
    app.router.add_get("/token", made.give_token)
    pair = authority.issue_loopback_server("registry")
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.load_cert_chain(pair.certificate, pair.key)
    runner = web.AppRunner(app)
    await runner.setup()
    try:
        await web.TCPSite(runner, "127.0.0.1", port, ssl_context=context).start()
        yield made
    finally:
        await runner.cleanup()
