"""What cannot be read is kept aside with the reason, and holds nothing else up."""

import hashlib
from collections.abc import Callable

import pytest

from audit.ledger.records.destination import QuarantinedFrame, Receipt
from audit.ledger.records.frames import Frame, FrameKind
from audit.ledger.store.decisions import DecisionQuery
from audit.ledger.store.rows import OTHERWISE
from audit.ledger.store.store import Store
from core.base.errors import LedgerError
from tests.unit.audit.ledger.store.conftest import Sql, clock
from tests.unit.audit.ledger.store.documents import (
    CLUSTER,
    NOW_MS,
    document,
    frame,
    sweep,
    sweep_frame,
)
from tests.unit.audit.ledger.store.log_invariants import sound

DAY_MS = 86_400_000
GOOD = frame(document(id="01a1fdfa-4600-741a-844b-d5e85b7c5f0f"))
ID = b"01a1fdfa-4600-741a-844b-d5e85b7c5f0f"


def changed(payload: Callable[[bytes], bytes], kind: int = FrameKind.DECISION) -> Frame:
    """Return a good decision's frame with another payload."""
    return Frame(kind, GOOD.id, payload(GOOD.payload))


def told(old: str, new: str) -> Frame:
    """Return a good decision's frame with a text replaced."""
    assert GOOD.payload.count(old.encode()) == 1
    return changed(lambda payload: payload.replace(old.encode(), new.encode()))


CASES = {
    "no JSON": (changed(lambda _: b"{"), "truncated"),
    "nothing": (changed(lambda _: b""), "truncated"),
    "no object": (changed(lambda _: b"[]"), "Expected `object`"),
    "half a surrogate": (told('"kind":"Pod"', '"kind":"\\ud800"'), "surrogate"),
    "a verdict unknown": (told('"verdict":"allow"', '"verdict":"may\\u0000be"'), "$.verdict"),
    "a format too new": (told('"format":1', '"format":3'), "format 3: this release reads 0 to 2"),
    "another id": (Frame(1, frame(document()).id, GOOD.payload), "not the document's"),
    "an id too short": (Frame(1, GOOD.id[:15], GOOD.payload), "no UUID of version 7"),
    "no id": (Frame(1, b"", GOOD.payload), "no UUID of version 7"),
    "an id without a time": (
        frame(document(id="0d6c6c5e-8a5b-4a0e-9a57-1f6d2c1b7a31")),
        "no UUID of version 7",
    ),
    "an id in capitals": (
        changed(lambda payload: payload.replace(ID, ID.upper())),
        "not the document's",
    ),
    "a time to come": (frame(document(NOW_MS + 3 * DAY_MS)), "check the clocks"),
    "the end of time": (frame(document(2**48 - 1)), "check the clocks"),
    "another cluster": (frame(document(cluster="other")), "another cluster than its sender"),
    "a time of 1970": (frame(document(1)), "before the days that are kept: check the clocks"),
    "JSON too deep": (
        told('{"format":1', '{"later":' + "[" * 5000 + "]" * 5000 + ',"format":1'),
        "recursion",
    ),
    "a time of an hour before": (
        told('"time":"2026-11-21T12:00:00.000Z"', '"time":"2026-11-21T11:00:00.000Z"'),
        "the document's time is not the time of its id",
    ),
    "a time with a word in it": (
        told('"time":"2026-11-21T12:00:00.000Z"', '"time":"2026-11-21T12:00:00 or laterZ"'),
        "the document's time is not the time of its id",
    ),
    "no time": (
        told('"time":"2026-11-21T12:00:00.000Z"', '"time":""'),
        "the document's time is not the time of its id",
    ),
    "a kind unknown": (changed(lambda payload: payload, 99), "no frame of kind 99"),
    "a sweep of another": (sweep_frame(sweep(cluster="other")), "another cluster"),
    "a sweep that is none": (Frame(FrameKind.SWEEP, GOOD.id, b"{}"), "missing required field"),
    "a projection of another digest": (Frame(2, b"\0" * 32, b"{}"), "not the SHA-256"),
}


@pytest.mark.parametrize(("bad", "reason"), CASES.values(), ids=list(CASES))
async def test_unreadable_frame_is_kept_aside(
    store: Store, sql: Sql, bad: Frame, reason: str
) -> None:
    """Its bytes, its id and why; and the decisions around it are stored."""
    others = [frame(document(NOW_MS + n)) for n in (1, 2)]
    assert await store.deliver(CLUSTER, [others[0], bad, others[1]]) == Receipt(2, 0, 1)
    ((cluster, kind, frame_id, payload, why, day),) = sql(
        "SELECT cluster, kind, frame_id, payload, reason, day FROM quarantine"
    )
    assert (cluster, kind, frame_id, payload) == (CLUSTER, bad.kind, bad.id, bad.payload)
    assert reason in why
    assert "\0" not in why
    assert day == NOW_MS // DAY_MS
    assert len(await store.find(DecisionQuery())) == 2


async def test_unreadable_frame_is_kept_once(store: Store, sql: Sql) -> None:
    """A sender that repeats it fills nothing; another frame with the same id is another."""
    bad, other = changed(lambda _: b"{"), changed(lambda _: b"}")
    await store.deliver(CLUSTER, [bad, bad])
    assert await store.deliver(CLUSTER, [bad, other]) == Receipt(0, 0, 2)
    assert sql("SELECT count(*) FROM quarantine") == [(2,)]


async def test_a_day_ahead_is_a_clock_that_is_wrong_a_little(store: Store) -> None:
    """Around midnight the gate may be a day ahead of the auditor."""
    made = document(NOW_MS + DAY_MS)
    assert await store.deliver(CLUSTER, [frame(made)]) == Receipt(1, 0, 0)


async def test_ids_of_the_past_make_no_room(url: str, sql: Sql) -> None:
    """A day older than what is kept is the last that is stored; older sweeps are kept aside too."""
    async with Store(url, clock, keep_days=3) as store:
        last = [frame(document(NOW_MS - 4 * DAY_MS)), sweep_frame(sweep(NOW_MS - 4 * DAY_MS))]
        assert await store.deliver(CLUSTER, last) == Receipt(2, 0, 0)
        old = [frame(document(NOW_MS - days * DAY_MS)) for days in range(5, 300)]
        older = [*old, sweep_frame(sweep(NOW_MS - 5 * DAY_MS))]
        assert await store.deliver(CLUSTER, older) == Receipt(0, 0, 296)
    if url.startswith("postgresql"):
        assert sql(
            "SELECT count(*) FROM pg_inherits JOIN pg_class c ON c.oid = inhrelid "
            "WHERE c.relkind = 'r'"
        ) == [(2,)]


async def test_projection_is_found_by_its_digest(store: Store) -> None:
    """In the cluster that it came from."""
    content = b'{"containers":[]}'
    digest = hashlib.sha256(content)
    sent = Frame(FrameKind.PROJECTION, digest.digest(), content)
    assert await store.deliver(CLUSTER, [sent]) == Receipt(1, 0, 0)
    assert await store.projection(CLUSTER, f"sha256:{digest.hexdigest()}") == content
    assert await store.projection("other", f"sha256:{digest.hexdigest()}") is None
    assert await store.projection(CLUSTER, "") is None


async def test_many_projections_are_found_by_their_digests(store: Store) -> None:
    """More than are asked for at once; what the ledger has not is left out."""
    contents = [b'{"containers":[],"n":%d}' % number for number in range(1200)]
    digests = [f"sha256:{hashlib.sha256(content).hexdigest()}" for content in contents]
    sent = [
        Frame(FrameKind.PROJECTION, bytes.fromhex(digest.removeprefix("sha256:")), content)
        for digest, content in zip(digests, contents, strict=True)
    ]
    await store.deliver(CLUSTER, sent[:-1])
    found = await store.projections(CLUSTER, digests)
    assert found == dict(zip(digests[:-1], contents[:-1], strict=True))
    assert await store.projections("other", digests) == {}


async def test_a_decision_whose_id_another_one_took_first_is_not_lost(
    store: Store, sql: Sql
) -> None:
    """Whoever has a gate's certificate and sees an id could write it before its own gate does."""
    forged, true = told('"verdict":"allow"', '"verdict":"deny"'), GOOD
    assert await store.deliver(CLUSTER, [forged]) == Receipt(1, 0, 0)
    assert await store.deliver(CLUSTER, [true, true]) == Receipt(0, 1, 1)
    assert await store.deliver(CLUSTER, [forged]) == Receipt(0, 1, 0)
    assert sql("SELECT payload, reason FROM quarantine") == [(GOOD.payload, OTHERWISE)]


async def test_of_two_decisions_of_one_id_in_a_batch_the_second_is_set_aside(
    store: Store, sql: Sql
) -> None:
    """As if they had come one after the other."""
    forged = told('"verdict":"allow"', '"verdict":"deny"')
    receipt = await store.deliver(CLUSTER, [GOOD, forged])
    assert receipt == Receipt(1, 0, 1)
    assert sql("SELECT reason FROM quarantine") == [(OTHERWISE,)]


async def test_a_delivery_keeps_its_frames_and_what_is_quarantined_with_the_reason(
    store: Store, sql: Sql
) -> None:
    """Each once, in one transaction, and in the log like all else."""
    other, none = frame(document()), QuarantinedFrame(GOOD, "the gate records none")
    assert await store.deliver(CLUSTER, [other], [none] * 2) == Receipt(1, 0, 2)
    assert await store.deliver(CLUSTER, [other], [none]) == Receipt(0, 1, 1)
    assert sql("SELECT payload, reason FROM quarantine") == [
        (GOOD.payload, "the gate records none")
    ]
    assert [entry.kind for entry in await sound(store)] == [FrameKind.DECISION] * 2


async def test_what_is_quarantined_is_not_kept_where_its_delivery_fails(
    store: Store, sql: Sql
) -> None:
    """Its sender brings all of it again: nothing of it may be there twice."""
    sql("DROP TABLE decisions")
    none = QuarantinedFrame(GOOD, "the gate records none")
    with pytest.raises(LedgerError):
        await store.deliver(CLUSTER, [frame(document())], [none])
    assert sql("SELECT count(*) FROM quarantine") == [(0,)]
