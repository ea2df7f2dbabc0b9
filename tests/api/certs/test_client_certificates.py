"""A real kube-apiserver that shows a certificate to webhooks, and a gate that demands one."""

import asyncio
import base64
import time
from collections.abc import Iterator
from http import HTTPStatus
from pathlib import Path

import pytest

from tests.harness.programs.apiserver import ApiServer, write_admission_configuration
from tests.harness.programs.availability import require
from tests.harness.programs.client import Client, Json, connect
from tests.harness.programs.pki import Authority
from tests.harness.programs.ports import free_ports
from tests.unit.webhooks.gate import running_gate
from webhooks.limits import ServerSettings

NAME = "kube-apiserver-admission"


@pytest.fixture(scope="module")
def port() -> int:
    """Where the gate will be: kube-apiserver reads its admission kubeconfig once."""
    return free_ports(1)[0]


@pytest.fixture(scope="module")
def clients(tmp_path_factory: pytest.TempPathFactory) -> Authority:
    """The CA of kube-apiserver's client certificate."""
    return Authority(tmp_path_factory.mktemp("clients"))


@pytest.fixture(scope="module")
def server(
    clients: Authority, port: int, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[ApiServer]:
    """A kube-apiserver with an AdmissionConfiguration."""
    for program in ("etcd", "kube-apiserver"):
        require(program)
    folder = tmp_path_factory.mktemp("configured")
    made = ApiServer(folder, flags=[f"--admission-control-config-file={configure(clients, port)}"])
    yield made
    made.stop()


def configure(clients: Authority, port: int) -> Path:
    """Write what kube-apiserver shows to webhooks at the gate's address, and how it is told so."""
    pair = clients.issue_client(NAME, "spiffe://cluster/apiserver")
    return write_admission_configuration(pair.certificate.parent, pair, f"localhost:{port}")


def registration(port: int, ca: bytes) -> Json:
    """Have ConfigMaps judged at the gate; it fails closed."""
    return {
        "apiVersion": "admissionregistration.k8s.io/v1",
        "kind": "ValidatingWebhookConfiguration",
        "metadata": {"name": "client-certificates"},
        "webhooks": [
            {
                "name": "pods.sallyport.test",
                "admissionReviewVersions": ["v1"],
                "sideEffects": "None",
                "failurePolicy": "Fail",
                "clientConfig": {
                    "url": f"https://localhost:{port}/validate",
                    "caBundle": base64.b64encode(ca).decode(),
                },
                "rules": [
                    {
                        "apiGroups": [""],
                        "apiVersions": ["v1"],
                        "operations": ["CREATE"],
                        "resources": ["pods"],
                    }
                ],
            }
        ],
    }


def pod() -> Json:
    """Return a Pod that the gate's small judge refuses."""
    container = {"name": "c", "image": "i", "securityContext": {"privileged": True}}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "p", "namespace": "default"},
        "spec": {"containers": [container]},
    }


async def ask(client: Client, port: int, ca: bytes) -> tuple[int, str]:
    """Return what comes of a privileged Pod, as soon as kube-apiserver asks the gate."""
    item = registration(port, ca)
    await client.apply([item])
    try:
        deadline = time.monotonic() + 60
        while True:
            path = "/api/v1/namespaces/default/pods"
            status, answer = await client.request("POST", path, pod(), parameters={"dryRun": "All"})
            if status != HTTPStatus.CREATED or time.monotonic() > deadline:
                return status, str(answer.get("message", ""))
            await asyncio.sleep(0.05)
    finally:
        await client.delete(item)


@pytest.mark.parametrize(
    ("trusted", "named", "status", "said"),
    [
        ("clients", NAME, 403, "denied the request"),
        ("clients", "spiffe://cluster/apiserver", 403, "denied the request"),
        ("clients", "somebody-else", 500, "names nobody who may ask"),
        ("others", NAME, 500, "failed calling webhook"),
    ],
    ids=["common name", "alternative name", "another name", "another CA"],
)
async def test_kube_apiserver_is_known_by_its_certificate(  # noqa: PLR0913, PLR0917 (fixtures)
    server: ApiServer,
    clients: Authority,
    port: int,
    tmp_path: Path,
    trusted: str,
    named: str,
    status: int,
    said: str,
) -> None:
    """Its review is judged; of another CA or name it is refused, and nothing is let in."""
    file = (
        clients.certificate_path if trusted == "clients" else Authority(tmp_path).certificate_path
    )
    settings = ServerSettings(port=port, status_port=0, drain_seconds=0.0)
    names = frozenset({named})
    async with (
        running_gate(tmp_path, server=settings, client_ca=file, client_names=names) as gate,
        connect(server) as client,
    ):
        await client.create_service_account("default", "default")
        answer = await ask(client, port, gate.files.ca.read_bytes())
    assert answer[0] == status
    assert said in answer[1]


async def test_a_gate_of_another_ca_is_not_believed(
    server: ApiServer, port: int, tmp_path: Path
) -> None:
    """Whoever takes its place has no certificate: nothing is admitted, and nothing is denied."""
    settings = ServerSettings(port=port, status_port=0, drain_seconds=0.0)
    other = tmp_path / "other"
    other.mkdir()
    theirs = Authority(other).certificate_path.read_bytes()
    async with running_gate(tmp_path, server=settings), connect(server) as client:
        await client.create_service_account("default", "default")
        status, said = await ask(client, port, theirs)
    assert status == 500
    assert "failed calling webhook" in said
    assert "x509: certificate signed by unknown authority" in said
