"""An installation as a cluster with kubelets shows it: Pods with addresses, workloads that count.

kube-apiserver reaches the Pods through a tunnel (an EgressSelectorConfiguration), webhooks and its
proxy alike; what kubelets and controllers would write, the tests write.
"""

import asyncio
import datetime as dt
import json
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing, contextmanager, suppress
from pathlib import Path
from typing import Any, Final

from tests.api.record.installation import GATE_POD, Installation
from tests.harness.programs.apiserver import ApiServer
from tests.harness.programs.availability import require
from tests.harness.programs.client import Client, Json, connect
from tests.harness.programs.cluster_network import ClusterNetwork
from tests.harness.programs.helm import CRDS, NAMESPACE, RELEASE, Helm

MERGE: Final = "application/merge-patch+json"
PODS: Final = {
    "gate": (GATE_POD, "10.244.0.21"),
    "control": ("sallyport-control-5c6b7d8f9-abcde", "10.244.0.22"),
    "auditor": ("sallyport-auditor-0", "10.244.0.23"),
}
PORT: Final = 9080
NODE: Final = "node-1"
WORKLOADS: Final = {
    "gate": "deployments/sallyport-gate",
    "control": "deployments/sallyport-control",
    "auditor": "statefulsets/sallyport-auditor",
}
TEAM: Final = "team"
"""A namespace that enforces."""
VALUES: Final[Json] = {
    "defaultMode": "audit",
    "gate": {"replicas": 1, "allowSingleReplica": True},
    "control": {"replicas": 1},
}


class InstalledStatus:
    """The installation, and what a kubelet would say of it."""

    def __init__(self, installation: Installation) -> None:
        """Take what runs."""
        self.installation = installation

    @property
    def kubeconfig(self) -> Path:
        """Of an administrator."""
        return self.installation.apiserver.kubeconfig()

    async def until_certificates_are_known(self) -> None:
        """Wait until the leader has looked at what it has made."""
        deadline = time.monotonic() + 60.0
        while not self._shows_certificates():
            assert time.monotonic() < deadline
            await asyncio.sleep(0.2)

    def _shows_certificates(self) -> bool:
        with suppress(OSError):
            return "sallyport_certificate_seconds_left{" in self.installation.metrics("control")
        return False

    async def show(self, client: Client, process: str, *, ready: bool = True) -> None:
        """Write of a process what its kubelet and its controller would."""
        pod, address = PODS[process]
        network = self.installation.network
        network.ports[f"{address}:{PORT}"] = self.installation.status_port(process)
        await self._patch(
            client,
            f"/api/v1/namespaces/{NAMESPACE}/pods/{pod}",
            {
                "phase": "Running",
                "podIP": address,
                "podIPs": [{"ip": address}],
                "conditions": [{"type": "Ready", "status": str(ready)}],
                "containerStatuses": [
                    {
                        "name": process,
                        "image": "registry.example/sallyport",
                        "imageID": "",
                        "ready": ready,
                        "restartCount": 0,
                        "state": {"running": {"startedAt": _now()}},
                    }
                ],
            },
        )
        count = int(ready)
        await self._patch(
            client,
            f"/apis/apps/v1/namespaces/{NAMESPACE}/{WORKLOADS[process]}",
            {
                "replicas": 1,
                "readyReplicas": count,
                **({"availableReplicas": count} if process != "auditor" else {}),
            },
        )

    @staticmethod
    async def _patch(client: Client, path: str, status: Json) -> None:
        code, answer = await client.request(
            "PATCH", f"{path}/status", {"status": status}, content_type=MERGE
        )
        assert code == 200, answer


def _now() -> str:
    return f"{dt.datetime.now(dt.UTC):%Y-%m-%dT%H:%M:%SZ}"


def process_pod(process: str) -> Json:
    """Return the Pod that the chart's workload would have."""
    container: dict[str, Any] = {
        "name": process,
        "image": "registry.example/sallyport@sha256:" + "0" * 64,
        "ports": [{"name": "status", "containerPort": PORT}],
    }
    labels = {
        "app.kubernetes.io/name": "sallyport",
        "app.kubernetes.io/instance": RELEASE,
        "app.kubernetes.io/component": process,
    }
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": PODS[process][0], "namespace": NAMESPACE, "labels": labels},
        "spec": {
            "serviceAccountName": f"sallyport-{process}",
            "nodeName": NODE,
            "containers": [container],
        },
    }


def selector(tunnel: Path) -> Json:
    """Return what sends kube-apiserver's own connections into the cluster through a tunnel."""
    connection = {"proxyProtocol": "HTTPConnect", "transport": {"uds": {"udsName": str(tunnel)}}}
    return {
        "apiVersion": "apiserver.k8s.io/v1beta1",
        "kind": "EgressSelectorConfiguration",
        "egressSelections": [{"name": "cluster", "connection": connection}],
    }


@contextmanager
def installed_status(folders: Callable[[str], Path], helm: Helm) -> Iterator[InstalledStatus]:
    """Yield a cluster with everything installed, running and well."""
    for program in ("etcd", "kube-apiserver"):
        require(program)
    with ExitStack() as stack:
        tunnel = folders("tunnel")
        network = stack.enter_context(closing(ClusterNetwork(tunnel / "socket")))
        file = tunnel / "egress.json"
        file.write_text(json.dumps(selector(tunnel / "socket")))
        apiserver = ApiServer(folders("apiserver"), flags=[f"--egress-selector-config-file={file}"])
        stack.callback(apiserver.stop)
        settings = {"SALLYPORT_DEFAULT_MODE": "audit"}
        made = Installation(folders("installed"), apiserver, network, settings)
        stack.callback(made.stop)
        shown = InstalledStatus(made)
        asyncio.run(_install(shown, helm))
        yield shown


async def _install(shown: InstalledStatus, helm: Helm) -> None:
    made = shown.installation
    kubeconfig = made.apiserver.kubeconfig()
    async with connect(made.apiserver) as client:
        await client.create_namespace(NAMESPACE)
        helm.run("install", "sallyport-crds", CRDS, "--kubeconfig", kubeconfig)
        helm.install(kubeconfig, VALUES)
        for process in PODS:
            await client.create(process_pod(process))
        await made.start_control(client)
        made.start_auditor()
        await made.start_gate(client)
        for process in PODS:
            await shown.show(client, process)
        await shown.until_certificates_are_known()
        await client.create_namespace(TEAM, {"sallyport.dev/mode": "enforce"})
