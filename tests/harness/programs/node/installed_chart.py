"""The charts on a node, as an operator installs them, with the image that a release has."""

import asyncio
import json
import time
from collections.abc import Iterable, Mapping
from http import HTTPStatus
from pathlib import Path
from typing import Any, Final

from deploy.image.archive import Written
from deploy.image.build import NAME, inputs_of, make
from tests.harness.evidence import ROOT
from tests.harness.programs.client import ApiStatusError, Client, Json
from tests.harness.programs.helm import CRDS, NAMESPACE, RELEASE, Helm
from tests.harness.programs.node.policed_node import NODES, SERVICE_RANGES, SUBNETS, PolicedNode
from tests.harness.programs.node.served_node import run_on, trust_apiserver
from tests.tools.provide import cache_folder

LEDGER: Final = "sallyport-test-ledger"
"""The volume for the ledger, which a provisioner would make."""
REGISTRATIONS: Final = "/apis/admissionregistration.k8s.io/v1"
TIMEOUT_S: Final = 60.0
WAIT: Final = ("--wait", "--timeout", "600s")


def provide_image(folder: Path) -> tuple[Path, Written]:
    """Make the image of this checkout; its lower layers once for all runs."""
    written = make(inputs_of(ROOT), folder, kept=cache_folder() / "image-layers")
    (archive,) = folder.glob("*.oci.tar")
    return archive, written


def values_of(policed: PolicedNode, more: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """Return the values that this node needs, and more.

    What the cluster is, no replica too many.
    """
    found: dict[str, Any] = {
        "image": {"repository": NAME, "pullPolicy": "Never"},
        "clusterId": "node",
        "gate": {"replicas": 2},
        "control": {"replicas": 1},
        "sandbox": {"runtimeClass": {"install": True, "handler": "runsc"}},
        "egress": {
            "ranges": {
                "pods": list(SUBNETS),
                "services": list(SERVICE_RANGES),
                "nodes": list(NODES),
            }
        },
        "networkPolicies": {"kubeApiServer": {"ports": [443, policed.node.apiserver.port]}},
    }
    for key, value in (more or {}).items():
        found[key] = {**found.get(key, {}), **value} if isinstance(value, dict) else value
    return found


class Chart:
    """Helm's commands for the release on one node."""

    def __init__(self, helm: Helm, policed: PolicedNode) -> None:
        self._helm = helm
        self._policed = policed
        self._where = ("--kubeconfig", policed.node.apiserver.kubeconfig())

    def install_kinds(self) -> None:
        """Install the chart of the kinds."""
        self._helm.run("install", "sallyport-crds", CRDS, *self._where)

    def apply(self, more: Mapping[str, Any] | None = None) -> str:
        """Install the release, or upgrade it; return once all of it is ready."""
        values = values_of(self._policed, more)
        kubeconfig = self._policed.node.apiserver.kubeconfig()
        return self._helm.install(kubeconfig, values, "--set", "webhooks.whenReady=true", *WAIT)

    def run(self, command: str, *more: str) -> str:
        """Run another command on the release: `rollback`, `test`."""
        return self._helm.run(command, RELEASE, *more, "--namespace", NAMESPACE, *self._where)

    def command(self, *arguments: str) -> str:
        """Run Helm as somebody wrote it down."""
        return self._helm.run(*arguments, *self._where)

    def revisions(self) -> list[int]:
        """Return the revisions that Helm knows."""
        return [int(each["revision"]) for each in json.loads(self.run("history", "-o", "json"))]


async def prepare(policed: PolicedNode, client: Client) -> None:
    """Make what is there before an installation: the namespace, and a volume for the ledger."""
    labels = {"pod-security.kubernetes.io/enforce": "restricted"}
    await client.create_namespace(NAMESPACE, labels)
    await trust_apiserver(policed, client, NAMESPACE)
    # A folder of the node's own, gone with it.
    run_on(policed, "mkdir", "-p", "/var/lib/ledger")
    affinity = [{"key": "kubernetes.io/os", "operator": "In", "values": ["linux"]}]
    await client.create(
        {
            "apiVersion": "v1",
            "kind": "PersistentVolume",
            "metadata": {"name": LEDGER},
            "spec": {
                "capacity": {"storage": "50Gi"},
                "accessModes": ["ReadWriteOnce"],
                "persistentVolumeReclaimPolicy": "Retain",
                "local": {"path": "/var/lib/ledger"},
                "nodeAffinity": {
                    "required": {"nodeSelectorTerms": [{"matchExpressions": affinity}]}
                },
            },
        }
    )


async def all_objects(client: Client) -> set[str]:
    """Name every object of the cluster but Events, as `Kind namespace/name`."""
    found: set[str] = set()
    _, groups = await client.request("GET", "/apis")
    versions = [f"/apis/{each['preferredVersion']['groupVersion']}" for each in groups["groups"]]
    for root in ("/api/v1", *versions):
        _, listed = await client.request("GET", root)
        for kind in listed["resources"]:
            if "list" not in kind["verbs"] or kind["kind"] in {"Event", "ComponentStatus"}:
                continue
            _, answer = await client.request("GET", f"{root}/{kind['name']}")
            for item in answer.get("items", ()):
                metadata = item["metadata"]
                where = f"{metadata.get('namespace', '')}/{metadata['name']}"
                found.add(f"{kind['kind']} {where}")
    return found


async def pods_of(client: Client, component: str) -> list[Json]:
    """Return the Pods of a component that are not being deleted."""
    path = f"/api/v1/namespaces/{NAMESPACE}/pods"
    labels = f"app.kubernetes.io/component={component}"
    _, found = await client.request("GET", path, parameters={"labelSelector": labels})
    return [each for each in found["items"] if "deletionTimestamp" not in each["metadata"]]


async def settled(policed: PolicedNode, client: Client) -> None:
    """Return once all Pods of the gate are ready, and the engine of policies knows them."""
    deadline = time.monotonic() + TIMEOUT_S
    while not all(map(_is_ready, pods := await pods_of(client, "gate"))):
        assert time.monotonic() < deadline, "a gate is not ready"
        await asyncio.sleep(0.2)
    policed.wait_until_known(pods)


def _is_ready(pod: Json) -> bool:
    conditions = pod["status"].get("conditions", ())
    return {each["type"]: each["status"] for each in conditions}.get("Ready") == "True"


async def metric(client: Client, pod: Json, name: str) -> float:
    """Return the sum of a metric of a Pod, asked through kube-apiserver."""
    where = f"{pod['metadata']['namespace']}/pods/{pod['metadata']['name']}:9080"
    _, answer = await client.request("GET", f"/api/v1/namespaces/{where}/proxy/metrics")
    lines = [each for each in answer["message"].splitlines() if each.startswith(name)]
    return sum(float(each.rpartition(" ")[2]) for each in lines)


async def registrations(client: Client) -> list[Json]:
    """Return the webhooks that are registered under the release's name."""
    kinds = ("validatingwebhookconfigurations", "mutatingwebhookconfigurations")
    found = [await client.request("GET", f"{REGISTRATIONS}/{kind}/sallyport") for kind in kinds]
    return [
        hook
        for status, item in found
        if status == HTTPStatus.OK
        for hook in item.get("webhooks") or ()
    ]


async def judged(client: Client) -> None:
    """Return once control has registered the webhooks, each with its CA."""
    deadline = time.monotonic() + TIMEOUT_S
    while not (found := await registrations(client)):
        assert time.monotonic() < deadline, "control has not registered the webhooks"
        await asyncio.sleep(0.2)
    assert all(each["clientConfig"].get("caBundle") for each in found)


async def created(client: Client, item: Json) -> str:
    """Create an object; give why it was refused, if it was."""
    try:
        await client.create(item)
    except ApiStatusError as error:
        return error.message
    return ""


def evidence(image: Written, measured: Iterable[str]) -> list[str]:
    """Return the lines of docs/evidence for what was measured, rows of a table."""
    size = f"{image.size / 1e6:.0f} MB, unpacked {image.unpacked / 1e6:.0f} MB"
    return [
        "- One node (`tests/node/test_chart_installed.py`) of etcd, kube-apiserver, kubelet,",
        "  containerd, runsc, kube-proxy, kube-router and CoreDNS; the image runs as real Pods",
        f"- Image: {size}",
        "",
        "| What | Time | Seen |",
        "| --- | --- | --- |",
        *measured,
        "",
        "The tests of one life, in this order. Uninstalled with Helm alone, a namespace whose",
        "allowlist `control` had held could be deleted; after the other commands of",
        "docs/operate/chart.md, *Remove*, every object of the cluster was compared with those that",
        "were there before the charts: none was left but the volume of the ledger, which was made",
        "for the test beforehand.",
    ]
