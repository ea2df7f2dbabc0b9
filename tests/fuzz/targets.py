"""What is fuzzed: each target reads bytes, and raises where what was read, or refused, is wrong.

An exception that the reader documents is a refusal and no finding; any other one is. Where the same
is read in two ways, both must agree.
"""

import asyncio
import gzip
import hashlib
import io
import json
import logging
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import Any, Final, Self

import aiohttp
import dns.exception
import dns.message
import msgspec
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from uvicorn.config import Config

from audit.access.model.batch import SourceRecord
from audit.access.parsers.caller_networks import CallerLocator, CallerNetworks
from audit.access.parsers.reader import RecordReader
from audit.access.parsers.store_index import WeightStores
from core.base.errors import (
    BundleRefusedError,
    DnsLogError,
    InvalidObjectError,
    InvalidReviewError,
    RegistryAwayError,
    SettingsError,
)
from core.decision.request import DecodedPod, Request
from core.kubernetes.pod import decode_pod
from egress.dns.dnstap import answered_addresses, asked_name, read_client_answer
from identity.push.security_events import SecurityEventSettings, read_claims
from kube.manifests.reader import read_stream
from network.asgi import Receive, Scope, Send
from policies.bundle.format import pack, parse_bundle
from policies.bundle.signature_keys import SigningKey
from policies.bundle.signatures import SIGNATURES, BundleKeys, is_structured, sign
from policies.clients import oci_registry
from webhooks.exchange import (
    BodyBudget,
    BodyShare,
    HttpRequest,
    Reply,
    read_body,
    request_of,
    send_reply,
)
from webhooks.protocol import AdmissionProtocol, Connections
from webhooks.review_decoder import decode_review

Check = Callable[[bytes], None]

_NOW_S: Final = 1_795_000_000.0
_EVENTS: Final = SecurityEventSettings(
    "https://issuer.example", "https://gate.example", "https://issuer.example/keys"
)
_REFERENCE: Final = oci_registry.parse_reference("registry.example/policies/site:stable", "image")
_REGISTRY: Final = oci_registry.Registry()
_PLACEHOLDER: Final = b"sha256:" + b"0" * 64
_MOST_TRIED: Final = 4
"""Answers of a registry whose digest is taken for the one that is asked for."""

_KEY: Final = Ed25519PrivateKey.from_private_bytes(b"k" * 32)
_KEYS: Final = BundleKeys({"key": _KEY.public_key()})
_MOST_NAME: Final = 99
"""Bytes of a name that an archive holds in one header."""

_MOST_BODY: Final = 4096
_TURNS: Final = 40


def check_review(data: bytes) -> None:
    """Read a review typed and as JSON: the same is refused, and the same is read."""
    typed, plain = _decoded(data, patched=False), _decoded(data, patched=True)
    if isinstance(typed, str) or isinstance(plain, str):
        assert typed == plain, f"one way refuses: {typed} and {plain}"
        return
    same = msgspec.structs.replace
    assert same(typed, submitted=None) == same(plain, submitted=None), "they read different reviews"
    if isinstance(typed.submitted, DecodedPod):
        assert plain.object is not None
        assert bytes(typed.submitted.json()) == bytes(plain.object)
        assert decode_pod(plain.object) == typed.submitted.pod, "they read different Pods"


def _decoded(data: bytes, *, patched: bool) -> Request | str:
    try:
        return decode_review(data, patched=patched)
    except InvalidReviewError as error:
        return str(error)


def check_yaml(data: bytes) -> None:
    """Read manifests: what is read can be written as JSON."""
    with suppress(InvalidObjectError):
        for manifest in read_stream(io.BytesIO(data), "file"):
            json.dumps(manifest.value, allow_nan=False)


def check_bundle(data: bytes) -> None:
    """Read a bundle as it is, its archive before it is compressed, or files that JSON lists.

    Of listed ones `signed` are those that a signature was made for: only these are taken.
    """
    if data[:1] == b"{":
        _check_listed(data)
        return
    packed = data[1:] if data[:1] == b"g" else gzip.compress(data, 1, mtime=0)
    with suppress(BundleRefusedError):
        parse_bundle(packed, "bundle")


def _check_listed(data: bytes) -> None:
    try:
        listed = json.loads(data)
    except (ValueError, RecursionError):
        return
    files, signed = _files_of(listed.get("files")), _files_of(listed.get("signed"))
    if not all(0 < len(name.encode()) < _MOST_NAME for name in files):
        return  # An archive of this form has no such names; bytes are fuzzed besides.
    given = {SIGNATURES: sign(signed, SigningKey(_KEY))} if signed else {}
    packed = pack(given | files)
    with suppress(BundleRefusedError):
        parse_bundle(packed, "bundle")
    with suppress(BundleRefusedError):
        assert parse_bundle(packed, "bundle", _KEYS).signed_by == "key"
        found = {name: content for name, content in files.items() if name != SIGNATURES}
        assert _canonical(found) == _canonical(signed), "it was not signed as it is"


def _files_of(listed: Any) -> dict[str, bytes]:
    """Return contents by name; what is no text is the JSON of it."""
    if not isinstance(listed, dict):
        return {}
    return {
        name.encode("utf-8", "replace").decode().replace("\0", "").lstrip("/"): content.encode(
            "utf-8", "replace"
        )
        if isinstance(content, str)
        else json.dumps(content).encode()
        for name, content in listed.items()
    }


def _canonical(files: Mapping[str, bytes]) -> dict[str, Any]:
    """Return contents to be compared: of JSON that is signed as such, what it says."""
    return {
        name: _read_numbers_as_text(content) if is_structured(name) else content
        for name, content in files.items()
    }


def _read_numbers_as_text(content: bytes) -> Any:
    try:
        return json.loads(content, parse_int=str, parse_float=str)
    except (ValueError, RecursionError):
        return content


def check_logs(data: bytes) -> None:
    """Read records of logs, one a line: what is read of each can be written."""
    reader = RecordReader("c", CallerLocator(CallerNetworks()))
    stores = WeightStores([])
    for number, line in enumerate(data.split(b"\n")[:8]):
        record = SourceRecord(line, f"file@{number}")
        found = reader.read(record, "source", stores, int(_NOW_S * 1000))
        for each in found if isinstance(found, list | tuple) else (found,):
            msgspec.json.encode(each)


def check_claims(data: bytes) -> None:
    """Read the claims of a security event token that was verified."""
    try:
        claims = json.loads(data)
    except (ValueError, RecursionError):
        return
    if isinstance(claims, dict):
        mine = {"iss": _EVENTS.issuer, "aud": _EVENTS.audience, "iat": int(_NOW_S)}
        read_claims(claims, _EVENTS, _NOW_S)
        read_claims({**claims, **mine}, _EVENTS, _NOW_S)


@dataclass
class _Answer:
    """One answer of a registry, made of a part of the input."""

    status: int
    headers: Mapping[str, str]
    content: Any

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        return


@dataclass
class _Stream:
    content: bytes

    async def read(self, most: int = -1) -> bytes:
        """Return the next bytes."""
        given, self.content = (
            (self.content, b"")
            if most < 0
            else (
                self.content[:most],
                self.content[most:],
            )
        )
        return given

    async def iter_chunked(self, size: int) -> Any:
        """Yield all in parts."""
        for at in range(0, len(self.content), size):
            yield self.content[at : at + size]


@dataclass
class _Session:
    """A registry: statuses, headers and bodies as the input says, one after another."""

    parts: list[bytes]

    def get(self, *_asked: object, **_more: object) -> _Answer:
        """Return the next answer."""
        head, _, content = (self.parts.pop(0) if self.parts else b"").partition(b"\n\n")
        status, _, rest = head.partition(b"\n")
        lines = [line.partition(": ") for line in rest.decode("latin-1").split("\n")]
        headers = {name: value for name, _, value in lines}
        code = int(status) if status.isdigit() and len(status) == 3 else 200
        return _Answer(code, headers, _Stream(content))


def check_registry(data: bytes) -> None:
    """Take a bundle from a registry that answers what it likes; and read a reference.

    The placeholder in an answer stands for the digest of the next one, which nobody can guess.
    """
    text = data[:200].decode("utf-8", "replace")
    with suppress(SettingsError):
        oci_registry.parse_reference(text, "image")
    parts = _with_digests(data.split(b"\n\n\n"))
    # ValueError: of an address that the registry names (`oci_registry.fetch` says so).
    refusals = (BundleRefusedError, RegistryAwayError, ValueError, aiohttp.ClientError)
    with suppress(*refusals):
        asyncio.run(_fetching(parts, _REFERENCE).manifest())
    for part in parts[:_MOST_TRIED]:
        with suppress(*refusals):
            pinned = replace(_REFERENCE, digest=_digest(part), tag="")
            given = asyncio.run(_fetching(parts, pinned).bundle())
            assert _sha256(given) in {_digest(each) for each in parts}


def _fetching(parts: list[bytes], reference: oci_registry.Reference) -> Any:
    session: Any = _Session([*parts])
    return oci_registry._Fetching(session, reference, _REGISTRY)  # noqa: SLF001  No network.


def _with_digests(parts: list[bytes]) -> list[bytes]:
    """Replace, from the last part on, the placeholder in each by the digest of the next."""
    made: list[bytes] = []
    for part in reversed(parts):
        made.append(part.replace(_PLACEHOLDER, _digest(made[-1]).encode()) if made else part)
    return made[::-1]


def _digest(part: bytes) -> str:
    return _sha256(part.partition(b"\n\n")[2])


def _sha256(content: bytes) -> str:
    return f"sha256:{hashlib.sha256(content).hexdigest()}"


class _Echo:
    """An application that says what it understood."""

    async def answer(self, request: HttpRequest) -> Reply:
        """Answer a request that came whole, or in pieces."""
        with BodyShare(BodyBudget(1 << 30)) as share:
            body = request.body
            if not isinstance(body, bytes):
                body = await read_body(body, None, _MOST_BODY, 5.0, share)
        headers = [
            [name.decode("latin-1"), value.decode("latin-1")] for name, value in request.headers
        ]
        said = [request.method, request.path, request.query.decode("latin-1"), headers, len(body)]
        return Reply(200, msgspec.json.encode([said, body.decode("latin-1")]))

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer by ASGI."""
        await send_reply(await self.answer(request_of(scope, receive)), send)


@dataclass
class _Transport(asyncio.Transport):
    """Keeps what is written."""

    written: bytearray = field(default_factory=bytearray)
    closed: bool = False

    def get_extra_info(self, name: str, default: Any = None) -> Any:
        return {"peername": ("10.0.0.1", 1), "sockname": ("10.0.0.2", 9443)}.get(name, default)

    def write(self, data: Any) -> None:
        if not self.closed:
            self.written += data

    def close(self) -> None:
        self.closed = True

    def abort(self) -> None:
        self.closed = True

    def is_closing(self) -> bool:
        return self.closed

    def set_protocol(self, protocol: asyncio.BaseProtocol) -> None:
        del protocol

    def pause_reading(self) -> None:
        return

    def resume_reading(self) -> None:
        return


def check_http(data: bytes) -> None:
    """Serve a connection by the fast path and by ASGI alone: both answer the same.

    The first byte says in how many parts the rest comes.
    """
    parts = data[0] % 4 + 1 if data else 1
    size = max(1, (len(data) - 1) // parts)
    pieces = [data[at : at + size] for at in range(1, len(data), size)]
    fast, plain = asyncio.run(_served(pieces, fast=True)), asyncio.run(_served(pieces, fast=False))
    assert fast == plain, f"{fast!r} by the fast path, {plain!r} by ASGI"


def _silent() -> None:
    """Have uvicorn say nothing of what it refuses: thousands a second."""
    logging.getLogger("uvicorn.error").setLevel(logging.CRITICAL + 1)


async def _served(pieces: list[bytes], *, fast: bool) -> tuple[list[bytes], bool]:
    _silent()
    app, transport = _Echo(), _Transport()
    config = Config(app, http=AdmissionProtocol, lifespan="off", log_config=None, access_log=False)
    config.load()
    state = Connections(_MOST_BODY, app.answer if fast else None)
    protocol = AdmissionProtocol(config, state, {})
    protocol.connection_made(transport)
    for piece in pieces:
        if transport.is_closing():
            break
        protocol.data_received(piece)
        for _ in range(_TURNS):
            await asyncio.sleep(0)
    closed = transport.closed
    protocol.connection_lost(None)
    for task in list(state.tasks):
        task.cancel()
    await asyncio.gather(*state.tasks, return_exceptions=True)
    return _bodies(bytes(transport.written)), closed


def _bodies(written: bytes) -> list[bytes]:
    """Return status lines and bodies: the order of headers is the server's own."""
    return [part for part in written.split(b"\r\n") if part.startswith((b"HTTP/1.1 ", b"[", b"{"))]


def check_dns_log(data: bytes) -> None:
    """Read a message of a DNS log, and what a client was answered in it.

    The name that is read cheaply is the one that a DNS library reads, or none.
    """
    try:
        found = read_client_answer(data)
    except DnsLogError:
        return
    response = found.response if found else data
    name = asked_name(response)
    with suppress(DnsLogError):
        answered_addresses(response)
    with suppress(dns.exception.DNSException):
        asked = dns.message.from_wire(response, question_only=True).question
        if name is not None:
            assert asked[0].name.to_text(omit_final_dot=True).lower() == name


TARGETS: Final[Mapping[str, Check]] = {
    "http": check_http,
    "review": check_review,
    "yaml": check_yaml,
    "bundle": check_bundle,
    "registry": check_registry,
    "logs": check_logs,
    "claims": check_claims,
    "dnslog": check_dns_log,
}
