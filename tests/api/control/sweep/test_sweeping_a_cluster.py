"""A sweep of a real cluster: each Pod is judged, recorded and reported as its verdict demands."""

from collections import Counter
from typing import Any

from audit.ledger.records.frames import FrameKind
from core.decision.document import DecisionDocument, decode_document
from core.decision.sweep_document import decode_sweep, sweep_decision_id
from tests.api.control.sweep.conftest import SWEEP, SweptCluster
from tests.api.control.sweep.sweep_run import Swept, document_of, report_in, reports
from tests.harness.programs.client import Client, Json
from tests.harness.programs.etcd import delete_pods, put_pods
from tests.harness.worlds.running_pods import namespace_name, running_pod, running_pods

PODS, PER_NAMESPACE = 300, 60
"""Five namespaces, six pages."""


async def fill(cluster: SweptCluster, admin: Client) -> list[Json]:
    """Let Pods run in five namespaces, of which the second only warns."""
    for index in range(PODS // PER_NAMESPACE):
        labels = {"sallyport.dev/mode": "warn"} if index == 1 else {}
        await admin.create_namespace(namespace_name(index), labels)
    pods = list(running_pods(PODS, PER_NAMESPACE))
    await put_pods(cluster.server.etcd_url, pods)
    return pods


def passed_over(pod: Json) -> bool:
    """Return whether a Pod has ended or is being ended."""
    ended = pod["status"]["phase"] in {"Succeeded", "Failed"}
    return ended or "deletionTimestamp" in pod["metadata"]


async def test_what_runs_is_judged_recorded_and_reported(
    cluster: SweptCluster, admin: Client, swept: Swept
) -> None:
    """Frames, Reports, totals and metrics agree with one another and with what runs."""
    pods = await fill(cluster, admin)
    await swept.run()
    documents = decisions(swept)
    total = document_of(swept)
    judged = [pod for pod in pods if not passed_over(pod)]
    by_uid = {pod["metadata"]["uid"]: pod["metadata"] for pod in judged}
    assert total.objects == len(judged) < PODS
    assert {document.request.object_uid for document in documents} <= by_uid.keys()
    assert Counter(d.verdict.value for d in documents) == Counter(
        {word: n for word, n in total.verdicts.items() if word != "allow"}
    )
    assert min(total.verdicts["allow"], total.verdicts["deny"], total.verdicts["warn"]) > 10
    for document in documents:
        metadata = by_uid[document.request.object_uid]
        assert document.id == sweep_decision_id(SWEEP, metadata["uid"])
        assert document.sweep == SWEEP
        assert (document.source, document.cluster) == ("sweep", "test-cluster")
        assert document.request.namespace == metadata["namespace"]
        assert document.projection.removeprefix("sha256:") in projections(swept)
    for index in range(PODS // PER_NAMESPACE):
        await compare(admin, namespace_name(index), documents, judged)
    for verdict, count in total.verdicts.items():
        assert swept.metric("sallyport_sweep_objects", verdict=verdict) == count
    assert swept.metric("sallyport_sweep_progress_objects") == PODS


def decisions(swept: Swept) -> list[DecisionDocument]:
    """Return the decisions that were recorded."""
    return [decode_document(payload) for payload in swept.frames.of(FrameKind.DECISION).values()]


def projections(swept: Swept) -> set[str]:
    """Return the digests of the projections that were recorded; each must be recorded once."""
    kept = [frame.id.hex() for frame in swept.frames.kept if frame.kind == FrameKind.PROJECTION]
    assert len(kept) == len(set(kept))
    return set(kept)


async def compare(
    admin: Client, namespace: str, documents: list[DecisionDocument], judged: list[Json]
) -> None:
    """Hold a namespace's Report against the decisions of its Pods."""
    report = await report_in(admin, namespace)
    bad = {d.request.object_uid: d for d in documents if d.request.namespace == namespace}
    here = [pod for pod in judged if pod["metadata"]["namespace"] == namespace]
    words = Counter(d.verdict.value for d in bad.values())
    assert report["summary"] == {
        "pass": len(here) - len(bad),
        "fail": words["deny"],
        "warn": words["warn"],
        "error": words["error"],
        "skip": PER_NAMESPACE - len(here),
    }
    listed = [result for result in report["results"] if "resources" in result]
    omitted = sum(int(r["properties"]["omitted"]) for r in report["results"] if r not in listed)
    uids = {result["resources"][0]["uid"] for result in listed}
    assert uids <= bad.keys()
    assert len(uids) + omitted == len(bad)
    for result in listed:
        document = bad[result["resources"][0]["uid"]]
        assert result["properties"]["decision"] == document.id
        assert result["rule"] in {finding.rule for finding in document.findings}


async def test_a_namespace_that_is_put_right_loses_its_report(
    cluster: SweptCluster, admin: Client, swept: Swept
) -> None:
    """The next sweep deletes it; reports of others, and other reports, stay."""
    await fill(cluster, admin)
    await swept.run()
    mended, kept = namespace_name(0), namespace_name(1)
    await report_in(admin, mended)
    strangers = [stranger(mended, "sallyport-sweep-2", {}), stranger(mended, "kyverno", OURS)]
    await admin.apply(strangers)
    await delete_pods(cluster.server.etcd_url, mended)
    later = swept.later("019aa68f-4b3b-7000-8000-000000000001")
    await later.run()
    left = {(r["metadata"]["namespace"], r["metadata"]["name"]) for r in await reports(admin)}
    assert (mended, "sallyport-sweep") not in left
    assert {(kept, "sallyport-sweep"), (mended, "kyverno"), (mended, "sallyport-sweep-2")} <= left


OURS = {"app.kubernetes.io/managed-by": "sallyport"}


def stranger(namespace: str, name: str, labels: dict[str, str]) -> Json:
    """Return a Report that is not the sweep's."""
    metadata: dict[str, Any] = {"name": name, "namespace": namespace, "labels": labels}
    return {"apiVersion": "openreports.io/v1alpha1", "kind": "Report", "metadata": metadata}


async def test_a_sweep_that_is_not_due_does_nothing(
    cluster: SweptCluster, admin: Client, swept: Swept
) -> None:
    """The loop asks often; a sweep begins once an interval after the last one began."""
    await fill(cluster, admin)
    begun = decode_sweep_start(SWEEP)
    await swept.at(begun + 1).run()
    frames = len(swept.frames.kept)
    await swept.at(begun + 3599).later("019aa68f-4b3b-7000-8000-000000000001").run()
    assert len(swept.frames.kept) == frames
    await swept.at(begun + 3601).later("019aa68f-4b3b-7000-8000-000000000001").run()
    assert len(swept.frames.of(FrameKind.SWEEP)) == 2


def decode_sweep_start(sweep: str) -> float:
    """Return the time in a sweep's id, in seconds."""
    return int(sweep[:8] + sweep[9:13], 16) / 1000


async def test_pods_of_a_namespace_that_is_gone_are_no_errors(
    cluster: SweptCluster, admin: Client, swept: Swept
) -> None:
    """They are counted, and the sweep goes on with the next namespace."""
    await fill(cluster, admin)
    ghosts = [running_pod(PODS + number, "gone") for number in range(20)]
    await put_pods(cluster.server.etcd_url, ghosts)
    await swept.run()
    assert "error" not in document_of(swept).verdicts
    gone = sum(not passed_over(pod) for pod in ghosts)
    assert swept.metric("sallyport_sweep_skipped_objects", reason="gone") == gone > 10
    with_reports = {report["metadata"]["namespace"] for report in await reports(admin)}
    assert len(with_reports) == PODS // PER_NAMESPACE


async def test_namespaces_that_the_webhooks_leave_out_are_looked_at(
    cluster: SweptCluster, admin: Client, swept: Swept
) -> None:
    """Nobody is asked when Pods are made there: what runs is judged all the same."""
    system = [running_pod(number, "kube-system") for number in range(40)]
    await put_pods(cluster.server.etcd_url, system)
    await swept.run()
    judged = {pod["metadata"]["uid"] for pod in system if not passed_over(pod)}
    assert document_of(swept).objects == len(judged)
    found = decisions(swept)
    assert {document.request.namespace for document in found} == {"kube-system"}
    assert {document.request.object_uid for document in found} <= judged


async def test_a_cluster_without_pods_has_a_finished_sweep(admin: Client, swept: Swept) -> None:
    """Nothing found is a result as well."""
    await swept.run()
    (payload,) = swept.frames.of(FrameKind.SWEEP).values()
    document = decode_sweep(payload)
    assert (document.objects, document.namespaces, document.verdicts) == (0, 0, {})
    assert await reports(admin) == []
