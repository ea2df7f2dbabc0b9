"""Security events while something does not work, and many of them at once."""

import asyncio
import time
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Final

import pytest
import pytest_asyncio

from control.risk.push import receiver as module
from core.risk.model import RiskEntry, RiskLevel, RiskSource, RiskState, identity_key
from core.risk.snapshot import RiskSnapshot, SnapshotDraft
from identity.risk.entry_merge import merge_entry, merge_revocation
from tests.harness.fakes.event_transmitter import claims
from tests.unit.control.risk.event_receiver import Memory, Receiving, receiving, request
from tests.unit.webhooks.connection import until

PERSON: Final = "51e26eae-d07b-44e5-bb0b-249f49569a8c"


@pytest_asyncio.fixture
async def running(tmp_path: Path) -> AsyncIterator[Receiving]:
    """A receiver that asks for no bearer token."""
    async with receiving(tmp_path) as made:
        yield made


def level_of(running: Receiving, person: str = PERSON) -> RiskLevel | None:
    """Return the level that CAEP told of a person."""
    entry = running.memory.snapshot.entry(RiskSource.CAEP, identity_key(person))
    return entry.level if entry else None


async def test_a_store_that_fails_asks_for_another_attempt(running: Receiving) -> None:
    """503 and Retry-After; the token is not remembered, so that it is stored next time."""
    running.memory.failing = True
    token = running.transmitter.token(claims(PERSON))
    answer = await running.push(token)
    assert (answer.status, answer.headers["retry-after"]) == (503, "1")
    running.memory.failing = False
    assert (await running.push(token)).status == 202
    assert running.counted() == {"not-stored": 1, "changed": 1}


async def test_a_store_that_hangs_is_given_up(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The transmitter does not wait for ever."""
    monkeypatch.setattr(module, "STORE_S", 0.2)
    async with receiving(tmp_path, Memory(held=asyncio.Event())) as running:
        assert (await running.push(running.transmitter.token(claims(PERSON)))).status == 503
        assert running.counted() == {"not-stored": 1}


async def test_without_keys_nothing_is_refused_for_good(running: Receiving) -> None:
    """503: a 400 would have the transmitter forget the event."""
    running.transmitter.answer = (500, {}, b"")
    answer = await running.push(running.transmitter.token(claims(PERSON)))
    assert (answer.status, answer.headers["retry-after"]) == (503, "10")
    assert running.counted() == {"no-keys": 1}


async def test_what_is_read_at_once_is_bounded(
    running: Receiving, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Slow senders hold their places for a bounded time; the next one is asked to come again."""
    monkeypatch.setattr(module, "MOST_AT_ONCE", 2)
    monkeypatch.setattr(module, "BODY_S", 0.5)
    token = running.transmitter.token(claims(PERSON))
    slow = [await running.connect() for _ in range(2)]
    for connection in slow:
        connection.writer.write(request(token)[:-1])
    await asyncio.sleep(0.1)
    assert (await running.push(token)).status == 503
    assert [(await connection.read_answer()).status for connection in slow] == [408, 408]
    for connection in slow:
        await connection.close()
    assert (await running.push(token)).status == 202
    gone = await running.connect()
    gone.writer.write(request(token)[:-1])
    await asyncio.sleep(0.1)
    await gone.close()
    await until(lambda: running.counted().get("request") == 2)
    assert (await running.push(token)).status == 202


async def test_many_events_at_once_are_all_stored(running: Receiving) -> None:
    """Sixty people; those beyond the bound come again, as a transmitter does."""
    people = [f"{number:08x}-d07b-44e5-bb0b-249f49569a8c" for number in range(60)]

    async def push(person: str) -> None:
        token = running.transmitter.token(claims(person))
        for _ in range(100):
            if (await running.push(token)).status == 202:
                return
            await asyncio.sleep(0.05)

    await asyncio.gather(*(push(person) for person in people))
    assert [level_of(running, person) for person in people] == [RiskLevel.HIGH] * 60
    assert running.counted()["changed"] == 60


async def test_a_transmitter_cannot_fill_the_snapshot(
    running: Receiving, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Entra's word must find room. Of whom it told already, more is taken."""
    monkeypatch.setattr(module, "MOST_TOLD", 3)
    people = [f"{number:08x}-d07b-44e5-bb0b-249f49569a8c" for number in range(4)]
    answers = [await running.push(running.transmitter.token(claims(each))) for each in people]
    assert [each.status for each in answers] == [202, 202, 202, 503]
    assert answers[3].headers["retry-after"] == "60"
    assert level_of(running, people[3]) is None
    again = running.transmitter.token(claims(people[0], "session-revoked"))
    assert (await running.push(again)).status == 202
    assert running.counted() == {"changed": 4, "full": 1}


async def test_room_is_made_of_what_counts_no_more(
    running: Receiving, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whoever is at risk stays; sessions that were ended the day before yesterday are forgotten."""
    monkeypatch.setattr(module, "MOST_TOLD", 2)
    people = [f"{number:08x}-d07b-44e5-bb0b-249f49569a8c" for number in range(4)]
    draft, long_ago = SnapshotDraft.of(RiskSnapshot()), 1_700_000_000
    merge_revocation(draft, RiskSource.CAEP, identity_key(people[0]), long_ago, "", "", time.time())
    entry = RiskEntry(level=RiskLevel.MEDIUM, state=RiskState.AT_RISK, updated=long_ago)
    merge_entry(draft, RiskSource.CAEP, identity_key(people[1]), entry, time.time())
    running.memory.snapshot = draft.finish(time.time())
    tokens = [running.transmitter.token(claims(each)) for each in people[2:]]
    assert [(await running.push(each)).status for each in tokens] == [202, 503]
    levels = [level_of(running, each) for each in people]
    assert levels == [None, RiskLevel.MEDIUM, RiskLevel.HIGH, None]
