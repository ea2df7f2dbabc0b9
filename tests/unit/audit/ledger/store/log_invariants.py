"""What must hold of a ledger's log, looked at from outside; and documents for it."""

from typing import Any, Final

import msgspec

from audit.ledger.log.entries import LogEntry
from audit.ledger.log.merkle import root_of
from audit.ledger.records.frames import Frame, FrameKind
from audit.ledger.store.store import Store
from core.base.ids import stable_id
from core.base.times import milli_text
from core.weights.documents.access import FORMAT, Access, Act, SignedBy
from core.weights.documents.events import Finding, Severity, encode_event
from core.weights.documents.pod_life import LifeEvent, PodLife, encode_life
from tests.unit.audit.ledger.store.documents import CLUSTER, NOW_MS

ALL: Final = 10_000


def access(number: int, at_ms: int = NOW_MS, **changes: Any) -> Access:
    """Return a read of weights; the same number and time give the same id."""
    made = Access(
        format=FORMAT,
        id=stable_id(at_ms + number, "access", str(number)),
        time=milli_text(at_ms + number),
        cluster=CLUSTER,
        account="weightsprod",
        container="frontier-7b",
        blob=f"checkpoints/step-{number:06}/model-00001-of-00096.safetensors",
        store="frontier-7b",
        operation="GetBlob",
        act=Act.READ,
        status=200,
        signed_by=SignedBy.OAUTH,
        principal="6f0b4c39-9d0e-4a5c-8c4f-9f105f0c3c1e",
        address="10.4.7.21",
        bytes_out=4 << 30,
        correlation=f"{number:032x}",
        source="storage",
    )
    return msgspec.structs.replace(made, **changes)


def finding(number: int, at_ms: int = NOW_MS) -> Frame:
    """Return the frame of a finding."""
    made = Finding(
        format=1,
        id=stable_id(at_ms + number, "finding", str(number)),
        detection="mass-read",
        time=milli_text(at_ms + number),
        first="2026-11-21T11:00:00.000Z",
        cluster=CLUSTER,
        severity=Severity.HIGH,
        store="frontier-7b",
        title="Ten times what it reads on other days",
        detail="41 TB against 4 TB.",
        remedy="Ask who ran it.",
    )
    return framed(FrameKind.FINDING, made.id, encode_event(made))


def life(number: int, at_ms: int = NOW_MS) -> Frame:
    """Return the frame of a Pod that is seen, which has been there since a time."""
    made = PodLife(
        format=1,
        id=stable_id(at_ms, "life", str(number)),
        time=milli_text(at_ms),
        cluster=CLUSTER,
        event=LifeEvent.SEEN,
        uid=f"uid-{number}",
        namespace="train",
        name=f"worker-{number}",
        service_account="trainer",
    )
    return framed(FrameKind.POD_LIFE, made.id, encode_life(made))


def framed(kind: FrameKind, identity: str, payload: bytes) -> Frame:
    """Return the frame of a document."""
    return Frame(kind, bytes.fromhex(identity.replace("-", "")), payload)


async def sound(store: Store) -> list[LogEntry]:
    """Demand that the log is whole and its root is that of its leaves; give its entries."""
    state = await store.log_state()
    entries = await store.entries(limit=ALL)
    first = state.prefix.size
    assert [entry.position for entry in entries] == list(range(first, state.tree.size))
    assert all(entry.payload is None or entry.leaf.digest for entry in entries)
    if first == 0:
        assert root_of([entry.leaf.hash for entry in entries]) == state.tree.root
    assert (await store.frontier(state.tree.size)) == state.tree
    return entries
