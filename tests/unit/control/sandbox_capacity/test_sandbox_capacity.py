"""The loop that keeps how full the sandbox's nodes are: what it asks, what it writes, and when."""

import math
import time
from collections.abc import Mapping
from typing import Any, Final

import pytest
from prometheus_client import CollectorRegistry

from control.sandbox_capacity import loop
from control.sandbox_capacity.loop import (
    FIELD_MANAGER,
    MOST_BYTES,
    REFRESH_S,
    CapacitySettings,
    SandboxCapacity,
)
from core.base.errors import NotLeaderError
from core.sandbox.capacity import (
    Capacity,
    NodeShape,
    Taint,
    Toleration,
    decode_capacity,
    encode_capacity,
)
from core.sandbox.decision import RuntimeClass
from kube.client.connection import Connection
from kube.client.objects import Objects, Page
from kube.leader.lease import Leadership
from tests.unit.admission.world import raw

LEADER = Leadership(1, math.inf, time.monotonic)
PATH: Final = "/api/v1/namespaces/sallyport-system/configmaps/sallyport-sandbox-capacity"
POOL: Final = {"pool": "sandbox", "arch": "x"}
GVISOR: Final = RuntimeClass("gvisor", "runsc", POOL, (Toleration("sandbox", "Exists"),))
FAST: Final = 1e6
"""Nodes a second."""

Json = dict[str, Any]


def node(
    name: str, *, ready: str = "True", spec: Json | None = None, uid: str = "u", **more: Any
) -> Json:
    """Return a Node."""
    allocatable = {"cpu": "4", "memory": "8Gi", "pods": "110", "hugepages-2Mi": "0"} | more
    conditions = [{"type": "MemoryPressure", "status": "False"}, {"type": "Ready", "status": ready}]
    return {
        "metadata": {"name": name, "uid": f"{name}-{uid}"},
        "spec": spec or {},
        "status": {"allocatable": allocatable, "conditions": conditions},
    }


def pod(cpu: str = "1") -> Json:
    """Return a Pod that asks for CPU."""
    return {"spec": {"containers": [{"resources": {"requests": {"cpu": cpu}}}]}}


class Cluster(Objects):
    """Nodes and what runs on them; keeps what is applied, and each question."""

    def __init__(self, *nodes: Json) -> None:
        super().__init__(Connection(None))
        self.nodes = list(nodes)
        self.pods: dict[str, list[Json]] = {}
        self.asked: list[str] = []
        self.selected: list[str] = []
        self.stored: dict[str, Json] = {}
        self.writes = 0

    async def page(
        self,
        collection: str,
        limit: int,
        continue_token: str = "",
        parameters: Mapping[str, str] | None = None,
        *,
        metadata_only: bool = False,
    ) -> Page:
        """Return Nodes, or the Pods of one, in pages of two."""
        del limit, metadata_only
        parameters = parameters or {}
        if collection == "/api/v1/nodes":
            self.selected.append(parameters.get("labelSelector", ""))
            items = self.nodes
        else:
            selector = parameters["fieldSelector"]
            name = selector.removeprefix("spec.nodeName=").partition(",")[0]
            self.asked.append(name)
            items = self.pods.get(name, [])
        at = int(continue_token or 0)
        more = str(at + 2) if len(items) > at + 2 else ""
        return Page([raw(item) for item in items[at : at + 2]], more)

    async def get(self, path: str) -> Json | None:
        """Return what is stored."""
        return self.stored.get(path)

    async def apply(self, path: str, body: Mapping[str, Any], manager: str = FIELD_MANAGER) -> Json:
        """Store it."""
        assert manager == FIELD_MANAGER
        self.writes += 1
        self.stored[path] = dict(body)
        return dict(body)


class World:
    """The loop, its cluster, a clock that stands."""

    def __init__(self, *nodes: Json, most: int = 100) -> None:
        self.now = 1_800_000_000.0
        self.objects = Cluster(*nodes)
        self.classes: dict[str, RuntimeClass] = {"gvisor": GVISOR}
        self.registry = CollectorRegistry()
        self.loop = SandboxCapacity(
            self.objects,
            "sallyport-system",
            ("gvisor", "kata"),
            self.named,
            self.registry,
            CapacitySettings(most / FAST, FAST),
            lambda: self.now,
        )

    def named(self, name: str) -> RuntimeClass | None:
        """Return a class of now."""
        return self.classes.get(name)

    async def run(self, after: float = 30) -> Mapping[str, Capacity]:
        """Run once, later; give what is stored then."""
        self.now += after
        await self.loop.run(LEADER)
        data = self.objects.stored.get(PATH, {}).get("data", {})
        return {name: decode_capacity(text, name) for name, text in data.items()}

    def nodes(self, state: str) -> float | None:
        """Return the gauge of the nodes in a state."""
        labels = {"runtime_class": "gvisor", "state": state}
        return self.registry.get_sample_value("sallyport_sandbox_pool_nodes", labels)


async def test_what_the_nodes_have_and_what_is_free() -> None:
    """Nodes that are alike are one shape; what they take no Pods for is said."""
    tainted = {
        "taints": [
            {"key": "sandbox", "effect": "NoSchedule"},
            {"key": "x", "value": "y", "effect": "NoExecute"},
            {"key": "z", "effect": "PreferNoSchedule"},
        ]
    }
    world = World(
        node("a"),
        node("b"),
        node("c", spec=tainted),
        node("d", spec={"unschedulable": True}),
        node("e", ready="Unknown"),
    )
    world.objects.pods["b"] = [pod(), pod("5")]
    found = await world.run()
    has = {"cpu": 4000, "memory": 8 << 30, "pods": 110}
    assert world.objects.selected == ["arch=x,pool=sandbox"] * 3
    assert sorted(world.objects.asked) == ["a", "b", "c"]
    assert found == {
        "gvisor": Capacity(
            world.now,
            3,
            (
                NodeShape(1, has, {"memory": 8 << 30, "pods": 108}),
                NodeShape(1, has, has),
                NodeShape(1, has, has, (Taint("x", "NoExecute", "y"),)),
            ),
            {"cordoned": 1, "not-ready": 1},
        )
    }
    assert [world.nodes(state) for state in ("ready", "cordoned", "not-ready")] == [3, 1, 1]
    name = "sallyport_sandbox_capacity_timestamp_seconds"
    assert world.registry.get_sample_value(name, {"runtime_class": "gvisor"}) == world.now
    world.loop.loop.forget()
    assert world.nodes("ready") is None


async def test_a_class_without_a_selector_has_all_nodes() -> None:
    """As kube-scheduler sees it."""
    world = World(node("a"))
    world.classes = {"kata": RuntimeClass("kata", "kata")}
    assert (await world.run()).keys() == {"kata"}
    assert world.objects.selected == [""]


async def test_without_a_class_nothing_is_written() -> None:
    """Nobody uses the sandbox; but what was written is taken back when the class goes."""
    world = World(node("a"))
    world.classes = {}
    await world.run()
    assert (world.objects.stored, world.objects.selected) == ({}, [])
    world.classes = {"gvisor": GVISOR}
    assert await world.run()
    world.classes = {}
    assert await world.run() == {}
    assert world.objects.writes == 2


async def test_written_when_something_changes_or_after_a_while() -> None:
    """The time alone is written every five minutes."""
    world = World(node("a"))
    await world.run()
    for _ in range(9):
        await world.run()
    assert world.objects.writes == 1
    await world.run()
    assert (world.objects.writes, REFRESH_S) == (2, 300)
    world.objects.pods["a"] = [pod()]
    found = await world.run()
    assert (world.objects.writes, found["gvisor"].shapes[0].free["cpu"]) == (3, 3000)


@pytest.mark.parametrize("drift", [{}, {"gvisor": "{}"}, {"gvisor": "x", "other": "y"}, None])
async def test_drift_is_taken_back(drift: Json | None) -> None:
    """What somebody else writes into it, or takes out."""
    world = World(node("a"))
    before = await world.run()
    world.objects.stored[PATH] = {"data": drift}
    assert await world.run(after=0) == before


async def test_a_large_pool_is_looked_at_in_turns() -> None:
    """The longest unseen first; nodes not seen yet count as empty; the oldest look is the time."""
    world = World(*(node(name) for name in "abcde"), most=2)
    for name in "abcde":
        world.objects.pods[name] = [pod()]
    free = []
    for _ in range(3):
        found = (await world.run())["gvisor"]
        free.append(sum(shape.count * shape.free["cpu"] for shape in found.shapes))
    assert world.objects.asked == ["a", "b", "c", "d", "e", "a"]
    assert free == [18_000, 16_000, 15_000]
    assert found.as_of == world.now - 60


async def test_another_node_of_the_same_name_is_looked_at_anew() -> None:
    """What ran on the one that is gone does not run on this one."""
    world = World(node("a"), node("b"), most=1)
    world.objects.pods["a"] = [pod("4")]
    assert "cpu" not in (await world.run())["gvisor"].shapes[0].free
    world.objects.nodes[0] = node("a", uid="v")
    world.objects.nodes.reverse()
    found = (await world.run())["gvisor"]
    assert [shape.free["cpu"] for shape in found.shapes] == [4000]


async def test_who_does_not_lead_writes_nothing() -> None:
    """Leadership may be lost on the way."""
    world = World(node("a"))
    times = iter([0.0])
    ending = Leadership(1, 1.0, lambda: next(times, 9.0))
    with pytest.raises(NotLeaderError):
        await world.loop.run(ending)
    assert (world.objects.asked, world.objects.writes) == (["a"], 0)


async def test_nodes_are_asked_for_at_a_rate() -> None:
    """So that kube-apiserver has others to answer, too."""
    world = World(*(node(name) for name in "abcde"))
    world.loop = SandboxCapacity(
        world.objects,
        "x",
        ("gvisor",),
        lambda _: GVISOR,
        CollectorRegistry(),
        CapacitySettings(10, 50),
    )
    began = time.monotonic()
    await world.loop.run(LEADER)
    assert time.monotonic() - began >= 5 / 50


async def test_what_would_be_too_long_is_coarser(monkeypatch: pytest.MonkeyPatch) -> None:
    """A node may have hundreds of resources; where one shape is too long, nothing is said."""
    many: Json = {f"example.com/r{n}": "1" for n in range(300)}
    world = World(*(node(f"n{n}", **(many | {"cpu": str(n + 1)})) for n in range(100)))
    (text,) = [encode_capacity(one) for one in (await world.run()).values()]
    assert len(decode_capacity(text, "").shapes) < 100
    assert len(text) <= MOST_BYTES
    monkeypatch.setattr(loop, "MOST_BYTES", 100)
    assert await world.run() == {}
