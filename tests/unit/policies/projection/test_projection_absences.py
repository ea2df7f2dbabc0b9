"""What a Pod leaves out is left out of its projection."""

from typing import Any

import pytest

from policies.projection.volumes import HARMLESS_VOLUMES
from tests.unit.policies.projection.whole_pod import CONTAINER_CONTEXT, NO_IMAGE, projection


@pytest.mark.parametrize("pod", [{}, {"spec": {}}, {"metadata": {}, "spec": {"containers": []}}])
def test_an_empty_pod_is_an_empty_projection(pod: dict[str, Any]) -> None:
    """What is not there is left out; only the list of containers always is."""
    assert projection(pod) == {"containers": []}


def test_nulls_are_absent_fields() -> None:
    """As for kube-apiserver: null where a value may be absent changes nothing."""
    nulls = {
        "metadata": {"annotations": None, "ownerReferences": None, "labels": None},
        "spec": {
            "os": None,
            "hostNetwork": None,
            "hostPID": None,
            "hostIPC": None,
            "hostUsers": None,
            "securityContext": None,
            "volumes": None,
            "initContainers": None,
            "ephemeralContainers": None,
            "containers": [
                {
                    "name": "a",
                    "image": None,
                    "ports": None,
                    "volumeMounts": None,
                    "lifecycle": None,
                    "livenessProbe": None,
                    "securityContext": {
                        key: None for key in CONTAINER_CONTEXT if key != "capabilities"
                    }
                    | {"capabilities": {"add": None, "drop": None}},
                }
            ],
        },
    }
    expected = {
        "path": "spec.containers[0]",
        "name": "a",
        "kind": "container",
        "unlimited": ["cpu", "memory"],
        **NO_IMAGE,
        "securityContext": {"capabilities": {}},
    }
    assert projection(nulls) == {"containers": [expected]}


@pytest.mark.parametrize("volume", sorted(HARMLESS_VOLUMES - {"csi", "image"}))
def test_harmless_volumes_are_left_out(volume: str) -> None:
    """Types that every Pod Security level allows are none of the rules' business."""
    assert projection({"spec": {"volumes": [{"name": "v", volume: {}}]}}) == {"containers": []}


@pytest.mark.parametrize(
    "volume", "hostPath nfs iscsi rbd azureFile azureDisk gitRepo flexVolume emptydir".split()
)
def test_other_volumes_are_there(volume: str) -> None:
    """What is not known to be harmless is shown, whatever it is called."""
    found = projection({"spec": {"volumes": [{"name": "v", volume: {}}]}})["volumes"]
    assert [entry["types"] for entry in found] == [[volume]]
