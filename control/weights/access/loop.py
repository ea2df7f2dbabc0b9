"""The loop that reads who can open each WeightStore, shows it, and ties roles to grants.

What is found goes to the log where it changes, to metrics, into the ledger, and where people look.
A store that cannot be read keeps what was known of it, and is loud.
"""

import hashlib
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from http import HTTPStatus
from typing import Any, Final, Protocol

import msgspec
import structlog
from prometheus_client import CollectorRegistry, Counter, Gauge

from control.loop import Loop
from control.weights.access.live_grants import LiveGrants
from control.weights.access.reader import AccessReader
from core.base.errors import EntraError, SallyportError
from core.base.ids import stable_id
from core.base.times import milli_text
from core.weights.access_grants import AccessGrant
from core.weights.access_paths import WeightStoreSet
from core.weights.documents.object_change import FORMAT, ObjectChange
from core.weights.documents.store_access import StoreAccess
from core.weights.stores import WeightStore
from identity.azure_roles.arm_responses import AUTHORIZATION, Assignment, read_shape
from identity.azure_roles.differences import count_differences
from identity.azure_roles.grant_assignments import (
    ImpossibleAssignment,
    WantedAssignment,
    plan_assignments,
    wanted_assignments,
)
from identity.clients.resource_manager import ResourceManager
from kube.leader.lease import Leadership

KIND: Final = "StoreAccess"
"""Of the changes in the ledger."""

_log = structlog.get_logger(__name__)


class AccessMetrics:
    """Counters, and gauges that a leader shows."""

    def __init__(self, registry: CollectorRegistry) -> None:
        self._differences = Gauge(
            "sallyport_store_access_differences",
            "How Azure's role assignments and settings differ from a WeightStore and its grants.",
            ("store", "difference"),
            registry=registry,
        )
        self._principals = Gauge(
            "sallyport_store_access_principals",
            "Principals whom role assignments let do something to a store.",
            ("store",),
            registry=registry,
        )
        self._gaps = Gauge(
            "sallyport_store_access_gaps",
            "What of a store's role assignments and settings could not be read.",
            ("store",),
            registry=registry,
        )
        self._failures = Counter(
            "sallyport_store_access_failures",
            "Readings of a store that failed: what was known of it is kept.",
            ("store",),
            registry=registry,
        )
        self._tied = Counter(
            "sallyport_store_access_roles",
            "Role assignments of grants: made, removed, or there already by somebody else.",
            ("what",),
            registry=registry,
        )

    def show(self, known: Mapping[str, StoreAccess]) -> None:
        """Show what is known of each store."""
        for gauge in (self._differences, self._principals, self._gaps):
            gauge.clear()
        for name, access in known.items():
            self._principals.labels(name).set(len({one.principal for one in access.holders}))
            self._gaps.labels(name).set(len(access.gaps))
            for difference, count in count_differences(access.differing).items():
                self._differences.labels(name, difference.value).set(count)

    def failed(self, store: str) -> None:
        """Count a reading that failed."""
        self._failures.labels(store).inc()

    def tied(self, what: str) -> None:
        """Count a role assignment."""
        self._tied.labels(what).inc()


class AccessDisplay(Protocol):
    """Where people look: `control.weights.access.status`."""

    async def tell(self, leadership: Leadership, store: WeightStore, access: StoreAccess) -> None:
        """Tell what is new of one store."""

    async def show(self, leadership: Leadership, known: Mapping[str, StoreAccess]) -> None:
        """Show what is known of all."""

    def forget(self) -> None:
        """Begin anew."""


@dataclass
class StoreAccesses:
    """Each run reads every store that names its resource."""

    manager: ResourceManager
    reader: AccessReader
    granted: LiveGrants
    stores: Callable[[], WeightStoreSet]
    cluster: Callable[[], str]
    record: Callable[[ObjectChange], None]
    """Raises NotRecordedError."""
    shown: AccessDisplay
    metrics: AccessMetrics
    interval_s: float
    ties: bool = False
    """Whether role assignments are made and removed with grants."""
    clock: Callable[[], float] = time.time
    known: dict[str, StoreAccess] = field(default_factory=dict)
    """By store, as last read."""

    @property
    def loop(self) -> Loop:
        """Its loop."""
        return Loop("store-access", self.interval_s, self.run, forget=self._forget)

    async def run(self, leadership: Leadership) -> None:
        """Read all of them once; one that fails does not keep the others from being read.

        Raises:
            EntraError: Azure did not answer for a store, the first one's.
            NotSyncedError: stores or grants have not been loaded.
            NotLeaderError: leadership was lost on the way.
        """
        leadership.require()
        stores = [one for one in self.stores().all if one.spec.resource_id]
        living = await self.granted.living()
        self.known = {one.name: self.known[one.name] for one in stores if one.name in self.known}
        failed: SallyportError | None = None
        for store in stores:
            try:
                if self.ties:
                    await self._tie(leadership, store, living)
                await self._read(leadership, store, living)
            except EntraError as error:
                self.metrics.failed(store.name)
                failed = failed or error
        self.metrics.show(self.known)
        await self.shown.show(leadership, self.known)
        if failed is not None:
            raise failed

    async def _read(
        self, leadership: Leadership, store: WeightStore, living: Sequence[AccessGrant]
    ) -> None:
        granted = self.granted.of_store(store, living)
        found = await self.reader.read(store, granted, leadership.require)
        before = self.known.get(store.name)
        self.known[store.name] = found
        if before is None or _said(before) != _said(found):
            self._say(store, found)
            self.record(self._change(store, found))
        await self.shown.tell(leadership, store, found)

    def _say(self, store: WeightStore, found: StoreAccess) -> None:
        _log.info(
            "who can open a store",
            store=store.name,
            principals=len({one.principal for one in found.holders}),
            differences=len(found.differing),
            gaps=found.gaps,
        )

    def _change(self, store: WeightStore, found: StoreAccess) -> ObjectChange:
        now = int(self.clock() * 1000)
        said = msgspec.json.encode(_said(found), order="deterministic")
        digest = f"sha256:{hashlib.sha256(said).hexdigest()}"
        return ObjectChange(
            format=FORMAT,
            id=stable_id(now, "store-access", self.cluster(), store.name, digest),
            time=milli_text(now),
            cluster=self.cluster(),
            event="changed",
            kind=KIND,
            name=store.name,
            uid=store.meta.uid,
            digest=digest,
            spec=msgspec.to_builtins(found),
        )

    async def _tie(
        self, leadership: Leadership, store: WeightStore, living: Iterable[AccessGrant]
    ) -> None:
        """Make and remove the role assignments of a store's grants."""
        cluster, require = self.cluster(), leadership.require
        wanted: list[WantedAssignment] = []
        for grant in living:
            if grant.spec.store == store.name:
                recipients = self.granted.recipients(store, grant)
                for one in wanted_assignments(cluster, grant, store, recipients):
                    if isinstance(one, ImpossibleAssignment):
                        _log.warning("no role is given for a grant", grant=one.grant, why=one.why)
                    else:
                        wanted.append(one)
        path = f"{store.spec.resource_id}/providers/Microsoft.Authorization/roleAssignments"
        there = [
            read_assignment(raw) async for raw in self.manager.each(path, AUTHORIZATION, require)
        ]
        todo = plan_assignments(cluster, wanted, there, complete=True)
        for gone in todo.remove:
            await self.manager.delete(gone, AUTHORIZATION, require)
            self.metrics.tied("removed")
        for one in todo.make:
            status = await self.manager.put(one.path, AUTHORIZATION, one.body, require)
            conflict = status == HTTPStatus.CONFLICT
            self.metrics.tied("there" if conflict else "made")
            if conflict:
                _log.warning(
                    "a role was there already, and stays when the grant ends", grant=one.grant
                )

    def _forget(self) -> None:
        self.known = {}
        self.metrics.show({})
        self.shown.forget()


def read_assignment(raw: bytes | msgspec.Raw) -> Assignment:
    """Read a role assignment.

    Raises:
        EntraError: it has another shape.
    """
    found = read_shape(raw, Assignment, "roleAssignments")
    assert isinstance(found, Assignment)  # noqa: S101  As asked for.
    return found


def _said(access: StoreAccess) -> Mapping[str, Any]:
    """Return what counts as a change: all but when it was read."""
    return {**msgspec.structs.asdict(access), "at": ""}
