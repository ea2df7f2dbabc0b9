"""What comes to a gate's port through kube-apiserver's own proxies is nobody's in particular.

kube-apiserver dials Pods, Services and nodes through a tunnel (an EgressSelectorConfiguration), by
which it calls webhooks too: to the gate's network both look alike.
"""

import json
from collections.abc import AsyncIterator, Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Final

import pytest

from tests.api.admission.conftest import install
from tests.api.kube.objects import wait_for
from tests.harness.load.reviews import pod_review, post
from tests.harness.programs.apiserver import ApiServer
from tests.harness.programs.availability import require
from tests.harness.programs.client import Client, Json, connect
from tests.harness.programs.cluster_network import ClusterNetwork
from tests.harness.programs.gate import Gate
from tests.harness.programs.pki import WEBHOOK_CLIENT, Authority, KeyPair
from tests.harness.worlds.pods import RESTRICTED

NAMESPACE: Final = "tenant"
PORT: Final = 9443
KNOWN: Final = "10.244.0.9"
"""Where the tunnel finds the gate that answers kube-apiserver alone."""
OPEN: Final = "10.244.0.10"
"""Where it finds the gate that answers everyone, as on AKS."""

TO_NODES: Final = "kube-apiserver-kubelet-client"
"""Whom the certificate names that kube-apiserver shows to kubelets (kubeadm's name)."""

VICTIM: Final = "alice@example.com"


@dataclass(frozen=True)
class Cluster:
    """A kube-apiserver with a tunnel, and two gates behind it."""

    apiserver: ApiServer
    gates: dict[str, Gate]
    """By the address that the tunnel knows them by."""
    shown: KeyPair
    """What the first one asks kube-apiserver's webhook client for."""


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    """Both gates; kube-apiserver shows nodes a certificate of the CA that the first one trusts."""
    for program in ("etcd", "kube-apiserver"):
        require(program)
    with ExitStack() as ends:
        folder = tmp_path_factory.mktemp("tunnel")
        network = ClusterNetwork(folder / "socket")
        ends.callback(network.close)
        file = folder / "egress.json"
        file.write_text(json.dumps(selector(folder / "socket")))
        clients = Authority(folder)
        to_nodes = clients.issue_client(TO_NODES, "spiffe://cluster/apiserver-of-nodes")
        flags = [
            f"--egress-selector-config-file={file}",
            f"--kubelet-client-certificate={to_nodes.certificate}",
            f"--kubelet-client-key={to_nodes.key}",
        ]
        server = ApiServer(tmp_path_factory.mktemp("apiserver"), flags=flags)
        ends.callback(server.stop)
        gates = {}
        for address, strangers in ((KNOWN, False), (OPEN, True)):
            where = tmp_path_factory.mktemp("gate")
            gates[address] = Gate(
                where,
                server.authority,
                server.kubeconfig(),
                {} if strangers else {"SALLYPORT_LISTEN__CLIENT_CA": str(clients.certificate_path)},
                wait=False,
                strangers=strangers,
            )
            ends.callback(gates[address].stop)
            network.ports[f"{address}:{PORT}"] = gates[address].port
        shown = clients.issue_client(WEBHOOK_CLIENT, "spiffe://cluster/apiserver")
        yield Cluster(server, gates, shown)


def selector(tunnel: Path) -> Json:
    """Return what sends kube-apiserver's own connections into the cluster through a tunnel."""
    connection = {"proxyProtocol": "HTTPConnect", "transport": {"uds": {"udsName": str(tunnel)}}}
    return {
        "apiVersion": "apiserver.k8s.io/v1beta1",
        "kind": "EgressSelectorConfiguration",
        "egressSelections": [{"name": "cluster", "connection": connection}],
    }


@pytest.fixture
async def admin(cluster: Cluster) -> AsyncIterator[Client]:
    """Who may use every proxy, once the gates are ready and the tenant's objects are there."""
    async with connect(cluster.apiserver) as client:
        await install(client)
        for gate in cluster.gates.values():
            gate.wait_until_ready()
        await client.create_namespace(NAMESPACE)
        for address in cluster.gates:
            items = pointing_at(address)
            await client.create_service_account("default", NAMESPACE)
            await client.apply(items)
            for path, item in zip(
                (f"/api/v1/namespaces/{NAMESPACE}/pods", "/api/v1/nodes"), items[-2:], strict=True
            ):
                whole = f"{path}/{called(address)}/status"
                kind = "application/merge-patch+json"
                patch = {"status": item["status"]}
                status, answer = await client.request("PATCH", whole, patch, content_type=kind)
                assert status == 200, answer
            await wait_for(partial(is_known, client, address), 10.0)
        yield client


async def is_known(client: Client, address: str) -> bool:
    """Whether kube-apiserver knows what is behind the Service: it follows EndpointSlices."""
    _, answer = await client.request("GET", to_service(address))
    return "no endpoints available" not in json.dumps(answer)


def to_service(address: str) -> str:
    """Return the path of kube-apiserver's proxy to the Service of an address."""
    return f"/api/v1/namespaces/{NAMESPACE}/services/https:{called(address)}:{PORT}/proxy/"


def called(address: str) -> str:
    """Name what points at an address."""
    return f"to-{address.rpartition('.')[2]}"


def pointing_at(address: str) -> list[Json]:
    """Return a tenant's Service, Pod and node that say they are at a gate's address."""
    name = called(address)
    place = {"name": name, "namespace": NAMESPACE}
    port = {"name": "https", "port": PORT, "protocol": "TCP"}
    pod = {"kind": "Pod", **place}  # kube-apiserver proxies to addresses of Pods beside it alone.
    daemon = {"daemonEndpoints": {"kubeletEndpoint": {"Port": PORT}}}
    return [
        {"apiVersion": "v1", "kind": "Service", "metadata": place, "spec": {"ports": [port]}},
        {
            "apiVersion": "v1",
            "kind": "Endpoints",
            "metadata": place,
            "subsets": [{"addresses": [{"ip": address, "targetRef": pod}], "ports": [port]}],
        },
        {
            "apiVersion": "discovery.k8s.io/v1",
            "kind": "EndpointSlice",
            "metadata": {**place, "labels": {"kubernetes.io/service-name": name}},
            "addressType": "IPv4",
            "endpoints": [
                {"addresses": [address], "conditions": {"ready": True}, "targetRef": pod}
            ],
            "ports": [port],
        },
        {
            **RESTRICTED.pod(),
            "metadata": place,
            "status": {"podIP": address, "podIPs": [{"ip": address}]},
        },
        {
            "apiVersion": "v1",
            "kind": "Node",
            "metadata": {"name": name},
            "status": {"addresses": [{"type": "InternalIP", "address": address}], **daemon},
        },
    ]


WAYS: Final = {
    "service": f"/api/v1/namespaces/{NAMESPACE}/services/https:{{}}:{PORT}/proxy/validate",
    "pod": f"/api/v1/namespaces/{NAMESPACE}/pods/https:{{}}:{PORT}/proxy/validate",
    "node, as its kubelet": "/api/v1/nodes/{}/proxy/validate",
    "node, another port": f"/api/v1/nodes/https:{{}}:{PORT}/proxy/validate",
}
"""Paths of kube-apiserver that lead to a gate."""


@pytest.mark.parametrize(
    ("address", "answers"),
    [(KNOWN, ("certificate required", "EOF")), (OPEN, ("only POST /validate",))],
)
async def test_a_get_shows_that_kube_apiserver_reaches_the_gate(
    admin: Client, address: str, answers: tuple[str, ...]
) -> None:
    """By a proxy of kube-apiserver's: the question comes as reviews do."""
    status, said = await admin.request("GET", to_service(address))
    assert status >= 400
    assert any(answer in json.dumps(said) for answer in answers), said


def forged() -> Json:
    """Return a review that nobody asked for: somebody else creates a Pod that shares the node."""
    pod = RESTRICTED.pod()
    pod["spec"]["hostNetwork"] = True
    made: Json = json.loads(pod_review(pod, "default", VICTIM))
    return made


@pytest.mark.parametrize("way", WAYS)
async def test_a_gate_with_a_client_ca_answers_no_proxy(admin: Client, way: str) -> None:
    """The proxy has no certificate, or one that names something else: nothing is answered."""
    status, answer = await admin.request("POST", WAYS[way].format(called(KNOWN)), forged())
    assert status >= 400, answer
    assert "response" not in answer
    assert "auditAnnotations" not in json.dumps(answer)
    said = json.dumps(answer)
    assert "certificate" in said or "EOF" in said or "tls" in said, said


@pytest.mark.parametrize("way", WAYS)
async def test_without_one_a_proxy_gets_the_short_answer(admin: Client, way: str) -> None:
    """What is told follows from the Pod and from profiles: not what the victim may use."""
    await admin.apply(victims_profile())
    status, answer = await admin.request("POST", WAYS[way].format(called(OPEN)), forged())
    assert status == 200, answer
    response = answer["response"]
    assert response["allowed"] is False
    message = response["status"]["message"]
    assert "privileges/host/network" in message
    assert "spec.hostNetwork" in message
    assert "victims-own" not in json.dumps(answer)


@pytest.mark.usefixtures("admin")
async def test_who_has_the_certificate_is_told_all(cluster: Cluster) -> None:
    """The same review, sent to the gate that no proxy got an answer from."""
    url = f"{cluster.gates[KNOWN].url}/validate?timeout=10s"
    body = json.dumps(forged()).encode()
    ca_pem = cluster.apiserver.authority.pem
    status, review = await post(url, body, ca_pem, shown=cluster.shown)
    assert status == 200
    assert "you may not have here" in review["response"]["status"]["message"]
    assert "The profile" in review["response"]["status"]["message"]


def victims_profile() -> list[Json]:
    """Return a profile that the victim alone may use, and its grant."""
    name = "victims-own"
    group = "rbac.authorization.k8s.io"
    use = {
        "apiGroups": ["sallyport.dev"],
        "resources": ["containerprofiles"],
        "resourceNames": [name],
        "verbs": ["use"],
    }
    return [
        {
            "apiVersion": "sallyport.dev/v1alpha1",
            "kind": "ContainerProfile",
            "metadata": {"name": name},
            "spec": {"rank": 1, "catalogue": 3, "privileges": ["image/from/**", "host/pid"]},
        },
        {
            "apiVersion": f"{group}/v1",
            "kind": "ClusterRole",
            "metadata": {"name": name},
            "rules": [use],
        },
        {
            "apiVersion": f"{group}/v1",
            "kind": "ClusterRoleBinding",
            "metadata": {"name": name},
            "roleRef": {"apiGroup": group, "kind": "ClusterRole", "name": name},
            "subjects": [{"apiGroup": group, "kind": "User", "name": VICTIM}],
        },
    ]
