"""A long body is read in steps, between which other reviews go on."""

import asyncio
from collections.abc import Callable
from typing import Final

import pytest

from core.base.json_values import count_values
from tests.unit.webhooks.judge import PrivilegedJudge
from tests.unit.webhooks.reviews import encode, review
from webhooks.app import AdmissionApp
from webhooks.exchange import HttpRequest
from webhooks.log import get_logger
from webhooks.metrics import Metrics
from webhooks.readiness import Readiness
from webhooks.review_decoder import decode_review

HEADERS: Final = [(b"content-type", b"application/json")]
ESCAPED: Final = "\\u003c"
"""`<` as Go writes it, six bytes for one."""


@pytest.fixture
def steps(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Return what the gate does with a body, and the turns that others have."""
    found: list[str] = []

    def noted(name: str, function: Callable[..., object]) -> None:
        def call(*arguments: object, **named: object) -> object:
            found.append(name)
            return function(*arguments, **named)

        monkeypatch.setattr(f"webhooks.app.{name}", call)

    noted("count_values", count_values)
    noted("decode_review", decode_review)
    return found


@pytest.mark.parametrize("path", ["/validate", "/mutate"])
async def test_others_have_a_turn_between_the_steps(steps: list[str], path: str) -> None:
    """To count, to decode and to judge are three steps of it."""
    body = encode(review(object={"metadata": {"annotations": {"a": "<" * 400_000}}}))
    body = body.replace(b"<", ESCAPED.encode())
    app = AdmissionApp(PrivilegedJudge(), Readiness({}), Metrics("0"), get_logger())
    answered = asyncio.create_task(
        app.answer(HttpRequest("POST", path, b"timeout=10s", HEADERS, body))
    )
    while not answered.done():
        await asyncio.sleep(0)
        steps.append("others")
    assert (await answered).status == 200
    assert steps[:5] == ["count_values", "others", "decode_review", "others", "others"]
