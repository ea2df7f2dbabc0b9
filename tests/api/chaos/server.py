"""A kube-apiserver and etcd that end and start again with all that they hold, and an audit log."""

import json
import os
import signal
import time
from collections.abc import Iterator
from pathlib import Path

import msgspec

from tests.harness.programs.apiserver import START_TIMEOUT_S, ApiServer
from tests.harness.programs.cluster_network import ClusterNetwork
from tests.harness.programs.process import ServerProcess

_POLICY = {
    "apiVersion": "audit.k8s.io/v1",
    "kind": "Policy",
    "omitStages": ["RequestReceived"],
    "rules": [
        {
            "level": "Metadata",
            "verbs": ["create"],
            "resources": [{"group": "", "resources": ["pods"]}],
        },
        {"level": "None"},
    ],
}
_DECISION = "validate.sallyport.dev/decision"


class _Reference(msgspec.Struct):
    namespace: str = ""
    name: str = ""


class _Status(msgspec.Struct):
    code: int = 0


class _Event(msgspec.Struct, rename="camel"):
    object_ref: _Reference = msgspec.field(default_factory=_Reference)
    response_status: _Status = msgspec.field(default_factory=_Status)
    annotations: dict[str, str] = {}


class LastingServer(ApiServer):
    """As ApiServer; each of the two can be killed and started again on its port and its data."""

    def __init__(self, folder: Path, network: ClusterNetwork) -> None:
        """Start both, with a network in which Services have names."""
        policy = folder / "audit-policy.json"
        policy.write_text(json.dumps(_POLICY))
        self._audit_log = folder / "audit.log"
        super().__init__(
            folder,
            environment=network.environment,
            flags=(f"--audit-policy-file={policy}", f"--audit-log-path={self._audit_log}"),
        )

    def kill_etcd(self) -> None:
        """End etcd between two instructions."""
        self._etcd = self._killed(self._etcd)

    def kill_kube_apiserver(self) -> None:
        """End kube-apiserver between two instructions."""
        self._kube_apiserver = self._killed(self._kube_apiserver)

    def start_etcd(self) -> None:
        """Start it again; what it held is there."""
        self._etcd = _again(self._etcd)

    def start_kube_apiserver(self) -> None:
        """Start it again, and wait until it is ready."""
        self._kube_apiserver = _again(self._kube_apiserver, self._environment)
        self._kube_apiserver.wait_until(self._ready, START_TIMEOUT_S)

    def judged(self) -> dict[tuple[str, str], str]:
        """Return the decisions that kube-apiserver noted of Pods it was to create.

        By namespace and name; those that it admitted.
        """
        return {
            (event.object_ref.namespace, event.object_ref.name): event.annotations[_DECISION]
            for event in self._events()
            if event.response_status.code == 201 and _DECISION in event.annotations
        }

    def _events(self) -> Iterator[_Event]:
        for line in self._audit_log.read_bytes().splitlines():
            try:
                yield msgspec.json.decode(line, type=_Event)
            except msgspec.DecodeError:  # The line that was being written when it was killed.
                continue

    @staticmethod
    def _killed(process: ServerProcess) -> ServerProcess:
        os.kill(process.pid, signal.SIGKILL)
        while process.alive:
            time.sleep(0.01)
        return process


def _again(process: ServerProcess, environment: dict[str, str] | None = None) -> ServerProcess:
    """Start the program of a process that ended once more."""
    command = process._process.args  # noqa: SLF001 -- kept nowhere else
    assert isinstance(command, list)
    return ServerProcess(process.name, command, process.log, environment)
