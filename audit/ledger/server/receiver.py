"""`POST /v1/frames`, where the auditor takes frames: a plain ASGI application behind mutual TLS.

It answers once all frames of a request are kept. Whoever asks must hold a certificate of the
cluster whose frames it brings.
"""

import time
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final, Literal

import msgspec
from structlog.typing import FilteringBoundLogger

from audit.ledger.records.destination import QuarantinedFrame, Receipt, RecordKeeper
from audit.ledger.records.frames import DamagedFrameError, Frame, read_frames
from audit.ledger.server.frames_protocol import CONTENT_TYPE, FORMAT, PATH, Acknowledged
from audit.ledger.server.instances import InstanceProver, NotProvedError
from audit.ledger.server.recorded_kinds import RECORDED_BY, UNPROVED, why_not_recorded
from audit.ledger.server.requests import (
    GATE,
    RETRY,
    RefusedError,
    Sender,
    headers_of,
    read_cluster,
    read_sender,
    read_token,
    send_answer,
    send_refusal,
)
from core.base.errors import LedgerError
from network.asgi import ClientGoneError, Message, Receive, Send, read_body

_OK: Final = 200
_MOST_DIGITS: Final = 12
_REJECTION_LOG_S: Final = 1.0
"""At most one line in this time says that a request was refused."""


@dataclass(frozen=True)
class ReceiverSettings:
    """What is taken."""

    max_body_bytes: int = 4 * 1024 * 1024
    """A shipper sends 1 MiB, and at most one frame more."""
    max_bodies: int = 16
    """Held at one time; beyond it 503 and try again."""
    max_cluster_bodies: int = 4
    """Of these, of one cluster: a slow one must not keep the others out."""
    max_frames: int = 4096
    """In one body; a shipper sends 2,000."""
    body_seconds: float = 10.0
    """The longest that a body may take."""
    instances: Literal["require", "check", "off"] = "check"
    """The setting `receive.instances`: `require` sets a gate's records aside where nothing proves
    which gate it is, and a sweep's where they do not say of which sweep they are."""


class Receiver:
    """The ASGI application (ASGI 3); its server puts `sallyport.peer` into the extensions."""

    def __init__(
        self,
        destination: RecordKeeper,
        logger: FilteringBoundLogger,
        settings: ReceiverSettings | None = None,
        prover: InstanceProver | None = None,
    ) -> None:
        """Take where frames go, and who says which gate a token is of; None: nobody is asked."""
        self.answers: Counter[int] = Counter()
        """Requests by HTTP status."""
        self.received = Receipt(0, 0, 0)
        """What became of all frames."""
        self.unproved: Counter[str] = Counter({(settings or ReceiverSettings()).instances: 0})
        """Frames that were taken for one of the reasons `UNPROVED`, by the setting that allows
        it."""
        self.held: Counter[str] = Counter()
        """Bodies that are being read or kept, by cluster."""
        self._destination = destination
        self._logger = logger
        self._settings = settings or ReceiverSettings()
        self._prover = prover
        self._next_log = 0.0

    async def __call__(self, scope: Message, receive: Receive, send: Send) -> None:
        """Answer one HTTP request."""
        try:
            body = await self._answer(scope, receive)
        except ClientGoneError:
            return
        except RefusedError as refused:
            self._note_refusal(refused)
            self.answers[refused.status] += 1
            await send_refusal(send, refused)
        else:
            self.answers[_OK] += 1
            await send_answer(send, _OK, b"application/json", body)

    async def _answer(self, scope: Mapping[str, Any], receive: Receive) -> bytes:
        cluster, length = _check(scope, self._settings.max_body_bytes)
        most, most_of_one = self._settings.max_bodies, self._settings.max_cluster_bodies
        if self.held.total() >= most or self.held[cluster] >= most_of_one:
            raise RefusedError(503, "too many requests are being read; try again", RETRY)
        self.held[cluster] += 1
        try:
            content = await self._read(receive, length)
            frames = _decode(content, self._settings.max_frames)
            sender = await self._prove(read_sender(scope, cluster, RECORDED_BY), scope)
            receipt = await self._deliver(cluster, sender, frames)
        finally:
            self.held[cluster] -= 1
            self.held += Counter()  # Forgets clusters that have none.
        return msgspec.json.encode(
            Acknowledged(
                format=FORMAT,
                acknowledged=[frame.id.hex() for frame in frames],
                stored=receipt.stored,
                known=receipt.known,
                quarantined=receipt.quarantined,
            )
        )

    async def _read(self, receive: Receive, length: int) -> bytes:
        try:
            return await read_body(receive, length, self._settings.body_seconds)
        except TimeoutError:
            raise RefusedError(408, "the body did not arrive in time") from None

    async def _prove(self, sender: Sender, scope: Mapping[str, Any]) -> Sender:
        """Return a sender with the instance that its token proves, where its certificate has none.

        Raises:
            RefusedError: the token proves none, or nobody can say so now: the gate tries again.
        """
        token = read_token(headers_of(scope))
        if self._prover is None or sender.process != GATE or sender.instance or not token:
            return sender
        try:
            return sender._replace(instance=await self._prover.prove(token))
        except NotProvedError as error:
            raise RefusedError(403, f"the bearer token proves no gate: {error}") from None
        except LedgerError as error:
            text = "nobody can say now which gate this is; try again"
            raise RefusedError(503, text, RETRY, cause=str(error)) from error

    async def _deliver(self, cluster: str, sender: Sender, frames: list[Frame]) -> Receipt:
        own, quarantined, unproved = [], [], 0
        instances = self._settings.instances
        for frame in frames:
            reason = why_not_recorded(sender, frame)
            if reason in UNPROVED and instances != "require":
                unproved += 1
                own.append(frame)
            elif reason:
                quarantined.append(QuarantinedFrame(frame, reason))
            else:
                own.append(frame)
        try:
            receipt = await self._destination.deliver(cluster, own, quarantined)
        except LedgerError as error:
            text = "the ledger takes nothing now; the auditor's log says why"
            raise RefusedError(503, text, RETRY, cause=str(error)) from error
        self.unproved[instances] += unproved
        total = self.received
        self.received = Receipt(
            total.stored + receipt.stored,
            total.known + receipt.known,
            total.quarantined + receipt.quarantined,
        )
        return receipt

    def _note_refusal(self, refused: RefusedError) -> None:
        now = time.monotonic()
        if now >= self._next_log:
            self._next_log = now + _REJECTION_LOG_S
            problem = refused.cause or str(refused)
            self._logger.warning("frames refused", status=refused.status, problem=problem)


def _check(scope: Mapping[str, Any], max_body_bytes: int) -> tuple[str, int]:
    """Return the cluster that a request may speak for, and the length of its body.

    Raises:
        RefusedError: it is not one to take.
    """
    if scope["path"] != PATH:
        raise RefusedError(404, f"only POST {PATH} is served here")
    if scope["method"] != "POST":
        raise RefusedError(405, "send a POST with frames", (b"allow", b"POST"))
    headers = headers_of(scope)
    if headers.get(b"content-type", "").lower() != CONTENT_TYPE:
        raise RefusedError(415, f"Content-Type must be {CONTENT_TYPE}")
    length = headers.get(b"content-length", "")
    if not length.isdecimal() or len(length) > _MOST_DIGITS:
        raise RefusedError(411, "Content-Length is missing, or is no length")
    if int(length) > max_body_bytes:
        raise RefusedError(413, f"the body is larger than {max_body_bytes:,} bytes; send less")
    return read_cluster(scope, headers), int(length)


def _decode(body: bytes, most: int) -> list[Frame]:
    """Return the frames of a body.

    Raises:
        RefusedError: it is not frames from its first byte to its last, or more than `most`.
    """
    frames, end = [], 0
    try:
        for frame, end in read_frames(body):  # noqa: B007  The last one is what is asked for.
            frames.append(frame)
            if len(frames) > most:
                raise RefusedError(413, f"more than {most:,} frames; send fewer at once")
    except DamagedFrameError as error:
        raise RefusedError(400, f"a damaged frame {error}; nothing was kept") from None
    if end != len(body) or not frames:
        raise RefusedError(400, f"no whole frame at byte {end}; nothing was kept")
    return frames
