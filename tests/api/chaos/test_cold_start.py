"""A cluster that was stopped whole comes up without a person, in the worst order."""

import json
import os
import signal
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any, Final

import pytest

from tests.api.chaos.cluster import GATES, Cluster
from tests.api.chaos.load import TRAIN
from tests.api.chaos.parts import request, wait_until
from tests.harness.evidence import record
from tests.harness.programs.availability import require
from tests.harness.programs.controller_manager import ControllerManager
from tests.harness.programs.helm import NAMESPACE, Helm
from tests.harness.sizes import PROOF
from tests.harness.worlds.pods import RESTRICTED

CONTROLLERS: Final = ("deployment-controller", "replicaset-controller", "statefulset-controller")
PARTS: Final = {"gate": GATES, "control": 2, "auditor": 1}
REPLICAS: Final = 2
PATIENCE_S: Final = 180.0

Json = dict[str, Any]


class Scene:
    """The installation, its Pods made by Kubernetes' own controllers."""

    def __init__(self, cluster: Cluster, folder: Path) -> None:
        self.cluster = cluster
        self.gone: set[str] = set()
        """UIDs of Pods of nodes that are no more: no kubelet runs them."""
        self.managers = 0
        self._folder = folder

    def start_controllers(self) -> None:
        """Start kube-controller-manager."""
        self.managers += 1
        folder = self._folder / f"controllers-{self.managers}"
        folder.mkdir()
        self.manager = ControllerManager(folder, self.cluster.server, *CONTROLLERS)

    def stop_controllers(self) -> None:
        """End kube-controller-manager."""
        self.manager.stop()

    def follow_pods(self) -> None:
        """Let run what has a Pod, and nothing else."""
        found = Counter(
            pod["metadata"]["labels"]["app.kubernetes.io/component"]
            for pod in self.pods(NAMESPACE)
            if pod["metadata"]["uid"] not in self.gone
        )
        self.cluster.kubelet.held = {
            name for name, component, number in _processes() if found[component] <= number
        }

    def pods(self, namespace: str) -> list[Json]:
        """Return the Pods of a namespace; none while kube-apiserver is away."""
        status, body = request(self.cluster.server, "GET", f"/api/v1/namespaces/{namespace}/pods")
        listed: list[Json] = json.loads(body)["items"] if status == 200 else []
        return listed

    def stop_everything(self) -> None:
        """Stop all: first what is judged by, then what asks."""
        self.cluster.kubelet.held = {name for name, _, _ in _processes()}
        for number in range(GATES):
            self.cluster.gates.kill(number)
        for part in self.cluster.kubelet.parts:
            assert part.process is not None
            os.kill(part.process.pid, signal.SIGKILL)
        self.stop_controllers()
        self.cluster.server.kill_kube_apiserver()
        self.cluster.server.kill_etcd()

    def lose_nodes(self) -> None:
        """Delete the Pods of the nodes that are no more, as Pods are collected then."""
        for namespace in (NAMESPACE, TRAIN, "kube-system"):
            for pod in self.pods(namespace):
                path = f"/api/v1/namespaces/{namespace}/pods/{pod['metadata']['name']}"
                assert (
                    request(self.cluster.server, "DELETE", path, {"gracePeriodSeconds": 0})[0]
                    == 200
                )


def _processes() -> list[tuple[str, str, int]]:
    return [
        (f"{component}-{number}" if component != "auditor" else component, component, number)
        for component, count in PARTS.items()
        for number in range(count)
    ]


def _deployment(name: str, namespace: str, **spec: Any) -> Json:
    template = RESTRICTED.pod()
    template["metadata"] = {"labels": {"app": name}}
    template["spec"] |= spec
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": name, "namespace": namespace},
        "spec": {
            "replicas": REPLICAS,
            "selector": {"matchLabels": {"app": name}},
            "template": {"metadata": template["metadata"], "spec": template["spec"]},
        },
    }


@pytest.fixture
def scene(tmp_path: Path, helm: Helm) -> Iterator[Scene]:
    """All of it, running, with a workload of a team and one of the cluster's own."""
    for program in ("etcd", "kube-apiserver", "kube-controller-manager"):
        require(program)
    with ExitStack() as stack:
        cluster = stack.enter_context(Cluster(tmp_path, helm, {"gate": {"replicas": GATES}}))
        made = Scene(cluster, tmp_path)
        made.start_controllers()
        stack.callback(made.stop_controllers)
        account = {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "default"}}
        path = "/api/v1/namespaces/kube-system/serviceaccounts"
        assert request(cluster.server, "POST", path, account)[0] == 201
        workloads = (
            _deployment("dns", "kube-system", hostNetwork=True),
            _deployment("web", TRAIN),
        )
        for each in workloads:
            path = f"/apis/apps/v1/namespaces/{each['metadata']['namespace']}/deployments"
            assert request(cluster.server, "POST", path, each)[0] == 201
        wait_until(
            lambda: len(made.pods(TRAIN)) == REPLICAS, PATIENCE_S, "the team's Pods are made"
        )
        wait_until(
            lambda: len(made.pods(NAMESPACE)) == sum(PARTS.values()),
            PATIENCE_S,
            "Sallyport's Pods are made",
        )
        cluster.kubelet.also(made.follow_pods)
        yield made


@pytest.mark.proof
@pytest.mark.skipif(not PROOF, reason="a proof: set SALLYPORT_PROOF=1 (make proof)")
def test_a_cluster_that_was_stopped_comes_up_by_itself(scene: Scene) -> None:
    """etcd, kube-apiserver, controllers, and only then, through them, Sallyport and all others."""
    before = {pod["metadata"]["uid"] for pod in scene.pods(TRAIN)}
    scene.gone = {pod["metadata"]["uid"] for pod in scene.pods(NAMESPACE)}
    scene.stop_everything()
    server = scene.cluster.server
    server.start_etcd()
    server.start_kube_apiserver()
    began = time.monotonic()
    _refuses_all(scene)
    scene.lose_nodes()
    assert not any(gate.alive for gate in scene.cluster.gates.replicas), "no gate has a Pod yet"
    scene.start_controllers()
    _wait_for(scene, "kube-system", REPLICAS)
    dns = time.monotonic() - began
    assert not any(gate.ready() for gate in scene.cluster.gates.replicas)
    _wait_for(scene, NAMESPACE, sum(PARTS.values()))
    made = time.monotonic() - began
    wait_until(scene.cluster.is_whole, PATIENCE_S, "Sallyport runs")
    whole = time.monotonic() - began
    _wait_for(scene, TRAIN, REPLICAS)
    team = time.monotonic() - began
    assert not before & {pod["metadata"]["uid"] for pod in scene.pods(TRAIN)}
    assert {scene.cluster.stored().get(pod["metadata"]["uid"]) for pod in scene.pods(TRAIN)} <= {
        "allow",
        None,  # Still in the spool.
    }
    record("cold-start", _lines(dns, made, whole, team))


def _refuses_all(scene: Scene) -> None:
    """Nobody judges yet, so nothing of a team is let in."""
    pod = RESTRICTED.pod() | {"metadata": {"name": "early", "namespace": TRAIN}}
    path = f"/api/v1/namespaces/{TRAIN}/pods"
    status, body = request(scene.cluster.server, "POST", path, pod, 20)
    assert status == 500
    assert b"failed calling webhook" in body


def _wait_for(scene: Scene, namespace: str, count: int) -> None:
    wait_until(
        lambda: len(scene.pods(namespace)) == count, PATIENCE_S, f"the Pods of {namespace} are made"
    )


def _lines(dns: float, made: float, whole: float, team: float) -> list[str]:
    return [
        "- Everything killed: gates, control, auditor, controllers, kube-apiserver, etcd; then "
        "etcd, kube-apiserver and kube-controller-manager started; all Pods of before are gone "
        "with their nodes; the registrations with Fail are there all the time",
        f"- The cluster's own Pods (kube-system) made after {dns:.1f} s, without a gate",
        f"- Sallyport's Pods made by Kubernetes' controllers after {made:.1f} s, without a gate",
        f"- Gates, controls and auditor ready after {whole:.1f} s",
        f"- A team's Pods, refused until then, made by their Deployment after {team:.1f} s",
        "- Done by a person: nothing",
    ]
