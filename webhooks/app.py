"""The admission routes, `POST /validate`, `/mutate` and `/probe`, without a framework.

Without one, because this is the path that every Pod of the cluster takes. A request that comes
whole goes past ASGI too (`webhooks.exchange`). Measured with 19 KB reviews
and a judge that searches the object for one word (one core, TLS, 16 connections; CPU for each
review, answers a second): 0.14 ms and 7,000 so, 0.22 ms and 4,400 through a FastAPI route that
reads the same raw body, 0.53 ms and 1,800 through one that declares its body as a dict.

What is not a review gets a 4xx with a reason; what comes before everything is loaded gets a 503
with Retry-After, which kube-apiserver tries again; so does, once for each review, what would be
admitted and cannot be recorded here, where other gates stand behind the same address.

When judging fails in a way nobody foresaw, `/validate` refuses inside an AdmissionReview: that
holds under `failurePolicy: Ignore` too. `/mutate` answers a 500 without Retry-After and leaves
it to the failurePolicy: the final state is judged from scratch by `/validate`.

`Judge`, `Recorder` and `Shadow` are what the routes ask of other rooms.
"""

import asyncio
import time
from collections.abc import Callable, Coroutine, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import msgspec
from structlog.typing import FilteringBoundLogger

from admission.evidence import refuse_unrecorded
from core.base.deadline import with_deadline
from core.base.errors import (
    DeadlineError,
    InvalidReviewError,
    NotRecordedError,
    OverShareError,
)
from core.base.json_values import count_values
from core.decision.decision import Decision
from core.decision.document import DecisionSource
from core.decision.request import Request
from network.asgi import ClientGoneError, Receive, Scope, Send
from webhooks.deadline import MARGIN_SECONDS, budget_of_query
from webhooks.exchange import (
    BodyBudget,
    BodyShare,
    Header,
    HttpRequest,
    NoRoomError,
    Reply,
    read_body,
    refuse,
    request_of,
    send_reply,
    take_body,
)
from webhooks.limits import AppSettings
from webhooks.log import log_decision, warn_of_break_glass
from webhooks.metrics import Metrics
from webhooks.passed_on import PassedReviews
from webhooks.readiness import Readiness
from webhooks.review_decoder import decode_review
from webhooks.review_encoder import (
    Patches,
    encode_answer,
    encode_failure,
    encode_probe,
    mutation_patches,
    no_patches,
)

REJECTION_LOG_SECONDS = 1.0
"""At most one line in this time says that a request was no review: a flood is counted only."""

BODY_SECONDS = 10.0
"""The longest that a body may take from its head on, however long the caller waits."""

_LONG_BODY_BYTES = 64 * 1024
"""To read the review of what is longer may take more than 2 ms, and to read its object as long."""

_OK = 200
_PROBE = "/probe"
"""By this one control sees whether kube-apiserver reaches a gate; it decides on nothing."""
_RETRY = (b"retry-after", b"1")
_RETRY_NOW = (b"retry-after", b"0")
_ALLOW_POST = (b"allow", b"POST")


class Judge(Protocol):
    """Decides reviews. Implemented by `admission`."""

    def missing(self) -> list[str]:
        """Name what is not loaded yet, for a person; empty when reviews can be judged."""

    async def validate(self, request: Request, *, budget: float) -> Decision:
        """Decide on the final state of an object within `budget` seconds.

        What cannot be judged comes back as Verdict.ERROR, not as an exception.
        """

    async def mutate(self, request: Request, *, budget: float) -> Decision:
        """Decide what to note on an object, within `budget` seconds."""


class Recorder(Protocol):
    """Keeps decisions. Implemented by `audit.ledger.records.recorder`."""

    def record(
        self,
        source: DecisionSource,
        request: Request,
        decision: Decision,
        patches: Sequence[Mapping[str, Any]],
        seconds: float,
    ) -> None:
        """Take one decision to be kept; returns at once.

        Raises:
            NotRecordedError: it cannot be kept, or too much waits already.
            OverShareError: its author has had its share of the room.
        """

    def check(self) -> None:
        """Check that the spool would take a decision now. Records nothing.

        Raises:
            NotRecordedError: it would not.
        """


class Shadow(Protocol):
    """Judges again what has been answered. Implemented by `admission.bundles.shadow`."""

    def offer(self, request: Request, decision: Decision, size: int) -> None:
        """Take a review of so many bytes, if there is room; returns at once, and never fails."""


class _Judging(Protocol):
    def __call__(self, request: Request, *, budget: float) -> Coroutine[Any, Any, Decision]: ...


@dataclass(frozen=True)
class _Webhook:
    name: DecisionSource
    judge: _Judging
    patches: Callable[[Request, Decision], Patches]
    refuses_on_failure: bool


class AdmissionApp:
    """The ASGI application behind the TLS listener."""

    def __init__(  # noqa: PLR0913, PLR0917  The composition root hands over all that it made.
        self,
        judge: Judge,
        readiness: Readiness,
        metrics: Metrics,
        logger: FilteringBoundLogger,
        settings: AppSettings | None = None,
        recorder: Recorder | None = None,
        shadow: Shadow | None = None,
    ) -> None:
        self._settings = settings or AppSettings()
        self._recorder = recorder
        self._shadow = shadow
        self._passed = PassedReviews()
        self._bodies = BodyBudget(max(self._settings.max_held_bytes, self._settings.max_body_bytes))
        self._missing = judge.missing
        self._readiness = readiness
        self._metrics = metrics
        self._logger = logger
        self._routes = {
            "/validate": _Webhook("validate", judge.validate, no_patches, refuses_on_failure=True),
            "/mutate": _Webhook("mutate", judge.mutate, mutation_patches, refuses_on_failure=False),
        }
        self._next_rejection_log = 0.0
        self._unlogged = 0

    @property
    def max_body_bytes(self) -> int:
        """The largest body that is read."""
        return self._settings.max_body_bytes

    @property
    def held_bytes(self) -> int:
        """How many bytes of bodies are held at this moment."""
        return self._bodies.held

    def count_dropped(self, reason: str) -> None:
        """Count a connection that the server dropped."""
        self._metrics.count_dropped(reason)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one HTTP request (ASGI 3), whose body may arrive in pieces."""
        try:
            reply = await self.answer(request_of(scope, receive))
        except ClientGoneError:
            return
        await send_reply(reply, send)

    async def answer(self, request: HttpRequest) -> Reply:
        """Answer one HTTP request.

        Raises:
            ClientGoneError: the client left before its body was whole.
        """
        try:
            reply = await self._answer(request)
        except InvalidReviewError as error:
            retry = (_RETRY,) if isinstance(error, NoRoomError) else ()
            closes = error.status != InvalidReviewError.status
            reply = refuse(error.status, str(error), *retry, closes=closes)
        if reply.status != _OK:
            self._note_rejection(request.path, reply)
        return msgspec.structs.replace(reply, closes=True) if self._readiness.draining else reply

    async def _answer(self, http: HttpRequest) -> Reply:
        start = time.perf_counter()
        webhook = self._routes.get(http.path)
        if webhook is None and http.path != _PROBE:
            return refuse(404, "only POST /validate, /mutate and /probe are served here")
        if http.method != "POST":
            return refuse(405, "send a POST with an AdmissionReview", _ALLOW_POST)
        content_type, length = _read_headers(http.headers)
        if content_type.partition(b";")[0].strip().lower() != b"application/json":
            return refuse(415, "Content-Type must be application/json")
        if missing := self._missing():
            return refuse(503, f"not ready: {'; '.join(missing)}", _RETRY)
        budget = budget_of_query(http.query)
        with BodyShare(self._bodies) as share:
            if isinstance(body := http.body, bytes):
                take_body(body, self.max_body_bytes, share)
            else:
                seconds = min(budget, BODY_SECONDS)
                body = await read_body(body, length, self.max_body_bytes, seconds, share)
            if webhook is None:
                return Reply(_OK, encode_probe(decode_review(body)))
            request = await self._decode(webhook, body)
            return await self._judge(webhook, request, start, budget, len(body))

    async def _decode(self, webhook: _Webhook, body: bytes) -> Request:
        """Read a review; of a long one others' reviews go on between the steps."""
        patched, authenticates = webhook.patches is not no_patches, self._settings.authenticates
        if len(body) <= _LONG_BODY_BYTES:
            return decode_review(body, patched=patched, authenticated=authenticates)
        value_count = count_values(body)
        await asyncio.sleep(0)
        request = decode_review(
            body, patched=patched, authenticated=authenticates, value_count=value_count
        )
        await asyncio.sleep(0)  # The object is read again by whoever judges it.
        return request

    async def _judge(
        self, webhook: _Webhook, request: Request, start: float, budget: float, size: int
    ) -> Reply:
        try:
            left = max(budget - (time.perf_counter() - start), 0.001)
            # The judge keeps to its budget; this holds if one of its awaits does not.
            limit = left + min(MARGIN_SECONDS, left) / 2
            decision = await with_deadline(limit, webhook.judge(request, budget=left))
            patches = webhook.patches(request, decision)
            decision, recorded = self._record(webhook, request, decision, patches, start)
            body = encode_answer(request, decision, patches)
        except InvalidReviewError:
            raise
        except NotRecordedError as error:
            # The connection ends, so that kube-apiserver makes another, maybe to another gate.
            return refuse(503, f"not recorded by this gate: {error}; another may", _RETRY_NOW)
        except Exception as error:  # noqa: BLE001  Whatever it is, it must end in a refusal.
            return self._fail(webhook, request, error)
        seconds = time.perf_counter() - start
        self._metrics.count_decision(webhook.name, request, decision, seconds)
        if decision.evidence.break_glass and webhook.refuses_on_failure:
            warn_of_break_glass(self._logger, request, decision)
        if self._settings.log_recorded or not recorded:
            log_decision(self._logger, webhook.name, request, decision, seconds)
        if self._shadow is not None and webhook.refuses_on_failure and not request.dry_run:
            # After the answer: it is written before the loop turns to anything else.
            asyncio.get_running_loop().call_soon(self._shadow.offer, request, decision, size)
        return Reply(_OK, body)

    def _record(
        self,
        webhook: _Webhook,
        request: Request,
        decision: Decision,
        patches: Patches,
        start: float,
    ) -> tuple[Decision, bool]:
        """Have the decision kept; give the one to answer with, and whether it was kept.

        Raises NotRecordedError where another gate is to be asked first.

        Dry runs have no side effects: they are not kept, and are errors where the spool is full. Of
        `/mutate` only what changes an object, or refuses it, is kept: the final state is judged,
        and kept, by `/validate`.
        """
        refusing = webhook.refuses_on_failure or not decision.allowed
        if self._recorder is None or not (refusing or patches):
            return decision, False
        if request.dry_run:
            refused = self._refuse_unrecordable(
                self._recorder, request, decision, refusing=refusing
            )
            return refused, False
        seconds = time.perf_counter() - start
        try:
            self._recorder.record(webhook.name, request, decision, patches, seconds)
        except NotRecordedError as error:
            if refusing:
                self._pass_on(request, decision, error)
                decision = refuse_unrecorded(request, decision, error)
                self._metrics.count_unrecorded(allowed=decision.allowed)
            return decision, False
        return decision, True

    def _pass_on(self, request: Request, decision: Decision, error: NotRecordedError) -> None:
        """Raise the error where another gate is to be asked first; a denial is one without it.

        What is beyond a share is answered here: else a flood would be judged again by each gate,
        and leave no room in `PassedReviews` for the reviews of others.
        """
        if isinstance(error, OverShareError):
            return
        if not (decision.allowed and self._settings.has_other_gates):
            return
        if self._passed.pass_on(request.uid, time.monotonic()):
            raise error

    def _refuse_unrecordable(
        self, recorder: Recorder, request: Request, decision: Decision, *, refusing: bool
    ) -> Decision:
        """Return what a dry run is answered with: an error where the spool is full."""
        try:
            recorder.check()
        except NotRecordedError as error:
            if not refusing:
                return decision
            self._pass_on(request, decision, error)
            return refuse_unrecorded(request, decision, error)
        return decision

    def _fail(self, webhook: _Webhook, request: Request, error: Exception) -> Reply:
        kind = DeadlineError.kind if isinstance(error, TimeoutError) else "unexpected"
        self._metrics.count_error(kind)
        self._logger.error(
            "judging failed", webhook=webhook.name, uid=request.uid, kind=kind, exc_info=error
        )
        message = (
            f"Sallyport could not judge this request: internal error {type(error).__name__}; "
            f"its log has the details under uid {request.uid}"
        )
        if webhook.refuses_on_failure:
            return Reply(_OK, encode_failure(request, message))
        return refuse(500, message, closes=False)

    def _note_rejection(self, path: str, reply: Reply) -> None:
        self._metrics.count_rejected(reply.status)
        now = time.monotonic()
        if now < self._next_rejection_log:
            self._unlogged += 1
            return
        self._logger.warning(
            "request rejected",
            path=path if path in self._routes else "other",
            status=reply.status,
            error=reply.body.decode(),
            unlogged=self._unlogged,
        )
        self._next_rejection_log, self._unlogged = now + REJECTION_LOG_SECONDS, 0


def _read_headers(headers: Iterable[Header]) -> tuple[bytes, bytes | None]:
    content_type, length = b"", None
    for name, value in headers:
        if name == b"content-type":
            content_type = value
        elif name == b"content-length":
            length = value
    return content_type, length
