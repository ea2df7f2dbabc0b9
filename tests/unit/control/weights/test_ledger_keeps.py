"""What `control` records of the cluster is kept by the ledger, each once."""

import time
import uuid
from pathlib import Path

from audit.ledger.records.frames import Frame
from audit.ledger.records.recorder import LedgerRecorder
from audit.ledger.store.store import Store
from control.weights.changes.comparison import ObjectComparison
from control.weights.checkpoint import EVER, build_gap
from control.weights.pod_lifecycle.documents import PodDocumentBuilder, PodSigns
from control.weights.pod_lifecycle.live_pods import LivePods
from core.weights.documents.roll_calls import build_roll_call
from kube.weights.pod_lifecycle import PodLifecycle
from kube.weights.recorded_objects import RecordedObject

YEARS_S = 3 * 365 * 86_400


async def test_all_of_it_is_stored_once_however_old_it_is(tmp_path: Path) -> None:
    """Pods and grants of years ago that are still there, and a gap since ever: none refused."""
    frames: list[Frame] = []

    class Spool:
        def append(self, kind: int, frame_id: bytes, payload: bytes) -> None:
            frames.append(Frame(kind, frame_id, payload))

    now = time.time()
    recorder = LedgerRecorder(Spool(), lambda: "c-1", lambda _: "")
    old = PodLifecycle(
        uid=str(uuid.uuid4()),
        namespace="train",
        name="llm-0",
        service_account="trainer",
        node="node-1",
        host_network=False,
        addresses=("10.2.0.1",),
        node_addresses=("10.1.0.1",),
        made=now - YEARS_S,
        began=now - YEARS_S + 5,
        finished=False,
        stopped=0.0,
        owner="",
        moved=now - YEARS_S + 9,
    )
    told = PodDocumentBuilder("c-1", LivePods()).tell(
        old, PodSigns(("a",), ("b/c",)), gone=True, now=now
    )
    for life in told.documents:
        recorder.record_life(life)
    store = RecordedObject("WeightStore", "", "s", "u", "sha256:a", now - YEARS_S, now - YEARS_S)
    for _, _, change in ObjectComparison("c-1", now).compared({}, {"s": store}, "WeightStore"):
        recorder.record_change(change)
    for part in build_roll_call(
        "c-1", [str(uuid.uuid4()) for _ in range(25_000)], round(now * 1000), ""
    ):
        recorder.record_change(part)
    recorder.record_gap(build_gap("c-1", "pods", "Pod", EVER, now, "nobody recorded Pods before"))
    async with Store(f"sqlite:///{tmp_path}/ledger.db") as ledger:
        first = await ledger.deliver("c-1", frames)
        again = await ledger.deliver("c-1", frames)
    assert len(frames) == 3 + 1 + 2 + 1
    assert (first.stored, first.quarantined) == (len(frames), 0)
    assert (again.stored, again.known, again.quarantined) == (0, len(frames), 0)
