"""Builds what `sallyport control` records of the cluster: lives of Pods, changes of objects."""

import hashlib
import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from prometheus_client import CollectorRegistry

from app.settings.root import Settings
from app.wiring import make_approve
from audit.ledger.records.recorder import LedgerRecorder
from audit.ledger.spool.queue import Spool
from control.loop import Loop
from control.weights.changes.loop import BUNDLE, RISK_TABLE, ChangeParts, Changes, WithRevisions
from control.weights.changes.store import ChangeStore
from control.weights.checkpoint import CheckpointStore
from control.weights.pod_lifecycle.documents import PodSignReader
from control.weights.pod_lifecycle.loop import LifeMetrics, LifeParts, PodLives
from kube.client.connection import Connection
from kube.client.objects import Objects
from kube.client.settings import LiveSettings
from kube.cluster.live import LiveCluster
from kube.resources.paths import PODS_PATH
from kube.watch.change_stream import ChangeStream
from kube.weights.recorded_objects import RecordedObjects

WATCHES: Final = LiveSettings(watch_min_s=15.0, watch_max_s=25.0)
"""Of Pods: between two watches it is stored how far all is recorded, also where nothing happens."""

MARGIN_S: Final = 1.5
"""The spool tells the ages of what waits to the second."""


@dataclass
class ClusterRecord:
    """The parts that need no more than the process has."""

    settings: Settings
    connection: Connection
    objects: Objects
    cluster: LiveCluster
    revision: Callable[[], str]
    """Of the policy bundle in force."""
    registry: CollectorRegistry

    def __post_init__(self) -> None:
        """Make what is followed, which is one for the process."""
        self._watched = RecordedObjects(self.connection, LiveSettings())
        self._life_metrics = LifeMetrics(self.registry)

    async def follow(self) -> None:
        """Keep the objects whose changes are recorded, until cancelled."""
        await self._watched.run()

    def loops(self, cluster_id: str, recorder: LedgerRecorder, spool: Spool) -> list[Loop]:
        """Return the loops: lives of Pods, changes of objects."""
        kept_until = KeptUntil(spool, ships=self.settings.shipping.url is not None)
        reached = CheckpointStore(self.objects, self.settings.namespace, cluster_id)
        cluster = self.cluster
        lives = PodLives(
            LifeParts(
                cluster_id,
                ChangeStream(self.connection, PODS_PATH, WATCHES),
                reached,
                recorder,
                kept_until,
                PodSignReader(
                    cluster.service_account_sign_in, cluster.node_volumes_of, cluster.volume
                ),
                self._life_metrics,
            )
        )
        revisions = {BUNDLE: self.revision, RISK_TABLE: self._risk_table}
        changes = Changes(
            ChangeParts(
                cluster_id,
                WithRevisions(self._watched, revisions, time.time),
                ChangeStore(self.objects, self.settings.namespace, cluster_id),
                reached,
                recorder,
                make_approve(self.settings, self.cluster),
                kept_until,
            )
        )
        return [lives.loop, changes.loop]

    def _risk_table(self) -> str:
        snapshot = self.cluster.risk()
        table = snapshot.head.table if snapshot else ""
        return f"sha256:{hashlib.sha256(table.encode()).hexdigest()}" if table else ""


class KeptUntil:
    """Tells up to which moment all that was recorded is kept for good.

    By the auditor, where there is one: the spool is a volume of this Pod, and may go with it.
    Without one, by the spool.
    """

    def __init__(self, spool: Spool, *, ships: bool) -> None:
        self._spool = spool
        self._ships = ships
        self._asked: deque[tuple[float, int]] = deque(maxlen=64)
        self._synced = 0.0
        self._last = 0.0

    def __call__(self) -> float:
        """Return Unix seconds; it never goes back."""
        now, settled, status = time.time(), self._spool.settled, self._spool.status()
        # A sync that began after a moment has all of before: of two that ended, the second did.
        while self._asked and self._asked[0][1] + 2 <= status.syncs:
            self._synced = self._asked.popleft()[0]
        self._asked.append((now, status.syncs))
        kept = now if settled else self._synced
        if self._ships and status.unacknowledged_bytes:
            kept = min(kept, now - status.oldest_age_s - MARGIN_S)
        self._last = max(self._last, kept)
        return self._last
