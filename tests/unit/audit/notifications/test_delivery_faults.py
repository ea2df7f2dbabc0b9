"""Delivery where more than the sink's answer is wrong: downtime, records, cursors, programs."""

import asyncio
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from audit.ledger.log.entries import LogEntry
from audit.ledger.records.frames import decision_frame_id
from audit.ledger.store.store import Store
from audit.notifications import delivery as delivery_module
from audit.notifications.cursor import SinkCursor, checkpoint_of, encode_cursor
from audit.notifications.delivery import DeliveryOptions, SinkDelivery
from audit.notifications.notice import Notice, NoticeEvent
from audit.notifications.routes import Route
from audit.notifications.sink import SinkAwayError
from tests.unit.audit.notifications.notices import make_finding, open_store, record
from tests.unit.audit.notifications.test_delivery import (
    HOUR_S,
    Clock,
    ScriptedSink,
    begun,
    delivery_of,
    samples,
)

OPTIONS = DeliveryOptions(give_up_s=12 * HOUR_S)


@pytest.fixture(autouse=True)
def no_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let no test wait before a sink is tried again."""
    monkeypatch.setattr(delivery_module, "wait_s", lambda *_: 0.0)


class EndedInTheSecondTry(ScriptedSink):
    """The first try fails, and in the second the process ends."""

    async def send(self, notices: Sequence[Notice]) -> None:
        """Fail, or end."""
        if self.calls:
            raise asyncio.CancelledError
        await super().send(notices)


@pytest.mark.parametrize("works", [True, False])
async def test_notice_is_given_up_after_downtime_only_when_a_try_failed(
    tmp_path: Path,
    works: bool,  # noqa: FBT001  pytest
) -> None:
    """The sink failed once, then the auditor was down for days: each notice is tried first."""
    clock, away = Clock(), SinkAwayError("it answers 503")
    findings = [make_finding(number) for number in range(2)]
    async with open_store(tmp_path) as store:
        ending = EndedInTheSecondTry(failures=[away])
        delivery = await begun(store, ending, options=OPTIONS, clock=clock)
        await record(store, *findings)
        with pytest.raises(asyncio.CancelledError):
            await delivery.step()
        clock.now += 60 * HOUR_S
        sink = ScriptedSink(failures=[] if works else [away])
        later = delivery_of(store, sink, options=OPTIONS, clock=clock)
        await later.step()
    assert later.cursor is not None
    assert sink.told == ([each.id for each in findings] if works else [])
    assert later.cursor.dead == (0 if works else 2)
    assert sink.calls == (2 if works else 1)


@pytest.mark.parametrize("event", [NoticeEvent.FINDING, NoticeEvent.ENDS_SOON])
async def test_finding_that_cannot_be_read_is_a_dead_letter(
    tmp_path: Path, event: NoticeEvent
) -> None:
    """Once, under its id, at sinks that are told of findings; others are told all the same."""
    findings = before, unreadable, after = [make_finding(number) for number in range(3)]

    class LaterStore(Store):
        """Has a finding as a later release writes it."""

        async def entries(self, *arguments: Any) -> list[LogEntry]:
            found = await super().entries(*arguments)
            return [
                replace(each, payload=b'{"format":99}')
                if each.id == decision_frame_id(unreadable.id)
                else each
                for each in found
            ]

    sink = ScriptedSink(most=5, failures=[SinkAwayError("it answers 503")])
    async with LaterStore(f"sqlite:///{tmp_path / 'ledger.db'}") as store:
        delivery = await begun(store, sink, route=Route(events=frozenset({event})))
        await record(store, *findings)
        await delivery.step()
        await delivery.step()
    assert delivery.cursor is not None
    if event is not NoticeEvent.FINDING:
        assert (delivery.cursor.dead, sink.told) == (0, [])
        return
    assert sink.told == [before.id, after.id]
    (letter,) = delivery.cursor.letters
    assert (letter.id, letter.event, delivery.cursor.dead) == (unreadable.id, "finding", 1)
    assert "cannot be read" in letter.reason


async def test_cursor_that_cannot_be_read_counts_as_a_failing_sink(tmp_path: Path) -> None:
    """Its metrics are there, and grow."""
    clock, sink = Clock(), ScriptedSink()
    async with open_store(tmp_path) as store:
        later = encode_cursor(SinkCursor(position=0, format=99))
        await store.save_checkpoint("", checkpoint_of("pager"), 0, later)
        delivery: SinkDelivery = delivery_of(store, sink, clock=clock)
        await delivery.attempt()
        clock.now += 60
        await delivery.attempt()
        found = samples(delivery, clock)
        assert found["sallyport_sink_failing_seconds"] == 60
        assert found["sallyport_sink_failures_total"] == 2
        await store.save_checkpoint(
            "", checkpoint_of("pager"), 0, encode_cursor(SinkCursor(position=0))
        )
        await delivery.attempt()
    assert samples(delivery, clock)["sallyport_sink_failing_seconds"] == 0


async def test_fault_of_a_sinks_program_is_a_failure_of_the_sink(tmp_path: Path) -> None:
    """It is tried again, counted, and named without its text; given up when its time is over."""
    clock = Clock()

    class Faulty(ScriptedSink):
        async def send(self, notices: Sequence[Notice]) -> None:
            clock.now += 5 * HOUR_S
            if notices[0].id == make_finding(0).id:
                assert delivery.cursor is not None
                problems.append(delivery.cursor.problem)
                raise KeyError("canary")
            await super().send(notices)

    problems: list[str] = []
    sink = Faulty()
    async with open_store(tmp_path) as store:
        delivery = await begun(store, sink, options=OPTIONS, clock=clock)
        await record(store, make_finding(0))
        await delivery.attempt()
        await record(store, make_finding(1))
        await delivery.attempt()
    assert problems[-1] == "unexpected KeyError"
    assert delivery.failures == len(problems)
    assert sink.told == [make_finding(1).id]
    assert delivery.cursor is not None
    assert delivery.cursor.dead == 1
