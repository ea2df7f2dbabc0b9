"""Whoever has much work waits for himself, and nobody else for him."""

import asyncio
from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.base.errors import OverloadError
from core.base.fair_queue import FairQueue, Flow

MANY = 100


async def settle() -> None:
    """Let every task of the loop go on as far as it can."""
    for _ in range(10):
        await asyncio.sleep(0)


class Work:
    """Pieces of work that end when they are told to, in the order in which they got a seat."""

    def __init__(self, queue: FairQueue) -> None:
        self.queue = queue
        self.begun: list[Flow] = []
        self.ends: list[asyncio.Event] = []

    def submit(self, namespace: str, user: str = "", count: int = 1) -> list["asyncio.Task[None]"]:
        """Begin pieces of work of a flow."""
        flow = Flow(namespace, user)
        return [asyncio.create_task(self._run(flow)) for _ in range(count)]

    async def _run(self, flow: Flow) -> None:
        async with self.queue.seat(flow):
            end = asyncio.Event()
            self.begun.append(flow)
            self.ends.append(end)
            await end.wait()

    async def finish(self) -> list[Flow]:
        """End one piece after another until none waits, and give the order of all."""
        ended = 0
        await settle()
        while ended < len(self.ends):
            self.ends[ended].set()
            ended += 1
            await settle()
        return self.begun


async def test_work_begins_at_once_while_seats_are_free() -> None:
    """Nothing waits, and the seats come back."""
    work = Work(FairQueue(2, MANY))
    tasks = work.submit("train", count=2)
    await settle()
    assert len(work.begun) == 2
    assert work.queue.waiting == 0
    await work.finish()
    await asyncio.gather(*tasks, *work.submit("train"), work.finish())


async def test_a_neighbour_waits_for_one_of_each_other_namespace() -> None:
    """A hundred that wait of one tenant are one turn to the next one."""
    work = Work(FairQueue(1, MANY))
    work.submit("hostile", count=MANY)
    work.submit("other", count=MANY)
    await settle()
    work.submit("neighbour")
    order = await work.finish()
    assert order.index(Flow("neighbour")) <= 3
    assert len(order) == 2 * MANY + 1


async def test_a_user_waits_for_one_of_each_other_user_of_the_namespace() -> None:
    """Within a namespace it is the same again."""
    work = Work(FairQueue(1, MANY))
    work.submit("train", "mallory", count=MANY - 1)
    await settle()
    work.submit("train", "alice")
    order = await work.finish()
    assert order.index(Flow("train", "alice")) <= 2


async def test_too_much_of_one_namespace_is_an_error_and_leaves_room_for_others() -> None:
    """The error names the namespace, and what to do."""
    work = Work(FairQueue(1, 3))
    work.submit("hostile", "a", count=2)
    work.submit("hostile", "b", count=2)
    await settle()
    with pytest.raises(OverloadError, match="3 requests of namespace hostile wait already; send"):
        async with work.queue.seat(Flow("hostile", "c")):
            raise AssertionError
    work.submit("", count=3)
    await settle()
    with pytest.raises(OverloadError, match="of no known namespace"):
        async with work.queue.seat(Flow("", "made-up")):
            raise AssertionError
    work.submit("neighbour")
    order = await work.finish()
    assert order.index(Flow("neighbour")) <= 3


async def test_too_many_bytes_of_one_namespace_are_an_error() -> None:
    """What waits is held in memory, of which others need their part."""
    queue = FairQueue(1, MANY, most_bytes=10)
    async with queue.seat(Flow("other")):
        waiting = asyncio.create_task(_hold(queue, Flow("hostile"), 8))
        await settle()
        with pytest.raises(OverloadError, match="namespace hostile"):
            await _hold(queue, Flow("hostile"), 8)
        beside = asyncio.create_task(_hold(queue, Flow("neighbour"), 8))
        await settle()
        assert queue.waiting == 2
    await asyncio.gather(waiting, beside)
    async with queue.seat(Flow("other")):
        again = asyncio.create_task(_hold(queue, Flow("hostile"), 8))
        await settle()
    await again


async def _hold(queue: FairQueue, flow: Flow, size: int) -> None:
    async with queue.seat(flow, size):
        pass


async def test_a_failure_gives_the_seat_back() -> None:
    """As an error of the work does."""
    queue = FairQueue(1, MANY)
    with pytest.raises(ZeroDivisionError):
        async with queue.seat(Flow("train")):
            raise ZeroDivisionError
    async with asyncio.timeout(1), queue.seat(Flow("train")):
        pass


@given(
    st.lists(st.tuples(st.sampled_from("abc"), st.sampled_from("xy"), st.booleans()), max_size=30),
    st.integers(1, 3),
)
def test_no_seat_is_lost_or_made(submitted: list[tuple[str, str, bool]], seats: int) -> None:
    """Whoever gives up while waiting, or at the moment of getting a seat, leaves as many seats."""

    async def run() -> None:
        work = Work(FairQueue(seats, MANY))
        tasks = []
        for namespace, user, gives_up in submitted:
            (task,) = work.submit(namespace, user)
            tasks.append(task)
            await settle()
            assert len(work.begun) - sum(end.is_set() for end in work.ends) <= seats
            if gives_up and work.ends:
                work.ends[-1].set()  # The seat is passed on while its next holder gives up.
                task.cancel()
        await work.finish()
        await asyncio.gather(*tasks, return_exceptions=True)
        assert work.queue.waiting == 0
        work.ends.clear()
        work.begun.clear()
        work.submit("after", count=seats)
        await settle()
        assert Counter(work.begun) == {Flow("after"): seats}
        await work.finish()

    asyncio.run(run())
