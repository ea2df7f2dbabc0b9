"""The chart, installed in a real kube-apiserver, and its processes, run by hand as a kubelet would.

The webhook configurations are the chart's own, and their CA is what `control` puts there.
"""

import asyncio
import base64
import http
import json
import subprocess
import sys
import time
from collections.abc import Awaitable, Callable, Iterator, Mapping
from contextlib import ExitStack, closing, contextmanager
from pathlib import Path
from typing import Any, Final

from audit.ledger.server.instances import AUDIENCE
from tests.harness.programs.apiserver import ApiServer
from tests.harness.programs.availability import require
from tests.harness.programs.client import ApiStatusError, Client, Json, connect
from tests.harness.programs.cluster_network import ClusterNetwork
from tests.harness.programs.helm import CRDS, NAMESPACE, Helm
from tests.harness.programs.pki import WEBHOOK_CLIENT
from tests.harness.programs.ports import free_ports
from tests.harness.programs.process import ServerProcess
from tests.harness.programs.status import ask, is_ready

PROGRAM: Final = Path(sys.executable).parent / "sallyport"
START_S: Final = 120.0
GATE_POD: Final = "sallyport-gate-6d5f7c9b8-x2x4z"
_SECRETS: Final = {
    "sallyport-gate-tls": "gate/tls",
    "sallyport-shipping-gate": "gate/shipping",
    "sallyport-auditor-tls": "auditor/tls",
    "sallyport-shipping-control": "control/shipping",
}


class Installation:
    """control, auditor and gate of one cluster."""

    def __init__(
        self,
        folder: Path,
        apiserver: ApiServer,
        network: ClusterNetwork,
        settings: Mapping[str, str] | None = None,
    ) -> None:
        """Prepare; nothing is started. `settings` (`SALLYPORT_…`) are for each process."""
        self.folder = folder
        self.apiserver = apiserver
        self.network = network
        self._settings = dict(settings or {})
        self.ledger = f"sqlite:///{folder / 'ledger.db'}"
        self.gate_port, self.auditor_port, *self._status = free_ports(5)
        self.processes: dict[str, ServerProcess] = {}
        self._auditor_account: Path | None = None
        for process in ("gate", "auditor", "control"):
            (folder / process).mkdir()

    async def start_control(self, client: Client) -> None:
        """Start control, and wait until it has made all Secrets; then mount them."""
        self._auditor_account = await self._account(client, "auditor")
        self._start("control", await self._account(client, "control"), 2, self._shipping("control"))
        deadline = time.monotonic() + START_S
        while not await self.mount(client):
            assert time.monotonic() < deadline, self.processes["control"].log_tail()
            await asyncio.sleep(0.2)

    async def mount(self, client: Client) -> bool:
        """Write the Secrets' files where the Pods would have them; say whether all were there."""
        for name, place in _SECRETS.items():
            try:
                secret = await client.get("v1", "Secret", name, NAMESPACE)
            except ApiStatusError as error:
                if error.status == http.HTTPStatus.NOT_FOUND:
                    return False
                raise
            target = self.folder / place
            target.mkdir(exist_ok=True)
            for file, content in secret["data"].items():
                (target / file).write_bytes(base64.b64decode(content))
        return True

    def start_auditor(self) -> None:
        """Start the auditor, and wait until it is ready."""
        tls = self.folder / "auditor" / "tls"
        self._start(
            "auditor",
            None,
            1,
            {
                **self._proving(),
                "SALLYPORT_RECEIVE__PORT": str(self.auditor_port),
                "SALLYPORT_RECEIVE__CERT": str(tls / "tls.crt"),
                "SALLYPORT_RECEIVE__KEY": str(tls / "tls.key"),
                "SALLYPORT_RECEIVE__CLIENT_CA": str(tls / "ca.crt"),
                "SALLYPORT_LEDGER__URL": self.ledger,
            },
        )
        self.processes["auditor"].wait_until(lambda: is_ready(self._status[1]), START_S)

    async def start_gate(self, client: Client) -> None:
        """Start the gate, and wait until it is ready."""
        tls = self.folder / "gate" / "tls"
        environment = {
            "SALLYPORT_LISTEN__PORT": str(self.gate_port),
            "SALLYPORT_LISTEN__CERT": str(tls / "tls.crt"),
            "SALLYPORT_LISTEN__KEY": str(tls / "tls.key"),
            "SALLYPORT_LISTEN__DRAIN_SECONDS": "0",
            "SALLYPORT_LISTEN__CLIENT_CA": str(self.apiserver.authority.certificate_path),
            "SALLYPORT_LISTEN__CLIENT_NAMES": json.dumps([WEBHOOK_CLIENT]),
        }
        service = await client.get("v1", "Service", "sallyport-gate", NAMESPACE)
        self.network.lead(service, self.gate_port)
        instance = await self._gate_pod(client)
        environment |= {"SALLYPORT_INSTANCE": GATE_POD, "SALLYPORT_SHIPPING__TOKEN": str(instance)}
        account = await self._account(client, "gate")
        self._start("gate", account, 0, environment | self._shipping("gate"))
        self.processes["gate"].wait_until(lambda: is_ready(self._status[0]), START_S)

    def run(self, *arguments: str) -> "subprocess.CompletedProcess[str]":
        """Run the command line against the ledger."""
        return subprocess.run(
            [PROGRAM, *arguments, "--ledger", self.ledger],
            capture_output=True,
            text=True,
            check=False,
            timeout=120,
        )

    def decisions(self, *arguments: str) -> list[Any]:
        """Return what `sallyport decisions -o json` lists."""
        done = self.run("decisions", "-o", "json", *arguments)
        assert done.returncode == 0, done.stderr
        listed: list[Any] = json.loads(done.stdout)
        return listed

    def metric(self, process: str, name: str) -> float:
        """Return the value of a metric of a process."""
        for line in self.metrics(process).splitlines():
            if line.startswith(f"{name} "):
                return float(line.rpartition(" ")[2])
        raise LookupError(name)

    def metrics(self, process: str) -> str:
        """Return all that a process shows Prometheus."""
        return ask(self.status_port(process), "/metrics")[1]

    def status_port(self, process: str) -> int:
        """Return the port of loopback at which a process says how it stands."""
        return self._status[("gate", "auditor", "control").index(process)]

    def stop(self) -> None:
        """End all processes."""
        for process in self.processes.values():
            process.stop()

    def _proving(self) -> dict[str, str]:
        """Return the settings by which the auditor asks kube-apiserver which gate is which."""
        if self._auditor_account is None:
            return {}
        return {
            "SALLYPORT_KUBECONFIG": str(self._auditor_account),
            "SALLYPORT_RECEIVE__INSTANCES": "require",
        }

    def _shipping(self, process: str) -> dict[str, str]:
        pair = self.folder / process / "shipping"
        return {
            "SALLYPORT_SPOOL__FOLDER": str(self.folder / process / "spool"),
            "SALLYPORT_SHIPPING__URL": f"https://localhost:{self.auditor_port}",
            "SALLYPORT_SHIPPING__CA": str(pair / "ca.crt"),
            "SALLYPORT_SHIPPING__CERT": str(pair / "tls.crt"),
            "SALLYPORT_SHIPPING__KEY": str(pair / "tls.key"),
        }

    def _start(
        self, name: str, kubeconfig: Path | None, number: int, environment: Mapping[str, str]
    ) -> None:
        flags: list[str | Path] = ["--kubeconfig", kubeconfig] if kubeconfig else []
        self.processes[name] = ServerProcess(
            name,
            [PROGRAM, name, *flags],
            self.folder / f"{name}.log",
            {
                "SALLYPORT_STATUS__PORT": str(self._status[number]),
                **self._settings,
                **environment,
            },
        )

    async def _gate_pod(self, client: Client) -> Path:
        """Create the Pod that the gate would run in; return the file of its projected token."""
        container = {"name": "gate", "image": "registry.example/sallyport@sha256:" + "0" * 64}
        pod: Json = {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {"name": GATE_POD, "namespace": NAMESPACE},
            "spec": {"serviceAccountName": "sallyport-gate", "containers": [container]},
        }
        path = f"/api/v1/namespaces/{NAMESPACE}/pods/{GATE_POD}"
        status, _ = await client.request("GET", path)
        if status == http.HTTPStatus.NOT_FOUND:
            await client.create(pod)
        file = self.folder / "gate" / "token"
        file.write_text(await client.create_token("sallyport-gate", NAMESPACE, GATE_POD, AUDIENCE))
        return file

    async def _account(self, client: Client, process: str) -> Path:
        """Return the kubeconfig of the service account that the chart made for a process."""
        name = f"sallyport-{process}"
        token = await client.create_token(name, NAMESPACE)
        return self.apiserver.kubeconfig_for_token(name, token)


@contextmanager
def installed(
    folders: Callable[[str], Path],
    helm: Helm,
    prepare: Callable[[Client], Awaitable[None]],
    mode: str = "enforce",
) -> Iterator[Installation]:
    """Yield a cluster with everything installed and running, as docs/operate/chart.md says.

    `folders` makes a folder of a name; `prepare` is asked before anybody judges; `mode` is that of
    namespaces without the label.
    """
    for program in ("etcd", "kube-apiserver"):
        require(program)
    with ExitStack() as stack:
        network = stack.enter_context(closing(ClusterNetwork()))
        apiserver = ApiServer(folders("apiserver"), environment=network.environment)
        stack.callback(apiserver.stop)
        settings = {"SALLYPORT_DEFAULT_MODE": mode}
        made = Installation(folders("installed"), apiserver, network, settings)
        stack.callback(made.stop)
        asyncio.run(_install(made, helm, prepare, mode))
        yield made


async def _install(
    made: Installation, helm: Helm, prepare: Callable[[Client], Awaitable[None]], mode: str
) -> None:
    kubeconfig = made.apiserver.kubeconfig()
    async with connect(made.apiserver) as client:
        await client.create_namespace(NAMESPACE)
        helm.run("install", "sallyport-crds", CRDS, "--kubeconfig", kubeconfig)
        await prepare(client)
        helm.install(kubeconfig, {"defaultMode": mode})
        await made.start_control(client)
        made.start_auditor()
        await made.start_gate(client)
