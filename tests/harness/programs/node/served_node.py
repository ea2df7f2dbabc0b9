"""A policed node with what installations rest on: Services (kube-proxy), names (CoreDNS), volumes.

kube-apiserver calls webhooks at the addresses of their Pods, as on clusters whose kube-apiserver
lies outside (`--enable-aggregator-routing`).
"""

import asyncio
import dataclasses
import subprocess
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

from tests.harness.programs.availability import skip_or_fail
from tests.harness.programs.client import Client, Json, connect
from tests.harness.programs.node.images import BUSYBOX
from tests.harness.programs.node.node import CONTROLLERS, NAME
from tests.harness.programs.node.policed_node import (
    OWN,
    SHAPE,
    SUBNETS,
    PolicedNode,
    running_policed_node,
)
from tests.harness.programs.process import ServerFailedError
from tests.tools.provide import CannotProvideError, provide

DNS: Final = "10.0.0.10"
"""The address of the Service for names."""
_CONTROLLERS: Final = (
    "deployment replicaset statefulset endpointslice garbage-collector namespace disruption "
    "persistentvolume-binder persistentvolumeclaim-protection serviceaccount daemonset"
).split()
_SHAPE: Final = dataclasses.replace(
    SHAPE,
    apiserver_flags=(
        *SHAPE.apiserver_flags,
        "--enable-aggregator-routing=true",
        # Pods find kube-apiserver by its Service.
        "--endpoint-reconciler-type=lease",
        f"--advertise-address={OWN[0]}",
    ),
    kubelet_flags=(*SHAPE.kubelet_flags, f"--cluster-dns={DNS}", "--cluster-domain=cluster.local"),
    controllers=(*CONTROLLERS, *(f"{each}-controller" for each in _CONTROLLERS)),
)
_COREFILE: Final = ".:53 {\n  errors\n  ready\n  kubernetes cluster.local\n}\n"
_TIMEOUT_S: Final = 60.0


@contextmanager
def running_served_node(folder: Path, outside: Iterable[str]) -> Iterator[PolicedNode]:
    """Run such a node, its logs in `folder`; as `running_policed_node`."""
    # Before there is such a node: a machine that builds them needs its own way out for that.
    kube_proxy, coredns = _required("kube-proxy"), _required("coredns")
    with running_policed_node(folder, outside, _SHAPE) as policed:
        _start_kube_proxy(policed, kube_proxy)
        asyncio.run(_start_names(policed, coredns))
        yield policed


def _required(name: str) -> Path:
    """Return a program; without it, fail in CI and skip elsewhere."""
    try:
        return provide(name)
    except CannotProvideError as error:
        skip_or_fail(CannotProvideError(f"whether Services are reached: {error}"))


def _start_kube_proxy(policed: PolicedNode, program: Path) -> None:
    flags = [
        f"--kubeconfig={policed.node.apiserver.kubeconfig()}",
        f"--hostname-override={NAME}",
        "--proxy-mode=iptables",
        f"--cluster-cidr={','.join(SUBNETS)}",
        "--conntrack-max-per-core=0",
        "--conntrack-tcp-timeout-established=0",
        "--conntrack-tcp-timeout-close-wait=0",
        "--healthz-bind-address=127.0.0.1:10256",
        "--metrics-bind-address=127.0.0.1:10249",
    ]
    running = policed.start("kube-proxy", program, *flags)
    running.wait_until(lambda: "KUBE-SERVICES" in policed.run("iptables-save"), _TIMEOUT_S)


async def _start_names(policed: PolicedNode, coredns: Path) -> None:
    async with connect(policed.node.apiserver) as client:
        await trust_apiserver(policed, client, "kube-system")
        for item in _names(coredns):
            await client.create(item)
        await wait_until_ready(client, "kube-system", "k8s-app=kube-dns", 1)


async def trust_apiserver(policed: PolicedNode, client: Client, namespace: str) -> None:
    """Have the ConfigMap by which Pods trust kube-apiserver; else a controller would make it."""
    content = {"ca.crt": policed.node.apiserver.authority.pem.decode()}
    metadata = {"name": "kube-root-ca.crt", "namespace": namespace}
    await client.create(
        {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": content}
    )


def _names(program: Path) -> Iterator[Json]:
    """Yield CoreDNS: rights, settings, a Pod, a Service."""
    system: Json = {"namespace": "kube-system", "name": "coredns"}
    yield {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": system}
    rbac = "rbac.authorization.k8s.io"
    rules = [
        {
            "apiGroups": ["", "discovery.k8s.io"],
            "resources": ["services", "endpointslices", "pods", "namespaces"],
            "verbs": ["get", "list", "watch"],
        }
    ]
    role: Json = {"apiVersion": f"{rbac}/v1", "metadata": {"name": "coredns"}}
    yield {**role, "kind": "ClusterRole", "rules": rules}
    yield {
        **role,
        "kind": "ClusterRoleBinding",
        "roleRef": {"apiGroup": rbac, "kind": "ClusterRole", "name": "coredns"},
        "subjects": [{"kind": "ServiceAccount", **system}],
    }
    yield {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": system,
        "data": {"Corefile": _COREFILE},
    }
    yield _names_pod(system, program)
    ports = [{"name": each, "port": 53, "protocol": each.upper()} for each in ("udp", "tcp")]
    yield {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {"namespace": "kube-system", "name": "kube-dns"},
        "spec": {"clusterIP": DNS, "selector": {"k8s-app": "kube-dns"}, "ports": ports},
    }


def _names_pod(system: Json, program: Path) -> Json:
    """Return the Pod of the program that was built, in an image that is there."""
    container = {
        "name": "coredns",
        "image": BUSYBOX,
        "imagePullPolicy": "Never",
        "command": ["/program/coredns", "-conf", "/settings/Corefile"],
        "securityContext": {"runAsUser": 0},
        "readinessProbe": {"httpGet": {"path": "/ready", "port": 8181}, "periodSeconds": 1},
        "volumeMounts": [
            {"name": "program", "mountPath": "/program", "readOnly": True},
            {"name": "settings", "mountPath": "/settings", "readOnly": True},
        ],
    }
    volumes: list[Json] = [
        {"name": "program", "hostPath": {"path": str(program.parent)}},
        {"name": "settings", "configMap": {"name": "coredns"}},
    ]
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {**system, "labels": {"k8s-app": "kube-dns"}},
        "spec": {
            "serviceAccountName": "coredns",
            "dnsPolicy": "Default",
            "terminationGracePeriodSeconds": 0,
            "containers": [container],
            "volumes": volumes,
        },
    }


async def wait_until_ready(
    client: Client, namespace: str, labels: str, count: int, timeout_s: float = _TIMEOUT_S
) -> list[Json]:
    """Wait until there are so many Pods with these labels, no others, and all are ready.

    Raises:
        ServerFailedError: not in time; with their status and events.
    """
    deadline = time.monotonic() + timeout_s
    path = f"/api/v1/namespaces/{namespace}/pods"
    while True:
        _, found = await client.request("GET", path, parameters={"labelSelector": labels})
        pods: list[Json] = found["items"]
        if len(pods) == count and all(map(is_ready, pods)):
            return pods
        if time.monotonic() > deadline:
            raise ServerFailedError(f"{labels}: {await _why(client, namespace, pods)}")
        await asyncio.sleep(0.2)


def is_ready(pod: Json) -> bool:
    """Return whether a Pod is ready."""
    conditions = pod["status"].get("conditions", ())
    return any(each["type"] == "Ready" and each["status"] == "True" for each in conditions)


async def _why(client: Client, namespace: str, pods: Iterable[Json]) -> list[Any]:
    _, events = await client.request("GET", f"/api/v1/namespaces/{namespace}/events")
    said = [
        f"{e['involvedObject']['name']}: {e['reason']}: {e['message']}" for e in events["items"]
    ]
    logs = []
    for pod in pods:
        path = f"/api/v1/namespaces/{namespace}/pods/{pod['metadata']['name']}/log"
        logs.append((await client.request("GET", path))[1])
    return [[each["status"] for each in pods], said[-20:], logs]


def run_on(policed: PolicedNode, *command: str | Path) -> str:
    """Run a program on the node, outside its Pods; return what it printed."""
    done = subprocess.run(
        policed.node.command(*command), capture_output=True, text=True, check=True
    )
    return done.stdout
