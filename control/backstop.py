"""Keeps what the back-stop must know of the cluster, in an object that kube-apiserver reads.

Nothing is asked of kube-apiserver but that Backstop: what it is made of is in memory. It is
written as soon as that differs, and looked at again and again, so that what somebody else wrote, or
took away, is put back. While nobody writes, the last one holds: docs/operate/backstop.md.
"""

import math
import time
from collections.abc import Callable, Mapping
from http import HTTPStatus
from typing import Any, Final

import structlog
from prometheus_client import CollectorRegistry, Counter, Gauge

from control.loop import Loop
from core.base import names
from core.base.errors import ClusterError
from core.decision.namespaces import Modes
from core.kubernetes.workload_kinds import GroupKind
from core.profiles.container_profiles import ProfileSet
from kube.approvals.watch import WatchedBreakGlasses, WatchedExceptions
from kube.client.objects import Objects
from kube.leader.lease import Leadership
from policies.backstop.parameters import BackstopData, BackstopInputs, build_parameters
from policies.backstop.policy import KIND, PARAMETERS

INTERVAL_S: Final = 1.0
"""So much later than the gate the back-stop knows of what is wider; nothing is asked for it."""

LOOK_S: Final = 10.0
"""So often it is looked whether the Backstop is still as it was written."""

_log = structlog.get_logger(__name__)


class BackstopMetrics:
    """What `/metrics` shows of it."""

    def __init__(self, registry: CollectorRegistry) -> None:
        self._listed = Gauge(
            "sallyport_backstop_profiles",
            "Profiles that cover something that the back-stop holds; only the leader shows it.",
            registry=registry,
        )
        self._vague = Gauge(
            "sallyport_backstop_vague_profiles",
            "Those of them that count as covering everything, by `**` or for want of room; only "
            "the leader shows it.",
            registry=registry,
        )
        self._restored = Counter(
            "sallyport_backstop_restored",
            "Times that the back-stop's Backstop was put back after somebody else changed it.",
            registry=registry,
        )

    def show(self, found: BackstopData) -> None:
        """Show what is known."""
        self._listed.set(found.profiles)
        self._vague.set(found.vague)

    def restore(self) -> None:
        """Count that it was put back."""
        self._restored.inc()

    def forget(self) -> None:
        """Show nothing that only a leader knows."""
        self._listed.set(math.nan)
        self._vague.set(math.nan)


class Backstop:
    """Each run writes what differs. `loop` is its loop."""

    def __init__(  # noqa: PLR0913  Each is another source.
        self,
        objects: Objects,
        namespace: str,
        *,
        profiles: Callable[[], ProfileSet],
        excepted: WatchedExceptions,
        sealed: WatchedBreakGlasses,
        modes: Modes,
        controllers: Mapping[str, frozenset[GroupKind]],
        since: Callable[[], Mapping[str, int]],
        registry: CollectorRegistry,
        clock: Callable[[], float] = time.time,
        tick: Callable[[], float] = time.monotonic,
    ) -> None:
        """Take where the Backstop lies, and what it is made of.

        `since` gives, by rule, the version of the catalogue in which its privileges appeared.
        """
        self._objects = objects
        self._collection = (
            f"/apis/{names.API_VERSION}/namespaces/{namespace}/{names.BACKSTOPS_RESOURCE}"
        )
        self._profiles = profiles
        self._excepted = excepted
        self._sealed = sealed
        self._modes = modes
        self._controllers = controllers
        self._since = since
        self._clock = clock
        self._tick = tick
        self._written: dict[str, str] | None = None
        self._looked = -math.inf
        self._metrics = BackstopMetrics(registry)
        self._forget()
        self.loop = Loop("backstop", INTERVAL_S, self.run, forget=self._forget)

    async def run(self, leadership: Leadership) -> None:
        """Write what differs.

        Raises:
            ClusterError: kube-apiserver does not answer, or refuses.
            NotSyncedError: what it is made of has not been loaded.
            NotLeaderError: leadership was lost on the way.
        """
        leadership.require()
        found = self._found()
        self._metrics.show(found)
        if found.data == self._written and self._tick() - self._looked < LOOK_S:
            return
        live = await self._objects.get(f"{self._collection}/{PARAMETERS}")
        there = ((live.get("spec") or {}).get("data") or {}) if live else None
        if self._written is not None and there != self._written:
            self._metrics.restore()
            what = "is gone" if there is None else "was changed"
            _log.warning("the back-stop's Backstop is put back: somebody else wrote it", it=what)
        if there != found.data:
            leadership.require()
            await self._write(there, found.data)
        self._written, self._looked = found.data, self._tick()

    def _found(self) -> BackstopData:
        excepted = self._excepted
        known = BackstopInputs(
            profiles=self._profiles(),
            modes=self._modes,
            controllers=self._controllers,
            exceptions=tuple(
                each
                for each in excepted.everywhere()
                if excepted.consents(each.meta.namespace, each.meta.uid)
            ),
            break_glasses=tuple(self._sealed.everywhere()),
            since=self._since(),
        )
        return build_parameters(known, self._clock())

    async def _write(self, there: Mapping[str, str] | None, data: Mapping[str, str]) -> None:
        if there is None:
            await self._create(data)
            return
        entries: dict[str, Any] = {**dict.fromkeys(there), **data}
        try:
            await self._objects.merge(
                f"{self._collection}/{PARAMETERS}", {"spec": {"data": entries}}
            )
        except ClusterError as error:
            if error.status != HTTPStatus.NOT_FOUND:
                raise
            await self._create(data)

    async def _create(self, data: Mapping[str, str]) -> None:
        labels = {names.MANAGED_BY_LABEL: "sallyport"}
        metadata = {"name": PARAMETERS, "labels": labels}
        body = {
            "apiVersion": names.API_VERSION,
            "kind": KIND,
            "metadata": metadata,
            "spec": {"data": data},
        }
        await self._objects.create(self._collection, body)

    def _forget(self) -> None:
        """Take nothing for written: in the next term another replica may have been here."""
        self._metrics.forget()
        self._written, self._looked = None, -math.inf
