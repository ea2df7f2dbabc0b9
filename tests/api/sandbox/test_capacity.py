"""Nodes of the sandbox are summed up by control, and who asks for too much of them is warned."""

import asyncio
import math
import time
from collections.abc import AsyncIterator, Awaitable
from typing import Any, Final

import pytest
from prometheus_client import CollectorRegistry

from control.sandbox_capacity.loop import CapacitySettings, SandboxCapacity
from control.sandbox_capacity.node_shapes import sum_usage
from core.sandbox.capacity import decode_capacity
from kube.client.connection import Connection
from kube.client.objects import Objects, list_objects
from kube.cluster.live import LiveCluster
from kube.leader.lease import Leadership
from kube.resources.paths import PODS_PATH
from kube.resources.sandbox_capacity import NAME
from tests.api.kube.objects import is_answered, wait_for
from tests.api.sandbox.conftest import BOXED, OPEN, POOL, TOLERATION, deployment, pod_of
from tests.harness.evidence import record
from tests.harness.programs.client import Client, Json
from tests.harness.programs.guarded_apiserver import Installation
from tests.harness.sizes import PROOF, size

SYSTEM: Final = "sallyport-system"
LEADER: Final = Leadership(1, math.inf, time.monotonic)
SOON_S: Final = 60.0
AT_ONCE: Final = 16
"""Nodes that are made at the same time."""
PODS_EACH: Final = 5
"""On each node of a large pool."""

_ROOT: Final = f"/api/v1/namespaces/{SYSTEM}/configmaps"


def node(name: str, labels: Json | None = None) -> Json:
    """Return a Node of the pool."""
    metadata = {"name": name, "labels": labels or POOL}
    return {"apiVersion": "v1", "kind": "Node", "metadata": metadata}


async def add_node(
    admin: Client, name: str, *, ready: str = "True", spec: Json | None = None, cpu: str = "4"
) -> None:
    """Make a Node, and say of it what its kubelet and the node's controllers would."""
    await admin.create(node(name))
    allocatable = {"cpu": cpu, "memory": "16Gi", "pods": "110"}
    conditions = [{"type": "Ready", "status": ready, "reason": "Told", "message": "by a test"}]
    status = {"capacity": allocatable, "allocatable": allocatable, "conditions": conditions}
    merge = "application/merge-patch+json"
    path = f"/api/v1/nodes/{name}"
    code, answer = await admin.request(
        "PATCH", f"{path}/status", {"status": status}, content_type=merge
    )
    assert code == 200, answer
    # kube-apiserver taints what is new as not ready, which a controller would take away.
    taints = [{"key": TOLERATION["key"], "effect": TOLERATION["effect"]}]
    patch = {"spec": {"taints": taints} | (spec or {})}
    code, answer = await admin.request("PATCH", path, patch, content_type=merge)
    assert code == 200, answer


def running(name: str, on: str, cpu: str = "1") -> Json:
    """Return a Pod that is on a node already."""
    made = pod_of(name, OPEN, nodeName=on)
    made["spec"]["containers"][0]["resources"] = {"requests": {"cpu": cpu}}
    return made


def gang(name: str, replicas: int, **limits: Any) -> Json:
    """Return a Deployment whose Pods must be sandboxed."""
    made = deployment(name, BOXED, replicas)
    container = made["spec"]["template"]["spec"]["containers"][0]
    container["resources"] = {"requests": {"cpu": "1"} | limits, "limits": limits}
    return made


class Sum:
    """The loop, as a leader runs it."""

    def __init__(self, live: LiveCluster, objects: Objects) -> None:
        self._objects = objects
        self.loop = SandboxCapacity(
            objects,
            SYSTEM,
            ("gvisor",),
            live.runtime_class,
            CollectorRegistry(),
            CapacitySettings(100, 1000),
        )

    async def run(self) -> None:
        """Look once, and write."""
        await self.loop.run(LEADER)

    async def list_pods(self) -> None:
        """Read all Pods of the cluster page by page, and what each asks for."""
        sum_usage([raw async for raw in list_objects(self._objects, PODS_PATH)])


@pytest.fixture
async def summing(installation: Installation) -> AsyncIterator[Sum]:
    """What control does, with all it needs loaded."""
    connection = Connection(installation.apiserver.kubeconfig())
    await connection.open()
    live = LiveCluster(installation.apiserver.kubeconfig())
    await live.start()
    try:
        await wait_for(lambda: is_answered(lambda: live.runtime_class("gvisor")), SOON_S)
        yield Sum(live, Objects(connection, 10.0))
    finally:
        await live.stop()
        await connection.close()


@pytest.fixture
async def pool(admin: Client) -> AsyncIterator[Client]:
    """An administrator whose Nodes, Pods on them and summary are gone after the test."""
    yield admin
    await admin.request("DELETE", f"/api/v1/namespaces/{OPEN}/pods?gracePeriodSeconds=0")
    await admin.request("DELETE", "/api/v1/nodes")
    await admin.request("DELETE", f"{_ROOT}/{NAME}")


async def warnings_of(client: Client, item: Json) -> list[str]:
    """Return what whoever creates it is warned of: the text of each Warning header."""
    client.warnings.clear()
    answer = await client.dry_run(item)
    assert not answer.message
    return [line.split('"')[1] for line in client.warnings]


async def said(client: Client, item: Json, words: str) -> list[str]:
    """Wait until whoever creates it is warned with these words."""
    end = time.monotonic() + SOON_S
    while time.monotonic() < end:
        found = await warnings_of(client, item)
        if any(words in line for line in found):
            return found
        await asyncio.sleep(0.1)
    pytest.fail(f"{words!r} is not said, but {found}")


async def test_who_asks_for_too_much_is_warned(pool: Client, eve: Client, summing: Sum) -> None:
    """With the numbers of now; who asks for less is not; what can never run says why."""
    assert await warnings_of(eve, gang("none", 64)) == []
    await add_node(pool, "room-a")
    await add_node(pool, "room-b")
    await add_node(pool, "room-c", ready="False")
    await add_node(pool, "room-d", spec={"unschedulable": True})
    await pool.create(node("room-other", {"example.com/pool": "other"}))
    await pool.create(running("busy", "room-a", "1"))
    await summing.run()
    # The class takes 50m for each Pod: 2 of 1050m fit beside the one that runs, and 3 on a node.
    first, last = await said(eve, gang("large", 64), "at most 5 of 64 Pods fit now, 6 when empty")
    assert first.startswith("sandbox gvisor: at most 5 of 64")
    assert "(2 nodes, 1 cordoned, 1 not-ready, " in first
    # Of a dry run no decision is on record: none is named.
    assert last == "Ask for fewer or smaller Pods, or for more nodes"
    assert await warnings_of(eve, gang("small", 5)) == []
    lone = pod_of("lone")
    lone["spec"]["containers"][0]["resources"] = {"limits": {"cpu": "64"}}
    found = await warnings_of(eve, lone)
    assert "its Pods never fit: one asks for 64.05 cpu, the largest has 4" in found[0]


async def test_what_is_made_of_it_is_not_warned_of(pool: Client, eve: Client, summing: Sum) -> None:
    """A Deployment that is too large is admitted, with a warning; nothing refuses its Pods."""
    await add_node(pool, "room-e")
    await summing.run()
    await said(eve, gang("probe", 9), "at most 3 of 9")
    eve.warnings.clear()
    made = await eve.create(gang("admitted", 4))
    try:
        assert [line for line in eve.warnings if "at most 3 of 4" in line]
        path = f"/api/v1/namespaces/{BOXED}/pods?labelSelector=app%3Dadmitted"
        for _ in range(300):
            found = (await pool.request("GET", path))[1]["items"]
            if len(found) == 4:
                break
            await asyncio.sleep(0.2)
        assert len(found) == 4
    finally:
        await pool.delete(made)


async def test_what_somebody_else_writes_is_taken_back(
    pool: Client, eve: Client, summing: Sum, installation: Installation
) -> None:
    """Broken by hand: the gate says so in its log, warns nobody, refuses nothing; then mended."""
    await add_node(pool, "room-f")
    await summing.run()
    await said(eve, gang("before", 9), "at most 3 of 9")
    broken: Json = {"apiVersion": "v1", "kind": "ConfigMap"}
    broken["metadata"] = {"name": NAME, "namespace": SYSTEM}
    await pool.patch(broken, {"data": {"gvisor": '{"format": 1, "nodes": -1}'}})
    end = time.monotonic() + SOON_S
    while await warnings_of(eve, gang("broken", 9)):
        assert time.monotonic() < end
        await asyncio.sleep(0.1)
    loud = "summary of a sandbox's nodes left out: nobody is warned"
    await wait_for(lambda: loud in installation.gate.log_tail(), SOON_S)
    assert installation.gate.log_tail().count(loud) == 1
    await summing.run()
    await said(eve, gang("after", 9), "at most 3 of 9")
    await pool.delete(broken)
    await summing.run()
    await said(eve, gang("again", 9), "at most 3 of 9")


async def test_it_is_written_only_when_it_changes(pool: Client, summing: Sum) -> None:
    """By control's own field manager."""
    await add_node(pool, "room-g")
    versions = []
    for _ in range(3):
        await summing.run()
        written = await pool.get("v1", "ConfigMap", NAME, SYSTEM)
        versions.append(written["metadata"]["resourceVersion"])
    assert len(set(versions)) == 1
    managers = {field["manager"] for field in written["metadata"]["managedFields"]}
    assert managers == {"sallyport-capacity"}
    await pool.create(running("more", "room-g"))
    await summing.run()
    after = await pool.get("v1", "ConfigMap", NAME, SYSTEM)
    assert after["metadata"]["resourceVersion"] != versions[0]


async def test_finished_pods_take_no_room(pool: Client, summing: Sum) -> None:
    """As kube-scheduler counts: what has succeeded or failed asks for nothing."""
    await add_node(pool, "room-h")
    await pool.create(running("done", "room-h"))
    path = f"/api/v1/namespaces/{OPEN}/pods/done/status"
    merge = "application/merge-patch+json"
    status = {"status": {"phase": "Succeeded"}}
    code, answer = await pool.request("PATCH", path, status, content_type=merge)
    assert code == 200, answer
    await summing.run()
    written = await pool.get("v1", "ConfigMap", NAME, SYSTEM)
    (shape,) = decode_capacity(written["data"]["gvisor"], NAME).shapes
    assert (shape.free["cpu"], shape.free["pods"]) == (4000, 110)


class Costs:
    """What some work takes: seconds, and of these CPU here and in kube-apiserver."""

    def __init__(self, admin: Client) -> None:
        self._admin = admin
        self.lines: list[str] = []

    async def of(self, what: str, work: Awaitable[object]) -> None:
        """Do it, and note what it takes."""
        server, wall, own = await self._server(), time.perf_counter(), time.process_time()
        await work
        taken = (time.perf_counter() - wall, time.process_time() - own)
        said = f"{taken[0]:.2f} s, {taken[1]:.2f} s of CPU here"
        self.lines.append(f"- {what}: {said}, {await self._server() - server:.2f} s there")

    async def _server(self) -> float:
        _, answer = await self._admin.request("GET", "/metrics")
        lines = str(answer["message"]).splitlines()
        found = (line for line in lines if line.startswith("process_cpu_seconds_total "))
        return float(next(found).split()[1])


@pytest.mark.proof
async def test_a_large_pool(pool: Client, summing: Sum) -> None:
    """Of 1,000 nodes with 5,000 Pods the summary is short, and a look takes seconds."""
    count = size(ci=20, proof=1000)
    turns = asyncio.Semaphore(AT_ONCE)

    async def one(number: int) -> None:
        async with turns:
            name = f"large-{number}"
            await add_node(pool, name, cpu=str(16 + number % 3))
            for n in range(PODS_EACH):
                cpu = f"{1 + 7 * number * n % 900}m"
                await pool.create(running(f"{name}-{n}", name, cpu))

    await asyncio.gather(*(one(number) for number in range(count)))
    costs = Costs(pool)
    await costs.of(f"First look at {count} nodes, one request for the Pods of each", summing.run())
    await costs.of("Second look", summing.run())
    await costs.of(f"A list of all {PODS_EACH * count} Pods instead", summing.list_pods())
    written = await pool.get("v1", "ConfigMap", NAME, SYSTEM)
    text = written["data"]["gvisor"]
    found = decode_capacity(text, NAME)
    assert found.nodes == count
    assert len(text) < 40_000
    if PROOF:
        shapes = f"- The summary: {len(text)} bytes, {len(found.shapes)} shapes"
        record("sandbox-capacity", [*costs.lines, shapes])
