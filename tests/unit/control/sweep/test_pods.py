"""What is read of a listed Pod, and how it is asked about."""

from typing import Any

import msgspec
import pytest

from control.sweep.pods import read_listed_pod, request_for
from core.base.errors import ClusterError


def item(**more: Any) -> msgspec.Raw:
    """Return an item of a list of Pods; `more` are fields of its metadata, `phase`, `spec`."""
    status = {"phase": more.pop("phase", "Running")}
    spec = {"containers": [], "serviceAccountName": "trainer"} | more.pop("spec", {})
    metadata = {"name": "p", "namespace": "a", "uid": "u"} | more
    return msgspec.Raw(msgspec.json.encode({"metadata": metadata, "spec": spec, "status": status}))


@pytest.mark.parametrize(
    ("more", "passed_over"),
    [
        ({}, ""),
        ({"phase": "Pending"}, ""),
        ({"phase": "Unknown"}, ""),
        ({"phase": "Succeeded"}, "finished"),
        ({"phase": "Failed"}, "finished"),
        ({"deletionTimestamp": "2026-06-01T08:00:00Z"}, "deleting"),
        ({"deletionTimestamp": "2026-06-01T08:00:00Z", "phase": "Failed"}, "deleting"),
    ],
)
def test_only_what_runs_or_will_run_is_judged(more: dict[str, Any], passed_over: str) -> None:
    """What has ended or is being ended is passed over, with the reason."""
    assert read_listed_pod(item(**more)).passed_over == passed_over


def test_the_owner_is_the_controller() -> None:
    """Other owners did not make it."""
    owners = [
        {"kind": "Owner", "name": "x"},
        {"kind": "Job", "name": "pretrain", "controller": True},
    ]
    assert read_listed_pod(item(ownerReferences=owners)).owner == "Job/pretrain"
    assert not read_listed_pod(item(ownerReferences=owners[:1])).owner


@pytest.mark.parametrize(
    ("kind", "name", "template_hash", "workload"),
    [
        ("Job", "pretrain", "", "Job/pretrain"),
        ("ReplicaSet", "web-7f9c6", "7f9c6", "Deployment/web"),
        ("ReplicaSet", "web-7f9c6", "5d4b8", "ReplicaSet/web-7f9c6"),
        ("ReplicaSet", "web-7f9c6", "", "ReplicaSet/web-7f9c6"),
        ("StatefulSet", "web-7f9c6", "7f9c6", "StatefulSet/web-7f9c6"),
    ],
)
def test_the_workload_is_the_deployment_of_a_replica_set(
    kind: str, name: str, template_hash: str, workload: str
) -> None:
    """As far as names and labels say it; the owner stays what it is."""
    owners = [{"kind": kind, "name": name, "controller": True}]
    labels = {"pod-template-hash": template_hash} if template_hash else None
    pod = read_listed_pod(item(ownerReferences=owners, labels=labels))
    assert (pod.owner, pod.workload) == (f"{kind}/{name}", workload)
    assert not read_listed_pod(item()).workload


def test_a_workload_is_not_longer_than_what_is_recorded() -> None:
    """Whoever makes a Pod chooses the kind of its owner."""
    owners = [{"kind": "k" * 5000, "name": "x", "controller": True}]
    assert len(read_listed_pod(item(ownerReferences=owners)).workload) == 512


def test_the_runtime_class_is_read() -> None:
    """Whether it is in its sandbox shows there."""
    assert read_listed_pod(item(spec={"runtimeClassName": "gvisor"})).runtime == "gvisor"
    assert not read_listed_pod(item()).runtime


def test_a_running_pod_is_asked_about_as_its_service_account() -> None:
    """Nothing says who made it; the whole object goes to the judge."""
    raw = item()
    request = request_for(read_listed_pod(raw))
    assert request.running
    assert request.subject.username == "system:serviceaccount:a:trainer"
    assert (request.namespace, request.name, request.kind.kind) == ("a", "p", "Pod")
    assert request.object == raw


@pytest.mark.parametrize("content", [b"[]", b'{"metadata":{}}', b"\xff", b"{"])
def test_what_is_no_pod_is_an_error_of_the_cluster(content: bytes) -> None:
    """It is said, not passed over."""
    with pytest.raises(ClusterError, match="no Pod"):
        read_listed_pod(msgspec.Raw(content))
