"""One run of a sweep: from where it stands to its end, page by page."""

import asyncio
import time
from collections.abc import Callable
from http import HTTPStatus
from typing import Final

import structlog
from msgspec.structs import replace

from control.sweep import progress as counting
from control.sweep.cursor import Cursor
from control.sweep.judge import Judged, Judging
from control.sweep.pace import Pace
from control.sweep.parts import SweepParts
from control.sweep.pods import PATH, ListedPod, read_pod
from control.sweep.progress import NamespaceTally, Progress
from control.sweep.reports import CLUSTER_REPORT_PATH, cluster_report_of, report_of, report_path
from control.sweep.results import result_of
from core.base.errors import ClusterError, NotRecordedError
from core.decision.decision import Decision, Verdict
from core.decision.document import Revisions, SweepDocument
from core.decision.namespaces import Mode
from core.sandbox.decision import lacks_sandbox
from kube.client.objects import Page
from kube.leader.lease import Leadership

_RECORD_AGAIN_S: Final = 1.0
_SETTLED_S: Final = 0.02

_TOKEN_REFUSED: Final = frozenset(
    {HTTPStatus.GONE, HTTPStatus.BAD_REQUEST, HTTPStatus.GATEWAY_TIMEOUT}
)
"""Too old; no token; of a later resourceVersion than there is, as after a restore from a backup.

kube-apiserver: k8s.io/apiserver/pkg/storage/etcd3/{errors,store}.go, storage/errors.go.
"""

_log = structlog.get_logger(__name__)


def begin(parts: SweepParts) -> Progress:
    """Give the beginning of a new sweep."""
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
        self._judging = Judging(parts.judge, parts.objects, parts.settings)
        self._pace = Pace(parts.settings)
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
        """Give the next page; None where `progress` says now how to go on instead."""
        try:
            return await self._parts.objects.page(PATH, self._parts.settings.page_size, token)
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
            pod = read_pod(item)
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

    async def _record_decision(self, judged: Judged) -> None:
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
    """Say whether a Pod runs outside the sandbox that it would get if it came now."""
    isolation = decision.isolation
    if isolation is None or decision.mode != Mode.ENFORCE.value:
        return False
    rules = {finding.rule for finding in decision.findings}
    return lacks_sandbox(rules, isolation.runtime, pod.runtime)


def _revisions(decision: Decision, known: Revisions) -> Revisions:
    """Give the revisions that a decision names; an error may name none of the profiles."""
    return Revisions(
        policy=decision.policy_revision or known.policy,
        profiles=decision.profiles_revision or known.profiles,
    )
