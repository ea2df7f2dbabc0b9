"""The whole installation: the chart, three gates behind a Service, two controls, an auditor."""

import asyncio
import os
import signal
import sqlite3
import subprocess
from collections.abc import Mapping
from contextlib import ExitStack, closing
from dataclasses import replace
from pathlib import Path
from types import MappingProxyType, TracebackType
from typing import Final, Self

from core.decision.document import decode_document
from tests.api.chaos.clock import ShiftedClock
from tests.api.chaos.load import TRAIN
from tests.api.chaos.parts import Kubelet, Part, wait_until
from tests.api.chaos.server import LastingServer
from tests.harness.programs.client import Json, connect
from tests.harness.programs.cluster_network import ClusterNetwork
from tests.harness.programs.gates import Gates, Replica
from tests.harness.programs.helm import CRDS, NAMESPACE, Helm, Values
from tests.harness.programs.ports import free_ports
from tests.harness.worlds import rbac

START_S: Final = 120.0
GATES: Final = 3
SMALL_DISK_BYTES: Final = 64 * 1024 * 1024
"""Of the disk of one gate's spool."""


class _RecordingGates(Gates):
    """As Gates; each has a spool of its own, and the first one a clock and a disk of its own."""

    first: Mapping[str, str] = MappingProxyType({})

    def _replica(self, number: int) -> Replica:
        made = super()._replica(number)
        own = {"SALLYPORT_SPOOL__FOLDER": str(made.folder / "spool")}
        own |= self.first if number == 0 else {}
        return replace(made, environment={**made.environment, **own})


class Cluster:
    """Everything of it, as processes on loopback; a context manager that ends them."""

    def __init__(self, folder: Path, helm: Helm, values: Values | None = None) -> None:
        """Say where, and which values the chart gets."""
        self.folder = folder
        self.gate_clock, self.control_clock = (
            ShiftedClock(self._folder(f"clock-{of}")) for of in ("gate", "control")
        )
        """Of the first gate, and of both controls."""
        self.disk: Path | None = None
        """Of the first gate's spool, where it could be mounted."""
        self.ledger = folder / "ledger.db"
        self._helm = helm
        self._values = values or {}
        self._stack = ExitStack()
        self._auditor_port, *self._ports = free_ports(4)

    def __enter__(self) -> Self:
        """Install and start everything; return once it is all ready."""
        with ExitStack() as stack:
            network = ClusterNetwork()
            stack.callback(network.close)
            self.server = LastingServer(self._folder("apiserver"), network)
            stack.callback(self.server.stop)
            asyncio.run(self._install())
            self.kubelet = Kubelet(self.server)
            self._prepare_parts()
            self.kubelet.start()
            with ExitStack() as parts:  # Until the gates are there; then it ends before they do.
                parts.callback(self.kubelet.stop)
                self._start_gates(stack)
                stack.push(parts.pop_all())
            network.lead(asyncio.run(self._gate_service()), self.gates.port)
            wait_until(self.is_whole, START_S, "control, auditor or a gate is not ready")
            self._stack = stack.pop_all()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        at: TracebackType | None,
    ) -> None:
        """End everything."""
        self._stack.close()

    def is_whole(self) -> bool:
        """Whether all run, are ready, and one control leads."""
        controls = self.controls()
        return (
            all(part.ready() for part in self.kubelet.parts)
            and all(each.endpoint and each.ready() for each in self.gates.replicas)
            and sum(control.leads() for control in controls) == 1
        )

    def part(self, name: str) -> Part:
        """Return a process: `control-0`, `control-1` or `auditor`."""
        return next(part for part in self.kubelet.parts if part.name == name)

    def controls(self) -> list[Part]:
        """Return both controls."""
        return [self.part(f"control-{number}") for number in range(2)]

    def leader(self) -> Part:
        """Return the control that leads."""
        return next(control for control in self.controls() if control.leads())

    def kill(self, part: Part) -> None:
        """End a process between two instructions; the kubelet starts it again."""
        assert part.process is not None
        os.kill(part.process.pid, signal.SIGKILL)

    def send_all_to(self, number: int) -> None:
        """Replace the other gates, as a rollout does: all connections are with this one then."""
        for other in set(range(GATES)) - {number}:
            self.gates.leave(other)
        wait_until(lambda: not self.is_whole(), START_S, "the other gates leave")
        wait_until(self.is_whole, START_S, "they are back")
        before = self._judged_by(number)
        wait_until(lambda: self._judged_by(number) > before, START_S, "reviews come to the gate")

    def _judged_by(self, number: int) -> float:
        """Return how many reviews a gate has answered."""
        lines = self.gates.replicas[number].metrics().splitlines()
        name = "sallyport_admissions_total{"
        return sum(float(line.rpartition(" ")[2]) for line in lines if line.startswith(name))

    def oldest(self) -> float:
        """Return the seconds for which the oldest decision has waited in a gate's spool."""
        name = "sallyport_spool_oldest_seconds "
        lines = [line for each in self.gates.replicas for line in each.metrics().splitlines()]
        return max(float(line.removeprefix(name)) for line in lines if line.startswith(name))

    def stored(self) -> dict[str, str]:
        """Return the verdicts of the ledger about Pods' final states, by the Pods' UIDs.

        Of its quarantine too: there lies what came from a clock that is far off.
        """
        query = (
            "select object_uid, verdict from decisions "
            "where source = 'validate' and kind = 'Pod' and namespace = ?"
        )
        aside = "select payload from quarantine where kind = 1"
        with closing(sqlite3.connect(f"file:{self.ledger}?mode=ro", uri=True)) as connection:
            found = dict(connection.execute(query, (TRAIN,)).fetchall())
            payloads = connection.execute(aside).fetchall()
        for (payload,) in payloads:
            document = decode_document(payload)
            if document.source == "validate":
                found[document.request.object_uid] = document.verdict.value
        return found

    def _folder(self, name: str) -> Path:
        made = self.folder / name
        made.mkdir()
        return made

    async def _gate_service(self) -> Json:
        async with connect(self.server) as client:
            return await client.get("v1", "Service", "sallyport-gate", NAMESPACE)

    async def _install(self) -> None:
        kubeconfig = self.server.kubeconfig()
        async with connect(self.server) as client:
            await client.create_namespace(NAMESPACE)
            self._helm.run("install", "sallyport-crds", CRDS, "--kubeconfig", kubeconfig)
            await client.create_namespace(TRAIN)
            may = rbac.rule([""], "pods", "create")
            await client.apply(rbac.grant("pods", may, rbac.user("alice"), namespace=TRAIN))
            self._helm.install(kubeconfig, self._values)
            self._accounts = {
                name: self.server.kubeconfig_for_token(
                    f"sallyport-{name}", await client.create_token(f"sallyport-{name}", NAMESPACE)
                )
                for name in ("gate", "control")
            }

    def _prepare_parts(self) -> None:
        control, auditor, self._gates_folder = map(self._folder, ("control", "auditor", "gates"))
        shipping = self.kubelet.mounts("sallyport-shipping-control", control / "shipping")
        for number in range(2):
            folder = control / str(number)
            folder.mkdir()
            command = ("control", "--kubeconfig", self._accounts["control"])
            spool = {"SALLYPORT_SPOOL__FOLDER": str(folder / "spool")}
            settings = self._shipping(shipping.folder) | self.control_clock.environment | spool
            self._add(Part(f"control-{number}", command, folder, self._ports[number], settings))
        tls = self.kubelet.mounts("sallyport-auditor-tls", auditor / "tls")
        receiving = {
            "SALLYPORT_RECEIVE__PORT": str(self._auditor_port),
            "SALLYPORT_RECEIVE__CERT": str(tls / "tls.crt"),
            "SALLYPORT_RECEIVE__KEY": str(tls / "tls.key"),
            "SALLYPORT_RECEIVE__CLIENT_CA": str(tls / "ca.crt"),
            "SALLYPORT_LEDGER__URL": f"sqlite:///{self.ledger}",
        }
        self._add(Part("auditor", ("auditor",), auditor, self._ports[2], receiving, (tls,)))

    def _add(self, part: Part) -> None:
        self.kubelet.parts.append(part)

    def _start_gates(self, stack: ExitStack) -> None:
        shipping = self.kubelet.mounts("sallyport-shipping-gate", self._gates_folder / "shipping")
        wait_until(self._has_keys, START_S, "control has made no Secrets")
        self._mount_small_disk(stack)
        pair = self.kubelet.secret("sallyport-gate-tls")
        account, settings = self._accounts["gate"], self._shipping(shipping.folder)
        gates = _RecordingGates(self._gates_folder, account, pair, settings, count=GATES)
        disk = {"SALLYPORT_SPOOL__FOLDER": str(self.disk)} if self.disk else {}
        gates.first = self.gate_clock.environment | disk
        self.gates = stack.enter_context(gates)
        self.kubelet.also(self._keep_gates)

    def _has_keys(self) -> bool:
        names = ("sallyport-gate-tls", "sallyport-shipping-gate", "sallyport-auditor-tls")
        return all(map(self.kubelet.secret, names))

    def _keep_gates(self) -> None:
        content = self.kubelet.secret("sallyport-gate-tls")
        for number, replica in enumerate(self.gates.replicas):
            if content:
                replica.volume.put(content)
            if not replica.alive and f"gate-{number}" not in self.kubelet.held:
                self.gates.start(number, wait=False)

    def _shipping(self, folder: Path) -> dict[str, str]:
        return {
            "SALLYPORT_SHIPPING__URL": f"https://localhost:{self._auditor_port}",
            "SALLYPORT_SHIPPING__CA": str(folder / "ca.crt"),
            "SALLYPORT_SHIPPING__CERT": str(folder / "tls.crt"),
            "SALLYPORT_SHIPPING__KEY": str(folder / "tls.key"),
        }

    def _mount_small_disk(self, stack: ExitStack) -> None:
        """Give the first gate's spool a small disk of its own, where that is allowed."""
        disk = self._gates_folder / "gate-0-disk"
        disk.mkdir()
        size = f"size={SMALL_DISK_BYTES}"
        mount = ["mount", "-t", "tmpfs", "-o", size, "none", str(disk)]
        if subprocess.run(mount, check=False, capture_output=True).returncode == 0:
            stack.callback(subprocess.run, ["umount", str(disk)], check=True)
            self.disk = disk
