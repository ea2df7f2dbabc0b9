"""Keeps what the nodes of the sandbox's RuntimeClasses can take, for the gate, in a ConfigMap.

The gate watches no Nodes and no Pods. Neither does this: the Nodes of a pool are listed, and the
Pods of each are asked for by its name, which kube-apiserver answers from an index in memory.
"""

import asyncio
import math
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import msgspec
import structlog
from prometheus_client import CollectorRegistry, Gauge

from control.loop import Loop
from control.sandbox_capacity.node_shapes import (
    MOST_SHAPES,
    READY,
    STATES,
    Node,
    Usage,
    read_node,
    sum_usage,
    summarize_nodes,
)
from core.base import names
from core.base.errors import InvalidObjectError
from core.sandbox.capacity import Capacity, decode_capacity, encode_capacity
from core.sandbox.decision import RuntimeClass
from kube.client.objects import Objects, list_objects
from kube.leader.lease import Leadership
from kube.resources.paths import NODES_PATH, PODS_PATH
from kube.resources.sandbox_capacity import NAME

FIELD_MANAGER: Final = "sallyport-capacity"

MOST_BYTES: Final = 400 * 1024
"""Of one summary; there are two at most, and etcd takes 1.5 MiB."""

REFRESH_S: Final = 300.0
"""A summary of which only the time has changed is written again after so long."""

_FROM_MEMORY: Final = {"resourceVersion": "0"}
_RUNNING: Final = "status.phase!=Succeeded,status.phase!=Failed"
"""As kube-scheduler counts (k8s.io/kubernetes pkg/scheduler/scheduler.go, newPodInformer)."""

_log = structlog.get_logger(__name__)


@dataclass(frozen=True)
class CapacitySettings:
    """How often, and how fast, the nodes are looked at."""

    interval_s: float
    nodes_per_second: float
    """Requests, one for each Node."""

    @property
    def most_nodes(self) -> int:
        """How many Nodes one run looks at; of a larger pool the others wait for the next."""
        return max(1, math.ceil(self.interval_s * self.nodes_per_second))


class SandboxCapacity:
    """Each run looks at the nodes, the longest unseen first, and writes. `loop` is its loop."""

    def __init__(  # noqa: PLR0913, PLR0917  Each is another part of the process.
        self,
        objects: Objects,
        namespace: str,
        runtimes: Sequence[str],
        runtime_class: Callable[[str], RuntimeClass | None],
        registry: CollectorRegistry,
        settings: CapacitySettings,
        clock: Callable[[], float] = time.time,
    ) -> None:
        """Take where the ConfigMap lies, and the names of the RuntimeClasses."""
        self._objects = objects
        self._namespace = namespace
        self._runtimes = runtimes
        self._runtime_class = runtime_class
        self._settings = settings
        self._clock = clock
        self._usages: dict[str, Usage] = {}
        self._nodes = Gauge(
            "sallyport_sandbox_pool_nodes",
            "Nodes that the node selector of a sandbox's RuntimeClass matches, by state; only the "
            "leader shows them.",
            ("runtime_class", "state"),
            registry=registry,
        )
        self._as_of = Gauge(
            "sallyport_sandbox_capacity_timestamp_seconds",
            "Unix time of the oldest number in the summary of a sandbox's nodes; only the leader "
            "shows it.",
            ("runtime_class",),
            registry=registry,
        )
        interval_s = self._settings.interval_s
        longest_s = 2 * interval_s + 120
        self.loop = Loop("sandbox-capacity", interval_s, self.run, longest_s, self._forget)

    async def run(self, leadership: Leadership) -> None:
        """Look at the nodes of each RuntimeClass that there is, and write what differs.

        Raises:
            ClusterError: kube-apiserver does not answer, or refuses.
            NotSyncedError: the RuntimeClasses have not been loaded.
            NotLeaderError: leadership was lost on the way.
        """
        leadership.require()
        known = {name: self._runtime_class(name) for name in self._runtimes}
        classes = {name: found for name, found in known.items() if found is not None}
        pools = {name: await self._nodes_of(found) for name, found in classes.items()}
        await self._look({node.name: node for nodes in pools.values() for node in nodes})
        found = {name: self._summary(pools[name], classes[name]) for name in classes}
        await self._write(leadership, {name: one for name, one in found.items() if one})
        self._show(pools, found)

    def _forget(self) -> None:
        self._nodes.clear()
        self._as_of.clear()

    async def _nodes_of(self, runtime_class: RuntimeClass) -> list[Node]:
        selector = ",".join(f"{k}={v}" for k, v in sorted(runtime_class.node_selector.items()))
        parameters = {"labelSelector": selector} if selector else {}
        return [
            read_node(raw)
            async for raw in list_objects(self._objects, NODES_PATH, parameters=parameters)
        ]

    async def _look(self, nodes: Mapping[str, Node]) -> None:
        """Ask for the Pods of nodes, as many and as fast as is set."""
        usages = {name: self._usages.get(name) for name in nodes}
        self._usages = {
            name: usage for name, usage in usages.items() if usage and usage.uid == nodes[name].uid
        }
        ready = [node for node in nodes.values() if node.state == READY]
        ready.sort(key=lambda node: self._seen(node.name))
        for node in ready[: self._settings.most_nodes]:
            began = time.monotonic()
            at = self._clock()
            self._usages[node.name] = Usage(node.uid, at, await self._used(node.name))
            left = 1 / self._settings.nodes_per_second - (time.monotonic() - began)
            await asyncio.sleep(max(0.0, left))

    def _seen(self, name: str) -> float:
        usage = self._usages.get(name)
        return usage.at if usage else -math.inf

    async def _used(self, node: str) -> dict[str, int]:
        fields = {"fieldSelector": f"spec.nodeName={node},{_RUNNING}"}
        pods = list_objects(self._objects, PODS_PATH, parameters={**_FROM_MEMORY, **fields})
        return sum_usage([raw async for raw in pods])

    def _summary(self, nodes: Sequence[Node], runtime_class: RuntimeClass) -> Capacity | None:
        """Sum a pool up; coarser where it is too long. None where one shape is too long."""
        most = MOST_SHAPES
        while most:
            tolerations, now = runtime_class.tolerations, self._clock()
            found = summarize_nodes(nodes, self._usages, tolerations, now, most)
            if len(encode_capacity(found)) <= MOST_BYTES:
                return found
            most //= 2
        _log.error("the nodes have too many resources to be summed up", name=runtime_class.name)
        return None

    async def _write(self, leadership: Leadership, found: Mapping[str, Capacity]) -> None:
        path = f"/api/v1/namespaces/{self._namespace}/configmaps/{NAME}"
        live = await self._objects.get(path)
        if live is None and not found:
            return
        data = live.get("data") if live else None
        if is_current(data if isinstance(data, dict) else {}, found):
            return
        leadership.require()
        await self._objects.apply(path, build_config_map(self._namespace, found), FIELD_MANAGER)

    def _show(
        self, pools: Mapping[str, Iterable[Node]], found: Mapping[str, Capacity | None]
    ) -> None:
        self._forget()
        for name, nodes in pools.items():
            states = [node.state for node in nodes]
            for state in STATES:
                self._nodes.labels(name, state).set(states.count(state))
            summed = found[name]
            if summed is not None:
                self._as_of.labels(name).set(summed.as_of)


def is_current(live: Mapping[str, str], found: Mapping[str, Capacity]) -> bool:
    """Return whether nothing but the time has changed, and not for long."""
    if live.keys() != found.keys():
        return False
    for name, wanted in found.items():
        try:
            there = decode_capacity(live[name], name)
        except InvalidObjectError:
            return False
        fresh = 0 <= wanted.as_of - there.as_of < REFRESH_S
        if not fresh or msgspec.structs.replace(there, as_of=wanted.as_of) != wanted:
            return False
    return True


def build_config_map(namespace: str, found: Mapping[str, Capacity]) -> dict[str, Any]:
    """Return the ConfigMap: a summary for each RuntimeClass, by its name."""
    return {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {
            "name": NAME,
            "namespace": namespace,
            "labels": {names.MANAGED_BY_LABEL: "sallyport"},
        },
        "data": {name: encode_capacity(one) for name, one in sorted(found.items())},
    }
