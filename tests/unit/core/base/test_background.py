"""Work beside a block ends with the block."""

import asyncio

import pytest

from core.base.background import in_background


async def test_work_has_ended_once_the_block_has() -> None:
    """It is cancelled, and what it does at its end is done."""
    said: list[str] = []

    async def work() -> None:
        try:
            said.append("began")
            await asyncio.Event().wait()
        finally:
            await asyncio.sleep(0.01)
            said.append("ended")

    async with in_background(work()):
        await asyncio.sleep(0)
    assert said == ["began", "ended"]


async def test_what_the_block_raises_ends_work_and_is_raised() -> None:
    """The caller learns of its own error."""
    ended = asyncio.Event()

    async def work() -> None:
        try:
            await asyncio.Event().wait()
        finally:
            ended.set()

    async def fail_beside() -> None:
        async with in_background(work()):
            await asyncio.sleep(0)
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        await fail_beside()
    assert ended.is_set()


async def test_work_that_fails_does_not_end_the_block() -> None:
    """What it raises is dropped: work that must be heard of says so itself."""

    async def work() -> None:
        raise ZeroDivisionError

    async with in_background(work()):
        await asyncio.sleep(0.01)
