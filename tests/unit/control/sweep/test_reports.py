"""Reports say what an operator needs, in OpenReports' words, and stay small."""

from collections import Counter
from typing import Any

import msgspec
import pytest

from control.sweep.progress import NamespaceTally, Progress, document_of
from control.sweep.reports import cluster_report_of, is_outdated, report_of
from core.decision.decision import Verdict
from core.decision.sweep_document import sweep_decision_id
from tests.unit.control.sweep.sample_pods import SWEEP, result
from tests.unit.control.sweep.test_cursor import full

EARLIER = "019aa000-0000-7000-8000-000000000000"


def tally(**counts: int) -> NamespaceTally:
    """Return a tally of so many Pods of each verdict, the worst of them kept."""
    verdicts = {Verdict(word): count for word, count in counts.items()}
    worst = [
        result(verdict, f"{verdict.value}-{number:03d}")
        for verdict in (Verdict.ERROR, Verdict.DENY, Verdict.WARN)
        for number in range(verdicts.get(verdict, 0))
    ][:100]
    return NamespaceTally("train", verdicts, 7, worst)


def test_a_report_reads_like_this() -> None:
    """The whole of it, so that a change is seen."""
    made = result(Verdict.DENY, "p", 3, owner="Job/pretrain", message="spec.x: is bad.")
    report = report_of(
        NamespaceTally("train", {Verdict.DENY: 1, Verdict.ALLOW: 4}, 2, [made]), SWEEP
    )
    pod = {"apiVersion": "v1", "kind": "Pod", "namespace": "train", "name": "p", "uid": "u-p"}
    assert report == {
        "apiVersion": "openreports.io/v1alpha1",
        "kind": "Report",
        "metadata": {
            "name": "sallyport-sweep",
            "namespace": "train",
            "labels": {"app.kubernetes.io/managed-by": "sallyport"},
            "annotations": {"sallyport.dev/sweep": SWEEP},
        },
        "source": "sallyport",
        "scope": {"apiVersion": "v1", "kind": "Namespace", "name": "train"},
        "configuration": {"limits": {"maxResults": 100, "statusFilter": ["error", "fail", "warn"]}},
        "summary": {"pass": 4, "warn": 0, "fail": 1, "error": 0, "skip": 2},
        "results": [
            {
                "policy": "privileges",
                "rule": "privileges/host/network",
                "category": "Pods that run",
                "severity": "high",
                "result": "fail",
                "scored": True,
                "timestamp": {"seconds": 1763731000, "nanos": 123000000},
                "resources": [pod],
                "message": "spec.x: is bad.",
                "properties": {
                    "decision": sweep_decision_id(SWEEP, "u-p"),
                    "findings": "3",
                    "privileges": "host/network",
                    "owner": "Job/pretrain",
                },
            }
        ],
    }


def test_up_to_100_are_all_listed() -> None:
    """Nothing is said of what is not omitted."""
    report = report_of(tally(deny=60, warn=40, allow=5), SWEEP)
    assert Counter(one["result"] for one in report["results"]) == {"fail": 60, "warn": 40}


@pytest.mark.parametrize("more", [1, 2, 400])
def test_beyond_100_the_last_says_how_many_are_omitted(more: int) -> None:
    """99 Pods and a note: 100 results, and the summary counts all."""
    report = report_of(tally(error=1, deny=50, warn=49 + more), SWEEP)
    *listed, note = report["results"]
    assert len(listed) == 99
    assert note["rule"] == "sweep/omitted"
    assert note["properties"] == {"omitted": str(more + 1)}
    assert report["summary"] == {"pass": 0, "warn": 49 + more, "fail": 50, "error": 1, "skip": 7}


def test_the_largest_report_is_small() -> None:
    """Under 200 KiB, whatever a Pod's author wrote."""
    largest = full().current
    assert largest is not None
    size = len(msgspec.json.encode(report_of(largest, SWEEP)))
    assert 100_000 < size < 200 * 1024


def test_the_cluster_report_has_the_totals() -> None:
    """And says what the sweep did not see."""
    progress = Progress(
        sweep=SWEEP,
        verdicts={Verdict.DENY: 2, Verdict.ALLOW: 3},
        passed_over={"finished": 4, "deleting": 1},
        namespaces=2,
        consistent=False,
        interruptions=1,
        unwritten=1,
    )
    report = cluster_report_of(progress, document_of(progress, "c", 1763731100.25))
    assert report["summary"] == {"pass": 3, "warn": 0, "fail": 2, "error": 0, "skip": 5}
    (only,) = report["results"]
    assert only["message"] == (
        "All that runs was judged. The cluster changed while it was listed: Pods may be missing."
        " 1 Report could not be written."
    )
    assert only["properties"] == {
        "sweep": SWEEP,
        "started": "2025-11-21T13:16:40.123Z",
        "finished": "2025-11-21T13:18:20.250Z",
        "pods": "5",
        "namespaces": "2",
        "consistent": "false",
        "interruptions": "1",
        "policies": "",
        "profiles": "",
        "skipped-deleting": "1",
        "skipped-finished": "4",
    }


def stored(**metadata: Any) -> dict[str, Any]:
    """Return a Report of ours as kube-apiserver gives it, of an earlier sweep."""
    made = report_of(tally(deny=1), EARLIER)
    made["metadata"] |= {"managedFields": [{"manager": "sallyport-control"}], **metadata}
    return made


@pytest.mark.parametrize(
    ("metadata", "outdated"),
    [
        ({}, True),
        ({"annotations": {}}, True),
        ({"annotations": {"sallyport.dev/sweep": SWEEP}}, False),
        ({"labels": {}}, False),
        ({"labels": {"app.kubernetes.io/managed-by": "kyverno"}}, False),
        ({"managedFields": [{"manager": "kyverno"}]}, False),
        ({"name": "other"}, False),
    ],
)
def test_only_our_own_reports_are_ever_outdated(metadata: dict[str, Any], outdated: bool) -> None:  # noqa: FBT001 -- a case
    """By name, label and field manager: what others wrote stays."""
    assert is_outdated(stored(**metadata), SWEEP, "sallyport-control") is outdated
