"""The auditor learns from what the ledger keeps: each thing once, and over restarts."""

import asyncio
import threading
import time
from pathlib import Path

import pytest

from audit.behaviour.learner import BehaviourLearner
from audit.behaviour.state_file import write_state
from audit.ledger.store.store import Store
from core.base.errors import LedgerError
from core.risk.model import Behaviour, identity_key
from tests.unit.audit.behaviour.acts_of_people import DAY, HOUR, MONDAY, WHO, document
from tests.unit.audit.behaviour.learner import (
    MORNING,
    Clock,
    Ledger,
    ask,
    elsewhere,
    frame,
    learning_from,
    ordinary,
    words,
)
from tests.unit.audit.loopback_auditor import Memory
from webhooks.log import get_logger


async def test_what_is_recorded_is_told_once_it_is_unusual() -> None:
    """From the start to whoever has no cursor, what is new to whoever has one."""
    ledger, clock = Ledger(Memory()), Clock()
    await ledger.deliver("prod-1", ordinary())
    async with learning_from(ledger, clock) as learning:
        empty = await ask(learning)
        assert (empty.unusual, empty.learning, empty.more) == ([], "", False)
        await learning.deliver("prod-1", [elsewhere(MORNING)])
        told = await ask(learning, empty.cursor)
        key = identity_key(WHO).hex()
        assert told.unusual[0].until == {"new-namespace": int(MORNING + 12 * HOUR)}
        assert words(told) == {key: {"new-namespace"}}
        assert (await ask(learning, told.cursor)).unusual == []
        await learning.deliver("prod-1", [frame(document(MORNING + 1, profile="wide"))])
        assert words(await ask(learning, told.cursor)) == {key: {"new-namespace", "new-profile"}}
        clock.now += 13 * HOUR
        assert (await ask(learning)).unusual == []


async def test_a_cluster_hears_of_itself_alone() -> None:
    """Neither what another one does, nor what is delivered under a false name."""
    ledger = Ledger(Memory())
    await ledger.deliver("prod-1", ordinary())
    async with learning_from(ledger, Clock()) as learning:
        await learning.deliver("prod-1", [elsewhere(MORNING)])
        assert (await ask(learning, cluster="prod-2")).unusual == []
        forged = elsewhere(MORNING, cluster="prod-2")
        await learning.deliver("prod-1", [forged])
        assert learning.clusters.keys() == {"prod-1"}


async def test_frames_that_are_known_teach_nothing_again() -> None:
    """Whether all of a delivery are known, or some of them."""
    ledger = Ledger(Memory())
    await ledger.deliver("prod-1", ordinary())
    async with learning_from(ledger, Clock()) as learning:
        few = [frame(document(MORNING + n)) for n in range(12)]
        for _ in range(5):
            await learning.deliver("prod-1", few)
        for number in range(5):
            await learning.deliver("prod-1", [*few, frame(document(MORNING + 20 + number))])
        assert (await ask(learning)).unusual == []
        assert learning.clusters["prod-1"].learnt == 270 + 17


async def test_nothing_that_is_not_kept_is_learnt() -> None:
    """It comes again when the ledger takes it."""
    ledger = Ledger(Memory())
    async with learning_from(ledger, Clock()) as learning:
        ledger.memory.failing = True
        with pytest.raises(LedgerError):
            await learning.deliver("prod-1", [elsewhere(MORNING)])
        assert learning.clusters == {}


async def test_until_all_is_learnt_it_says_why_nothing_is_told(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """While the ledger does not answer; then what came meanwhile is learnt as well."""
    monkeypatch.setattr("audit.behaviour.learner.AGAIN_S", 0.01)
    ledger = Ledger(Memory(), problem="it is not open yet")
    await ledger.deliver("prod-1", ordinary())
    learning = BehaviourLearner(ledger, ledger.find, get_logger(), None, Clock())
    task = asyncio.create_task(learning.keep_learnt())
    await asyncio.sleep(0.05)
    await learning.deliver("prod-1", [elsewhere(MORNING)])
    waiting = await ask(learning)
    assert (waiting.unusual, waiting.learning) == ([], "what the ledger holds is being learnt")
    ledger.problem = ""
    async with asyncio.timeout(10):
        while not learning.is_ready:  # noqa: ASYNC110
            await asyncio.sleep(0.01)
    assert words(await ask(learning)) == {identity_key(WHO).hex(): {"new-namespace"}}
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)


async def test_a_cluster_that_is_new_says_until_when() -> None:
    """For fourteen days nothing is unusual."""
    ledger, clock = Ledger(Memory()), Clock(MONDAY + DAY)
    async with learning_from(ledger, clock) as learning:
        assert (await ask(learning)).learning == "nobody has done anything yet"
        await learning.deliver("prod-1", [frame(document(MONDAY + DAY))])
        told = (await ask(learning)).learning
        assert told == "nothing is unusual before 2025-01-14T00:00:00"


async def test_a_restart_goes_on_where_it_was_saved(tmp_path: Path) -> None:
    """From the file, not from the ledger; a cursor of the life before means from the start."""
    ledger, path = Ledger(Memory()), tmp_path / "ledger.db.behaviour"
    await ledger.deliver("prod-1", ordinary())
    async with learning_from(ledger, Clock(), path) as learning:
        await learning.deliver("prod-1", [elsewhere(MORNING)])
        before = await ask(learning)
    ledger.memory.kept.clear()
    async with learning_from(ledger, Clock(), path) as learning:
        assert words(await ask(learning, before.cursor)) == words(before) != {}
        again = [
            elsewhere(MORNING + 60),
            elsewhere(MORNING + 60, requester="user:0123456789abcdef"),
        ]
        await learning.deliver("prod-1", again)
        assert len((await ask(learning)).unusual) == 2
        assert learning.clusters["prod-1"].acting.of(identity_key(WHO)).keys() == {
            Behaviour.NEW_NAMESPACE
        }


async def test_a_stop_in_the_middle_of_a_save_waits_for_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What is saved last is not written into a file that another thread still writes."""
    ledger, path = Ledger(Memory()), tmp_path / "ledger.db.behaviour"
    begun, writes = threading.Event(), []

    def write_slowly(path: Path, content: bytes) -> None:
        writes.append("begun")
        begun.set()
        time.sleep(0.1)
        write_state(path, content)
        writes.append("ended")

    monkeypatch.setattr("audit.behaviour.learner.write_state", write_slowly)
    await ledger.deliver("prod-1", ordinary())
    async with learning_from(ledger, Clock(), path) as learning:
        await asyncio.to_thread(begun.wait, 20)
        await learning.deliver("prod-1", [elsewhere(MORNING)])
        before = await ask(learning)
    assert writes == ["begun", "ended"] * 2
    ledger.memory.kept.clear()
    async with learning_from(ledger, Clock(), path) as learning:
        assert words(await ask(learning)) == words(before) != {}


async def test_a_damaged_file_ends_in_learning_anew(tmp_path: Path) -> None:
    """Of what the ledger holds; nothing of the file is used."""
    ledger, path = Ledger(Memory()), tmp_path / "ledger.db.behaviour"
    await ledger.deliver("prod-1", ordinary())
    path.write_bytes(b"sallyport-behaviour\n and no more")
    async with learning_from(ledger, Clock(), path) as learning:
        assert learning.clusters["prod-1"].learnt == 270


async def test_two_auditors_of_one_ledger_each_know_what_they_took(tmp_path: Path) -> None:
    """Both learn what is in the ledger; of what one took later, only that one tells."""
    url = f"sqlite:///{tmp_path / 'ledger.db'}"
    clock = Clock()
    async with Store(url, clock) as first, Store(url, clock) as second:
        await first.deliver("prod-1", ordinary())
        async with learning_from(first, clock) as one, learning_from(second, clock) as other:
            assert len(one.clusters["prod-1"].people) == len(other.clusters["prod-1"].people) == 1
            strange = elsewhere(MORNING)
            await one.deliver("prod-1", [strange])
            await other.deliver("prod-1", [strange])
            assert words(await ask(one)) == {identity_key(WHO).hex(): {"new-namespace"}}
            assert (await ask(other)).unusual == []
