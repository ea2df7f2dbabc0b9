"""Blocking work of a sink: in one thread, one piece at a time, and over by its deadline."""

import asyncio
import threading

import pytest

from audit.notifications.delivery import SEND_S
from audit.notifications.sink import SinkAwayError
from audit.notifications.sinks.own_thread import MOST_S, Deadline, OwnThread


async def test_nothing_begins_before_the_last_piece_has_ended() -> None:
    """A thread cannot be cancelled: a second one would send what the first still sends."""
    thread, begun, end = OwnThread(), [], threading.Event()

    def work() -> str:
        begun.append(threading.get_ident())
        end.wait(10)
        return "done"

    with pytest.raises(TimeoutError):
        async with asyncio.timeout(0.05):
            await thread.run(work)
    with pytest.raises(SinkAwayError, match="has not ended"):
        await thread.run(work)
    end.set()
    async with asyncio.timeout(10):
        while True:
            try:
                assert await thread.run(work) == "done"
            except SinkAwayError:
                await asyncio.sleep(0.01)
            else:
                break
    thread.close()
    assert len(begun) == 2
    assert len(set(begun)) == 1


def test_deadline_ends_before_a_delivery_waits_no_more() -> None:
    """So that no mail is taken of which nobody hears."""
    assert MOST_S < SEND_S
    assert 0 < Deadline(1.0).left_s() <= 1.0
    with pytest.raises(TimeoutError):
        Deadline(0.0).left_s()
