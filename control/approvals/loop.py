"""Writes how exceptions, grants, BreakGlasses and approvals stand into their statuses.

All of it is in memory; kube-apiserver is asked for the rights of approvers, as the gate asks, and
written to where a status has changed. Nobody decides anything by a status: whoever forges one
misleads readers, until the next run.
"""

import time
from collections.abc import Callable, Mapping
from http import HTTPStatus
from typing import Final

from prometheus_client import CollectorRegistry, Counter

from control.approvals.looks import FoundStanding, StandingLooks
from control.approvals.status import status_of, status_patch
from control.loop import Loop
from control.required_crds import NO_STATUS, has_status, read_definition
from core.approvals import approvals, break_glass, exceptions
from core.base import names
from core.base.errors import ClusterError, NotSyncedError, SallyportError
from core.weights import access_grants
from kube.client.objects import Objects
from kube.leader.lease import Leadership
from kube.watch.statuses import ApprovalStatus, StatusHead

INTERVAL_S: Final = 10.0
MOST_WRITES: Final = 100
"""Statuses that one run writes: 10 a second, also when thousands are new."""

RESOURCES: Final[Mapping[str, str]] = {
    exceptions.KIND: names.EXCEPTIONS_RESOURCE,
    access_grants.KIND: names.ACCESS_GRANTS_RESOURCE,
    break_glass.KIND: names.BREAK_GLASSES_RESOURCE,
    approvals.KIND: names.APPROVALS_RESOURCE,
    approvals.CLUSTER_KIND: names.CLUSTER_APPROVALS_RESOURCE,
}
"""The kinds whose status this writes."""

_ROOT: Final = f"/apis/{names.API_VERSION}"


class NoStatusError(ClusterError):
    """The definition of a kind is of a release that had no status."""


class ApprovalStatuses:
    """Each run writes the statuses that have changed. `loop` is its loop."""

    def __init__(
        self,
        objects: Objects,
        looks: StandingLooks,
        registry: CollectorRegistry,
        clock: Callable[[], float] = time.time,
        most_writes: int = MOST_WRITES,
    ) -> None:
        self._objects = objects
        self._looks = looks
        self._clock = clock
        self._most_writes = most_writes
        self._written: dict[str, ApprovalStatus] = {}
        self._unseen: dict[str, StatusHead] = {}
        self._writes = Counter(
            "sallyport_approval_status_writes",
            "Statuses of exceptions, grants, BreakGlasses and approvals that were written.",
            ("kind",),
            registry=registry,
        )
        for kind in RESOURCES:
            self._writes.labels(kind)
        self.loop = Loop("approval-statuses", INTERVAL_S, self.run, forget=self._forget)

    async def run(self, leadership: Leadership) -> None:
        """Look at all of them once, and write what has changed.

        Raises:
            ClusterError: kube-apiserver does not answer, or refuses; the others are written.
            NotSyncedError: something that the gate would wait for has not been loaded.
            AccessReviewError: the cluster did not say of some whether an approver may approve.
            NotLeaderError: leadership was lost on the way.
        """
        leadership.require()
        if missing := self._looks.cluster.missing():
            raise NotSyncedError("; ".join(missing))
        now = self._clock()
        found = await self._looks.find_all(now)
        uids = {each.head.uid for each in found}
        for kept in (self._written, self._unseen):
            for uid in kept.keys() - uids:
                del kept[uid]
        trouble = await self._write_changed(leadership, found, now)
        if trouble := trouble or self._looks.trouble:
            raise trouble

    def _forget(self) -> None:
        self._written.clear()
        self._unseen.clear()

    async def _write_changed(
        self, leadership: Leadership, found: list[FoundStanding], now: float
    ) -> SallyportError | None:
        """Write what has changed, and no more than may be; give the first failure."""
        trouble: SallyportError | None = None
        left = self._most_writes
        without: set[str] = set()
        """Kinds of which nothing more is tried: the next run does."""
        for each in found:
            head = each.head
            status = status_of(head, each.standing, self._written.get(head.uid, head.status), now)
            if status == head.status:
                self._written[head.uid] = status
                continue
            if status == self._written.get(head.uid) and head is self._unseen.get(head.uid):
                continue  # The watch has not brought what was written.
            if not left:
                break
            if each.kind in without:
                continue
            left -= 1
            try:
                await self._write(leadership, each, status)
            except ClusterError as error:
                trouble = trouble or error
                if error.status != HTTPStatus.UNPROCESSABLE_ENTITY:  # It fails for one alone.
                    without.add(each.kind)
        return trouble

    async def _write(
        self, leadership: Leadership, found: FoundStanding, status: ApprovalStatus
    ) -> None:
        leadership.require()
        try:
            await self._objects.merge(f"{_path(found)}/status", status_patch(found.head, status))
        except ClusterError as error:
            if error.status == HTTPStatus.CONFLICT:
                return  # Another object has its name now: the watch brings it.
            if error.status != HTTPStatus.NOT_FOUND:
                raise
            await self._require_status(RESOURCES[found.kind])
            return
        self._written[found.head.uid] = status
        self._unseen[found.head.uid] = found.head
        self._writes.labels(found.kind).inc()

    async def _require_status(self, resource: str) -> None:
        """Tell an object that is gone from a definition that is too old."""
        definition = await read_definition(self._objects, resource)
        if definition is not None and not has_status(definition):
            raise NoStatusError(f"{resource}.{names.GROUP}: {NO_STATUS}", HTTPStatus.NOT_FOUND)


def _path(found: FoundStanding) -> str:
    head: StatusHead = found.head
    place = f"namespaces/{head.namespace}/" if head.namespace else ""
    return f"{_ROOT}/{place}{RESOURCES[found.kind]}/{head.name}"
