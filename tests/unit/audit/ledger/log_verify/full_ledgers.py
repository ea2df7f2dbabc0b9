"""A ledger that has rows in every table: what honest_ledgers makes, and one record of each kind."""

import hashlib
from pathlib import Path
from typing import Any, Final

import sqlalchemy as sa

from audit.ledger.log.anchor_file import FileAnchor
from audit.ledger.records.frames import Frame, FrameKind
from audit.ledger.store.delivery import Delivery
from audit.ledger.store.store import Store
from audit.ledger.store.tables import log
from core.base.ids import stable_id
from core.base.times import milli_text
from core.decision.decision import Verdict
from core.decision.refusal_aggregate import RefusalAggregate, encode_aggregate
from core.decision.sweep_document import encode_sweep
from core.risk.look_back import LookBackDocument, encode_look_back
from core.weights.documents.events import Activity, LogGap, encode_event
from core.weights.documents.intake import Intake, RefusedRecord, encode_intake
from core.weights.documents.object_change import ObjectChange, encode_change
from tests.compat.examples import example_of
from tests.unit.audit.ledger.log_verify.honest_ledgers import Clock, build, publish
from tests.unit.audit.ledger.store.documents import CLUSTER, NOW_MS, document, frame, sweep
from tests.unit.audit.ledger.store.log_invariants import access, finding, framed, life

AT_MS: Final = NOW_MS + 500

_ENCODED: Final[dict[FrameKind, tuple[type[Any], Any]]] = {
    FrameKind.LOOK_BACK: (LookBackDocument, encode_look_back),
    FrameKind.ACTIVITY: (Activity, encode_event),
    FrameKind.LOG_GAP: (LogGap, encode_event),
    FrameKind.CHANGE: (ObjectChange, encode_change),
    FrameKind.REFUSED: (RefusedRecord, encode_intake),
    FrameKind.INTAKE: (Intake, encode_intake),
    FrameKind.AGGREGATE: (RefusalAggregate, encode_aggregate),
}


async def build_full(url: str, anchor: Path) -> None:
    """Make a ledger with rows in every table; its last head is anchored too."""
    await build(url, anchor)
    clock = Clock()
    clock.now_ms = AT_MS
    async with Store(url, clock, keep_days=90) as store:
        await store.ingest(
            CLUSTER,
            Delivery(
                accesses=[access(1, AT_MS)],
                frames=[*_frames()],
                places={"events": b"1:2"},
                checkpoints={"cases": b"{}"},
            ),
        )
        with store._backend.engine.begin() as connection:  # noqa: SLF001  As an upgrade does.
            connection.execute(sa.update(log).values(adopt_until_ms=AT_MS - 1))
        await store.adopt()
        await publish(store, FileAnchor(anchor), AT_MS)


def _frames() -> list[Frame]:
    projection = b'{"kind":"Pod"}'
    digest = hashlib.sha256(projection)
    named = document(
        AT_MS,
        Verdict.DENY,
        id=stable_id(AT_MS, "decision", "all"),
        projection=f"sha256:{digest.hexdigest()}",
        sandbox="gvisor",
        error_kind="engine",
    )
    swept = sweep(AT_MS, id=stable_id(AT_MS, "sweep", "1"))
    made = [
        frame(named),
        Frame(FrameKind.PROJECTION, digest.digest(), projection),
        framed(FrameKind.SWEEP, swept.id, encode_sweep(swept)),
        finding(1, AT_MS),
        life(1, AT_MS),
    ]
    return [*made, *(_example(kind) for kind in _ENCODED)]


def _example(kind: FrameKind) -> Frame:
    of, encode = _ENCODED[kind]
    identity = stable_id(AT_MS, kind.name, "1")
    fixed = {"format": 1, "id": identity, "cluster": CLUSTER, "time": milli_text(AT_MS)}
    return framed(kind, identity, encode(example_of(of, fixed, json=True)))
