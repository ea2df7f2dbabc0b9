"""Logs of last month are attributed by what was so last month, and grants by what was granted."""

from audit.access.ingest.pipeline import Ingest
from audit.ledger.records.frames import Frame, FrameKind
from audit.ledger.store.store import Store
from core.base.times import second_text
from core.weights.documents.access import Access, Confidence, decode_access
from tests.harness.worlds.storage_logs import BEGIN_MS, PRINCIPAL, encoded, storage_record
from tests.unit.audit.access.ingest.training_cluster import (
    CLUSTER,
    HUMAN,
    change,
    entries,
    ingest_of,
    life,
    stretch,
    take_all,
)

DAY_S = 86_400
NOW = BEGIN_MS // 1000 + 40 * DAY_S
OLD = "10.244.250.0"


def later(day: int) -> str:
    """Return a time some days after the logs begin."""
    return f"{second_text(BEGIN_MS // 1000 + day * DAY_S)}Z"


def tick(day: int) -> Frame:
    """Return something that was recorded on a day: the days go on by what is recorded."""
    at = BEGIN_MS / 1000 + day * DAY_S
    return change("ServiceAccount", f"x{day}", "there", at, namespace="team", spec={})


async def accesses(ingest: Ingest, store: Store, *days: float) -> list[Access]:
    """Take in one read for each day, all from one address; give them as they are stored."""
    raws = [
        encoded(
            storage_record(
                unix_ms=int(BEGIN_MS + day * DAY_S * 1000), address=OLD, correlationId=f"c{day}"
            )
        ).strip()
        for day in days
    ]
    await take_all(ingest, [stretch(raws)])
    found = [
        decode_access(each.payload or b"")
        for each in await entries(store)
        if each.kind == FrameKind.ACCESS
    ]
    return sorted(found, key=lambda access: access.time)


async def test_a_pod_that_is_long_gone(ledger: Store) -> None:
    """A memory that has moved on to today takes back what it knew of the days in question."""
    began = f"{second_text(BEGIN_MS // 1000 - 3600)}Z"
    await ledger.deliver(CLUSTER, [life(1, 7, addresses=[OLD], began=began)])
    ended = life(1, 7, addresses=[OLD], began=began, time=later(2), ended=later(2))
    await ledger.deliver(CLUSTER, [ended])
    for day in range(1, 31):
        await ledger.deliver(CLUSTER, [tick(day)])
    ingest = ingest_of(ledger, clock=lambda: NOW)
    await ingest.idle()
    await ingest.save()
    found = await accesses(ingest_of(ledger, clock=lambda: NOW), ledger, 0.5, 1.9, 2.5, 20, 30)
    sure = [each.attribution.confidence for each in found]
    exact, nobody = Confidence.EXACT, Confidence.UNATTRIBUTED
    assert sure == [exact, exact, nobody, nobody, nobody]
    assert found[0].attribution.pods[0].uid == "uid-1-7"


async def test_a_grant_that_has_ended_since(ledger: Store) -> None:
    """It covers what was read under it."""
    spec = {
        "store": "prod",
        "rights": ["read"],
        "reason": "a review",
        "expiresAt": later(2),
        "people": [f"oid:{PRINCIPAL}"],
    }
    begin = BEGIN_MS / 1000
    approved = {"namespace": "team", "approvers": [HUMAN, "oid:b"]}
    frames = [
        change("AccessGrant", "mine", "there", begin, namespace="team", spec=spec),
        change("AccessGrant", "mine", "approved", begin + 60, **approved),
        change("AccessGrant", "mine", "ended", begin + 2 * DAY_S, namespace="team"),
        *map(tick, range(3, 20)),
    ]
    for frame in frames:
        await ledger.deliver(CLUSTER, [frame])
    ingest = ingest_of(ledger, clock=lambda: NOW)
    raws = [
        encoded(
            storage_record(
                unix_ms=int(BEGIN_MS + day * DAY_S * 1000),
                correlationId=f"c{day}",
                identity={
                    "type": "OAuth",
                    "requester": {
                        "appId": "04b07795-8ddb-461a-bbee-02f9e1bf7b46",
                        "objectId": PRINCIPAL,
                    },
                },
            )
        ).strip()
        for day in (0.5, 3)
    ]
    await take_all(ingest, [stretch(raws)])
    found = [
        decode_access(each.payload or b"")
        for each in await entries(ledger)
        if each.kind == FrameKind.ACCESS
    ]
    during, after = sorted(found, key=lambda access: access.time)
    assert during.grant == "team/mine@uid-mine"
    assert after.grant == ""
    assert "had expired" in after.ungranted or "no AccessGrant" in after.ungranted


async def test_before_anything_was_recorded(ledger: Store) -> None:
    """It is a gap in the record, and not the deed of a stranger."""
    (found,) = await accesses(ingest_of(ledger, clock=lambda: NOW), ledger, -20)
    assert (found.attribution.confidence, found.attribution.gaps) == (Confidence.UNATTRIBUTED, True)
    assert "nothing is recorded of Pods" in found.attribution.why
