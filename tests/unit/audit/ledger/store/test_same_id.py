"""Two that have one id and say different things: neither is lost, and the log stays sound."""

import msgspec
import pytest

from audit.ledger.log.problems import RecordPlace
from audit.ledger.log.record_check import RecordCheck
from audit.ledger.records.frames import FrameKind
from audit.ledger.store.delivery import Delivery
from audit.ledger.store.store import Store
from core.weights.documents.access import SignedBy, decode_access
from tests.unit.audit.ledger.store.conftest import Sql
from tests.unit.audit.ledger.store.documents import CLUSTER, NOW_MS
from tests.unit.audit.ledger.store.log_invariants import access, sound

DAY_MS = 86_400_000


async def contents_of(store: Store) -> RecordCheck:
    """Return what a verifier says of the records."""
    contents = RecordCheck(most_late_ms=DAY_MS)
    for entry in await sound(store):
        where = RecordPlace(entry.position, entry.kind, entry.cluster, entry.id)
        contents.leaf(where, entry.payload, aside=entry.aside)
    return contents


async def test_what_is_aside_may_have_one_id(store: Store) -> None:
    """Whoever feeds a source chooses the ids of what is put aside: that is no tampering."""
    ahead = access(1, NOW_MS + 3 * DAY_MS)
    other = msgspec.structs.replace(ahead, user_agent="another")
    stored = await store.ingest(CLUSTER, Delivery(accesses=[ahead]))
    stored = await store.ingest(CLUSTER, Delivery(accesses=[other]))
    assert stored.quarantined == 1
    contents = await contents_of(store)
    assert contents.aside == 2
    assert contents.problems == []


@pytest.mark.parametrize("at_once", [True, False])
@pytest.mark.parametrize(
    "changed",
    [
        {"principal": "00000000-0000-0000-0000-00000000beef"},
        {"address": "10.9.9.9"},
        {"bytes_out": 1},
        {"signed_by": SignedBy.ANONYMOUS},
        {"blob": "another"},
    ],
)
async def test_a_forged_twin_hides_no_record(
    store: Store, sql: Sql, changed: dict[str, object], *, at_once: bool
) -> None:
    """Whoever knows a request's id, and is faster than the log: the true one is kept aside."""
    true = access(1)
    forged = msgspec.structs.replace(true, **changed)
    if at_once:
        deliveries = [Delivery(accesses=[forged, true])]
    else:
        deliveries = [Delivery(accesses=[forged]), Delivery(accesses=[access(2), true])]
    stored = [await store.ingest(CLUSTER, each) for each in deliveries][-1]
    assert (stored.quarantined, stored.known) == (1, 0)
    ((reason, kept),) = sql("SELECT reason, payload FROM quarantine")
    assert "says otherwise" in reason
    assert decode_access(bytes(kept)) == true
    assert (await contents_of(store)).problems == []


async def test_a_twin_that_says_the_same_is_known(store: Store) -> None:
    """Two exports of one record differ in what is found out here, and in what they leave out."""
    first = access(1)
    again = msgspec.structs.replace(
        first, source="hub", extra={"x": 1}, tls="TLS 1.3", grant="team/g@u", status_text="OK"
    )
    await store.ingest(CLUSTER, Delivery(accesses=[first]))
    stored = await store.ingest(CLUSTER, Delivery(accesses=[again, access(2)]))
    assert (stored.quarantined, stored.known, stored.stored) == (0, 1, 1)
    assert FrameKind.ACCESS in stored.ids
