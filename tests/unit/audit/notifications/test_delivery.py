"""Delivery: at least once, in order, each sink by itself; what is given up is counted."""

import asyncio
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from audit.ledger.store.store import Store
from audit.notifications import delivery as delivery_module
from audit.notifications.backoff import wait_s
from audit.notifications.cursor import MOST_LETTERS, checkpoint_of, decode_cursor
from audit.notifications.delivery import DeliveryOptions, SinkDelivery
from audit.notifications.metrics import NotificationsCollector
from audit.notifications.notice import Notice
from audit.notifications.routes import Route
from audit.notifications.sink import NoticeRefusedError, SinkAwayError
from core.base.errors import LedgerError
from core.weights.documents.events import Severity
from tests.unit.audit.notifications.notices import (
    AT_MS,
    make_finding,
    make_gap,
    open_store,
    record,
)
from webhooks.log import get_logger

HOUR_S = 3600.0


@dataclass
class ScriptedSink:
    """Takes notices, or fails as it is told: by call, or by notice."""

    most: int = 1
    failures: list[Exception] = field(default_factory=list)
    """Of the next calls."""
    refuses: frozenset[str] = frozenset()
    """Ids."""
    told: list[str] = field(default_factory=list)
    """Ids, each time that they were acknowledged."""
    calls: int = 0

    def fitting(self, notices: Sequence[Notice]) -> int:
        """Return all."""
        return len(notices)

    async def send(self, notices: Sequence[Notice]) -> None:
        """Take them all, or none."""
        self.calls += 1
        await asyncio.sleep(0)
        if self.failures:
            raise self.failures.pop(0)
        if self.refuses & {notice.id for notice in notices}:
            raise NoticeRefusedError("it answers 400")
        self.told += [notice.id for notice in notices]

    async def close(self) -> None:
        """Nothing is open."""


@dataclass
class Clock:
    """Unix seconds that a test sets."""

    now: float = AT_MS / 1000

    def __call__(self) -> float:
        """Return them."""
        return self.now


@pytest.fixture(autouse=True)
def waits(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """Let no test wait; give what each would have waited before it tried again."""
    asked: list[float] = []

    def short(failures: int, retry_after_s: float, chance: float) -> float:
        asked.append(wait_s(failures, retry_after_s, 0.0 * chance))
        return 0.0

    monkeypatch.setattr(delivery_module, "wait_s", short)
    return asked


def delivery_of(
    store: Store, sink: ScriptedSink, route: Route | None = None, **more: Any
) -> SinkDelivery:
    """Return what tells a sink."""
    return SinkDelivery("pager", sink, route or Route(), store, get_logger(), **more)


async def begun(store: Store, sink: ScriptedSink, **more: Any) -> SinkDelivery:
    """Return what tells a sink that has been there for a while."""
    delivery = delivery_of(store, sink, **more)
    await delivery.step()
    return delivery


async def test_new_sink_begins_with_what_is_recorded_next(tmp_path: Path) -> None:
    """Not with the ledger's past; one that says `since` is told of that, too."""
    old, new = make_finding(1), make_finding(2)
    async with open_store(tmp_path) as store:
        await record(store, old)
        now, past = ScriptedSink(), ScriptedSink()
        first = delivery_of(store, now)
        second = SinkDelivery("past", past, Route(since="2026-01-01"), store, get_logger())
        for each in (first, second):
            await each.step()
        await record(store, new)
        for each in (first, second):
            await each.step()
    assert now.told == [new.id]
    assert past.told == [old.id, new.id]


async def test_restarted_auditor_goes_on_where_it_was(tmp_path: Path) -> None:
    """Nothing is lost that was recorded while it was away, and nothing told again."""
    sink, findings = ScriptedSink(most=2), [make_finding(number) for number in range(5)]
    async with open_store(tmp_path) as store:
        delivery = await begun(store, sink)
        await record(store, *findings[:2])
        await delivery.step()
    async with open_store(tmp_path) as store:
        await record(store, *findings[2:])
        await delivery_of(store, sink).step()
    assert sink.told == [each.id for each in findings]


async def test_kill_between_sending_and_noting_repeats_with_the_same_id(tmp_path: Path) -> None:
    """At least once: the receiver drops the double by its id."""

    class EndedBeforeNoting(Store):
        ends = False

        async def save_checkpoint(self, *arguments: Any) -> None:
            if self.ends:
                raise asyncio.CancelledError
            await super().save_checkpoint(*arguments)

    sink, findings = ScriptedSink(), [make_finding(number) for number in range(3)]
    async with EndedBeforeNoting(f"sqlite:///{tmp_path / 'ledger.db'}") as ending:
        delivery = await begun(ending, sink)
        await record(ending, *findings)
        ending.ends = True
        with suppress(asyncio.CancelledError):
            await delivery.step()
    async with open_store(tmp_path) as store:
        await delivery_of(store, sink).step()
    first, *others = [each.id for each in findings]
    assert sink.told == [first, first, *others]


async def test_sink_that_is_away_is_tried_again_ever_more_slowly(
    tmp_path: Path, waits: list[float]
) -> None:
    """From 2 s on, doubled to 5 minutes; what it asks for in Retry-After is honoured."""
    sink = ScriptedSink(failures=[*(SinkAwayError("it answers 503") for _ in range(9))])
    async with open_store(tmp_path) as store:
        delivery = await begun(store, sink)
        await record(store, make_finding())
        await delivery.step()
        assert waits == [2, 4, 8, 16, 32, 64, 128, 256, 300]
        sink.failures = [SinkAwayError("it answers 429", 1000.0), TimeoutError()]
        await record(store, make_finding(1))
        await delivery.step()
    assert waits[9:] == [1000, 4]
    assert delivery.failures == 11
    assert sink.told == [make_finding().id, make_finding(1).id]


async def test_refused_notice_is_a_dead_letter_and_the_next_are_told(tmp_path: Path) -> None:
    """Of a batch only the one that is refused; it stands in the cursor, without its content."""
    findings = [make_finding(number) for number in range(6)]
    sink = ScriptedSink(most=4, refuses=frozenset({findings[1].id}))
    async with open_store(tmp_path) as store:
        delivery = await begun(store, sink)
        await record(store, *findings)
        await delivery.step()
        found = await store.load_checkpoint("", checkpoint_of("pager"))
    assert sink.told == [each.id for each in findings if each is not findings[1]]
    assert found is not None
    cursor = decode_cursor(found[1])
    assert (cursor.sent, cursor.dead) == (5, 1)
    (letter,) = cursor.letters
    assert (letter.id, letter.reason) == (findings[1].id, "it answers 400")
    assert findings[1].detail.encode() not in found[1]


async def test_dead_letters_are_bounded_and_all_are_counted(tmp_path: Path) -> None:
    """The last ones are kept."""
    findings = [make_finding(number) for number in range(MOST_LETTERS + 5)]
    sink = ScriptedSink(most=50, refuses=frozenset(each.id for each in findings))
    async with open_store(tmp_path) as store:
        delivery = await begun(store, sink)
        await record(store, *findings)
        await delivery.step()
    assert delivery.cursor is not None
    assert delivery.cursor.dead == MOST_LETTERS + 5
    assert [each.id for each in delivery.cursor.letters] == [each.id for each in findings[5:]]


async def test_notice_that_waited_too_long_is_given_up(tmp_path: Path) -> None:
    """Those that came later are not given up with it, and are told when the sink is there again."""
    clock = Clock()
    away = [SinkAwayError("it answers 503") for _ in range(3)]

    class AwayForHours(ScriptedSink):
        async def send(self, notices: Sequence[Notice]) -> None:
            clock.now += 5 * HOUR_S
            if self.calls == 2:
                await record(store, make_finding(1))
            await super().send(notices)

    sink = AwayForHours(failures=[*away])
    async with open_store(tmp_path) as store:
        delivery = await begun(
            store, sink, options=DeliveryOptions(give_up_s=12 * HOUR_S), clock=clock
        )
        await record(store, make_finding(0))
        await delivery.step()
    assert delivery.cursor is not None
    assert [each.reason for each in delivery.cursor.letters] == ["it waited for 12 hours"]
    assert [each.id for each in delivery.cursor.letters] == [make_finding(0).id]
    assert sink.told == [make_finding(1).id]


async def test_slow_sink_holds_up_no_other(tmp_path: Path) -> None:
    """Each has a task of its own."""

    class StuckSink(ScriptedSink):
        async def send(self, notices: Sequence[Notice]) -> None:
            await asyncio.Event().wait()
            await super().send(notices)

    stuck, quick = StuckSink(), ScriptedSink()
    async with open_store(tmp_path) as store:
        slow = await begun(store, stuck)
        fast = SinkDelivery("fast", quick, Route(), store, get_logger())
        await fast.step()
        await record(store, make_finding())
        waiting = asyncio.create_task(slow.step())
        await fast.step()
        assert quick.told == [make_finding().id]
        waiting.cancel()
        await asyncio.gather(waiting, return_exceptions=True)


async def test_sink_that_never_answers_is_away(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """After SEND_S."""
    monkeypatch.setattr(delivery_module, "SEND_S", 0.05)

    class StuckOnce(ScriptedSink):
        async def send(self, notices: Sequence[Notice]) -> None:
            if not self.calls:
                self.calls += 1
                await asyncio.Event().wait()
            await super().send(notices)

    sink = StuckOnce()
    async with open_store(tmp_path) as store:
        delivery = await begun(store, sink)
        await record(store, make_finding())
        await delivery.step()
    assert (delivery.failures, sink.told) == (1, [make_finding().id])


async def test_failing_ledger_loses_nothing(tmp_path: Path) -> None:
    """Delivery says so once, and goes on when the ledger is there again."""

    class FailingStore(Store):
        failing = False

        async def entries(self, *arguments: Any) -> Any:
            if self.failing:
                raise LedgerError("the database does not answer")
            return await super().entries(*arguments)

    sink = ScriptedSink()
    async with FailingStore(f"sqlite:///{tmp_path / 'ledger.db'}") as store:
        delivery = await begun(store, sink)
        await record(store, make_finding())
        store.failing = True
        with pytest.raises(LedgerError):
            await delivery.step()
        store.failing = False
        await delivery.step()
    assert sink.told == [make_finding().id]


@pytest.mark.parametrize(("judged", "told"), [("prod", 0), ("", 1), ("other", 1)])
async def test_gap_is_told_once(tmp_path: Path, judged: str, told: int) -> None:
    """By the finding where a detection judges that cluster's gaps, else as it was recorded."""
    sink = ScriptedSink()
    async with open_store(tmp_path) as store:
        delivery = await begun(store, sink, options=DeliveryOptions(judged_cluster=judged))
        await record(store, make_gap())
        await delivery.step()
    assert len(sink.told) == told


async def test_only_what_the_route_says_is_told(tmp_path: Path) -> None:
    """The rest is passed over, and not looked at again."""
    sink = ScriptedSink()
    async with open_store(tmp_path) as store:
        delivery = await begun(store, sink, route=Route(at_least=Severity.CRITICAL))
        await record(store, make_finding(), make_finding(1, severity=Severity.CRITICAL))
        await delivery.step()
        assert delivery.cursor is not None
        assert delivery.cursor.position == (await store.log_state()).tree.size
    assert sink.told == [make_finding(1).id]


async def test_metrics_say_how_each_sink_is(tmp_path: Path) -> None:
    """Sent, dead, failures, and for how long it has taken nothing."""
    clock = Clock()
    sink = ScriptedSink(refuses=frozenset({make_finding(1).id}))
    async with open_store(tmp_path) as store:
        delivery = await begun(store, sink, clock=clock)
        await record(store, make_finding(), make_finding(1))
        await delivery.step()
        assert samples(delivery, clock) == {
            "sallyport_notices_sent_total": 1,
            "sallyport_notices_dead_total": 1,
            "sallyport_sink_failures_total": 0,
            "sallyport_sink_failing_seconds": 0,
        }
        assert delivery.cursor is not None
        delivery.cursor.failing_since_ms = round(clock.now * 1000)
        clock.now += 60
        assert samples(delivery, clock)["sallyport_sink_failing_seconds"] == 60


def samples(delivery: SinkDelivery, clock: Callable[[], float]) -> dict[str, float]:
    """Return what /metrics says of a sink."""
    return {
        sample.name: sample.value
        for family in NotificationsCollector(lambda: [delivery], clock).collect()
        for sample in family.samples
    }
