"""Refusals go for want of room, the largest share first; nothing that admitted ever does."""

import datetime as dt
from collections import Counter
from collections.abc import Sequence

import pytest
import sqlalchemy as sa
from hypothesis import given
from hypothesis import strategies as st

from audit.ledger.log.merkle import proves_inclusion
from audit.ledger.log.problems import Flaw
from audit.ledger.log.retention import decode_retention
from audit.ledger.log.verdict import Verdict, verdict_of
from audit.ledger.log.verifier import VerificationTerms, VerifierTrust
from audit.ledger.records.frames import Frame, FrameKind
from audit.ledger.store.decisions import DecisionQuery
from audit.ledger.store.log_export import make_opening
from audit.ledger.store.refusal_removal import SLACK, RefusalShare, plan_removal
from audit.ledger.store.store import Store
from audit.ledger.store.verification import VerifiableLedger, verify_ledger
from core.base.times import DAY_MS
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


async def verified(url: str) -> Verdict:
    """Verify the ledger where it is."""
    async with VerifiableLedger(url, lambda: NOW_MS / 1000) as ledger:
        opening = await make_opening(ledger, [], None, None, NOW_MS)
        trust = VerifierTrust(terms=VerificationTerms(keep_days=KEEP))
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
async def test_who_removes_more_is_seen(url: str, sql: Sql, verdict: str) -> None:
    """One refusal beyond those that are counted, or a decision that admitted."""
    async with Store(url, lambda: NOW_MS / 1000, keep_days=KEEP) as store:
        await store.deliver(CLUSTER, refusals(50, *FLOOD) + refusals(5, "web", "u") + others())
        await store.shrink(5 * 2000, KEEP, TODAY, frozenset({"web"}))
    assert (await verified(url)).sound
    one = "SELECT min(position) FROM decisions WHERE source = 'validate' AND verdict = "
    engine = sa.create_engine(url)
    with engine.begin() as connection:
        place = connection.scalar(sa.text(f"{one} '{verdict}'"))
        at = f"SELECT id FROM decisions WHERE position = {place}"  # noqa: S608
        connection.execute(sa.text(f"DELETE FROM rules WHERE id IN ({at})"))  # noqa: S608
        connection.execute(sa.text(f"DELETE FROM decisions WHERE position = {place}"))  # noqa: S608
    engine.dispose()
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
    async with VerifiableLedger(url, lambda: now / 1000) as ledger:
        opening = await make_opening(ledger, [], None, None, now)
        trust = VerifierTrust(terms=VerificationTerms(keep_days=3))
        verdict = verdict_of(await verify_ledger(ledger, opening, trust, lambda *_: None))
    assert verdict.sound, verdict.problems
    assert verdict.refusals_removed == 5


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
