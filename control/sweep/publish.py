"""Writes the sweep's reports into the cluster, and takes away what is outdated."""

from collections.abc import AsyncIterator, Mapping
from http import HTTPStatus
from typing import Any, Final

import msgspec
import structlog

from control.sweep.metrics import SweepMetrics
from control.sweep.reports import API_PATH, LABELS, is_outdated, report_path
from core.errors import ClusterError
from kube.lease import Leadership
from kube.objects import FIELD_MANAGER, Objects

_PAGE: Final = 20
"""Reports listed at once: each may have 200 KiB."""

_log = structlog.get_logger(__name__)


class ReportWriter:
    """The Reports and the ClusterReport of one cluster."""

    def __init__(self, objects: Objects, metrics: SweepMetrics) -> None:
        self._objects = objects
        self._metrics = metrics
        self._said = False

    async def available(self) -> bool:
        """Say whether the cluster has OpenReports' CRDs. That it lacks them is logged once.

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

        One that cannot be written holds nothing up: it is logged, counted, and False.

        Raises:
            NotLeaderError: the term is over.
        """
        leadership.require()
        try:
            await self._objects.apply(path, report)
        except ClusterError as error:
            if error.status == HTTPStatus.NOT_FOUND:
                return True
            _log.warning("a report cannot be written", path=path, error=str(error))
            self._metrics.count_report("error")
            return False
        self._metrics.count_report("ok")
        return True

    async def delete_outdated(self, leadership: Leadership, sweep: str) -> None:
        """Delete our Reports of namespaces in which `sweep` found nothing to report.

        A failure holds nothing up: it is logged, and the next sweep deletes them.

        Raises:
            NotLeaderError: the term is over.
        """
        try:
            async for report in self._ours():
                if is_outdated(report, sweep, FIELD_MANAGER):
                    metadata = report["metadata"]
                    leadership.require()
                    await self._objects.delete(report_path(metadata["namespace"]), metadata["uid"])
        except ClusterError as error:
            _log.warning("outdated reports cannot be deleted", error=str(error))

    async def _ours(self) -> AsyncIterator[dict[str, Any]]:
        selector = {"labelSelector": ",".join(f"{key}={value}" for key, value in LABELS.items())}
        token: str | None = ""
        while token is not None:
            page = await self._objects.page(f"{API_PATH}/reports", _PAGE, token, selector)
            for item in page.items:
                yield _DECODER.decode(item)
            token = page.continue_token or None


_DECODER: Final = msgspec.json.Decoder(dict[str, Any])
