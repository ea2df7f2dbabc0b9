"""Events of kube-apiserver's audit log become activities."""

import json
from typing import Any

import pytest

from audit.access.model.batch import SourceRecord
from audit.access.parsers.kubernetes_audit import parse_kubernetes
from audit.access.parsers.reader import RecordReader
from core.base.errors import UnreadableRecordError
from core.weights.documents.events import Activity, Log, Topic, encode_event
from tests.harness.worlds.storage_logs import PRINCIPAL, encoded
from tests.unit.audit.access.parsers.activity_records import kubernetes
from tests.unit.audit.access.parsers.stores import CALLERS, STORES

DECISION = "01900000-0000-7000-8000-000000000001"


def read(record: Any) -> Activity | None:
    """Return the activity of an event."""
    return parse_kubernetes(encoded(record), "aks-1", "apiserver", CALLERS)


def test_a_decision_is_seen_in_the_apiservers_own_log() -> None:
    """Its annotation names it, by the webhook that wrote it."""
    activity = read(kubernetes())
    assert activity is not None
    assert (activity.topic, activity.log) == (Topic.DECISION_SEEN, Log.KUBERNETES)
    assert (
        activity.facts.items()
        >= {"decision": DECISION, "uid": "pod-uid", "verdict": "allow"}.items()
    )
    assert activity.facts["decisions"] == {"validate.sallyport.dev": DECISION}
    assert (activity.resource, activity.operation) == ("team/train-0", "create pods")


def test_annotations_of_others_are_no_decisions() -> None:
    """Only names that end in ours count."""
    foreign = {"evil.example/decision": "x", "sallyport.dev.evil/decision": "y"}
    assert read(kubernetes(annotations=foreign)) is None


@pytest.mark.parametrize("subresource", ["exec", "attach", "portforward", "proxy"])
@pytest.mark.parametrize("stage", ["ResponseStarted", "ResponseComplete"])
def test_entering_a_pod_is_seen_as_it_begins_and_is_one_thing(subresource: str, stage: str) -> None:
    """Both stages have one id; the command's first word is kept, and what it was given is not."""
    activity = read(kubernetes(subresource=subresource, stage=stage))
    later = read(kubernetes(subresource=subresource))
    assert activity is not None
    assert later is not None
    assert (activity.topic, activity.id) == (Topic.EXEC, later.id)
    assert (activity.facts["command"], activity.facts["container"]) == ("sh", "main")
    assert activity.facts["decision"] == DECISION


@pytest.mark.parametrize("verb", ["get", "list", "watch"])
def test_reading_secrets_is_seen_but_for_the_clusters_own_life(verb: str) -> None:
    """A person and a workload are seen; a kubelet only where it was refused."""
    assert _topic(kubernetes(verb, "secrets")) is Topic.SECRET_READ
    workload = kubernetes(verb, "secrets", username="system:serviceaccount:a:b", annotations={})
    assert _topic(workload) is Topic.SECRET_READ
    kubelet = kubernetes(verb, "secrets", username="system:node:aks-1", annotations={})
    assert _topic(kubelet) is None
    assert _topic({**kubelet, "responseStatus": {"code": 403}}) is Topic.SECRET_READ
    assert _topic({**kubelet, "impersonatedUser": {"username": "x"}}) is Topic.SECRET_READ


def _topic(record: dict[str, Any]) -> Topic | None:
    activity = read(record)
    return activity.topic if activity else None


def test_people_become_marks_and_object_ids() -> None:
    """AKS gives the object id; without it the name becomes a digest. Who impersonated is told."""
    activity = read(
        kubernetes(user={"username": "grace@example.com", "extra": {"oid": [PRINCIPAL]}})
    )
    assert activity is not None
    assert activity.principal == activity.who == f"oid:{PRINCIPAL}"
    other = read(kubernetes(impersonatedUser={"username": "system:serviceaccount:a:b"}))
    assert other is not None
    assert other.principal == "system:serviceaccount:a:b"
    assert other.facts["impersonator"].startswith("user:")
    assert b"grace" not in encode_event(other) + encode_event(activity)


@pytest.mark.parametrize("stage", ["RequestReceived", "ResponseStarted"])
def test_what_is_not_done_yet_does_not_count(stage: str) -> None:
    """An object that is being made may still be refused."""
    assert read(kubernetes(stage=stage)) is None


@pytest.mark.parametrize("category", ["kube-audit", "kube-audit-admin"])
def test_the_export_of_aks_is_unwrapped(category: str) -> None:
    """There the event is a text in `properties.log`."""
    wrapped = {
        "operationName": "Microsoft.ContainerService/managedClusters/diagnosticLogs/Read",
        "category": category,
        "properties": {"log": json.dumps(kubernetes()), "stream": "stdout"},
    }
    reader = RecordReader("aks-1", CALLERS)
    assert reader.read(SourceRecord(encoded(wrapped), "a@0"), "apiserver", STORES, 1) == (
        read(kubernetes()),
    )


@pytest.mark.parametrize(
    "record",
    [
        {},
        {"apiVersion": "v1", "auditID": "x"},
        {**kubernetes(), "auditID": ""},
        {**kubernetes(), "verb": 4},
    ],
)
def test_what_is_no_event_is_refused(record: Any) -> None:
    """Never silently."""
    with pytest.raises(UnreadableRecordError):
        read(record)


@pytest.mark.parametrize("resource", ["clusterrolebindings", "roles", "weightstores"])
def test_a_change_of_rights_or_stores_without_a_decision_is_kept(resource: str) -> None:
    """The gate did not see it, or was not asked."""
    activity = read(kubernetes("patch", resource, annotations={}))
    assert activity is not None
    assert (activity.topic, activity.facts["verb"]) == (Topic.OTHER, "patch")
    assert activity.facts["kind"] == resource
    assert read(kubernetes("get", resource, annotations={})) is None
    own = "system:kube-controller-manager"
    assert read(kubernetes("patch", resource, annotations={}, username=own)) is None
