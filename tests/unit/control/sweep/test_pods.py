"""What is read of a listed Pod, and how it is asked about."""

from typing import Any

import msgspec
import pytest

from control.sweep.pods import read_pod, request_for
from core.errors import ClusterError


def item(**more: Any) -> msgspec.Raw:
    """Give an item of a list of Pods; `more` are fields of its metadata, or `phase`."""
    status = {"phase": more.pop("phase", "Running")}
    metadata = {"name": "p", "namespace": "a", "uid": "u"} | more
    spec = {"containers": [], "serviceAccountName": "trainer"}
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
    assert read_pod(item(**more)).passed_over == passed_over


def test_the_owner_is_the_controller() -> None:
    """Other owners did not make it."""
    owners = [
        {"kind": "Owner", "name": "x"},
        {"kind": "Job", "name": "pretrain", "controller": True},
    ]
    assert read_pod(item(ownerReferences=owners)).owner == "Job/pretrain"
    assert not read_pod(item(ownerReferences=owners[:1])).owner


def test_a_running_pod_is_asked_about_as_its_service_account() -> None:
    """Nothing says who made it; the whole object goes to the judge."""
    raw = item()
    request = request_for(read_pod(raw))
    assert request.running
    assert request.subject.username == "system:serviceaccount:a:trainer"
    assert (request.namespace, request.name, request.kind.kind) == ("a", "p", "Pod")
    assert request.object == raw


@pytest.mark.parametrize("content", [b"[]", b'{"metadata":{}}', b"\xff", b"{"])
def test_what_is_no_pod_is_an_error_of_the_cluster(content: bytes) -> None:
    """It is said, not passed over."""
    with pytest.raises(ClusterError, match="no Pod"):
        read_pod(msgspec.Raw(content))
