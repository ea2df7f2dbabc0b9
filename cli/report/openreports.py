"""A report's findings as OpenReports objects, and their writing into a cluster."""

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, Final

from audit.reports.attention import plural
from audit.reports.display_text import report_line
from audit.reports.model import FindingRow, Report
from audit.reports.periods import unix_ms_of
from control.sweep.progress import MOST_RESULTS
from control.sweep.reports import API_PATH, API_VERSION, LABELS, SOURCE
from core.base.errors import ClusterError
from kube.client.objects import open_objects

NAME: Final = "sallyport-weights"

_CATEGORY: Final = "Access to model weights"
_RESULTS: Final = {"critical": "fail", "high": "fail", "medium": "warn", "low": "warn"}

Json = dict[str, Any]

SAMPLE_LABEL: Final = "sallyport.dev/sample"
"""On objects of the made-up month, which `--publish` does not write."""

MANAGER: Final = "sallyport-report"


def openreports(report: Report) -> list[Json]:
    """Return a ClusterReport of all, and a Report of each namespace whose Pods findings name."""
    by_namespace: dict[str, list[FindingRow]] = {}
    for finding in report.findings:
        for namespace in sorted({pod.partition("/")[0] for pod in finding.pods if "/" in pod}):
            by_namespace.setdefault(namespace, []).append(finding)
    whole = _object("ClusterReport", report, [_completeness(report)], report.findings)
    return [
        whole,
        *(
            _object("Report", report, [], findings, namespace)
            for namespace, findings in sorted(by_namespace.items())
        ),
    ]


def _object(
    kind: str,
    report: Report,
    first: list[Json],
    findings: Sequence[FindingRow],
    namespace: str = "",
) -> Json:
    room = MOST_RESULTS - len(first) - 1
    results = [*first, *(_result(one) for one in findings[:room])]
    if len(findings) > room:
        results.append(_omitted(report, len(findings) - room))
    return {
        "apiVersion": API_VERSION,
        "kind": kind,
        "metadata": {
            "name": NAME,
            "labels": LABELS | ({SAMPLE_LABEL: "true"} if report.scope.sample else {}),
            **({"namespace": namespace} if namespace else {}),
        },
        "source": SOURCE,
        **({"scope": _scope(namespace)} if namespace else {}),
        "summary": _summary(results),
        "results": results,
    }


def _scope(namespace: str) -> Json:
    return {"apiVersion": "v1", "kind": "Namespace", "name": namespace}


def _summary(results: Iterable[Json]) -> dict[str, int]:
    words = [result["result"] for result in results]
    return {word: words.count(word) for word in ("pass", "warn", "fail", "error", "skip")}


def _completeness(report: Report) -> Json:
    known = report.completeness
    whole = bool(known.storage) and not (known.gap_hours or known.refused_records)
    said = (
        f"{report.scope.begin} to {report.scope.end}: "
        f"{plural(known.accesses, 'access', 'accesses')} of weights; "
        f"{known.gap_hours:g} hours of storage logs are missing; "
        f"{plural(known.refused_records, 'record')} could not be read."
    )
    return _entry("completeness", "pass" if whole else "warn", said, report.made) | {
        "properties": {"report": report.digest, "findings": str(sum(report.severities.values()))}
    }


def _result(finding: FindingRow) -> Json:
    where = f" of {report_line(finding.store)}" if finding.store else ""
    said = f"{finding.detection.replace('-', ' ')}{where}: the report has who and from where."
    result = "skip" if finding.progress.is_closed else _RESULTS[finding.severity]
    return _entry(finding.detection, result, said, finding.time) | {
        "severity": finding.severity,
        "properties": {
            "finding": finding.id,
            "state": finding.progress.state,
            "events": str(finding.events),
            "bytes": str(finding.bytes),
        },
    }


def _omitted(report: Report, count: int) -> Json:
    said = f"{plural(count, 'more finding')} are not listed here; the report has them."
    return _entry("omitted", "skip", said, report.made)


def _entry(rule: str, result: str, message: str, time: str) -> Json:
    seconds, milliseconds = divmod(unix_ms_of(time), 1000)
    return {
        "policy": "weights",
        "rule": f"weights/{rule}",
        "category": _CATEGORY,
        "result": result,
        "timestamp": {"seconds": seconds, "nanos": milliseconds * 1_000_000},
        "message": message,
    }


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
