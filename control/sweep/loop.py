"""The sweep: pass after pass over all Pods, taken up where the last leader left it.

A pass goes page by page, at the operator's rate and share of one core.
"""

import asyncio
import time
from collections.abc import Callable
from dataclasses import dataclass
from http import HTTPStatus
from typing import Final

import structlog
from msgspec.structs import replace

from audit.ledger.records.recorder import LedgerRecorder
from control.sweep import progress as counting
from control.sweep.cursor import Cursor, CursorStore
from control.sweep.judge import Judge, PodDecision, PodJudge
from control.sweep.metrics import SweepMetrics
from control.sweep.pods import ListedPod, read_listed_pod
from control.sweep.progress import NamespaceTally, Progress
from control.sweep.report_writer import ReportWriter
from control.sweep.reports import CLUSTER_REPORT_PATH, cluster_report_of, report_of, report_path
from control.sweep.results import result_of
from control.sweep.settings import SweepSettings
from core.base.errors import ClusterError, NotRecordedError
from core.base.ids import uuid7, uuid7_unix_ms
from core.decision.decision import Decision, Verdict
from core.decision.document import Revisions
from core.decision.namespaces import Mode
from core.decision.sweep_document import SweepDocument
from core.sandbox.decision import lacks_sandbox
from kube.client.objects import Objects, Page
from kube.leader.lease import Leadership
from kube.resources.paths import PODS_PATH

_BATCH: Final = 16
"""Pods between two looks at the clocks."""

_RECORD_AGAIN_S: Final = 1.0
_SETTLED_S: Final = 0.02

_TOKEN_REFUSED: Final = frozenset(
    {HTTPStatus.GONE, HTTPStatus.BAD_REQUEST, HTTPStatus.GATEWAY_TIMEOUT}
)
"""Too old; no token; of a later resourceVersion than there is, as after a restore from a backup.

kube-apiserver: k8s.io/apiserver/pkg/storage/etcd3/{errors,store}.go, storage/errors.go.
"""

_log = structlog.get_logger(__name__)


def pause_s(pods: int, wall_s: float, cpu_s: float, settings: SweepSettings) -> float:
    """Return how long to rest after `pods` Pods that took so many seconds. Pure."""
    due = max(pods / settings.pods_per_second, cpu_s / settings.core_share)
    return max(0.0, due - wall_s)


class SweepPace:
    """Counts Pods as they are judged, and rests as needed."""

    def __init__(self, settings: SweepSettings) -> None:
        self._settings = settings
        self._begin()

    async def step(self) -> None:
        """Call after each Pod: others get the event loop, and a rest is taken when one is due."""
        self._pods += 1
        rest = 0.0
        if self._pods == _BATCH:
            wall, cpu = time.monotonic() - self._wall, time.thread_time() - self._cpu
            rest = pause_s(self._pods, wall, cpu, self._settings)
        await asyncio.sleep(rest)
        if self._pods == _BATCH:
            self._begin()

    def _begin(self) -> None:
        self._pods, self._wall, self._cpu = 0, time.monotonic(), time.thread_time()


def _at_once() -> bool:
    return True


def _no_severity(_rule: str) -> str:
    return ""


@dataclass(frozen=True)
class SweepParts:
    """The cluster, the judge, and where results go."""

    objects: Objects
    judge: Judge
    recorder: LedgerRecorder
    cursors: CursorStore
    reports: ReportWriter
    metrics: SweepMetrics
    settings: SweepSettings
    severity_of: Callable[[str], str] = _no_severity
    """Knows the severity of a rule by its id; empty for one that it does not know."""
    settled: Callable[[], bool] = _at_once
    """Says whether all that was recorded would survive the end of this machine."""
    now: Callable[[], float] = time.time
    """Seconds since the epoch."""
    new_id: Callable[[int], str] = uuid7
    """Makes a sweep's id for a time in milliseconds since the epoch."""


def begin(parts: SweepParts) -> Progress:
    """Return the beginning of a new sweep."""
    progress = Progress(sweep=parts.new_id(int(parts.now() * 1000)))
    _log.info("a sweep begins", sweep=progress.sweep)
    return progress


class SweepRun:
    """A sweep that is being done; everything that outlives it is in `progress`."""

    def __init__(
        self, parts: SweepParts, leadership: Leadership, cursor: Cursor, progress: Progress
    ) -> None:
        self.progress = progress
        self._parts = parts
        self._leadership = leadership
        self._cursor = cursor
        self._judging = PodJudge(parts.judge, parts.objects, parts.settings)
        self._pace = SweepPace(parts.settings)
        self._stored_at = float("-inf")
        self._publishes = False
        self._begun_anew = False

    async def finish(self) -> None:
        """Judge all Pods that are not yet judged, then write what the sweep comes to.

        Raises:
            ClusterError: kube-apiserver does not answer, or refuses.
            NotLeaderError: the term is over.
        """
        self._publishes = await self._parts.reports.available()
        while self.progress.token is not None:
            await self._judging.ready()
            page = await self._page(self.progress.token)
            if page is None:
                continue
            await self._judge(page)
            self.progress = replace(self.progress, token=page.continue_token or None)
            self._parts.metrics.show_progress(self.progress)
            await self._store_now_and_then()
        await self._end()

    async def _page(self, token: str) -> Page | None:
        """Return the next page; None where `progress` says now how to go on instead."""
        try:
            return await self._parts.objects.page(PODS_PATH, self._parts.settings.page_size, token)
        except ClusterError as error:
            if error.status not in _TOKEN_REFUSED or not token:
                raise
            if error.continue_token:
                _log.warning("the sweep took long: it goes on in the cluster as it is now")
                self.progress = replace(self.progress, token=error.continue_token, consistent=False)
            elif self._begun_anew:  # The loop calls again, and waits longer each time.
                raise
            else:
                _log.warning(
                    "the sweep begins anew: the list that it read is not continued", why=str(error)
                )
                self.progress, self._begun_anew = begin(self._parts), True
            return None

    async def _judge(self, page: Page) -> None:
        for item in page.items:
            pod = read_listed_pod(item)
            self.progress, before = counting.enter(self.progress, pod.namespace)
            if before is not None:
                await self._publish(before)
            await self._judge_pod(pod)
            await self._pace.step()

    async def _judge_pod(self, pod: ListedPod) -> None:
        if pod.passed_over:
            self.progress = counting.count_passed_over(self.progress, pod.passed_over)
            return
        judged = await self._judging.judge(pod, self.progress.sweep)
        if judged is None:
            self.progress = counting.count_passed_over(self.progress, "gone")
            return
        decision, result = judged.decision, None
        if decision.verdict is not Verdict.ALLOW:
            await self._record_decision(judged)
            result = result_of(pod, decision, self._parts.severity_of)
        progress = counting.count_judged(self.progress, decision.verdict, result)
        if _lacks_sandbox(decision, pod):
            progress = counting.count_sandbox_missing(progress)
        self.progress = replace(progress, revisions=_revisions(decision, progress.revisions))

    async def _record_decision(self, judged: PodDecision) -> None:
        record = self._parts.recorder.record
        await self._record(
            lambda: record("sweep", judged.request, judged.decision, (), judged.seconds)
        )

    async def _record(self, append: Callable[[], None]) -> None:
        """Record something, however long it takes until that is possible again."""
        said = False
        while True:
            self._leadership.require()
            try:
                append()
            except NotRecordedError as error:
                if not said:
                    _log.error("the sweep waits: nothing can be recorded", why=str(error))
                    said = True
                await asyncio.sleep(_RECORD_AGAIN_S)
            else:
                return

    async def _publish(self, tally: NamespaceTally) -> None:
        """Write the Report of a namespace, if there is something to report."""
        if not tally.worst:
            return
        path, report = report_path(tally.namespace), report_of(tally, self.progress.sweep)
        reports = self._parts.reports
        if not (self._publishes and await reports.write(self._leadership, path, report)):
            self.progress = counting.count_unwritten(self.progress, tally.namespace)

    async def _store_now_and_then(self) -> None:
        if time.monotonic() - self._stored_at >= self._parts.settings.store_every_s:
            await self._store(
                Cursor(cluster=self._cursor.cluster, last=self._cursor.last, running=self.progress)
            )

    async def _store(self, cursor: Cursor) -> None:
        """Store how far it has come, but never further than what is recorded."""
        while not self._parts.settled():  # noqa: ASYNC110 -- the spool has a thread, not an event
            await asyncio.sleep(_SETTLED_S)
        self._leadership.require()
        await self._parts.cursors.save(cursor)
        self._stored_at = time.monotonic()

    async def _end(self) -> None:
        self.progress, tally = counting.leave(self.progress)
        if tally is not None:
            await self._publish(tally)
        parts, progress = self._parts, self.progress
        document = counting.document_of(progress, self._cursor.cluster, parts.now())
        await self._publish_totals(document)
        await self._record(lambda: parts.recorder.record_sweep(document))
        last = replace(document, pods={})  # The ledger has them; here they would only take room.
        await self._store(Cursor(cluster=self._cursor.cluster, last=last))
        parts.metrics.show_finished(document)
        _log.info(
            "the sweep is finished",
            sweep=document.id,
            objects=document.objects,
            verdicts=document.verdicts,
            skipped=progress.passed_over,
            consistent=document.consistent,
            interruptions=document.interruptions,
        )

    async def _publish_totals(self, document: SweepDocument) -> None:
        if not self._publishes:
            return
        progress, reports = self.progress, self._parts.reports
        report = cluster_report_of(progress, document)
        await reports.write(self._leadership, CLUSTER_REPORT_PATH, report)
        if progress.knows_all_unwritten:
            spared = frozenset(progress.unwritten_in)
            await reports.delete_outdated(self._leadership, document.id, spared)
        else:
            _log.warning(
                "outdated reports stay: too many could not be written", reports=progress.unwritten
            )


def _lacks_sandbox(decision: Decision, pod: ListedPod) -> bool:
    """Return whether a Pod runs outside the sandbox that it would get if it came now."""
    sandbox = decision.sandbox
    if sandbox is None or decision.mode != Mode.ENFORCE.value:
        return False
    rules = {finding.rule for finding in decision.findings}
    return lacks_sandbox(rules, sandbox.runtime, pod.runtime)


def _revisions(decision: Decision, known: Revisions) -> Revisions:
    """Return the revisions that a decision names; an error may name none of the profiles."""
    return Revisions(
        policy=decision.policy_revision or known.policy,
        profiles=decision.profiles_revision or known.profiles,
    )


@dataclass(frozen=True)
class Sweep:
    """Sweeps one cluster. `run` is the body of a control loop that asks more often than it is due.

    What one run may leave undone, at any moment, the next one does; what it does twice is the
    same both times.
    """

    parts: SweepParts

    async def run(self, leadership: Leadership) -> None:
        """Finish the sweep that was begun; or begin one, if it is due; or return at once.

        Raises:
            ClusterError: kube-apiserver does not answer; call again, and it goes on from there.
            NotLeaderError: the term is over.
        """
        cursor, problem = await self.parts.cursors.load()
        if problem:
            _log.error("the sweep begins anew: where it had stopped cannot be read", why=problem)
        self.parts.metrics.show_last(cursor.last, self.parts.settings.interval_s)
        if cursor.running is not None and not self._is_ahead(cursor.running.sweep):
            progress = self._go_on(cursor.running)
        elif cursor.running or cursor.last is None or self._is_due(cursor.last.id):
            progress = begin(self.parts)
        else:
            return
        self.parts.metrics.show_progress(progress)
        await SweepRun(self.parts, leadership, cursor, progress).finish()

    def _go_on(self, progress: Progress) -> Progress:
        self.parts.metrics.count_interruption()
        _log.info("the sweep goes on", sweep=progress.sweep, objects=progress.seen)
        return replace(progress, interruptions=progress.interruptions + 1)

    def _is_due(self, last: str) -> bool:
        due = uuid7_unix_ms(last) / 1000 + self.parts.settings.interval_s
        return self.parts.now() >= due or self._is_ahead(last)

    def _is_ahead(self, sweep: str) -> bool:
        """Return whether a sweep began later than the next one would: by a clock that was wrong."""
        ahead = uuid7_unix_ms(sweep) / 1000 > self.parts.now() + self.parts.settings.interval_s
        if ahead:
            _log.error("the sweep begins anew: the one on record is of the future", sweep=sweep)
        return ahead
