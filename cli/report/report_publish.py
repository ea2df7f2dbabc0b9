"""Writes a report's OpenReports objects into a cluster."""

from pathlib import Path
from typing import Final

from audit.reports.model import Report
from cli.report.openreports import NAME, openreports
from control.sweep.reports import API_PATH
from core.base.errors import ClusterError
from kube.client.objects import open_objects

MANAGER: Final = "sallyport-report"


async def publish(report: Report, kubeconfig: Path) -> int:
    """Write the objects into a cluster; give how many.

    Raises:
        ClusterError: kube-apiserver does not answer, refuses, or knows no OpenReports.
    """
    made = openreports(report)
    async with open_objects(kubeconfig) as objects:
        if await objects.get(API_PATH) is None:
            raise ClusterError("--publish: the cluster has no OpenReports: install its CRDs")
        for each in made:
            namespace = each["metadata"].get("namespace")
            where = f"namespaces/{namespace}/reports" if namespace else "clusterreports"
            await objects.apply(f"{API_PATH}/{where}/{NAME}", each, manager=MANAGER)
    return len(made)
