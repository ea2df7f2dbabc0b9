"""Writes how exceptions, grants, BreakGlasses and approvals stand into their statuses.

All of it is in memory; kube-apiserver is asked for the rights of approvers, as the gate asks, and
written to where a status has changed. Nobody decides anything by a status: whoever forges one
misleads readers, until the next run.
"""

import time
from collections import Counter as Counts
from collections.abc import Callable, Mapping
from http import HTTPStatus
from typing import Final

from prometheus_client import CollectorRegistry, Counter

from control.approvals.evaluation_cache import EvaluationCache, FoundConditions
from control.approvals.status import status_of, status_patch
from control.approvals.turns import StatusTurns
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

MOST_FAILURES: Final = 5
"""Objects of a kind that may fail in a run before the others of that kind wait for the next one:
each may take as long as a webhook of somebody's that does not answer."""

_AWAY: Final = frozenset(
    {
        0,
        HTTPStatus.TOO_MANY_REQUESTS,
        HTTPStatus.BAD_GATEWAY,
        HTTPStatus.SERVICE_UNAVAILABLE,
        HTTPStatus.GATEWAY_TIMEOUT,
    }
)
"""kube-apiserver does not answer, or has no time. A 500 may be of one object: of a webhook that
fails in its namespace."""

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
        evaluations: EvaluationCache,
        registry: CollectorRegistry,
        clock: Callable[[], float] = time.time,
        most_writes: int = MOST_WRITES,
    ) -> None:
        self._objects = objects
        self._evaluations = evaluations
        self._clock = clock
        self._most_writes = most_writes
        self._written: dict[str, ApprovalStatus] = {}
        self._unseen: dict[str, StatusHead] = {}
        self._turns = StatusTurns()
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
        if missing := self._evaluations.cluster.missing():
            raise NotSyncedError("; ".join(missing))
        now = self._clock()
        found = await self._evaluations.find_all(now)
        uids = {each.head.uid for each in found}
        for kept in (self._written, self._unseen):
            for uid in kept.keys() - uids:
                del kept[uid]
        self._turns.keep(found)
        trouble = await self._write_changed(leadership, found, now)
        if trouble := trouble or self._evaluations.trouble:
            raise trouble

    def _forget(self) -> None:
        self._written.clear()
        self._unseen.clear()
        self._turns = StatusTurns()

    def _changed(self, found: list[FoundConditions], now: float) -> dict[str, ApprovalStatus]:
        """Return by UID the statuses that are to be written."""
        changed = {}
        for each in found:
            head = each.head
            status = status_of(head, each.conditions, self._written.get(head.uid, head.status), now)
            if status == head.status:
                self._written[head.uid] = status
            elif status != self._written.get(head.uid) or head is not self._unseen.get(head.uid):
                changed[head.uid] = status  # Else the watch has not brought what was written.
        return changed

    async def _write_changed(
        self, leadership: Leadership, found: list[FoundConditions], now: float
    ) -> SallyportError | None:
        """Write what has changed, and no more than may be; give the first failure."""
        trouble: SallyportError | None = None
        left = self._most_writes
        failures: Counts[str] = Counts()
        """By kind. One that has too many waits for the next run, which begins with others."""
        changed = self._changed(found, now)
        for each in self._turns.order(one for one in found if one.head.uid in changed):
            if not left:
                break
            if failures[each.kind] >= MOST_FAILURES:
                continue
            left -= 1
            self._turns.note(each)
            try:
                await self._write(leadership, each, changed[each.head.uid])
            except ClusterError as error:
                trouble = trouble or error
                failures[each.kind] += MOST_FAILURES if _is_of_all(error) else 1
        return trouble

    async def _write(
        self, leadership: Leadership, found: FoundConditions, status: ApprovalStatus
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


def _is_of_all(error: ClusterError) -> bool:
    """Return whether a kind's other objects would fail as well: nothing is said of this one."""
    return isinstance(error, NoStatusError) or error.status in _AWAY


def _path(found: FoundConditions) -> str:
    head: StatusHead = found.head
    place = f"namespaces/{head.namespace}/" if head.namespace else ""
    return f"{_ROOT}/{place}{RESOURCES[found.kind]}/{head.name}"
