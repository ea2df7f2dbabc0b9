"""Recorders of the life of Pods on a real cluster, and Pods whose kubelet is the test."""

import asyncio
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from typing import Any, Final

import msgspec
from prometheus_client import CollectorRegistry

from audit.ledger.records.frames import FrameKind
from audit.ledger.records.recorder import LedgerRecorder
from control.weights.checkpoint import CheckpointStore
from control.weights.pod_lifecycle.documents import PodSigns
from control.weights.pod_lifecycle.loop import LifeMetrics, LifeParts, PodLives
from core.base.background import in_background
from core.base.errors import NotRecordedError
from core.weights.documents.events import LogGap, decode_gap
from core.weights.documents.object_change import ObjectChange, decode_change
from core.weights.documents.pod_life import LifeEvent, PodLife, decode_life
from kube.client.connection import Connection
from kube.client.objects import Objects
from kube.client.settings import LiveSettings
from kube.leader.lease import Leadership
from kube.resources.paths import PODS_PATH
from kube.watch.change_stream import ChangeStream
from kube.weights.pod_lifecycle import PodLifecycle
from tests.api.kube.objects import wait_for
from tests.harness.programs.apiserver import ApiServer
from tests.harness.programs.client import Client

CLUSTER: Final = "c-1"
QUICK: Final = LiveSettings(
    watch_min_s=1, watch_max_s=2, page_size=3, backoff_cap_s=1, request_timeout_s=5
)


@dataclass
class Taken:
    """A spool that keeps what it takes, and may be full.

    Of a namespace only what is in it: the cluster is others' too, who have Pods of the same names.
    """

    space: str = ""
    lives: list[PodLife] = field(default_factory=list)
    changes: list[ObjectChange] = field(default_factory=list)
    gaps: list[LogGap] = field(default_factory=list)
    full: bool = False
    refused: int = 0

    def append(self, kind: int, frame_id: bytes, payload: bytes) -> None:
        """Take a frame."""
        if self.full:
            self.refused += 1
            raise NotRecordedError("the spool holds no more")
        assert len(frame_id) == 16
        if kind == FrameKind.POD_LIFE:
            life = decode_life(payload)
            self.lives += [life] if self._is_here(life.namespace) else []
        elif kind == FrameKind.CHANGE:
            change = decode_change(payload)
            self.changes += [change] if self._is_here(change.namespace) else []
        else:
            assert kind == FrameKind.LOG_GAP
            self.gaps.append(decode_gap(payload))

    def _is_here(self, namespace: str) -> bool:
        return not (self.space and namespace) or namespace == self.space

    def of(self, name: str) -> list[PodLife]:
        """Return what was recorded of a Pod."""
        return [each for each in self.lives if each.name == name]

    def events(self, name: str) -> list[LifeEvent]:
        """Return the events that were recorded of a Pod, in order."""
        return [each.event for each in self.of(name)]

    async def until(self, name: str, event: LifeEvent) -> PodLife:
        """Wait for an event of a Pod."""
        await wait_for(lambda: event in self.events(name), 60)
        return next(each for each in self.of(name) if each.event is event)


@dataclass(frozen=True)
class Scene:
    """One installation."""

    server: ApiServer
    connection: Connection
    namespace: str

    def lives(self, taken: Taken, settings: LiveSettings = QUICK) -> PodLives:
        """Return the recorder of one control."""
        objects = Objects(self.connection, 4.0)
        return PodLives(
            LifeParts(
                CLUSTER,
                ChangeStream(self.connection, PODS_PATH, settings),
                CheckpointStore(objects, self.namespace, CLUSTER),
                LedgerRecorder(taken, lambda: CLUSTER, lambda _: ""),
                time.time,
                no_signs,
                LifeMetrics(CollectorRegistry()),
                patience_s=0.3,
                save_s=0.2,
            )
        )

    async def saved(self, after: float) -> None:
        """Wait until it is stored that all up to a moment is recorded."""
        objects = Objects(self.connection, 4.0)
        store = CheckpointStore(objects, self.namespace, CLUSTER)

        async def is_so() -> bool:
            reached = await store.load()
            return reached is not None and reached.time > after

        await wait_for(is_so, 60)


def no_signs(pod: PodLifecycle, raw: msgspec.Raw) -> PodSigns:
    """Return what a Pod has that signs in as nobody."""
    return PodSigns()


def term(number: int) -> Leadership:
    """Return a term that does not end by itself."""
    return Leadership(number, 1.0, lambda: 0.0)


@asynccontextmanager
async def leading(lives: PodLives, number: int = 1) -> AsyncIterator[None]:
    """Have a recorder lead, as its loop does."""
    leadership = term(number)

    async def run() -> None:
        while True:
            with suppress(Exception):  # As the loop: whatever it is, it is tried again.
                await lives.run(leadership)
            await asyncio.sleep(0.05)

    async with in_background(run()):
        yield
        lives.loop.forget()


@asynccontextmanager
async def scene_of(server: ApiServer, client: Client, namespace: str) -> AsyncIterator[Scene]:
    """Yield an installation in a namespace."""
    await client.create_namespace(namespace)
    connection = Connection(server.kubeconfig())
    await connection.open()
    try:
        yield Scene(server, connection, namespace)
    finally:
        await connection.close()


def pod(name: str, namespace: str, **spec: Any) -> dict[str, Any]:
    """Return a Pod."""
    containers = [{"name": "main", "image": "example.com/train:1"}]
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "namespace": namespace},
        "spec": {"containers": containers, **spec},
    }


async def run_pod(client: Client, name: str, namespace: str, address: str) -> str:
    """Create a Pod and have it run, as a scheduler and a kubelet do; give its UID."""
    made = await client.create(pod(name, namespace, nodeName="node-1"))
    await set_status(
        client,
        name,
        namespace,
        phase="Running",
        startTime="2026-11-01T10:00:00Z",
        podIP=address,
        podIPs=[{"ip": address}],
        hostIP="10.1.0.4",
        hostIPs=[{"ip": "10.1.0.4"}],
    )
    return str(made["metadata"]["uid"])


async def stop_pod(client: Client, name: str, namespace: str, at: str) -> None:
    """Have its container stop, as a kubelet says it."""
    ended = {"terminated": {"exitCode": 0, "finishedAt": at, "startedAt": "2026-11-01T10:00:01Z"}}
    status = {
        "name": "main",
        "image": "",
        "imageID": "",
        "ready": False,
        "restartCount": 0,
        "state": ended,
    }
    await set_status(client, name, namespace, phase="Succeeded", containerStatuses=[status])


async def set_status(client: Client, name: str, namespace: str, **status: Any) -> None:
    """Write a Pod's status."""
    path = f"/api/v1/namespaces/{namespace}/pods/{name}/status"
    code, body = await client.request(
        "PATCH", path, {"status": status}, content_type="application/merge-patch+json"
    )
    assert code == 200, body


def told_by(taken: Taken, other: Taken) -> set[str]:
    """Return the ids that both recorded."""
    return {each.id for each in taken.lives} & {each.id for each in other.lives}
