"""Writes the sweep's reports into the cluster, and takes away what is outdated."""

from collections.abc import AsyncIterator, Collection, Mapping
from http import HTTPStatus
from typing import Any, Final

import msgspec
import structlog

from control.sweep.metrics import SweepMetrics
from control.sweep.reports import API_PATH, LABELS, is_outdated, report_path
from core.base.errors import ClusterError
from kube.client.objects import FIELD_MANAGER, Objects
from kube.leader.lease import Leadership

_PAGE: Final = 20
"""Reports listed at once: each may have 200 KiB."""

_log = structlog.get_logger(__name__)

_DECODER: Final = msgspec.json.Decoder(dict[str, Any])


class ReportWriter:
    """The Reports and the ClusterReport of one cluster."""

    def __init__(self, objects: Objects, metrics: SweepMetrics) -> None:
        self._objects = objects
        self._metrics = metrics
        self._said = False

    async def available(self) -> bool:
        """Return whether the cluster has OpenReports' CRDs. That it lacks them is logged once.

        Raises:
            ClusterError: kube-apiserver does not answer.
        """
        found = await self._objects.get(API_PATH) is not None
        self._metrics.reports_unavailable(unavailable=not found)
        if not found and not self._said:
            _log.warning(
                "findings of the sweep go into the ledger and the metrics only: OpenReports' "
                "CRDs are not installed",
                api=API_PATH,
            )
        self._said = not found
        return found

    async def write(self, leadership: Leadership, path: str, report: Mapping[str, Any]) -> bool:
        """Write a report; a namespace that is gone needs none.

        One that cannot be written holds nothing up: it is logged, counted, and False. So is one
        of a namespace that is being deleted, in which nothing can be created; that is no error.

        Raises:
            NotLeaderError: the term is over.
        """
        leadership.require()
        try:
            await self._objects.apply(path, report)
        except ClusterError as error:
            if error.status == HTTPStatus.NOT_FOUND:
                return True
            namespace = report["metadata"].get("namespace", "")
            if error.status == HTTPStatus.FORBIDDEN and await self._is_ending(namespace):
                _log.warning(
                    "a namespace takes no report: it is being deleted, and something in it "
                    "keeps it from ending",
                    namespace=namespace,
                )
                return False
            _log.warning("a report cannot be written", path=path, error=str(error))
            self._metrics.count_report("error")
            return False
        self._metrics.count_report("ok")
        return True

    async def delete_outdated(
        self, leadership: Leadership, sweep: str, spared: Collection[str]
    ) -> None:
        """Delete our Reports of namespaces in which `sweep` found nothing to report.

        Those of the namespaces `spared` stay: what it found there could not be written.

        A failure holds nothing up: it is logged, and the next sweep deletes them.

        Raises:
            NotLeaderError: the term is over.
        """
        try:
            async for report in self._ours():
                metadata = report["metadata"]
                if metadata["namespace"] in spared:
                    continue
                if is_outdated(report, sweep, FIELD_MANAGER):
                    leadership.require()
                    await self._objects.delete(report_path(metadata["namespace"]), metadata["uid"])
        except ClusterError as error:
            _log.warning("outdated reports cannot be deleted", error=str(error))

    async def _is_ending(self, namespace: str) -> bool:
        if not namespace:
            return False
        try:
            found = await self._objects.get(f"/api/v1/namespaces/{namespace}")
        except ClusterError:
            return False
        return found is not None and "deletionTimestamp" in found["metadata"]

    async def _ours(self) -> AsyncIterator[dict[str, Any]]:
        selector = {"labelSelector": ",".join(f"{key}={value}" for key, value in LABELS.items())}
        token: str | None = ""
        while token is not None:
            page = await self._objects.page(f"{API_PATH}/reports", _PAGE, token, selector)
            for item in page.items:
                yield _DECODER.decode(item)
            token = page.continue_token or None
