"""A bearer token is read of a request in one way (RFC 6750, section 2.1)."""

from collections.abc import Awaitable
from typing import Any

import pytest

from audit.ledger.server.explanations import PATH, ExplanationService, ExplanationSources
from audit.ledger.server.requests import read_token
from core.people.subject import Subject
from webhooks.log import get_logger

HEADERS = {
    "Bearer abc": "abc",
    "bearer abc": "abc",
    "BEARER  abc ": "abc",
    "Bearer": "",
    "Bearer ": "",
    "Bearerabc": "",
    "Basic abc": "",
    "": "",
}


@pytest.mark.parametrize("given", HEADERS)
async def test_explanations_are_asked_for_with_the_token_that_frames_are_sent_with(
    given: str,
) -> None:
    """Whatever is no bearer token, or is too long, is refused before anybody is asked."""
    seen: list[str] = []

    async def whose(token: str) -> Subject | None:
        seen.append(token)
        return None

    sources = ExplanationSources(_nothing, whose, _never, "c1")
    assert read_token({b"authorization": given}) == HEADERS[given]
    assert await _status(sources, given) == 401
    assert seen == ([HEADERS[given]] if HEADERS[given] else [])
    assert await _status(sources, f"Bearer {'x' * 17_000}") == 401
    assert len(seen) <= 1


async def _status(sources: ExplanationSources, authorization: str) -> int:
    sent: list[Any] = []

    async def send(message: Any) -> None:
        sent.append(message)

    path = f"{PATH}01989000-0000-7000-8000-000000000000"
    headers = [(b"authorization", authorization.encode())]
    scope = {"type": "http", "method": "GET", "path": path, "headers": headers}
    await ExplanationService(sources, get_logger())(scope, _no_body, send)
    return int(sent[0]["status"])


async def _nothing(_: str) -> list[Any]:
    return []


async def _never(_: Subject) -> bool:
    return False


def _no_body() -> Awaitable[Any]:
    raise AssertionError("a GET has no body")
