"""What a Pod asks of its node, as kube-scheduler counts it."""

from typing import Any

import pytest

from core.base.errors import InvalidObjectError
from core.sandbox.pod_resources import parse_pod_resources
from tests.unit.admission.world import raw


def asking(*, requests: Any = None, limits: Any = None, **more: Any) -> dict[str, Any]:
    """Return a container."""
    return {"resources": {"requests": requests, "limits": limits}, **more}


ONE = asking(requests={"cpu": "1", "memory": "1Gi"})
GPUS = asking(limits={"nvidia.com/gpu": 8, "cpu": "4"}, requests={"cpu": "2"})
SIDECAR = asking(requests={"cpu": "200m"}, restartPolicy="Always")

CASES: dict[str, tuple[dict[str, Any], dict[str, int]]] = {
    "nothing": ({"containers": [{"name": "a"}]}, {}),
    "containers add up": ({"containers": [ONE, ONE]}, {"cpu": 2000, "memory": 2 << 30}),
    "a limit stands in": ({"containers": [GPUS]}, {"cpu": 2000, "nvidia.com/gpu": 8}),
    "a request of zero": ({"containers": [asking(requests={"cpu": 0}, limits={"cpu": 1})]}, {}),
    "an init container asks for less": (
        {"containers": [ONE], "initContainers": [asking(requests={"cpu": "500m"})]},
        {"cpu": 1000, "memory": 1 << 30},
    ),
    "an init container asks for more": (
        {"containers": [ONE], "initContainers": [asking(requests={"cpu": "3"}), ONE]},
        {"cpu": 3000, "memory": 1 << 30},
    ),
    "a sidecar runs beside": (
        {"containers": [ONE], "initContainers": [SIDECAR]},
        {"cpu": 1200, "memory": 1 << 30},
    ),
    "sidecars before an init container run beside it": (
        {"containers": [ONE], "initContainers": [SIDECAR, asking(requests={"cpu": "1100m"})]},
        {"cpu": 1300, "memory": 1 << 30},
    ),
    "sidecars after an init container do not": (
        {"containers": [ONE], "initContainers": [asking(requests={"cpu": "1100m"}), SIDECAR]},
        {"cpu": 1200, "memory": 1 << 30},
    ),
    "the Pod's own requests count": (
        {"containers": [ONE, GPUS], "resources": {"requests": {"cpu": "8"}}},
        {"cpu": 8000, "memory": 1 << 30, "nvidia.com/gpu": 8},
    ),
    "the Pod's own limit stands in": (
        {"containers": [ONE], "resources": {"limits": {"cpu": "8", "hugepages-2Mi": "2Mi"}}},
        {"cpu": 1000, "memory": 1 << 30, "hugepages-2Mi": 2 << 20},
    ),
    "a Pod's limit without containers' requests": (
        {"containers": [{}], "resources": {"limits": {"memory": "2Gi"}}},
        {"memory": 2 << 30},
    ),
    "what a Pod cannot ask for as a whole": (
        {"containers": [{}], "resources": {"requests": {"nvidia.com/gpu": 1}}},
        {},
    ),
    "nulls": ({"containers": None, "initContainers": None, "resources": None}, {}),
}


@pytest.mark.parametrize("case", CASES)
def test_as_the_scheduler_counts(case: str) -> None:
    """k8s.io/component-helpers resource/helpers.go, after the defaults of core/v1."""
    spec, demand = CASES[case]
    for pod in ({"spec": spec}, raw({"spec": spec})):
        assert parse_pod_resources(pod).demand == demand | {"pods": 1}


def test_overhead_is_the_pods_own_or_its_classes() -> None:
    """A Pod has been given it already; a template has not."""
    taken = {"cpu": 50, "memory": 64 << 20}
    assert parse_pod_resources({"spec": {"containers": [ONE]}}, taken).demand["cpu"] == 1050
    given = {"containers": [ONE], "overhead": {"cpu": "100m"}}
    assert parse_pod_resources({"spec": given}, taken).demand["cpu"] == 1100


def test_where_it_may_run() -> None:
    """Its tolerations, and whether it names its node."""
    spec = {"tolerations": [{"key": "a", "operator": "Exists"}], "nodeName": "n"}
    found = parse_pod_resources({"spec": spec})
    assert (found.tolerations[0].key, found.placed) == ("a", True)
    assert parse_pod_resources({}).placed is False


@pytest.mark.parametrize(
    ("spec", "problem"),
    [
        ({"containers": [asking(requests={"cpu": "much"})]}, "cpu: 'much' is no quantity"),
        ({"containers": {}}, "Expected `array | null`"),
    ],
)
def test_what_cannot_be_read_is_named(spec: dict[str, Any], problem: str) -> None:
    """A quantity, or a field."""
    with pytest.raises(InvalidObjectError, match="Pod: spec") as caught:
        parse_pod_resources({"spec": spec})
    assert problem in str(caught.value)
