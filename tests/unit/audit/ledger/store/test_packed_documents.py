"""Documents are stored in a quarter of their room, and nobody who reads the ledger notices."""

import zlib

import msgspec
from hypothesis import given
from hypothesis import strategies as st

from audit.ledger.records.frames import MAX_BODY, Frame
from audit.ledger.store.columns import uuid_bytes
from audit.ledger.store.decisions import DecisionQuery
from audit.ledger.store.packed_documents import pack, unpack
from audit.ledger.store.store import Store
from core.decision.decision import Action, Finding, Verdict
from core.decision.document import decode_document, encode_document
from tests.unit.audit.ledger.store.conftest import Sql
from tests.unit.audit.ledger.store.documents import CLUSTER, NOW_MS, document, frame
from tests.unit.audit.ledger.store.log_invariants import sound
from tests.unit.audit.ledger.store.test_refusals_by_size import KEEP, TODAY, verified

FINDINGS = [
    Finding(
        "privileges/volume/hostPath",
        Action.DENY,
        f"spec.volumes[{number}].hostPath",
        f"mounts /data/shard-{number} of the node",
        "Use a PersistentVolumeClaim, or ask for a profile that covers the path.",
        privilege=f"volume/hostPath:ro/data/shard-{number}",
        covered_by=["node-agent", "pss-privileged"],
    )
    for number in range(20)
]


def denials(count: int, begin: int = 0) -> list[Frame]:
    """Return denials of some size, one a second."""
    made = [document(NOW_MS - 1000 * at, Verdict.DENY) for at in range(begin, begin + count)]
    return [frame(msgspec.structs.replace(each, findings=FINDINGS)) for each in made]


async def test_it_is_read_as_it_came(url: str, sql: Sql) -> None:
    """Beside what was stored before: lists, single ids, the log's proofs, and removal by size."""
    before, after = denials(20), denials(30, 20)
    size = len(after[0].payload)
    async with Store(url, lambda: NOW_MS / 1000, keep_days=KEEP) as store:
        await store.deliver(CLUSTER, before)
    async with Store(url, lambda: NOW_MS / 1000, keep_days=KEEP, packs=True) as store:
        assert (await store.deliver(CLUSTER, after)).stored == 30
        again = await store.deliver(CLUSTER, before + after)
        assert (again.known, again.quarantined) == (50, 0)
        found = await store.find(DecisionQuery(limit=100))
        assert sorted(found) == sorted(each.payload for each in before + after)
        (one,) = await store.get(decode_document(after[0].payload).id)
        assert encode_document(one) == after[0].payload
        shares = await store.refusal_shares()
        assert 20 * size < sum(each.size for each in shares) < 20 * size + 30 * size / 3
        await sound(store)
        assert (await verified(url)).sound
        assert await store.shrink(0, KEEP, TODAY, frozenset()) == 50
        await sound(store)
    assert (await verified(url)).sound
    assert sql("SELECT count(*) FROM decisions") == [(0,)]


async def test_a_packed_document_that_somebody_changes_is_seen(url: str, sql: Sql) -> None:
    """Also where it cannot be unpacked any more."""
    async with Store(url, lambda: NOW_MS / 1000, keep_days=KEEP, packs=True) as store:
        made = denials(3)
        await store.deliver(CLUSTER, made)
    identity = uuid_bytes(decode_document(made[0].payload).id).hex()
    if url.startswith("sqlite"):
        sql(f"UPDATE decisions SET document = x'7801ff' WHERE hex(id) = upper('{identity}')")  # noqa: S608
    else:
        sql(f"UPDATE decisions SET document = '\\x7801ff' WHERE id = '{identity}'")  # noqa: S608
    found = await verified(url)
    assert not found.sound


@given(content=st.binary(max_size=4000))
def test_any_content_comes_back(content: bytes) -> None:
    """Whatever it is; and what is no document is let be."""
    document = b'{"a":"' + content.hex().encode() + b'"}'
    assert unpack(pack(document)) == document
    assert len(pack(document)) <= len(document)
    assert unpack(content if not content.startswith(b"\x78") else b"{") in {content, b"{"}


def test_what_unpacks_without_end_is_let_be() -> None:
    """Somebody wrote it past the ledger: no reader may spend its memory on it."""
    bomb = zlib.compress(b"{" + b" " * (4 * MAX_BODY))
    assert unpack(bomb) == bomb
    assert unpack(b"\x78\x9c and no more") == b"\x78\x9c and no more"
