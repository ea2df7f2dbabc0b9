"""Only the namespace in which the network is seen to run is proposed to be left out."""

from typing import Final

import msgspec
import pytest

from cli.preflight.cluster.model import PreflightNotes
from cli.preflight.cluster.pods import PodCounts
from cli.preflight.cluster.system_namespaces import MANAGED, engine_namespace, judge_namespaces
from kube.egress.network_facts import DaemonSet
from tests.harness.programs.client import Json

LABELS: Final = {"k8s-app": "calico-node"}
CALICO: Final = DaemonSet("calico-system", "calico-node", labels=LABELS, host_network=True)
CILIUM: Final = DaemonSet("kube-system", "cilium", labels={"k8s-app": "x"}, host_network=True)
OWN: Final = "sallyport-system"


def counts(
    namespace: str = "calico-system",
    labels: Json | None = None,
    annotations: Json | None = None,
    *,
    on_node: bool = True,
) -> PodCounts:
    """Return what is counted of one Pod."""
    meta = {"namespace": namespace, "labels": labels or LABELS, "annotations": annotations or {}}
    pods = PodCounts()
    pod = {"metadata": meta, "spec": {"hostNetwork": on_node, "containers": []}}
    pods.take(msgspec.Raw(msgspec.json.encode(pod)))
    return pods


def proposed(engines: list[DaemonSet], pods: PodCounts) -> list[str]:
    """Return what is proposed to be left out, where somebody made all such namespaces."""
    names = ["calico-system", "cilium", "tigera-operator", "kube-flannel", "team", *MANAGED]
    notes = PreflightNotes()
    judge_namespaces(names, OWN, engine_namespace(engines, pods), notes, is_on_azure=True)
    found: list[str] = notes.values.get("webhooks", {}).get("excludedNamespaces", [])
    said = " ".join(each.what for each in notes.findings)
    assert all(name in said for name in names if name != "team")
    return found


def test_where_the_engine_runs_is_left_out() -> None:
    """Its DaemonSet is there, and a Pod of it on a node's network; nothing else called so is."""
    assert proposed([CALICO], counts()) == ["calico-system"]


@pytest.mark.parametrize(
    ("engines", "pods"),
    [
        pytest.param([], counts(), id="no engine"),
        pytest.param([CALICO], PodCounts(), id="no Pod"),
        pytest.param([CALICO], counts(on_node=False), id="a Pod with an address of its own"),
        pytest.param([CALICO], counts(labels={"app": "x"}), id="a Pod of another"),
        pytest.param([CALICO], counts("team"), id="a Pod elsewhere"),
        pytest.param([CILIUM, CALICO], counts(), id="another engine is there"),
        pytest.param([CILIUM], counts(), id="another engine"),
        pytest.param(
            [DaemonSet("calico-system", "calico-node", labels=LABELS)], counts(), id="no network"
        ),
        pytest.param(
            [CALICO], counts(annotations={"kubernetes.io/config.mirror": "x"}), id="a mirror"
        ),
    ],
)
def test_a_name_proves_nothing(engines: list[DaemonSet], pods: PodCounts) -> None:
    """Whoever may create namespaces chooses it."""
    assert proposed(engines, pods) == []
