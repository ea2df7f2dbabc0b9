"""Serves a witness over HTTP (https://c2sp.org/tlog-witness), as an ASGI application.

Nobody signs in: the signature of the log on its checkpoint is all that counts.
"""

import asyncio
import re
from collections import Counter
from collections.abc import Mapping
from http import HTTPStatus
from typing import Any, Final

from structlog.typing import FilteringBoundLogger

from audit.ledger.log.signed_notes import NoteSignature
from audit.ledger.server.requests import (
    RETRY,
    RefusedError,
    headers_of,
    send_answer,
    send_refusal,
)
from audit.ledger.witness.submissions import MOST_BODY, SIZE_TYPE
from audit.ledger.witness.witness import Witness
from core.base.errors import LedgerError
from network.asgi import ClientGoneError, Message, Receive, Send, read_body

ADD_PATH: Final = "/add-checkpoint"

_CHECKPOINT: Final = re.compile(r"/([0-9a-f]{64})/checkpoint")
_TEXT: Final = b"text/plain; charset=utf-8"
_MOST_DIGITS: Final = 10
_BODY_S: Final = 10.0
_MOST_AT_ONCE: Final = 16


class WitnessService:
    """The ASGI application (ASGI 3)."""

    def __init__(self, witness: Witness, logger: FilteringBoundLogger) -> None:
        """Take the witness, whose files are written in threads."""
        self.answers: Counter[int] = Counter()
        """Requests by HTTP status."""
        self._witness = witness
        self._logger = logger
        self._held = 0

    async def __call__(self, scope: Message, receive: Receive, send: Send) -> None:
        """Answer one HTTP request."""
        try:
            status, kind, body = await self._answer(scope, receive)
        except ClientGoneError:
            return
        except RefusedError as refused:
            self.answers[refused.status] += 1
            await send_refusal(send, refused)
        else:
            self.answers[status] += 1
            await send_answer(send, status, kind, body)

    async def _answer(self, scope: Mapping[str, Any], receive: Receive) -> tuple[int, bytes, bytes]:
        path, method = scope["path"], scope["method"]
        try:
            if path == ADD_PATH and method == "POST":
                return await self._add(scope, receive)
            if (found := _CHECKPOINT.fullmatch(path)) and method == "GET":
                note = await asyncio.to_thread(self._witness.find_checkpoint, found[1])
                if note is None:
                    raise RefusedError(404, "nothing of this log was cosigned here")
                return HTTPStatus.OK, _TEXT, note.encode()
        except LedgerError as error:
            self._note_failure(error)
            text = "the witness cannot keep what it signs; its log says why"
            raise RefusedError(500, text, cause=str(error)) from error
        raise RefusedError(404, f"POST {ADD_PATH}, or GET /ORIGIN-SHA-256/checkpoint")

    def _note_failure(self, error: LedgerError) -> None:
        self._logger.error("nothing cosigned", problem=str(error))

    async def _add(self, scope: Mapping[str, Any], receive: Receive) -> tuple[int, bytes, bytes]:
        length = headers_of(scope).get(b"content-length", "")
        if not length.isdecimal() or len(length) > _MOST_DIGITS:
            raise RefusedError(411, "Content-Length is missing, or is no length")
        if int(length) > MOST_BODY:
            raise RefusedError(413, f"a request has {MOST_BODY:,} bytes at most")
        if self._held >= _MOST_AT_ONCE:
            raise RefusedError(503, "too many requests are being read; try again", RETRY)
        self._held += 1
        try:
            content = await read_body(receive, int(length), _BODY_S)
            answer = await asyncio.to_thread(self._witness.add_checkpoint, content)
        except TimeoutError:
            raise RefusedError(408, "the body did not arrive in time") from None
        finally:
            self._held -= 1
        if isinstance(answer, NoteSignature):
            return HTTPStatus.OK, _TEXT, answer.line.encode()
        kind = SIZE_TYPE.encode() if answer.status == HTTPStatus.CONFLICT else _TEXT
        self._logger.warning(
            "not cosigned", status=int(answer.status), problem=answer.fork or answer.text
        )
        return answer.status, kind, f"{answer.text}\n".encode()
