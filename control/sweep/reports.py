"""The sweep's findings as OpenReports objects: `kubectl get reports -A`. Pure.

The types are those of `openreports.io/v1alpha1` (github.com/openreports/reports-api v0.2.1,
apis/openreports.io/v1alpha1). No report names who asked for what runs.
"""

from collections import Counter
from typing import Any, Final

from control.sweep.progress import MOST_RESULTS, NamespaceTally, Progress
from control.sweep.results import PodResult
from core.base import names
from core.base.ids import uuid7_unix_ms
from core.decision.decision import Verdict
from core.decision.sweep_document import SweepDocument, sweep_decision_id

API_VERSION: Final = "openreports.io/v1alpha1"
API_PATH: Final = f"/apis/{API_VERSION}"
NAME: Final = "sallyport-sweep"
SOURCE: Final = "sallyport"
LABELS: Final = {names.MANAGED_BY_LABEL: "sallyport"}

_RESULTS: Final = {
    Verdict.ALLOW: "pass",
    Verdict.WARN: "warn",
    Verdict.DENY: "fail",
    Verdict.ERROR: "error",
}
_CATEGORY: Final = "Pods that run"

CLUSTER_REPORT_PATH: Final = f"{API_PATH}/clusterreports/{NAME}"


def report_path(namespace: str) -> str:
    """Return the path of a namespace's Report."""
    return f"{API_PATH}/namespaces/{namespace}/reports/{NAME}"


def report_of(tally: NamespaceTally, sweep: str) -> dict[str, Any]:
    """Return the Report of a namespace: its worst Pods, and how many more there are."""
    worst, more = tally.worst, Counter(tally.more)
    omitted = tally.omitted
    if omitted:
        worst, beyond = worst[: MOST_RESULTS - 1], worst[MOST_RESULTS - 1 :]
        omitted += len(beyond)
        more.update(one.owner for one in beyond if one.owner)
    results = [_result(one, tally.namespace, sweep) for one in worst]
    last_of = {one.owner: result for one, result in zip(worst, results, strict=True)}
    for owner, last in last_of.items():
        if more[owner]:
            last["properties"]["more-of-owner"] = str(more[owner])
    if omitted:
        results.append(_note_of_omitted(omitted, sweep))
    scope = {"apiVersion": "v1", "kind": "Namespace", "name": tally.namespace}
    return {
        **_head("Report", sweep, tally.namespace),
        "scope": scope,
        "configuration": {
            "limits": {"maxResults": MOST_RESULTS, "statusFilter": ["error", "fail", "warn"]}
        },
        "summary": _summary(tally.verdicts, tally.passed_over),
        "results": results,
    }


def cluster_report_of(progress: Progress, document: SweepDocument) -> dict[str, Any]:
    """Return the ClusterReport of a finished sweep: the totals."""
    said = "All that runs was judged." if progress.objects else "No Pod runs that is judged."
    if not progress.consistent:
        said += " The cluster changed while it was listed: Pods may be missing."
    if progress.unwritten:
        said += (
            f" {progress.unwritten} Report{'s' * (progress.unwritten > 1)} could not be written."
        )
    properties = {
        "sweep": document.id,
        "started": document.started,
        "finished": document.finished,
        "pods": str(document.objects),
        "namespaces": str(document.namespaces),
        "consistent": str(document.consistent).lower(),
        "interruptions": str(document.interruptions),
        "policies": document.revisions.policy,
        "profiles": document.revisions.profiles,
    }
    skipped = {f"skipped-{reason}": str(n) for reason, n in sorted(progress.passed_over.items())}
    result = {
        "policy": "sweep",
        "rule": "sweep/finished",
        "category": _CATEGORY,
        "result": "pass",
        "timestamp": _timestamp(document.id),
        "message": said,
        "properties": properties | skipped,
    }
    return {
        **_head("ClusterReport", document.id),
        "summary": _summary(progress.verdicts, sum(progress.passed_over.values())),
        "results": [result],
    }


def is_outdated(report: dict[str, Any], sweep: str, manager: str) -> bool:
    """Return whether a Report is ours (by name, label and field manager) and of another sweep."""
    metadata = report.get("metadata", {})
    managers = [entry.get("manager") for entry in metadata.get("managedFields", [])]
    return (
        metadata.get("name") == NAME
        and LABELS.items() <= metadata.get("labels", {}).items()
        and manager in managers
        and metadata.get("annotations", {}).get(names.SWEEP_ANNOTATION) != sweep
    )


def _head(kind: str, sweep: str, namespace: str = "") -> dict[str, Any]:
    metadata: dict[str, Any] = {
        "name": NAME,
        "labels": LABELS,
        "annotations": {names.SWEEP_ANNOTATION: sweep},
    }
    if namespace:
        metadata["namespace"] = namespace
    return {"apiVersion": API_VERSION, "kind": kind, "metadata": metadata, "source": SOURCE}


def _summary(verdicts: dict[Verdict, int], skipped: int) -> dict[str, int]:
    counts = {word: verdicts.get(verdict, 0) for verdict, word in _RESULTS.items()}
    return counts | {"skip": skipped}


def _result(one: PodResult, namespace: str, sweep: str) -> dict[str, Any]:
    pod = {
        "apiVersion": "v1",
        "kind": "Pod",
        "namespace": namespace,
        "name": one.name,
        "uid": one.uid,
    }
    properties = {"decision": sweep_decision_id(sweep, one.uid)}
    if one.findings:
        properties["findings"] = str(one.findings)
    if one.privileges:
        properties["privileges"] = one.privileges
    if one.owner:
        properties["owner"] = one.owner
    return {
        "policy": one.rule.partition("/")[0],
        "rule": one.rule,
        "category": _CATEGORY,
        "severity": one.severity,
        "result": _RESULTS[one.verdict],
        "scored": one.verdict is not Verdict.WARN,
        "timestamp": _timestamp(sweep),
        "resources": [pod],
        "message": one.message,
        "properties": properties,
    }


def _note_of_omitted(omitted: int, sweep: str) -> dict[str, Any]:
    return {
        "policy": "sweep",
        "rule": "sweep/omitted",
        "category": _CATEGORY,
        "result": "skip",
        "timestamp": _timestamp(sweep),
        "message": f"{omitted} more Pods are not listed here; the summary counts them, and the "
        "ledger has a decision on each.",
        "properties": {"omitted": str(omitted)},
    }


def _timestamp(sweep: str) -> dict[str, int]:
    seconds, milliseconds = divmod(uuid7_unix_ms(sweep), 1000)
    return {"seconds": seconds, "nanos": milliseconds * 1_000_000}
