"""uvicorn's HTTP/1.1 protocol with the limits that it leaves to a proxy in front.

Any Pod that reaches the port can open connections. uvicorn bounds neither their number, nor
the time for a request's head, nor the head's size; each TLS connection holds about 256 KiB of
read buffer in uvloop, so idle ones alone could fill the memory.
"""

import asyncio
import time
from collections import Counter
from collections.abc import Mapping
from typing import Any

from uvicorn.config import Config
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol, RequestResponseCycle
from uvicorn.server import ServerState

from webhooks.client_certs import build_refusal, is_unknown_client
from webhooks.exchange import (
    Exchange,
    HttpRequest,
    RequestHandler,
    refuse,
    render_reply,
    split_target,
)

MAX_HEAD_BYTES = 64 * 1024
"""Request line and headers; kube-apiserver's take about 400 bytes."""

HEAD_SECONDS = 10.0
"""From a request's first byte, or a connection's opening, to the end of its head."""

BODY_SECONDS = 12.0
"""From the end of a head to the end of its body: more than the application gives, so that this
holds only where the application does not."""

UNREAD_SECONDS = 10.0
"""The longest that a client may leave its answers unread."""

WIRE_SLACK_BYTES = 1024 * 1024
"""What chunk sizes may take beside a body, and what is read before a refusal closes."""

MAX_TRAILERS = 100

FRESH_SECONDS = 1.0
"""A connection this young is not dropped for being one that never asked anything."""


class Connections(ServerState):
    """What the connections of one listener share."""

    def __init__(
        self,
        max_body_bytes: int,
        answer: RequestHandler | None = None,
        client_names: frozenset[str] = frozenset(),
    ) -> None:
        super().__init__()
        self.client_names = client_names
        """Whom clients' certificates must name; empty: whomever the client CA vouches for."""
        self.answer = answer
        """Answers requests that come whole with their head; None where all go through ASGI."""
        self.max_wire_bytes = max_body_bytes + WIRE_SLACK_BYTES
        self.shaking: Counter[int] = Counter()
        """TLS handshakes that are not finished, by the second in which they began."""
        self.dropped: Counter[str] = Counter()
        """Connections that were cut, by reason, since this was last looked at."""

    def count_handshakes(self, before: float) -> None:
        """Count the handshakes that began before a time and were never finished."""
        for second in [second for second in self.shaking if second + 1 < before]:
            if unfinished := self.shaking.pop(second):
                self.dropped["handshake"] += unfinished


class AdmissionProtocol(HttpToolsProtocol):
    """One connection, bounded."""

    max_connections = 1024
    server_state: Connections

    def __init__(
        self,
        config: Config,
        server_state: Connections,
        app_state: dict[str, Any],
        _loop: asyncio.AbstractEventLoop | None = None,
    ) -> None:
        super().__init__(config, server_state, app_state, _loop)
        self.head_since: float | None = time.monotonic()
        """When the head that is being waited for began; None while there is none."""
        self.body_since: float | None = None
        """When the body that is being waited for began; None while there is none."""
        self.waits_since = time.monotonic()
        """When the connection opened, or its last answer was given."""
        self.asked = False
        """Whether a whole request ever came."""
        self.is_served = False
        """Whether a whole request is here and its answer is not."""
        self.is_cut = False
        self.unread_since: float | None = None
        """Since when the client has not read its answers; None while it reads."""
        self._head_bytes = 0
        self._wire_bytes = 0
        self._arrived: bytes | None = None
        """What came of a body with its head, while it may still be whole; None otherwise."""
        self._target = ("", b"")
        """Path and query of a request that goes past ASGI."""
        self._is_stranger = False
        """Whether the client's certificate names nobody who may come."""
        self._peer: dict[str, Any] | None = None
        """The ASGI extensions of each request on the connection."""
        self._began = int(self.waits_since)
        server_state.shaking[self._began] += 1

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]  # As uvicorn's own.
        """Take a connection; where there are too many, drop the one that is missed least."""
        super().connection_made(transport)
        self.waits_since = time.monotonic()
        if certificate := transport.get_extra_info("peercert"):
            self._is_stranger = is_unknown_client(certificate, self.server_state.client_names)
            self._peer = {"sallyport.peer": {"uris": _uris(certificate)}}
        shaking = self.server_state.shaking
        if self._began in shaking:
            shaking[self._began] -= 1
        if len(self.connections) > self.max_connections:
            self._make_room()

    def _make_room(self) -> None:
        waiting = [
            connection
            for connection in self.connections
            if isinstance(connection, AdmissionProtocol)
            and connection is not self
            and not connection.is_cut
            and not connection.is_served
        ]
        fresh = self.waits_since - FRESH_SECONDS
        strangers = [
            connection
            for connection in waiting
            if not connection.asked and connection.waits_since < fresh
        ]
        # Idle ones that were answered before are kube-apiserver's, or pretend to be.
        victims = strangers or waiting
        victim = min(victims, key=lambda connection: connection.waits_since, default=self)
        victim.cut("crowded")

    def cut(self, reason: str) -> None:
        """End the connection at once, and count that."""
        if not self.is_cut:
            self.is_cut = True
            self.server_state.dropped[reason] += 1
        self.transport.abort()

    def _turn_away(self) -> None:
        """Tell one who may not come, whatever is asked, and close."""
        if not self.transport.is_closing():
            self.server_state.dropped["stranger"] += 1
            headers = self.server_state.default_headers
            self.transport.write(render_reply(build_refusal(), headers, closes=True))
            self.transport.close()

    def data_received(self, data: bytes) -> None:
        """Feed the parser, and refuse a head, a body or trailers without end."""
        if self._is_stranger:
            self._turn_away()
            return
        super().data_received(data)
        if self.transport.is_closing():
            return
        if self._arrived is not None:
            self._pass_on()
        if self.head_since is not None:
            self._head_bytes += len(data)
            if self._head_bytes > MAX_HEAD_BYTES:
                self.send_400_response("Request head too large.")
        elif self.body_since is not None:
            self._wire_bytes += len(data)
            if self._wire_bytes > self.server_state.max_wire_bytes:
                self.cut("length")
            elif len(self.headers) > MAX_TRAILERS:
                self.cut("trailers")

    def on_message_begin(self) -> None:
        """Start the clock of a head."""
        super().on_message_begin()
        self.head_since = time.monotonic()
        if self._peer is not None:
            self.scope["extensions"] = self._peer

    def on_headers_complete(self) -> None:
        """Stop the clock of a head, and start that of its body."""
        self.head_since = None
        self._head_bytes = self._wire_bytes = 0
        self.body_since = time.monotonic()
        before: RequestResponseCycle | None = self.cycle
        free = before is None or before.response_complete
        asks_first = self.expect_100_continue or self.parser.should_upgrade()
        plain = self.parser.get_method() == b"POST" and not asks_first
        if self.server_state.answer is not None and free and plain:
            self._target = split_target(self.url)  # Here, where what is none becomes a 400.
            self._arrived = b""
        else:
            super().on_headers_complete()
        self.headers = []  # The request has the old list; what comes now are trailers.

    def on_body(self, body: bytes) -> None:
        """Take a part of a body."""
        if self._arrived is None:
            super().on_body(body)
        else:
            self._arrived += body

    def _pass_on(self) -> None:
        """Begin a request through ASGI: the rest of its body is still to come."""
        arrived, self._arrived = self._arrived, None
        super().on_headers_complete()
        if arrived:
            super().on_body(arrived)

    def on_message_complete(self) -> None:
        """Stop the clock of a body."""
        self.body_since = None
        self.asked = True
        if self._arrived is not None:
            self.is_served = True
            self._begin_exchange(self._arrived)
            return
        self.is_served = not self.cycle.response_complete
        super().on_message_complete()

    def _begin_exchange(self, body: bytes) -> None:
        self._arrived = None
        kept = self.parser.should_keep_alive() and self.parser.get_http_version() != "1.0"
        exchange = Exchange(keep_alive=kept)
        request = HttpRequest("POST", *self._target, self.scope["headers"], body)
        self.cycle = exchange
        task = self.loop.create_task(self._exchange(exchange, request))
        task.add_done_callback(self.tasks.discard)
        self.tasks.add(task)

    async def _exchange(self, exchange: Exchange, request: HttpRequest) -> None:
        state = self.server_state
        try:
            reply = await state.answer(request)  # type: ignore[misc]  # Looked at before.
        except Exception:
            self.logger.exception("a request could not be answered")
            reply = refuse(500, "internal error")
        if self.flow.write_paused and not exchange.disconnected:
            await self.flow.drain()
        if exchange.disconnected:
            return
        closes = reply.closes or not exchange.keep_alive
        exchange.response_complete = True
        self.transport.write(render_reply(reply, state.default_headers, closes=closes))
        if closes:
            self.transport.close()
        self.on_response_complete()

    def on_response_complete(self) -> None:
        """Note that the connection waits again."""
        self.waits_since = time.monotonic()
        if self.body_since is not None and self.pipeline:
            self.body_since = self.waits_since  # Reading was paused until now.
        self.is_served = bool(self.pipeline) and self.body_since is None
        super().on_response_complete()

    def pause_writing(self) -> None:
        """Start the clock of a client that does not read."""
        self.unread_since = time.monotonic()
        super().pause_writing()

    def resume_writing(self) -> None:
        """Stop the clock of a client that does not read."""
        self.unread_since = None
        super().resume_writing()

    def close_if_stuck(self, now: float) -> None:
        """Cut the connection if what is waited for has been on its way for too long."""
        if self.head_since is not None and now - self.head_since > HEAD_SECONDS:
            self.cut("head")
        elif self.unread_since is not None and now - self.unread_since > UNREAD_SECONDS:
            self.cut("unread")
        elif self.head_since is not None or self.pipeline or self.is_served:
            return  # The application's clock holds; nothing is read until it has answered.
        elif self.body_since is not None and now - self.body_since > BODY_SECONDS:
            self.cut("body")
        elif now - self.waits_since > self.timeout_keep_alive + HEAD_SECONDS:
            self.cut("idle")  # uvicorn's own timer ends with any byte, a blank line's too.


def _uris(certificate: Mapping[str, Any]) -> list[str]:
    """Return the URIs among a verified certificate's alternative names (a dict of `ssl`)."""
    return [name for kind, name in certificate.get("subjectAltName", ()) if kind == "URI"]
