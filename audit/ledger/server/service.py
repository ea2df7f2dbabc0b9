"""The auditor's ASGI application: frames go to the receiver, questions to who answers them.

A question is a GET over mutual TLS, asked by its cluster's `control`: a gate, which strangers'
requests reach, may give what it recorded and read nothing. An answer is of that cluster alone.
"""

import asyncio
import time
from collections import Counter
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final
from urllib.parse import parse_qsl

from structlog.typing import FilteringBoundLogger

from audit.ledger.server.receiver import Receiver
from audit.ledger.server.requests import (
    RETRY,
    RefusedError,
    headers_of,
    read_cluster,
    send_answer,
    send_refusal,
)
from core.base.errors import LedgerError
from network.asgi import Message, Receive, Send

ASKER: Final = "control"
"""The process whose certificate may ask (`core.base.process_names.process_uri`)."""

_OK: Final = 200
_LOG_EVERY_S: Final = 1.0


class BadQuestionError(Exception):
    """A question cannot be answered as it is asked; the text names the parameter and the fix."""


@dataclass(frozen=True)
class Question:
    """What is asked."""

    cluster: str
    """Whose certificate asks. Nothing of another cluster may be in the answer."""
    parameters: Mapping[str, str]
    """The query, each name once."""


QuestionAnswerer = Callable[[Question], Awaitable[bytes]]
"""Gives the answer, JSON of a bounded size; raises BadQuestionError, or LedgerError (503)."""


@dataclass(frozen=True)
class AuditorServiceSettings:
    """How much is answered."""

    max_questions: int = 8
    """At one time; beyond it 503 and try again."""
    max_cluster_questions: int = 2
    """Of these, of one cluster."""
    max_query_bytes: int = 4096
    max_parameters: int = 16
    seconds: float = 30.0
    """The longest that an answer may take."""


class AuditorService:
    """The ASGI application (ASGI 3); its server puts `sallyport.peer` into the extensions."""

    def __init__(
        self,
        receiver: Receiver,
        questions: Mapping[str, QuestionAnswerer],
        logger: FilteringBoundLogger,
        settings: AuditorServiceSettings | None = None,
    ) -> None:
        """Take who takes frames, and who answers at which path (`/v1/behaviour`)."""
        self.answers: Counter[int] = Counter()
        """Questions by HTTP status."""
        self._receiver = receiver
        self._questions = questions
        self._logger = logger
        self._settings = settings or AuditorServiceSettings()
        self._held: Counter[str] = Counter()
        self._next_log = 0.0

    async def __call__(self, scope: Message, receive: Receive, send: Send) -> None:
        """Answer one HTTP request."""
        answering = self._questions.get(scope["path"])
        if answering is None:
            await self._receiver(scope, receive, send)
            return
        try:
            body = await self._answer(scope, answering)
        except RefusedError as refused:
            self._note_refusal(scope["path"], refused)
            self.answers[refused.status] += 1
            await send_refusal(send, refused)
        else:
            self.answers[_OK] += 1
            await send_answer(send, _OK, b"application/json", body)

    async def _answer(self, scope: Mapping[str, Any], answering: QuestionAnswerer) -> bytes:
        if scope["method"] != "GET":
            raise RefusedError(405, "send a GET", (b"allow", b"GET"))
        cluster = read_cluster(scope, headers_of(scope), ASKER)
        question = Question(cluster, self._parameters(scope["query_string"]))
        most, most_of_one = self._settings.max_questions, self._settings.max_cluster_questions
        if self._held.total() >= most or self._held[cluster] >= most_of_one:
            raise RefusedError(503, "too many questions are being answered; try again", RETRY)
        self._held[cluster] += 1
        try:
            return await self._ask(answering, question)
        finally:
            self._held[cluster] -= 1
            self._held += Counter()  # Forgets clusters that have none.

    async def _ask(self, answering: QuestionAnswerer, question: Question) -> bytes:
        try:
            async with asyncio.timeout(self._settings.seconds):
                return await answering(question)
        except BadQuestionError as error:
            raise RefusedError(400, str(error)) from None
        except LedgerError as error:
            text = "the ledger answers nothing now; the auditor's log says why"
            raise RefusedError(503, text, RETRY, cause=str(error)) from error
        except TimeoutError:
            raise RefusedError(503, "the answer takes too long; ask for less", RETRY) from None

    def _parameters(self, query: bytes) -> dict[str, str]:
        if len(query) > self._settings.max_query_bytes:
            text = f"the query is longer than {self._settings.max_query_bytes:,} bytes"
            raise RefusedError(400, text)
        try:
            found = parse_qsl(
                query.decode("ascii"),
                keep_blank_values=True,
                strict_parsing=bool(query),
                errors="strict",
                max_num_fields=self._settings.max_parameters,
            )
        except ValueError:
            raise RefusedError(400, "the query must be name=value&…, percent-encoded") from None
        parameters = dict(found)
        if len(parameters) != len(found):
            raise RefusedError(400, "the query names a parameter twice; give each once")
        return parameters

    def _note_refusal(self, path: str, refused: RefusedError) -> None:
        now = time.monotonic()
        if now >= self._next_log:
            self._next_log = now + _LOG_EVERY_S
            problem = refused.cause or str(refused)
            self._logger.warning(
                "question refused", path=path, status=refused.status, problem=problem
            )
