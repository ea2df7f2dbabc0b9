"""The auditor learns from what the ledger keeps: each thing once, and over restarts."""

import asyncio
import threading
import time
from pathlib import Path

import pytest

from audit.behaviour.learner import BehaviourLearner
from audit.behaviour.state_file import write_state
from core.risk.model import Behaviour, identity_key
from tests.unit.audit.behaviour.acts_of_people import DAY, HOUR, MONDAY, WHO, document
from tests.unit.audit.behaviour.learner import (
    LEARNT,
    MORNING,
    Clock,
    ask,
    confirmed,
    elsewhere,
    learning_from,
    ledger_in,
    ordinary,
    tell,
    words,
)
from webhooks.log import get_logger

KEY = identity_key(WHO).hex()


async def test_what_is_recorded_is_told_once_it_is_unusual(tmp_path: Path) -> None:
    """From the start to whoever has no cursor, what is new to whoever has one."""
    clock = Clock()
    async with ledger_in(tmp_path, clock) as ledger:
        await ledger.deliver("prod-1", ordinary())
        async with learning_from(ledger, clock) as learning:
            empty = await ask(learning)
            assert (empty.unusual, empty.learning, empty.more) == ([], "", False)
            await tell(ledger, learning, *elsewhere(MORNING))
            told = await ask(learning, empty.cursor)
            assert told.unusual[0].until == {"new-namespace": int(MORNING + 12 * HOUR)}
            assert words(told) == {KEY: {"new-namespace"}}
            assert (await ask(learning, told.cursor)).unusual == []
            await tell(ledger, learning, *confirmed(document(MORNING + 1, profile="wide")))
            assert words(await ask(learning, told.cursor)) == {
                KEY: {"new-namespace", "new-profile"}
            }
            clock.now += 13 * HOUR
            assert (await ask(learning)).unusual == []


async def test_a_cluster_hears_of_itself_alone(tmp_path: Path) -> None:
    """Neither what another one does, nor what is delivered under a false name."""
    clock = Clock()
    async with ledger_in(tmp_path, clock) as ledger:
        await ledger.deliver("prod-1", ordinary())
        async with learning_from(ledger, clock) as learning:
            await tell(ledger, learning, *elsewhere(MORNING))
            assert (await ask(learning, cluster="prod-2")).unusual == []
            await tell(ledger, learning, *elsewhere(MORNING, cluster="prod-2"))
            assert learning.clusters.keys() == {"prod-1"}


async def test_frames_that_are_known_teach_nothing_again(tmp_path: Path) -> None:
    """Whether all of a delivery are known, or some of them."""
    clock = Clock(MORNING + 60)
    async with ledger_in(tmp_path, clock) as ledger:
        await ledger.deliver("prod-1", ordinary())
        async with learning_from(ledger, clock) as learning:
            few = [each for n in range(12) for each in confirmed(document(MORNING + n))]
            for _ in range(5):
                await tell(ledger, learning, *few)
            for number in range(5):
                await tell(ledger, learning, *few, *confirmed(document(MORNING + 20 + number)))
            assert (await ask(learning)).unusual == []
            assert learning.clusters["prod-1"].learnt == LEARNT + 17


async def test_until_all_is_learnt_it_says_why_nothing_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """While the ledger does not answer; then what came meanwhile is learnt as well."""
    monkeypatch.setattr("audit.behaviour.learner.AGAIN_S", 0.01)
    clock = Clock()
    async with ledger_in(tmp_path, clock) as ledger:
        ledger.problem = "it is not open yet"
        await ledger.deliver("prod-1", ordinary())
        learning = BehaviourLearner(ledger, get_logger(), None, clock)
        task = asyncio.create_task(learning.keep_learnt())
        await asyncio.sleep(0.05)
        await ledger.deliver("prod-1", elsewhere(MORNING))
        waiting = await ask(learning)
        assert (waiting.unusual, waiting.learning) == ([], "what the ledger holds is being learnt")
        ledger.problem = ""
        async with asyncio.timeout(10):
            while not learning.is_ready:  # noqa: ASYNC110
                await asyncio.sleep(0.01)
        await learning.follow()
        assert words(await ask(learning)) == {KEY: {"new-namespace"}}
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


async def test_a_cluster_that_is_new_says_until_when(tmp_path: Path) -> None:
    """For fourteen days nothing is unusual."""
    clock = Clock(MONDAY + DAY)
    async with ledger_in(tmp_path, clock) as ledger, learning_from(ledger, clock) as learning:
        await tell(ledger, learning, *confirmed(document(MONDAY + DAY)))
        told = (await ask(learning)).learning
        assert told == "nothing is unusual before 2025-01-14T00:00:00"


async def test_a_restart_goes_on_where_it_was_saved(tmp_path: Path) -> None:
    """From the file, then from what the ledger has since; a cursor of before means the start."""
    clock, path = Clock(), tmp_path / "ledger.db.behaviour"
    async with ledger_in(tmp_path, clock) as ledger:
        await ledger.deliver("prod-1", ordinary())
        async with learning_from(ledger, clock, path) as learning:
            await tell(ledger, learning, *elsewhere(MORNING))
            before = await ask(learning)
        again = [
            *elsewhere(MORNING + 60),
            *elsewhere(MORNING + 60, requester="user:0123456789abcdef"),
        ]
        await ledger.deliver("prod-1", again)
        async with learning_from(ledger, clock, path) as learning:
            assert words(await ask(learning, before.cursor)).keys() >= words(before).keys() != {}
            await learning.follow()
            assert len((await ask(learning)).unusual) == 2
            assert learning.clusters["prod-1"].learnt == 2
            assert learning.clusters["prod-1"].acting.of(identity_key(WHO)).keys() == {
                Behaviour.NEW_NAMESPACE
            }


async def test_what_was_learnt_of_another_ledger_is_not_used(tmp_path: Path) -> None:
    """Its positions mean nothing here."""
    clock, path = Clock(), tmp_path / "behaviour"
    (tmp_path / "other").mkdir()
    async with ledger_in(tmp_path, clock) as ledger:
        await ledger.deliver("prod-1", ordinary())
        async with learning_from(ledger, clock, path):
            pass
    async with ledger_in(tmp_path / "other", clock) as other:
        await other.deliver("prod-1", ordinary("user:0123456789abcdef"))
        async with learning_from(other, clock, path) as learning:
            found = [who for who, _ in learning.clusters["prod-1"].people]
            assert found == [identity_key("user:0123456789abcdef")]


async def test_a_stop_in_the_middle_of_a_save_waits_for_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What is saved last is not written into a file that another thread still writes."""
    clock, path = Clock(), tmp_path / "ledger.db.behaviour"
    begun, writes = threading.Event(), []

    def write_slowly(path: Path, content: bytes) -> None:
        writes.append("begun")
        begun.set()
        time.sleep(0.1)
        write_state(path, content)
        writes.append("ended")

    monkeypatch.setattr("audit.behaviour.learner.write_state", write_slowly)
    async with ledger_in(tmp_path, clock) as ledger:
        await ledger.deliver("prod-1", ordinary())
        async with learning_from(ledger, clock, path) as learning:
            await asyncio.to_thread(begun.wait, 20)
            await tell(ledger, learning, *elsewhere(MORNING))
            before = await ask(learning)
        assert writes == ["begun", "ended"] * 2
        async with learning_from(ledger, clock, path) as learning:
            assert words(await ask(learning)) == words(before) != {}


async def test_a_damaged_file_ends_in_learning_anew(tmp_path: Path) -> None:
    """Of what the ledger holds; nothing of the file is used."""
    clock, path = Clock(), tmp_path / "ledger.db.behaviour"
    path.write_bytes(b"sallyport-behaviour\n and no more")
    async with ledger_in(tmp_path, clock) as ledger:
        await ledger.deliver("prod-1", ordinary())
        async with learning_from(ledger, clock, path) as learning:
            assert learning.clusters["prod-1"].learnt == LEARNT


async def test_two_auditors_of_one_ledger_each_learn_all_of_it(tmp_path: Path) -> None:
    """Whichever of them took it."""
    clock = Clock()
    async with ledger_in(tmp_path, clock) as first, ledger_in(tmp_path, clock) as second:
        await first.deliver("prod-1", ordinary())
        async with learning_from(first, clock) as one, learning_from(second, clock) as other:
            await tell(first, one, *elsewhere(MORNING))
            await other.follow()
            assert words(await ask(one)) == words(await ask(other)) == {KEY: {"new-namespace"}}
