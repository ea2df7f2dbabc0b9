"""Aggregates of refusals are records as any other: in the log, verified, forgotten by their day."""

import datetime as dt

import pytest
import sqlalchemy as sa

from audit.ledger.records.frames import Frame, FrameKind, decision_frame_id
from audit.ledger.server.recorded_kinds import NOT_PROVED, why_not_recorded
from audit.ledger.server.requests import Sender
from audit.ledger.store.store import Store
from audit.reports.tallies.decisions import DecisionTally, ReportedDecision
from core.base.ids import uuid7, uuid7_time
from core.base.times import DAY_MS
from core.decision.decision import Verdict
from core.decision.document import Asked
from core.decision.refusal_aggregate import RefusalAggregate, decode_aggregate, encode_aggregate
from tests.unit.audit.ledger.store.documents import CLUSTER, NOW_MS
from tests.unit.audit.ledger.store.log_invariants import sound

TODAY = dt.datetime.fromtimestamp(NOW_MS / 1000, dt.UTC).date()


def aggregate(at_ms: int = NOW_MS, count: int = 1000, verdict: str = "deny") -> RefusalAggregate:
    """Return an aggregate of a minute."""
    made = uuid7(at_ms)
    return RefusalAggregate(
        format=1,
        id=made,
        time=uuid7_time(made),
        first=uuid7_time(uuid7(at_ms - 59_000)),
        cluster=CLUSTER,
        count=count,
        verdict="deny" if verdict == "deny" else "error",
        why="budget",
        namespace="train",
        rules=["privileges/host/network"],
    )


def framed(made: RefusalAggregate) -> Frame:
    """Return its frame."""
    return Frame(FrameKind.AGGREGATE, decision_frame_id(made.id), encode_aggregate(made))


async def test_an_aggregate_is_in_the_log_until_its_day_is_forgotten(url: str) -> None:
    """Stored once, however often it comes; what cannot be read is set aside."""
    made, old = aggregate(), aggregate(NOW_MS - 2 * DAY_MS)
    bad = Frame(FrameKind.AGGREGATE, decision_frame_id(uuid7(NOW_MS)), b'{"format":1}')
    async with Store(url, lambda: NOW_MS / 1000) as store:
        receipt = await store.deliver(CLUSTER, [framed(made), framed(old), bad])
        assert (receipt.stored, receipt.quarantined) == (2, 1)
        assert (await store.deliver(CLUSTER, [framed(made)])).known == 1
        await sound(store)
        found = await store.documents(FrameKind.AGGREGATE, NOW_MS - 1000, NOW_MS + 1000)
        assert [decode_aggregate(each.payload) for each in found] == [made]
        assert (await store.retain(2, TODAY)).others == 1
        await sound(store)
        assert len(await store.documents(FrameKind.AGGREGATE, 0, NOW_MS + 1000)) == 1


async def test_a_ledger_of_the_release_before_has_none(url: str) -> None:
    """It is read all the same."""
    async with Store(url, lambda: NOW_MS / 1000) as store:
        await store.deliver(CLUSTER, [])
    engine = sa.create_engine(url)
    with engine.begin() as connection:
        connection.execute(sa.text("DROP TABLE aggregates"))
        connection.execute(sa.text("UPDATE alembic_version SET version_num = '0003'"))
    engine.dispose()
    store = Store(url, lambda: NOW_MS / 1000)
    await store.open(make=False)
    assert await store.documents(FrameKind.AGGREGATE, 0, NOW_MS) == []
    assert await store.located(bytes(16)) == []
    await store.close()


@pytest.mark.parametrize(("process", "taken"), [("gate", True), ("control", False)])
def test_only_gates_count_refusals(process: str, *, taken: bool) -> None:
    """Who judges nobody has nothing to count."""
    assert (why_not_recorded(Sender(process), framed(aggregate())) == NOT_PROVED) is taken


def test_a_report_sums_what_aggregates_count() -> None:
    """And says how many of its sums are known from them alone."""
    tally = DecisionTally()
    tally.add(
        ReportedDecision(
            id=uuid7(NOW_MS),
            time="",
            cluster=CLUSTER,
            source="validate",
            request=Asked(uid="u", operation="CREATE", kind="Pod", version="v1", namespace="train"),
            verdict=Verdict.DENY,
            allowed=False,
        )
    )
    tally.add_aggregate(aggregate(count=1000))
    tally.add_aggregate(aggregate(count=7, verdict="error"))
    ((row,), more) = tally.rows()
    assert (row.refused, row.errors, row.aggregated, more) == (1001, 7, 1007, 0)
    assert tally.admitted == 0
