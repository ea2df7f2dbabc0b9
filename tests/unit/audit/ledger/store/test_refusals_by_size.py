"""Refusals go for want of room, the largest share first; nothing that admitted ever does."""

import datetime as dt
from collections import Counter
from collections.abc import Sequence

import pytest
import sqlalchemy as sa
from hypothesis import given
from hypothesis import strategies as st

from audit.ledger.log.export import ExportLine
from audit.ledger.log.keys import LogKeys
from audit.ledger.log.merkle import proves_inclusion
from audit.ledger.log.problems import Flaw, RecordPlace
from audit.ledger.log.retention import (
    RemovalCheck,
    Retention,
    SizeRemoval,
    decode_retention,
    encode_retention,
    first_kept,
    removed_days,
)
from audit.ledger.log.verdict import Verdict, verdict_of
from audit.ledger.log.verifier import VerificationTerms, VerifierTrust
from audit.ledger.records.frames import Frame, FrameKind
from audit.ledger.store.columns import uuid_bytes
from audit.ledger.store.decisions import DecisionQuery
from audit.ledger.store.log_export import make_opening
from audit.ledger.store.refusal_removal import SLACK, RefusalShare, plan_removal
from audit.ledger.store.store import Store
from audit.ledger.store.verification import VerifiableLedger, verify_ledger
from core.base.ids import stable_id
from core.base.times import DAY_MS, milli_text
from core.decision.decision import Verdict as Judged
from core.decision.document import decode_document
from core.decision.refusal_aggregate import decode_aggregate
from core.weights.documents.access import encode_access
from tests.unit.audit.ledger.store.conftest import Sql
from tests.unit.audit.ledger.store.documents import CLUSTER, NOW_MS, document, frame
from tests.unit.audit.ledger.store.log_invariants import access, finding, framed, sound

TODAY = dt.datetime.fromtimestamp(NOW_MS / 1000, dt.UTC).date()
KEEP = 90
FLOOD = ("train", "user:mallory")


def refusals(count: int, namespace: str, requester: str, at_ms: int = NOW_MS) -> list[Frame]:
    """Return refusals of somebody, one a second."""
    return [
        frame(
            document(at_ms - 1000 * number, Judged.DENY, namespace=namespace, requester=requester)
        )
        for number in range(count)
    ]


def others() -> list[Frame]:
    """Return what never goes by size."""
    admitted = [frame(document(NOW_MS - n, requester=FLOOD[1])) for n in range(20)]
    audited = document(NOW_MS, Judged.DENY, requester=FLOOD[1], allowed=True, mode="audit")
    swept = document(NOW_MS, Judged.DENY, requester=FLOOD[1], source="sweep")
    accessed = access(1)
    return [
        *admitted,
        frame(audited),
        frame(swept),
        finding(1),
        framed(FrameKind.ACCESS, accessed.id, encode_access(accessed)),
    ]


async def verified(url: str, now_ms: int = NOW_MS, keep_days: int = KEEP) -> Verdict:
    """Verify the ledger where it is."""
    async with VerifiableLedger(url, lambda: now_ms / 1000) as ledger:
        opening = await make_opening(ledger, [], None, None, now_ms)
        trust = VerifierTrust(terms=VerificationTerms(keep_days=keep_days))
        return verdict_of(await verify_ledger(ledger, opening, trust, lambda *_: None))


async def shares(store: Store) -> Counter[tuple[str, str]]:
    """Count the refusals of each share that are there."""
    found = await store.find(
        DecisionQuery(verdicts=frozenset({Judged.DENY}), source="validate", limit=10_000)
    )
    made = map(decode_document, found)
    return Counter((each.request.namespace, each.requester) for each in made if not each.allowed)


async def test_the_largest_share_loses_first(url: str) -> None:
    """Its oldest; others keep all that they have, and each that goes is counted."""
    flood = refusals(2500, *FLOOD)
    few = refusals(30, "web", "user:alice") + refusals(40, "train", "user:bob")
    async with Store(url, lambda: NOW_MS / 1000, keep_days=KEEP) as store:
        await store.deliver(CLUSTER, flood + few + others())
        each = len(flood[0].payload)
        gone = await store.shrink(1000 * each, KEEP, TODAY, frozenset())
        left = await shares(store)
        assert left["web", "user:alice"] == 30
        assert left["train", "user:bob"] == 40
        assert left[FLOOD] == 2500 - gone
        assert 0.8 * 1000 < sum(left.values()) < SLACK * 1000 + 10
        newest = await store.find(DecisionQuery(requesters=(FLOOD[1],), limit=1))
        assert newest
        counted = await store.documents(FrameKind.AGGREGATE, NOW_MS - 2 * DAY_MS, NOW_MS + 1000)
        made = [decode_aggregate(one.payload) for one in counted]
        assert sum(one.count for one in made) == gone
        assert {(one.namespace, one.requester, one.why) for one in made} == {(*FLOOD, "size")}
        assert all(one.rules and one.first <= one.time for one in made)
        assert await store.shrink(1000 * each, KEEP, TODAY, frozenset()) == 0
        await sound(store)


async def test_nothing_else_goes(url: str, sql: Sql) -> None:
    """Admissions, what an audit let through, the sweep's, accesses, findings: all are there."""
    async with Store(url, lambda: NOW_MS / 1000, keep_days=KEEP) as store:
        await store.deliver(CLUSTER, refusals(50, *FLOOD) + others())
        assert await store.shrink(0, KEEP, TODAY, frozenset()) == 50
    assert sql("SELECT count(*) FROM decisions") == [(22,)]
    assert sql("SELECT count(*) FROM accesses") == [(1,)]
    assert sql("SELECT count(*) FROM findings") == [(1,)]
    assert sql("SELECT count(DISTINCT id) FROM rules") == [(2,)]


async def test_what_is_under_hold_stays(url: str) -> None:
    """Others lose for it."""
    async with Store(url, lambda: NOW_MS / 1000, keep_days=KEEP) as store:
        await store.deliver(CLUSTER, refusals(50, *FLOOD) + refusals(10, "web", "user:alice"))
        assert await store.shrink(1, KEEP, TODAY, frozenset({"train"})) == 10
        assert await shares(store) == {FLOOD: 50}


async def test_the_log_proves_that_only_refusals_went(url: str) -> None:
    """Each leaf stays, proofs hold, and the verifier knows why documents are gone."""
    async with Store(url, lambda: NOW_MS / 1000, keep_days=KEEP) as store:
        await store.deliver(CLUSTER, refusals(50, *FLOOD) + others())
        await store.shrink(0, KEEP, TODAY, frozenset())
        entries = await sound(store)
        missing = [entry for entry in entries if entry.payload is None]
        assert {entry.kind for entry in missing} == {FrameKind.REFUSAL}
        state = await store.log_state()
        for entry in missing[::10]:
            proof = await store.inclusion(entry.position, state.tree.size)
            place = (entry.position, state.tree.size)
            assert proves_inclusion(entry.leaf.hash, *place, proof, state.tree.root)
        records = [entry for entry in entries if entry.kind == FrameKind.RETENTION]
        said = [decode_retention(entry.payload or b"").by_size for entry in records]
        assert sum(each.refusals for each in said if each) == 50
    verdict = await verified(url)
    assert verdict.sound, verdict.problems
    assert (verdict.documents_removed, verdict.refusals_removed) == (50, 50)


@pytest.mark.parametrize("verdict", ["deny", "allow"])
async def test_removing_more_than_the_counted_refusals_is_seen(
    url: str, sql: Sql, verdict: str
) -> None:
    """One refusal beyond those that are counted, or a decision that admitted."""
    async with Store(url, lambda: NOW_MS / 1000, keep_days=KEEP) as store:
        await store.deliver(CLUSTER, refusals(50, *FLOOD) + refusals(5, "web", "u") + others())
        await store.shrink(5 * 2000, KEEP, TODAY, frozenset({"web"}))
    assert (await verified(url)).sound
    one = "SELECT min(position) FROM decisions WHERE source = 'validate' AND verdict = "
    delete_by_hand(url, f"position = ({one} '{verdict}')")
    found = await verified(url)
    assert not found.sound
    assert [each.wrong for each in found.problems] == [Flaw.REMOVAL]


async def test_what_went_by_size_goes_by_age_as_well(url: str) -> None:
    """When its days are over, the policy of days explains it; the verifier stays content."""
    now = NOW_MS

    async with Store(url, lambda: now / 1000, keep_days=3) as store:
        await store.deliver(CLUSTER, refusals(50, *FLOOD) + others())
        await store.shrink(0, 3, TODAY, frozenset())
        now += 5 * DAY_MS
        later = TODAY + dt.timedelta(days=5)
        await store.retain(3, later)
        await store.deliver(CLUSTER, refusals(5, *FLOOD, at_ms=now))
        await store.shrink(0, 3, later, frozenset())
        await sound(store)
    verdict = await verified(url, now, 3)
    assert verdict.sound, verdict.problems
    assert verdict.refusals_removed == 5


def delete_by_hand(url: str, chosen: str) -> None:
    """Delete decisions, with what is looked up of them, behind the ledger's back."""
    engine = sa.create_engine(url)
    with engine.begin() as connection:
        ids = f"SELECT id FROM decisions WHERE {chosen}"  # noqa: S608
        connection.execute(sa.text(f"DELETE FROM rules WHERE id IN ({ids})"))  # noqa: S608
        connection.execute(sa.text(f"DELETE FROM decisions WHERE {chosen}"))  # noqa: S608
    engine.dispose()


async def test_what_went_by_size_and_then_by_age_hides_no_other_removal(url: str) -> None:
    """Records of days that are over explain nothing of today: neither do more records by size."""
    now = NOW_MS
    async with Store(url, lambda: now / 1000, keep_days=3) as store:
        await store.deliver(CLUSTER, refusals(50, *FLOOD))
        await store.shrink(0, 3, TODAY, frozenset())
        now += 5 * DAY_MS
        later = TODAY + dt.timedelta(days=5)
        await store.retain(3, later)
        held = refusals(40, "web", "user:alice", at_ms=now)
        await store.deliver(CLUSTER, held + refusals(5, *FLOOD, at_ms=now))
        assert await store.shrink(0, 3, later, frozenset({"web"})) == 5
    assert (await verified(url, now, 3)).sound
    delete_by_hand(url, "namespace = 'web'")
    found = await verified(url, now, 3)
    assert [each.wrong for each in found.problems] == [Flaw.REMOVAL]
    assert "45 refusals of" in found.problems[0].says
    assert "name 5 others" in found.problems[0].says


async def test_swapping_a_removed_refusal_for_another_is_seen(url: str) -> None:
    """A record names just the refusals that went: as many others of the same day are not they."""
    one = f"namespace = '{FLOOD[0]}' AND time_ms = {NOW_MS}"
    async with Store(url, lambda: NOW_MS / 1000, keep_days=KEEP) as store:
        await store.deliver(CLUSTER, refusals(50, *FLOOD) + refusals(5, "web", "user:alice"))
        tables = ("decisions", "rules")
        engine = sa.create_engine(url)
        with engine.begin() as connection:
            ids = f"SELECT id FROM decisions WHERE {one}"  # noqa: S608
            for table in tables:
                copy = f"CREATE TABLE kept_{table} AS SELECT * FROM {table} WHERE id IN ({ids})"  # noqa: S608
                connection.execute(sa.text(copy))
        await store.shrink(0, KEEP, TODAY, frozenset({"web"}))
        with engine.begin() as connection:
            for table in tables:
                back = f"INSERT INTO {table} SELECT * FROM kept_{table}"  # noqa: S608
                connection.execute(sa.text(back))
                connection.execute(sa.text(f"DROP TABLE kept_{table}"))
        engine.dispose()
    delete_by_hand(url, f"namespace = 'web' AND time_ms = {NOW_MS}")
    found = await verified(url)
    assert [each.wrong for each in found.problems] == [Flaw.REMOVAL]


def place(at: int, kind: FrameKind = FrameKind.REFUSAL, at_ms: int = NOW_MS) -> RecordPlace:
    """Return a place in the log."""
    return RecordPlace(at, kind, CLUSTER, uuid_bytes(stable_id(at_ms, "place", str(at))))


def removal(at: int, count: int, named: Sequence[RecordPlace] = ()) -> tuple[RecordPlace, bytes]:
    """Return a record of refusals that went by size; one of an earlier release names none."""
    gone = SizeRemoval(
        refusals=count,
        cluster=CLUSTER,
        namespace=FLOOD[0],
        requester=FLOOD[1],
        days=removed_days((each.at, each.id) for each in named),
    )
    record = Retention(
        format=1,
        id=stable_id(NOW_MS, "retention", str(at)),
        time=milli_text(NOW_MS),
        keep_days=KEEP,
        first_kept_day=first_kept(TODAY, KEEP).isoformat(),
        by_size=gone,
    )
    return place(at, FrameKind.RETENTION), encode_retention(record)


def checked(
    missing: Sequence[RecordPlace], *records: tuple[RecordPlace, bytes], first: int = 0
) -> list[Flaw]:
    """Return what is wrong with a log of which these documents are missing."""
    opening = ExportLine(format=1, log="l", first=first, size=1000, made="")
    check = RemovalCheck(opening, LogKeys((), ()), KEEP)
    for each in missing:
        check.missing(each, aside=False)
    for where, content in records:
        check.retention(where, content)
    return [each.wrong for each in check.judged()]


def test_a_record_of_an_earlier_release_explains_as_many_as_it_counts() -> None:
    """It names none: its log verifies as before, and it is used up."""
    gone = [place(at) for at in range(10)]
    assert checked(gone, removal(20, 10)) == []
    assert checked(gone, removal(20, 9)) == [Flaw.REMOVAL]
    assert checked(gone, removal(5, 10)) == [Flaw.REMOVAL]
    assert checked(gone, removal(20, 6), removal(21, 4, gone[6:])) == []
    days = [place(at, at_ms=NOW_MS - at * DAY_MS) for at in range(10)]
    assert checked(days, removal(20, 9)) == [Flaw.REMOVAL]


def test_a_record_explains_what_it_names_and_what_stands_before_it() -> None:
    """As many others of the day are not explained, nor is what came after the record."""
    gone = [place(at) for at in range(10)]
    assert checked(gone, removal(20, 10, gone)) == []
    assert checked(gone, removal(20, 4, gone[:4]), removal(21, 6, gone[4:])) == []
    assert checked(gone[1:], removal(20, 9, gone[:9])) == [Flaw.REMOVAL]
    assert checked(gone, removal(20, 9, gone[:9])) == [Flaw.REMOVAL]
    assert checked(gone, removal(9, 10, gone)) == [Flaw.RETENTION, Flaw.REMOVAL]
    of_another_day = [place(10 + at, at_ms=NOW_MS - DAY_MS) for at in range(10)]
    assert checked(of_another_day, removal(30, 10, gone)) == [Flaw.REMOVAL]


def test_a_part_of_the_log_lacks_no_more_than_records_name() -> None:
    """What they name before the part is not seen, and is not demanded."""
    gone = [place(at) for at in range(10)]
    assert checked(gone[5:], removal(20, 10, gone), first=5) == []
    more = [*gone[5:], *(place(at) for at in range(11, 18))]
    assert checked(more, removal(20, 10, gone), first=5) == [Flaw.REMOVAL]


def share(number: int, size: int) -> RefusalShare:
    """Return a share of so many bytes."""
    return RefusalShare("c", f"ns-{number}", "u", size)


@given(sizes=st.lists(st.integers(1, 10**9), max_size=30), most=st.integers(0, 10**10))
def test_a_plan_makes_room_and_levels_the_largest(sizes: Sequence[int], most: int) -> None:
    """What stays fits, no share that loses stays smaller than one that does not, and none grows."""
    every = [share(number, size) for number, size in enumerate(sizes)]
    plan = plan_removal(every, most)
    lost = dict(plan)
    left = {each: each.size - lost.get(each, 0) for each in every}
    if sum(sizes) <= most:
        assert not plan
        return
    assert sum(left.values()) <= most
    assert all(size > 0 for size in lost.values())
    untouched = [each.size for each in every if each not in lost]
    assert max(untouched, default=0) <= min((left[each] for each in lost), default=10**9)
    assert [each.size for each, _ in plan] == sorted((each.size for each in lost), reverse=True)


def test_a_held_share_is_counted_and_kept() -> None:
    """The others lose what it takes."""
    every = [share(0, 100), share(1, 100)]
    assert plan_removal(every, 150, {"ns-0"}) == [(every[1], 65)]
    assert plan_removal(every, 50, {"ns-0"}) == [(every[1], 100)]
