"""Reading a body: quickly where it is there, not for ever where it is not, and all is let go."""

import asyncio
from unittest.mock import Mock

import pytest

from core.base.errors import ReviewTooLargeError
from network.asgi import ClientGoneError, Message
from tests.unit.webhooks.connection import until
from webhooks.exchange import BodyBudget, BodyShare, NoRoomError, SlowBodyError, read_body


class Parts:
    """An ASGI `receive` that gives messages, each after a wait where it says so."""

    def __init__(self, *parts: bytes | float) -> None:
        self.parts = list(parts)

    async def __call__(self) -> Message:
        """Return the next message."""
        body = self.parts.pop(0) if self.parts else None
        if isinstance(body, float):
            await asyncio.sleep(body)
            body = self.parts.pop(0) if self.parts else None
        if body is None:
            return {"type": "http.disconnect"}
        return {"type": "http.request", "body": body, "more_body": bool(self.parts)}


async def test_a_body_that_is_there_sets_no_timer(monkeypatch: pytest.MonkeyPatch) -> None:
    """A timer costs more than all the rest of reading."""
    monkeypatch.setattr(asyncio, "timeout", Mock(side_effect=AssertionError))
    budget = BodyBudget(10)
    with BodyShare(budget) as share:
        assert await read_body(Parts(b"abc"), None, 5, 1.0, share) == b"abc"
        assert budget.held == 3
    assert budget.held == 0


@pytest.mark.parametrize(
    "parts", [(b"a", b"bc"), (0.01, b"abc"), (0.01, b"a", 0.01, b"b", b"c"), (b"ab", 0.01, b"c")]
)
async def test_a_body_in_parts_is_joined(parts: tuple[bytes | float, ...]) -> None:
    """Whichever part has to be waited for."""
    with BodyShare(BodyBudget(10)) as share:
        assert await read_body(Parts(*parts), None, 5, 1.0, share) == b"abc"


@pytest.mark.parametrize(
    ("parts", "error"),
    [
        ((5.0, b"a"), SlowBodyError),
        ((b"a", 5.0, b"b"), SlowBodyError),
        ((), ClientGoneError),
        ((0.01,), ClientGoneError),
        ((0.01, b"123456"), ReviewTooLargeError),
        ((b"123456",), ReviewTooLargeError),
        ((b"12", b"34", b"56"), ReviewTooLargeError),
        ((b"123", b"45", b""), NoRoomError),
    ],
)
async def test_nothing_is_held_after_a_failure(
    parts: tuple[bytes | float, ...], error: type[Exception]
) -> None:
    """However reading ends."""
    budget = BodyBudget(4)
    with pytest.raises(error), BodyShare(budget) as share:
        await read_body(Parts(*parts), None, 5, 0.1, share)
    assert budget.held == 0


async def test_a_cancelled_wait_holds_nothing() -> None:
    """As when the gate leaves before a body is whole."""
    budget = BodyBudget(10)

    async def read() -> None:
        with BodyShare(budget) as share:
            await read_body(Parts(b"a", 5.0, b"b"), None, 5, 10.0, share)

    task = asyncio.create_task(read())
    await until(lambda: budget.held == 1)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert budget.held == 0
