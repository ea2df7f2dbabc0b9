"""A time limit holds for what waits, and is not set for what does not."""

import asyncio

import pytest

from core.base.deadline import with_deadline


async def test_what_does_not_wait_gives_its_result() -> None:
    """No timer is set: a limit of nothing is enough."""

    async def work() -> int:
        return 7

    assert await with_deadline(0.0, work()) == 7


async def test_what_waits_is_cut_off_in_time() -> None:
    """It is cancelled, and the caller hears a TimeoutError."""
    cancelled = asyncio.Event()

    async def work() -> None:
        try:
            await asyncio.sleep(30)
        finally:
            cancelled.set()

    with pytest.raises(TimeoutError):
        await with_deadline(0.05, work())
    assert cancelled.is_set()


async def test_what_waits_in_time_gives_its_result() -> None:
    """Results and errors come through as they are."""

    async def work(*, fails: bool) -> int:
        await asyncio.sleep(0.01)
        if fails:
            raise ValueError("as it is")
        return 7

    assert await with_deadline(5.0, work(fails=False)) == 7
    with pytest.raises(ValueError, match="as it is"):
        await with_deadline(5.0, work(fails=True))


async def test_limits_within_limits_hold_each() -> None:
    """The inner one ends the inner work; the outer goes on."""

    async def outer() -> str:
        try:
            await with_deadline(0.02, asyncio.sleep(30))
        except TimeoutError:
            await asyncio.sleep(0.01)
            return "went on"
        return "never"

    assert await with_deadline(5.0, outer()) == "went on"


async def test_a_cancellation_from_outside_goes_through() -> None:
    """It is no TimeoutError."""
    task = asyncio.create_task(with_deadline(30.0, asyncio.sleep(30)))
    await asyncio.sleep(0.01)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
