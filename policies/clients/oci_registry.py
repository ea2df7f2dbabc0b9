"""Fetches a bundle from an OCI registry, over the distribution API v2.

https://github.com/opencontainers/distribution-spec/blob/main/spec.md; tokens as registries of
Docker's kind give them (https://distribution.github.io/distribution/spec/auth/token/). OPA's
bundles lie there as an image with one layer. People fetch by digest, `control` also what a tag
names now; gates never reach a registry.
"""

import asyncio
import base64
import hashlib
import re
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Final

import aiohttp
import msgspec
import yarl

from core.base.errors import (
    BundleNotGivenError,
    BundleRefusedError,
    RegistryAwayError,
    SettingsError,
)
from policies.bundle.format import MAX_BYTES

_REFERENCE: Final = re.compile(
    r"(?P<host>[a-z0-9][a-z0-9.-]*(?::[0-9]{1,5})?)/"
    r"(?P<name>[a-z0-9]+(?:[._/-][a-z0-9]+)*)"
    r"(?::(?P<tag>[A-Za-z0-9_][A-Za-z0-9._-]{0,127}))?(?:@(?P<digest>sha256:[0-9a-f]{64}))?"
)
_DIGEST: Final = re.compile(r"sha256:[0-9a-f]{64}")
_PARAMETER: Final = re.compile(r'(\w+)="([^"]*)"')
_MANIFESTS: Final = (
    "application/vnd.oci.image.manifest.v1+json, "
    "application/vnd.docker.distribution.manifest.v2+json"
)
_LAYER: Final = re.compile(r"application/vnd\.(oci\.image\.layer|docker\.image\.rootfs).*gzip")
_SMALL: Final = 1024 * 1024
"""Bytes of a manifest, and of a token."""

_MOST_REDIRECTS: Final = 5
_TOKEN: Final = re.compile("[!-~]+")
"""What a header can carry (https://www.rfc-editor.org/rfc/rfc6750#section-2.1 allows less)."""

_BY_DIGEST: Final = "its digest, as registry.example/policies/site@sha256:…"
_BY_EITHER: Final = f"its tag, as registry.example/policies/site:stable, or {_BY_DIGEST}"

_UNAUTHORIZED: Final = 401
_TOO_MANY: Final = 429
_FAILING: Final = 500
_OK: Final = 200
_REDIRECTS: Final = frozenset({301, 302, 303, 307, 308})


@dataclass(frozen=True)
class Reference:
    """An image, by its digest, or by a tag: what that leads to may change."""

    host: str
    name: str
    digest: str
    """Empty of an image by its tag."""
    tag: str = ""
    """Empty of an image by its digest."""

    def __str__(self) -> str:
        """Write it as it is read."""
        return f"{self.host}/{self.name}" + (f"@{self.digest}" if self.digest else f":{self.tag}")


@dataclass(frozen=True)
class Registry:
    """How a registry is asked."""

    ca_file: Path | None = None
    """By which its certificate is verified; else the machine's own authorities."""
    ca_named: str = "--ca-file"
    """The flag or setting that gave this file, for messages."""
    username: str = ""
    password: str = field(default="", repr=False)
    timeout_s: float = 60.0

    def authorities(self) -> ssl.SSLContext:
        """Read what its certificate is verified by.

        Raises:
            SettingsError: the CA cannot be read.
        """
        try:
            return ssl.create_default_context(cafile=self.ca_file)
        except (OSError, ValueError) as error:
            message = f"{self.ca_named}: {self.ca_file} cannot be read as a CA (PEM): {error}"
            raise SettingsError(message) from None


def parse_reference(text: str, named: str, *, pinned: bool = False) -> Reference:
    """Read an image by its digest, or else by its tag, `registry.example/policies/site:stable`.

    A tag beside the digest says nothing. `pinned` demands a digest; `named` is the argument or the
    setting, for messages.

    Raises:
        SettingsError: it is none, or not named so.
    """
    found = _REFERENCE.fullmatch(text.removeprefix("oci://"))
    if found is None or not (found["digest"] or (found["tag"] and not pinned)):
        how = _BY_DIGEST if pinned else _BY_EITHER
        raise SettingsError(f"{named}: {text}: name an image by {how}")
    digest, tag = found["digest"] or "", found["tag"] or ""
    return Reference(found["host"], found["name"], digest, "" if digest else tag)


async def resolve(reference: Reference, registry: Registry) -> Reference:
    """Return the image that a tag names now, by its digest; one that has a digest is not asked for.

    Raises:
        RegistryAwayError: the registry does not answer.
        BundleNotGivenError: it does not give it.
        BundleRefusedError: it is too large for a manifest.
        SettingsError: the CA cannot be read.
    """
    if reference.digest:
        return reference
    manifest = await _ask(reference, registry, _Fetching.manifest)
    return replace(reference, digest=f"sha256:{hashlib.sha256(manifest).hexdigest()}", tag="")


async def fetch(reference: Reference, registry: Registry) -> bytes:
    """Return the file of a bundle.

    Raises:
        RegistryAwayError: the registry does not answer.
        BundleNotGivenError: it does not give it, or gives another.
        BundleRefusedError: the image is no bundle, or is too large.
        SettingsError: the CA cannot be read.
    """
    return await _ask(reference, registry, _Fetching.bundle)


async def _ask(
    reference: Reference, registry: Registry, work: "Callable[[_Fetching], Awaitable[bytes]]"
) -> bytes:
    try:
        async with asyncio.timeout(registry.timeout_s), _asking(registry) as asking:
            return await work(_Fetching(asking, reference, registry))
    except (aiohttp.ClientError, OSError, TimeoutError, ValueError) as error:
        # ValueError: of an address that the registry names, and that cannot be one.
        what = (str(error) or type(error).__name__).encode("unicode_escape").decode()
        raise RegistryAwayError(f"{reference}: the registry does not answer: {what}") from None


@asynccontextmanager
async def _asking(registry: Registry) -> AsyncIterator[aiohttp.ClientSession]:
    connector = aiohttp.TCPConnector(ssl=registry.authorities())
    async with aiohttp.ClientSession(connector=connector, trust_env=False) as session:
        yield session


@dataclass
class _Fetching:
    session: aiohttp.ClientSession
    reference: Reference
    registry: Registry
    _token: str = ""

    async def manifest(self) -> bytes:
        """Return the manifest that the tag names."""
        return await self._give("manifests", self.reference.tag, _SMALL)

    async def bundle(self) -> bytes:
        manifest = await self._get("manifests", self.reference.digest, _SMALL)
        digest = self._layer(manifest)
        return await self._get("blobs", digest, MAX_BYTES)

    def _layer(self, manifest: bytes) -> str:
        try:
            layers = msgspec.json.decode(manifest, type=dict[str, Any])["layers"]
            found = [each["digest"] for each in layers if _LAYER.fullmatch(each["mediaType"])]
        except (KeyError, TypeError, ValueError, RecursionError):
            raise self._refused("it is no image") from None
        if len(found) != 1 or not _DIGEST.fullmatch(str(found[0])):
            raise self._refused(f"it has {len(found)} layers of tar and gzip, not one")
        return str(found[0])

    async def _get(self, what: str, digest: str, most: int) -> bytes:
        """Return a manifest or a blob, which must have the digest by which it was asked for."""
        content = await self._give(what, digest, most)
        if f"sha256:{hashlib.sha256(content).hexdigest()}" != digest:
            raise self._not_given(f"what the registry gives has not the digest {digest[:19]}")
        return content

    async def _give(self, what: str, name: str, most: int) -> bytes:
        url = yarl.URL(f"https://{self.reference.host}/v2/{self.reference.name}/{what}/{name}")
        status, content, challenge = await self._ask(url, most)
        if status == _UNAUTHORIZED and challenge is not None:
            await self._sign_in(challenge)
            status, content, _ = await self._ask(url, most)
        self._refuse_failing(status, "the registry")
        if status != _OK:
            raise self._not_given(f"the registry answers {status} for its {what} {name[:19]}")
        return content

    async def _ask(self, url: yarl.URL, most: int) -> tuple[int, bytes, str | None]:
        """Return status, content, and how to sign in: None where another than the registry says it.

        The token goes to the registry alone, and nothing where there is no TLS.
        """
        accept = _MANIFESTS if "/manifests/" in url.path else "*/*"
        own, at = url.origin(), url
        for _ in range(_MOST_REDIRECTS + 1):
            headers = {"Accept": accept}
            if self._token and at.origin() == own:
                headers["Authorization"] = f"Bearer {self._token}"
            async with self.session.get(at, headers=headers, allow_redirects=False) as answer:
                target = answer.headers.get("Location", "")
                if answer.status not in _REDIRECTS or not target:
                    content = await _read(answer, most)
                    if answer.status == _OK and len(content) > most:
                        raise self._refused(f"it is larger than {most >> 20} MiB")
                    said = answer.headers.get("WWW-Authenticate", "") if at is url else None
                    return answer.status, content, said
            at = at.join(yarl.URL(target))
            if at.scheme != "https":
                raise self._not_given("the registry leads to an address without TLS")
        raise self._not_given(f"the registry leads on more than {_MOST_REDIRECTS} times")

    async def _sign_in(self, challenge: str) -> None:
        """Ask whom the registry itself names for a token."""
        named = dict(_PARAMETER.findall(challenge))
        realm = named.pop("realm", "")
        if not challenge.lower().startswith("bearer ") or not realm.startswith("https://"):
            raise self._not_given("the registry wants no token that is asked for over https")
        asked = {key: value for key, value in named.items() if key in {"service", "scope"}}
        headers = {}
        if self.registry.username:
            login = f"{self.registry.username}:{self.registry.password}".encode()
            headers["Authorization"] = f"Basic {base64.b64encode(login).decode()}"
        async with self.session.get(
            realm, params=asked, headers=headers, allow_redirects=False
        ) as answer:
            content = await _read(answer, _SMALL)
        self._refuse_failing(answer.status, "the registry's token service")
        try:
            given = msgspec.json.decode(content, type=dict[str, Any])
            token = given.get("token") or given["access_token"]
        except (KeyError, ValueError, RecursionError):
            message = f"the registry's token service answers {answer.status} and no token"
            raise self._not_given(message) from None
        if not isinstance(token, str) or not _TOKEN.fullmatch(token):
            raise self._not_given("the registry's token service gives a token that no header holds")
        self._token = token

    def _refuse_failing(self, status: int, who: str) -> None:
        """Tell what fails from what refuses: a status of one that is away or has too much to do."""
        if status == _TOO_MANY or status >= _FAILING:
            raise RegistryAwayError(f"{self.reference}: {who} answers {status} now")

    def _refused(self, why: str) -> BundleRefusedError:
        return BundleRefusedError(f"{self.reference}: {why}")

    def _not_given(self, why: str) -> BundleNotGivenError:
        return BundleNotGivenError(f"{self.reference}: {why}")


async def _read(answer: aiohttp.ClientResponse, most: int) -> bytes:
    """Read an answer, and no more than a byte beyond what it may have."""
    found = bytearray()
    async for chunk in answer.content.iter_chunked(64 * 1024):
        found += chunk
        if len(found) > most:
            break
    return bytes(found)
