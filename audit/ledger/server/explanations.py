"""Answers `GET /v1/explanations/ID`: a decision, to who asked for it or may review decisions.

Who asks shows a bearer token of the cluster. A decision that is not theirs is answered as one that
is not there. Nothing of a token is kept or logged.
"""

import asyncio
import re
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final

import msgspec
from structlog.typing import FilteringBoundLogger

from audit.ledger.server.requests import (
    RETRY,
    RefusedError,
    headers_of,
    read_token,
    send_answer,
    send_refusal,
)
from core.base.errors import AccessReviewError, LedgerError
from core.decision.document import DecisionDocument
from core.decision.requester_view import is_requester, view_for_requester
from core.people.subject import Subject
from network.asgi import Message, Receive, Send

PATH: Final = "/v1/explanations/"

_ID: Final = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")
_LONGEST_TOKEN: Final = 16 * 1024
_NONE: Final = "no decision of this id was asked for by you, or it is not shipped yet, or too old"


@dataclass(frozen=True)
class ExplanationSources:
    """What answers are made of."""

    find: Callable[[str], Awaitable[list[DecisionDocument]]]
    """Finds the decisions of a whole id, of every cluster; raises LedgerError."""
    whose: Callable[[str], Awaitable[Subject | None]]
    """Says whose a token is, or None; raises AccessReviewError."""
    may_review: Callable[[Subject], Awaitable[bool]]
    """Says who may read all decisions, risk included; raises AccessReviewError."""
    cluster: str
    """The id of the cluster whose tokens count: of no other is anything told."""
    names: bool = False
    """Whether people are recorded by their user names."""
    most: int = 8
    """Questions at one time; beyond it 503 and try again."""
    seconds: float = 10.0
    """The longest that an answer may take."""


class ExplanationService:
    """The ASGI application (ASGI 3)."""

    def __init__(self, sources: ExplanationSources, logger: FilteringBoundLogger) -> None:
        self._sources = sources
        self._logger = logger
        self._held = 0

    async def __call__(self, scope: Message, receive: Receive, send: Send) -> None:
        """Answer one HTTP request."""
        del receive  # A GET has no body.
        try:
            body = await self._answer(scope)
        except RefusedError as refused:
            if refused.cause:
                self._logger.warning(
                    "explanation refused", status=refused.status, problem=refused.cause
                )
            await send_refusal(send, refused)
        else:
            await send_answer(send, 200, b"application/json", body)

    async def _answer(self, scope: Mapping[str, Any]) -> bytes:
        decision_id = str(scope["path"]).removeprefix(PATH)
        if not _ID.fullmatch(decision_id) or not str(scope["path"]).startswith(PATH):
            raise RefusedError(404, f"only GET {PATH}ID is served here; give the whole id")
        if scope["method"] != "GET":
            raise RefusedError(405, "send a GET", (b"allow", b"GET"))
        token = read_token(headers_of(scope))
        if not token or len(token) > _LONGEST_TOKEN:
            text = "show a bearer token of the cluster (Authorization: Bearer …)"
            raise RefusedError(401, text)
        if self._held >= self._sources.most:
            raise RefusedError(503, "too many questions are being answered; try again", RETRY)
        self._held += 1
        try:
            async with asyncio.timeout(self._sources.seconds):
                return await self._explain(decision_id, token)
        except (AccessReviewError, LedgerError) as error:
            text = "the cluster or the ledger answers nothing now; the auditor's log says why"
            raise RefusedError(503, text, RETRY, cause=str(error)) from error
        except TimeoutError:
            raise RefusedError(503, "the answer takes too long; try again", RETRY) from None
        finally:
            self._held -= 1

    async def _explain(self, decision_id: str, token: str) -> bytes:
        sources = self._sources
        subject = await sources.whose(token)
        if subject is None:
            raise RefusedError(401, "the cluster does not know this token; sign in again")
        found = [
            each for each in await sources.find(decision_id) if each.cluster == sources.cluster
        ]
        if not found:
            raise RefusedError(404, _NONE)
        if await sources.may_review(subject):
            return msgspec.json.encode(found)
        names = sources.names
        own = [
            view_for_requester(each, subject, names=names)
            for each in found
            if is_requester(each, subject, names=names)
        ]
        if not own:
            raise RefusedError(404, _NONE)
        return msgspec.json.encode(own)
