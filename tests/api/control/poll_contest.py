"""Two processes that contend to be the one that polls, and an Entra that both ask."""

import os
import signal
import sys
from dataclasses import dataclass, field
from pathlib import Path

import msgspec

from kube.client.objects import Objects
from tests.api.control.field import SETTINGS, TAKEOVER_S, through
from tests.api.control.risk_poller import Task
from tests.api.control.risk_polls import until
from tests.harness.fakes.entra.entra import FakeEntra
from tests.harness.programs.apiserver import ApiServer
from tests.harness.programs.process import ServerProcess


@dataclass
class Pollers:
    """Processes that contend for one Lease, and one Entra."""

    server: ApiServer
    namespace: str
    entra: FakeEntra
    folder: Path
    processes: dict[str, ServerProcess] = field(default_factory=dict)

    def start(self, port: int = 0) -> str:
        """Start one, which reaches kube-apiserver through a proxy's port if one is given."""
        identity = f"poller-{len(self.processes)}"
        kubeconfig = self.server.kubeconfig()
        if port:
            kubeconfig = through(port, kubeconfig, self.folder / f"{identity}.kubeconfig")
        task = Task(
            kubeconfig=str(kubeconfig),
            namespace=self.namespace,
            identity=identity,
            lease=SETTINGS,
            tenant=self.entra.tenant,
            client_id=self.entra.client_id,
            token_file=str(self.entra.desk.token_file),
            authority=self.entra.authority,
            site=self.entra.site,
            trust=str(self.entra.trust),
            times={"every_s": 3.0, "events_s": 6.0, "heartbeat_s": 2.0},
        )
        command = [sys.executable, "-m", "tests.api.control.risk_poller"]
        log = self.folder / f"{identity}.log"
        argument = msgspec.json.encode(task).decode()
        self.processes[identity] = ServerProcess(identity, [*command, argument], log)
        return identity

    def end(self) -> None:
        """End all of them."""
        for process in self.processes.values():
            if process.alive:
                os.kill(process.pid, signal.SIGCONT)
            process.stop()


@dataclass
class Contest:
    """Two pollers, and who leads."""

    pollers: Pollers
    objects: Objects

    async def leader(self, other_than: str = "") -> str:
        """Wait for a leader that polls, and give its identity."""
        namespace = self.pollers.namespace
        path = f"/apis/coordination.k8s.io/v1/namespaces/{namespace}/leases/polls"
        holder = ""

        async def is_another() -> bool:
            nonlocal holder
            lease = await self.objects.get(path)
            held = (lease or {}).get("spec", {}).get("holderIdentity", "")
            holder = held.partition("_")[0]  # Its process adds a number of its own.
            return holder not in ("", other_than)

        await until("a leader", is_another, 3 * TAKEOVER_S + 60)
        asked = len(self.pollers.entra.requests)

        async def polls() -> bool:
            return len(self.pollers.entra.requests) > asked

        await until("it polls", polls, 90)
        return holder
