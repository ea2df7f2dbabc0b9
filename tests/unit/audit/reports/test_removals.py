"""What retention removed of a ledger before a report's entries, and since (docs/adr/0071)."""

import datetime as dt
from pathlib import Path

import pytest

from audit.ledger.log.retention import FORMAT, RemovedDay, Retention, SizeRemoval
from audit.ledger.records.frames import FrameKind
from audit.ledger.store.store import Store
from audit.reports.periods import Period
from audit.reports.removals import LedgerRemovals, read_removals
from core.base.errors import LedgerError
from core.base.times import DAY_MS
from tests.unit.audit.reports.records import MAY, access, at, fill, something_of_everything


def record(first_kept_day: str, removed: str = "", by_size: SizeRemoval | None = None) -> Retention:
    """Return a record of a removal of one document of a kind."""
    return Retention(
        format=FORMAT,
        id="",
        time="2026-09-01T00:00:00.000Z",
        keep_days=30,
        first_kept_day=first_kept_day,
        removed={removed: 1} if removed else {},
        by_size=by_size,
    )


def refusals(day: str, first: int = 3, cluster: str = "production") -> Retention:
    """Return a record of refusals of a day that were removed for want of room."""
    days = {day: RemovedDay(refusals=2, first=first, last=first + 9, marks="00")} if day else {}
    by_size = SizeRemoval(
        refusals=2, cluster=cluster, namespace="train", requester="oid:a", days=days
    )
    return record("2026-01-01", by_size=by_size)


@pytest.mark.parametrize(
    ("kind", "since"),
    [
        (FrameKind.ACCESS, record("2026-05-02", "access")),
        (FrameKind.ACCESS, record("2026-08-01", "access")),
        (FrameKind.CHANGE, record("2026-05-01", "change")),
        (FrameKind.POD_LIFE, record("2026-05-02", "pod_life")),
        (FrameKind.DECISION, refusals("2026-05-31")),
        (FrameKind.DECISION, refusals("")),
    ],
)
def test_what_may_have_been_of_the_period_is_missing(kind: FrameKind, since: Retention) -> None:
    """What stands for long goes by the day on which it came: a change of April 30 may be of May."""
    with pytest.raises(LedgerError, match="cannot be made of its first 10 entries any more"):
        LedgerRemovals((), (since,), 10).demand(kind, MAY, None)


@pytest.mark.parametrize(
    ("kind", "since"),
    [
        (FrameKind.ACCESS, record("2026-05-01", "access")),
        (FrameKind.CHANGE, record("2026-04-30", "change")),
        (FrameKind.ACCESS, record("2026-08-01", "finding")),
        (FrameKind.DECISION, refusals("2026-06-01")),
        (FrameKind.DECISION, refusals("2026-05-31", first=10)),
        (FrameKind.DECISION, refusals("2026-05-31", cluster="other")),
        (FrameKind.ACCESS, refusals("2026-05-31")),
    ],
)
def test_what_cannot_have_been_of_the_period_is_not(kind: FrameKind, since: Retention) -> None:
    """Days before it, other kinds, other clusters, and what came after the head."""
    LedgerRemovals((), (since,), 10).demand(kind, MAY, "production")


async def test_what_a_record_removes_is_left_out_before_it_is_gone(tmp_path: Path) -> None:
    """The record comes first, and the removal takes a while: both read the same."""
    day = at(11) // DAY_MS
    async with Store(f"sqlite:///{tmp_path / 'l.db'}", keep_days=3650) as ledger:
        await fill(ledger, something_of_everything())
        size = (await ledger.log_state()).tree.size
        await fill(ledger, iter([access(at(5), 800)]))

        async def days(removals: tuple[tuple[int, int], ...]) -> list[int]:
            found = await ledger.documents(
                FrameKind.ACCESS, MAY.begin_ms, MAY.end_ms, removals=removals
            )
            return [int.from_bytes(each.id[:6]) // DAY_MS - day + 11 for each in found]

        assert set(await days(())) == {2, 5, 10, 11}
        assert set(await days(((size, day),))) == {11}
        assert set(await days(((size - 1, day),))) == {5, 11}, "it came after the record"


async def test_records_are_told_apart_by_the_head(tmp_path: Path) -> None:
    """Those that the entries hold, and those that came later."""
    async with Store(f"sqlite:///{tmp_path / 'l.db'}", keep_days=3650) as ledger:
        await fill(ledger, something_of_everything())
        size = (await ledger.log_state()).tree.size
        await ledger.retain(30, dt.date(2026, 6, 8))
        before = await read_removals(ledger, size)
        after = await read_removals(ledger, size + 1)
    assert [each.first_kept_day for each in before.since] == ["2026-05-10"]
    assert (before.before, after.since) == ((), ())
    assert after.before == ((size, at(10) // DAY_MS),)
    with pytest.raises(LedgerError, match="give a later head"):
        before.demand(FrameKind.ACCESS, Period(at(2), at(3)), None)
    after.demand(FrameKind.ACCESS, Period(at(2), at(3)), None)
