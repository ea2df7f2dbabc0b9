"""`POST /v1/security-events`, where a transmitter pushes security event tokens (RFC 8935).

A plain ASGI application, served over TLS by each replica: several writers of the snapshot are safe.
202 says that what a token tells is stored. What is refused gets 400 and the reason, as the RFC has
it; where nothing can be said yet (no keys, no store, too busy) 503 asks for another attempt. A
token that was taken before is acknowledged once more, and changes nothing: the transmitter may not
have heard the first answer.
"""

import asyncio
import hmac
import time
from collections import OrderedDict
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from hashlib import sha256
from typing import Any, Final

import msgspec
from structlog.typing import FilteringBoundLogger

from control.risk.push.metrics import PushMetrics, PushOutcome, PushSource, Result
from core.base.errors import SallyportError
from core.risk.model import RiskSource
from core.risk.snapshot import SnapshotDraft
from identity.clients.signing_keys import (
    KeysUnavailable,
    SigningKeys,
    UnverifiedToken,
    VerifiedToken,
)
from identity.push.security_events import (
    MOST_BYTES,
    ReadToken,
    Reason,
    RefusedEvent,
    SecurityEventSettings,
    forget_settled,
    read_claims,
)
from identity.risk.entry_merge import MergeResult
from kube.risk.store import RiskStore
from network.asgi import ClientGoneError, Message, Receive, Send, read_body

PATH: Final = "/v1/security-events"
CONTENT_TYPE: Final = "application/secevent+jwt"

BODY_S: Final = 5.0
"""The longest that a body may take."""
STORE_S: Final = 10.0
"""The longest that verifying and storing may take; then the transmitter is asked to come again."""
MOST_AT_ONCE: Final = 16
MOST_SEEN: Final = 20_000
"""Tokens that are remembered; beyond them the merge alone sees that nothing is new."""

MOST_TOLD: Final = 100_000
"""Identities that a transmitter may tell of, half of those for which a snapshot has room. Nobody
checks that they are people of the tenant: whoever has its key could keep Entra's own word out."""
_FULL_S: Final = 60.0
"""From one attempt to make room to the next: it looks at all of them."""

_LOG_EVERY_S: Final = 10.0
_MOST_SECRET: Final = 4096
_MOST_DIGITS: Final = 12
_ACCEPTED: Final = 202
_JSON: Final = (b"content-type", b"application/json")
_CLOSE: Final = (b"connection", b"close")

_ERRORS: Final[Mapping[Result, str]] = {
    PushOutcome.SENDER: "authentication_failed",
    PushOutcome.KEY: "invalid_key",
    Reason.ISSUER: "invalid_issuer",
    Reason.AUDIENCE: "invalid_audience",
}
"""RFC 8935, 2.4; anything else is `invalid_request`."""


@dataclass(frozen=True)
class _HttpAnswer:
    """What one request is answered with; the text quotes nothing of it."""

    status: int
    result: Result
    text: str = ""
    headers: tuple[tuple[bytes, bytes], ...] = ()
    cause: str = ""
    """For the log, where it says more."""

    @property
    def body(self) -> bytes:
        if self.status == _ACCEPTED:
            return b""
        error = _ERRORS.get(self.result, "invalid_request")
        return msgspec.json.encode({"err": error, "description": self.text})


def _refused(result: Result, text: str, status: int = 400) -> _HttpAnswer:
    return _HttpAnswer(status, result, text, (_JSON, _CLOSE))


def _later(result: Result, text: str, seconds: float = 1.0, cause: str = "") -> _HttpAnswer:
    retry = (b"retry-after", b"%d" % max(1, round(seconds)))
    return _HttpAnswer(503, result, text, (_JSON, _CLOSE, retry), cause)


class SecurityEventReceiver:
    """The ASGI application (ASGI 3)."""

    def __init__(  # noqa: PLR0913, PLR0917  The composition root hands over what it made.
        self,
        settings: SecurityEventSettings,
        keys: SigningKeys,
        store: RiskStore,
        metrics: PushMetrics,
        logger: FilteringBoundLogger,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self._settings = settings
        self._keys = keys
        self._store = store
        self._metrics = metrics
        self._logger = logger
        self._clock = clock
        self._seen: OrderedDict[str, bytes] = OrderedDict()
        self._held = 0
        self._log_at = 0.0
        self._tidied_at = 0.0

    async def __call__(self, scope: Message, receive: Receive, send: Send) -> None:
        """Answer one HTTP request."""
        try:
            answer = await self._answer(scope, receive)
        except ClientGoneError:
            return
        self._metrics.count(PushSource.SECURITY_EVENTS, answer.result, self._clock())
        self._note(answer)
        headers = [*answer.headers, (b"content-length", b"%d" % len(answer.body))]
        await send({"type": "http.response.start", "status": answer.status, "headers": headers})
        await send({"type": "http.response.body", "body": answer.body})

    async def _answer(self, scope: Mapping[str, Any], receive: Receive) -> _HttpAnswer:
        headers = {name: value.decode("latin-1") for name, value in scope["headers"]}
        length = _length(scope, headers)
        if isinstance(length, _HttpAnswer):
            return length
        if refused := self._stranger(headers.get(b"authorization", "")):
            return refused
        if self._held >= MOST_AT_ONCE:
            return _later(PushOutcome.BUSY, "too many requests are being read; try again")
        self._held += 1
        try:
            try:
                body = await read_body(receive, length, BODY_S)
            except TimeoutError:
                return _refused(PushOutcome.REQUEST, "the body did not arrive in time", 408)
            async with asyncio.timeout(STORE_S):
                return await self._take(body.strip())
        except TimeoutError:
            return _later(PushOutcome.NOT_STORED, "it takes too long now; try again")
        finally:
            self._held -= 1

    def _stranger(self, shown: str) -> _HttpAnswer | None:
        """Say why whoever asks is not the transmitter; the file is read each time."""
        if self._settings.token_file is None:
            return None
        try:
            with self._settings.token_file.open("rb") as file:
                wanted = file.read(_MOST_SECRET).strip()
        except OSError:
            text = "identity.security_events.token_file cannot be read here: nobody is let in"
            return _later(PushOutcome.SENDER, text)
        scheme, _, token = shown.partition(" ")
        given = token.strip().encode("latin-1")
        if wanted and hmac.compare_digest(given, wanted) and scheme.lower() == "bearer":
            return None
        return _refused(PushOutcome.SENDER, "the bearer token is missing or wrong")

    async def _take(self, body: bytes) -> _HttpAnswer:
        """Verify a token, and store what it says."""
        verified = await self._keys.verify(body)
        if isinstance(verified, KeysUnavailable):
            return _later(
                PushOutcome.NO_KEYS, verified.text, verified.retry_s, cause=self._keys.problem
            )
        if isinstance(verified, UnverifiedToken):
            return _refused(PushOutcome.KEY if verified.of_key else Reason.MALFORMED, verified.text)
        return await self._take_verified(verified, sha256(body).digest())

    async def _take_verified(self, verified: VerifiedToken, digest: bytes) -> _HttpAnswer:
        read = read_claims(verified.claims, self._settings, self._clock())
        if isinstance(read, RefusedEvent):
            return _refused(read.reason, read.text)
        if (known := self._seen.get(read.jti)) is not None:
            if known == digest:
                return _HttpAnswer(_ACCEPTED, PushOutcome.REPLAYED)
            return _refused(PushOutcome.REPLAYED, "another token with this jti was taken before")
        result: Result = PushOutcome.ACKNOWLEDGED
        if read.events:
            try:
                result = await self._merge(read)
            except SallyportError as error:
                text = "it cannot be stored now; try again"
                return _later(PushOutcome.NOT_STORED, text, cause=str(error))
            if result is PushOutcome.FULL:
                return _later(result, f"more than {MOST_TOLD:,} people were told of", _FULL_S)
        self._remember(read.jti, digest)
        return _HttpAnswer(_ACCEPTED, result)

    async def _merge(self, read: ReadToken) -> Result:
        """Store all events of a token in one write; give what became of the foremost."""
        results: list[MergeResult] = []

        def change(draft: SnapshotDraft) -> None:
            now = self._clock()
            fits = all(self._has_room(draft, event.key, now) for event in read.events)
            results[:] = [event.merge_into(draft, now) for event in read.events if fits]

        await self._store.update(change)
        return min(results, key=list(MergeResult).index, default=PushOutcome.FULL)

    def _has_room(self, draft: SnapshotDraft, key: bytes, now: float) -> bool:
        """Return whether something may be said of an identity.

        Now and then, room is made for it.
        """
        if draft.entry(RiskSource.CAEP, key) or draft.says_of_fewer(RiskSource.CAEP, MOST_TOLD):
            return True
        if abs(now - self._tidied_at) >= _FULL_S:
            self._tidied_at = now
            forget_settled(draft, now)
        return draft.says_of_fewer(RiskSource.CAEP, MOST_TOLD)

    def _remember(self, jti: str, digest: bytes) -> None:
        self._seen[jti] = digest
        if len(self._seen) > MOST_SEEN:
            self._seen.popitem(last=False)

    def _note(self, answer: _HttpAnswer) -> None:
        now = time.monotonic()
        if answer.status != _ACCEPTED and now >= self._log_at:
            self._log_at = now + _LOG_EVERY_S
            self._logger.warning(
                "security event not taken",
                status=answer.status,
                result=answer.result.value,
                problem=answer.cause or answer.text,
            )


def _length(scope: Mapping[str, Any], headers: Mapping[bytes, str]) -> int | _HttpAnswer:
    """Return the length of a request's body, or why it is not one to take."""
    kind = headers.get(b"content-type", "").partition(";")[0].strip().lower()
    length = headers.get(b"content-length", "")
    status, text = 0, ""
    if scope["path"] != PATH:
        status, text = 404, f"only POST {PATH} is served here"
    elif scope["method"] != "POST":
        status, text = 405, "send a POST with a security event token"
    elif kind != CONTENT_TYPE:
        status, text = 400, f"Content-Type must be {CONTENT_TYPE}"
    elif not (length.isascii() and length.isdecimal()) or len(length) > _MOST_DIGITS:
        status, text = 411, "Content-Length is missing, or is no length"
    elif int(length) > MOST_BYTES:
        status, text = 413, f"the token is larger than {MOST_BYTES:,} bytes"
    else:
        return int(length)
    return _refused(PushOutcome.REQUEST, text, status)
