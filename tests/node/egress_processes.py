"""The chart's gate and control at work on a policed node, as processes of their own.

The processes' resolver asks a name server whose answers the test changes.
"""

import asyncio
import json
import os
import signal
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final

from core.base.process_names import CONTROL
from kube.leader.lease import RELEASED_S
from tests.api.record.installation import Installation
from tests.harness.fakes.dns_server import DnsServer, dns_server
from tests.harness.programs.client import Json, connect
from tests.harness.programs.helm import CRDS, NAMESPACE, Helm
from tests.harness.programs.node.policed_node import NODES, SERVICE_RANGES, SUBNETS, PolicedNode

WINDOW_S: Final = 60
"""An address of a name stays open so long after it was last seen: the least that may be set."""
START_TIMEOUT_S: Final = 120.0
_LEASE: Final[Json] = {
    "apiVersion": "coordination.k8s.io/v1",
    "kind": "Lease",
    "metadata": {"name": CONTROL, "namespace": NAMESPACE},
    "spec": {"holderIdentity": "", "leaseDurationSeconds": RELEASED_S},
}
"""As one who leaves in order leaves it: the next leads at once."""


class Installed:
    """gate and control of a policed node. Made by `installed`."""

    def __init__(self, installation: Installation, names: DnsServer) -> None:
        self._installation = installation
        self.names = names

    async def start(self, policed: PolicedNode, helm: Helm) -> None:
        """Install the charts and start both."""
        kubeconfig = policed.node.apiserver.kubeconfig()
        async with connect(policed.node.apiserver) as client:
            await client.create_namespace(NAMESPACE)
            await client.apply([_LEASE])
            helm.run("install", "sallyport-crds", CRDS, "--kubeconfig", kubeconfig)
            helm.install(kubeconfig, {})
            await self._installation.start_control(client)
            await self._installation.start_gate(client)

    def kill(self, process: str) -> None:
        """End `control` or `gate` as a node's death would: at once, and without a word."""
        running = self._installation.processes.pop(process)
        os.kill(running.pid, signal.SIGKILL)
        running.stop()

    def kill_all(self) -> None:
        """End what runs: in order they would first wait for an auditor, which is not there."""
        for process in list(self._installation.processes):
            self.kill(process)

    async def start_control(self, policed: PolicedNode) -> float:
        """Start it again; return the seconds until it led."""
        async with connect(policed.node.apiserver) as client:
            began = time.monotonic()
            await self._installation.start_control(client)
            while not self._leads():
                assert time.monotonic() - began < START_TIMEOUT_S, self.log_tail()
                await asyncio.sleep(0.1)
        return time.monotonic() - began

    def _leads(self) -> bool:
        with suppress(OSError, LookupError):  # It does not listen yet.
            return self._installation.metric("control", "sallyport_leader") == 1
        return False

    def log_tail(self) -> str:
        """Return the ends of the logs."""
        return "\n".join(each.log_tail() for each in self._installation.processes.values())


@contextmanager
def installed(policed: PolicedNode, folder: Path, helm: Helm) -> Iterator[Installed]:
    """Install everything and run gate and control, their logs in `folder`."""
    node = policed.node
    with dns_server() as names:
        settings = egress_settings(f"{names.address}:{names.port}")
        installation = Installation(folder, node.apiserver, node.network, settings)
        found = Installed(installation, names)
        try:
            asyncio.run(found.start(policed, helm))
            yield found
        finally:
            found.kill_all()


def egress_settings(server: str) -> dict[str, str]:
    """Return the settings of all processes, whose resolver asks `server` (`ADDRESS:PORT`)."""
    names = "SALLYPORT_EGRESS__NAMES__"
    return {
        "SALLYPORT_EGRESS__RESOLVER__SERVERS": _listed([server]),
        "SALLYPORT_EGRESS__RESOLVER__TIMEOUT": "1",
        f"{names}WINDOW": str(WINDOW_S),
        f"{names}MIN_REFRESH": "1",
        f"{names}MAX_REFRESH": "2",
        "SALLYPORT_EGRESS__RANGES__PODS": _listed(SUBNETS),
        "SALLYPORT_EGRESS__RANGES__SERVICES": _listed(SERVICE_RANGES),
        "SALLYPORT_EGRESS__RANGES__NODES": _listed(NODES),
    }


def _listed(texts: Iterable[str]) -> str:
    return json.dumps(list(texts))
