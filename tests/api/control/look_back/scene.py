"""What somebody did in a real cluster and a real ledger, and a control that looks back on it."""

import math
import time
import uuid
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from prometheus_client import CollectorRegistry

from audit.ledger.records.frames import Frame, FrameKind, decision_frame_id
from audit.ledger.server.acts import LedgerActs
from audit.ledger.store.store import Store
from control.risk.look_back.events import LookBackEvents, event_name
from control.risk.look_back.loop import LookBackMetrics, LookBacks
from control.risk.look_back.search import NO_RECORDS, Sources
from control.risk.look_back.store import MemoryStore
from core.base.ids import uuid7
from core.base.names import REQUESTER_ANNOTATION
from core.risk.look_back import LookBackDocument, encode_look_back
from core.risk.model import RiskEntry, RiskLevel, RiskSource, RiskState, identity_key
from core.risk.snapshot import RiskSnapshot, SnapshotDraft
from kube.client.objects import Objects
from kube.leader.lease import Leadership
from tests.harness.evidence import ROOT
from tests.harness.programs.client import Client, Json, read_objects
from tests.harness.worlds.pods import RESTRICTED
from tests.unit.audit.ledger.store.documents import document, frame

LEADER: Final = Leadership(1, math.inf, time.monotonic)
HOUR_S: Final = 3600
CLUSTER: Final = "looked-back-on"


@dataclass
class Records:
    """Keeps what is recorded, each id once, as a ledger does."""

    kept: dict[str, LookBackDocument] = field(default_factory=dict)
    calls: int = 0

    def record_look_back(self, document: LookBackDocument) -> None:
        """Keep one."""
        self.calls += 1
        self.kept.setdefault(document.id, document)


class Died(Exception):  # noqa: N818 -- it is an end, not an error
    """The leader's process ends here."""


class Mortal(Objects):
    """The cluster, of a leader that dies after so many writes."""

    def __init__(self, real: Objects, writes: int) -> None:
        super().__init__(real._connection, 4.0)  # noqa: SLF001 -- the same connection
        self._left = writes

    async def _write(self, *arguments: Any, **more: Any) -> dict[str, Any]:
        if not self._left:
            raise Died
        self._left -= 1
        return await super()._write(*arguments, **more)


class Scene:
    """One identity at risk, its acts, and the loop that looks back on it."""

    def __init__(
        self, objects: Objects, client: Client, namespace: str, ledger: Path, label: str
    ) -> None:
        self.objects = objects
        self.client = client
        self.namespace = namespace
        self.label = label
        self.records = Records()
        self.ledger = f"sqlite:///{ledger / 'ledger.db'}"
        self.snapshot = RiskSnapshot()
        self.now = time.time()

    def rises(
        self, level: RiskLevel = RiskLevel.HIGH, *, active_h: float = 0, ago_s: int = 60
    ) -> None:
        """Put the identity at risk; `active_h` hours ago happened what made it so."""
        since = int(self.now) - ago_s
        draft = SnapshotDraft.of(self.snapshot)
        entry = RiskEntry(
            level=level,
            state=RiskState.AT_RISK,
            updated=since,
            since=since,
            active=int(self.now - active_h * HOUR_S) if active_h else 0,
            event_id="0f1e2d3c-0000-4000-8000-000000000001",
            event_type="unfamiliarFeatures",
        )
        draft.put(RiskSource.ENTRA, identity_key(self.label), entry)
        self.snapshot = draft.finish(self.now)

    async def did(self, ago_h: float, item: Json | None = None, **changes: Any) -> str:
        """Record that the identity was let do something to an object; give the decision's id."""
        decision = uuid7(int((self.now - ago_h * HOUR_S) * 1000))
        about: dict[str, Any] = {"namespace": self.namespace}
        if item is not None:
            group, _, version = item["apiVersion"].rpartition("/")
            about |= {"kind": item["kind"], "group": group, "version": version}
            about |= {"name": item["metadata"]["name"]}
            about["object_uid"] = item["metadata"].get("uid", "")
        made = document(id=decision, cluster=CLUSTER, requester=self.label, **{**about, **changes})
        async with Store(self.ledger) as store:
            await store.deliver(CLUSTER, [frame(made)])
        return decision

    async def keep(self, document: LookBackDocument) -> None:
        """Put a document into the ledger."""
        content = encode_look_back(document)
        kept = Frame(FrameKind.LOOK_BACK, decision_frame_id(document.id), content)
        async with Store(self.ledger) as store:
            assert (await store.deliver(CLUSTER, [kept])).stored == 1

    def loop(self, store: Store | None, objects: Objects | None = None) -> LookBacks:
        """Return the loop of a new process; without a store there is no auditor."""
        cluster = objects or self.objects
        acts = LedgerActs(store.find, CLUSTER) if store is not None else None
        return LookBacks(
            risk=lambda: self.snapshot,
            sources=Sources(cluster, acts, CLUSTER, () if acts else (NO_RECORDS,)),
            memory=MemoryStore(cluster, self.namespace),
            telling=LookBackEvents(cluster, self.namespace),
            records=self.records,
            settled=lambda: True,
            metrics=LookBackMetrics(CollectorRegistry()),
            now=lambda: self.now,
            days=14,
        )

    async def look(self, objects: Objects | None = None, *, auditor: bool = True) -> None:
        """Run the loop of a new process once."""
        if not auditor:
            await self.loop(None, objects).run(LEADER)
            return
        async with Store(self.ledger) as store:
            await self.loop(store, objects).run(LEADER)

    async def events(self, namespace: str | None = None) -> list[Json]:
        """Return the Events about the identity in a namespace."""
        status, found = await self.client.request(
            "GET", f"/apis/events.k8s.io/v1/namespaces/{namespace or self.namespace}/events"
        )
        assert status == 200
        name = event_name(self.label)
        return [each for each in found["items"] if each["metadata"]["name"] == name]

    def pod(self, name: str, **metadata: Any) -> Json:
        """Return a Pod."""
        made = RESTRICTED.pod()
        made["metadata"] = {"name": name, "namespace": self.namespace, **metadata}
        return made

    def deployment(self, name: str, annotations: Mapping[str, str] | None = None) -> Json:
        """Return a Deployment, with the identity's note unless others are given."""
        noted = {REQUESTER_ANNOTATION: self.label} if annotations is None else dict(annotations)
        labels = {"app": name}
        template = {"metadata": {"labels": labels}, "spec": RESTRICTED.pod()["spec"]}
        return {
            "apiVersion": "apps/v1",
            "kind": "Deployment",
            "metadata": {"name": name, "namespace": self.namespace, "annotations": noted},
            "spec": {"replicas": 1, "selector": {"matchLabels": labels}, "template": template},
        }


async def new_scene(objects: Objects, client: Client, namespace: str, ledger: Path) -> Scene:
    """Return a scene with somebody who is not at risk yet; `ledger` is a folder."""
    for file in sorted((ROOT / "helm/sallyport-crds/templates").glob("*.yaml")):
        await client.apply(read_objects(file))
    await client.wait_for_kind("sallyport.dev/v1alpha1", "ClusterApproval")
    await client.create_service_account("default", namespace)
    return Scene(objects, client, namespace, ledger, f"oid:{uuid.uuid4()}")


def only(scene: Scene) -> LookBackDocument:
    """Return the one document that was recorded."""
    (found,) = scene.records.kept.values()
    return found
