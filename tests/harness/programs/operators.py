"""Real operators beside the tests' kube-apiserver: JobSet's and KubeRay's controllers.

Each runs under the service account, and with the rights, that its own manifests give it.
"""

import asyncio
import base64
import http.client
import json
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import yaml

from tests.harness.programs.apiserver import ApiServer
from tests.harness.programs.availability import require
from tests.harness.programs.client import Json, connect, read_objects
from tests.harness.programs.ports import free_ports
from tests.harness.programs.process import ServerProcess
from tests.harness.published.go_modules import module_folder
from tests.harness.worlds.rbac import binding, service_account

START_TIMEOUT_S: Final = 60.0


@dataclass(frozen=True)
class Operator:
    """A program of tests/tools, and where its module has what it is installed with."""

    program: str
    module: str
    definitions: str
    role: str
    account: tuple[str, str]
    """Namespace and name of its service account."""

    @property
    def user(self) -> str:
        """The user name of its service account."""
        return "system:serviceaccount:{}:{}".format(*self.account)

    def folder(self) -> Path:
        """Return the folder of its module; without it the test is skipped, or fails in CI."""
        return module_folder(self.program, self.module, f"manifests of {self.module}")


JOBSET: Final = Operator(
    "jobset",
    "sigs.k8s.io/jobset",
    "config/components/crd/bases/*.yaml",
    "config/components/rbac/role.yaml",
    ("jobset-system", "jobset-controller-manager"),
)
KUBERAY: Final = Operator(
    "ray-operator",
    "github.com/ray-project/kuberay/ray-operator",
    "config/crd/bases/*.yaml",
    "config/rbac/role.yaml",
    ("kuberay-operator", "kuberay-operator"),
)


@contextmanager
def running(operator: Operator, apiserver: ApiServer, folder: Path) -> Iterator[None]:
    """Install an operator and run it while the context lasts; its log lies in `folder`.

    Raises:
        ServerFailedError: it did not come up; with the tail of its log.
    """
    program, source = require(operator.program), operator.folder()
    # Megabytes of YAML.
    definitions = [
        yaml.load(file.read_text(), Loader=yaml.CSafeLoader)
        for file in sorted(source.glob(operator.definitions))
    ]
    token = asyncio.run(_install(apiserver, operator, definitions, source / operator.role))
    kubeconfig = apiserver.kubeconfig_for_token(operator.program, token)
    probe, port = free_ports(2)
    if operator is JOBSET:
        flags = [f"--config={_jobset_settings(apiserver, folder, probe, port)}"]
        webhooks = _jobset_webhooks(source, f"https://127.0.0.1:{port}", apiserver.authority.pem)
    else:
        flags = ["--metrics-addr=0", f"--health-probe-bind-address=127.0.0.1:{probe}"]
        flags += ["--enable-leader-election=false"]
        webhooks = []
    log = folder / f"{operator.program}.log"
    process = ServerProcess(
        operator.program, [program, *flags], log, {"KUBECONFIG": str(kubeconfig)}
    )
    try:
        process.wait_until(lambda: _ready(probe), START_TIMEOUT_S)
        asyncio.run(_register(apiserver, webhooks))
        yield
    finally:
        asyncio.run(_unregister(apiserver, webhooks))
        process.stop()


async def _install(
    apiserver: ApiServer, operator: Operator, definitions: list[Json], rights: Path
) -> str:
    """Install its kinds and its rights; give the token of its account."""
    async with connect(apiserver) as client:
        await client.apply(definitions)
        for spec in (each["spec"] for each in definitions):
            for version in spec["versions"]:
                group_version = f"{spec['group']}/{version['name']}"
                await client.wait_for_kind(group_version, spec["names"]["kind"])
        namespace, account = operator.account
        await client.create_namespace(namespace)
        await client.create_service_account(account, namespace)
        (role,) = read_objects(rights)
        role["metadata"] = {"name": operator.program}
        await client.apply([role, binding(operator.program, service_account(account, namespace))])
        return await client.create_token(account, namespace)


async def _register(apiserver: ApiServer, webhooks: list[Json]) -> None:
    async with connect(apiserver) as client:
        await client.apply(webhooks)


async def _unregister(apiserver: ApiServer, webhooks: list[Json]) -> None:
    async with connect(apiserver) as client:
        for item in webhooks:
            path = f"/apis/{item['apiVersion']}/{item['kind'].lower()}s/{item['metadata']['name']}"
            await client.request("DELETE", path)


def _jobset_settings(apiserver: ApiServer, folder: Path, probe: int, port: int) -> Path:
    """Write its configuration: certificates of the tests' authority, on loopback alone."""
    pair = apiserver.authority.issue_loopback_server("jobset")
    shutil.copy(pair.certificate, folder / "tls.crt")
    shutil.copy(pair.key, folder / "tls.key")
    settings = {
        "apiVersion": "config.jobset.x-k8s.io/v1alpha1",
        "kind": "Configuration",
        "leaderElection": {"leaderElect": False},
        "internalCertManagement": {"enable": False},
        "webhook": {"host": "127.0.0.1", "port": port, "certDir": str(folder)},
        "metrics": {"bindAddress": "0"},
        "health": {"healthProbeBindAddress": f"127.0.0.1:{probe}"},
    }
    path = folder / "jobset.json"
    path.write_text(json.dumps(settings))  # JSON is YAML
    return path


def _jobset_webhooks(source: Path, url: str, ca_pem: bytes) -> list[Json]:
    """Return its own webhooks for JobSets, which fill in what its controller takes for granted."""
    items = read_objects(source / "config/components/webhook/manifests.yaml")
    for item in items:
        item["metadata"] = {"name": f"jobset-{item['kind'].lower()}"}
        item["webhooks"] = [each for each in item["webhooks"] if "jobset" in each["name"]]
        for webhook in item["webhooks"]:
            path = webhook["clientConfig"]["service"]["path"]
            bundle = base64.b64encode(ca_pem).decode()
            webhook["clientConfig"] = {"url": f"{url}{path}", "caBundle": bundle}
    return items


def _ready(port: int) -> bool:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=5)
    try:
        connection.request("GET", "/readyz")
        return connection.getresponse().status == http.HTTPStatus.OK
    except (OSError, http.client.HTTPException):
        return False
    finally:
        connection.close()
