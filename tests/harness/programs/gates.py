"""Several gates behind one address, as a Service has them: killed, left, cut off, started again."""

import json
import os
import random
import signal
import threading
from collections.abc import Callable, Mapping
from contextlib import ExitStack, suppress
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Final, Self

from tests.harness.fakes.secret_volume import SecretVolume
from tests.harness.fakes.switchboard import Link, Switchboard
from tests.harness.programs.gate import PROGRAM
from tests.harness.programs.ports import free_ports
from tests.harness.programs.process import ServerProcess
from tests.harness.programs.status import ask, is_ready

START_TIMEOUT_S: Final = 120.0
"""All start at once, on a machine that does other things."""

PROBE_S: Final = 2.0
"""How often each is asked whether it is ready, and how long it may take, as the chart has it."""

PROBES: Final = 2
"""So many must fail before its endpoint goes; one brings it back."""

DRAIN_S: Final = 5.0
"""How long one that leaves still answers: the chart's `gate.drainSeconds`."""


@dataclass
class Replica:
    """One gate: its process, if one runs, and the ways to it and from it."""

    folder: Path
    volume: SecretVolume
    """Its Secret `sallyport-gate-tls`: tls.crt, tls.key, ca.crt."""
    link: Link
    """From kube-apiserver (or whoever asks) to it."""
    outgoing: Link
    """From it to kube-apiserver: its watches and access reviews."""
    status_port: int
    environment: Mapping[str, str]
    process: ServerProcess | None = None
    endpoint: bool = False
    """Whether the Service leads to it now."""
    started: list[int] = field(default_factory=list)
    """The pids of all its processes so far."""

    @property
    def alive(self) -> bool:
        """Whether its process runs."""
        return self.process is not None and self.process.alive

    def ready(self) -> bool:
        """Whether it says that it is ready."""
        return self.alive and is_ready(self.status_port, PROBE_S)

    def metrics(self) -> str:
        """Return `/metrics`."""
        return ask(self.status_port, "/metrics")[1]

    def log(self) -> str:
        """Return its log, of all its processes."""
        return (self.folder / "gate.log").read_text(errors="replace")


class Gates:
    """Gates behind `url`; a context manager that ends all that it started."""

    def __init__(  # noqa: PLR0913, PLR0917  What gates are started with, once.
        self,
        folder: Path,
        kubeconfig: Path,
        pair: Mapping[str, bytes],
        environment: Mapping[str, str] | None = None,
        count: int = 3,
        own: Callable[[Path], Mapping[str, str]] = lambda _: {},
    ) -> None:
        """Say what is to be started; `pair` is what the Secret holds first.

        `own` gives further settings of one, by its folder.

        `environment` holds further settings (`SALLYPORT_…`) of each. Names in the certificate
        must hold 127.0.0.1 or whatever the registration's URL says.
        """
        self._folder, self._kubeconfig, self._pair = folder, kubeconfig, pair
        self._environment = dict(environment or {})
        self._count = count
        self._own = own
        self.replicas: list[Replica] = []
        self.switchboard = Switchboard()
        self._choice = random.Random(1)  # noqa: S311 -- must repeat, need not be secret
        self._over = threading.Event()
        self._stack = ExitStack()

    def __enter__(self) -> Self:
        """Start all, and wait until each is ready and has its endpoint."""
        self._stack.enter_context(self.switchboard)
        try:
            for number in range(self._count):
                self.replicas.append(self._replica(number))
            self.port = self.switchboard.listen(self._choose)
            for number in range(self._count):
                self.start(number, wait=False)
            for replica in self.replicas:
                assert replica.process is not None
                replica.process.wait_until(replica.ready, START_TIMEOUT_S)
                replica.endpoint = True
            for replica in self.replicas:
                probing = threading.Thread(target=self._probe, args=(replica,), daemon=True)
                probing.start()
                self._stack.callback(probing.join)
            self._stack.callback(self._over.set)
        except BaseException:
            self.__exit__(None, None, None)
            raise
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        at: TracebackType | None,
    ) -> None:
        """End every process and the switchboard."""
        for replica in self.replicas:
            if replica.process is not None:
                with suppress(ProcessLookupError):
                    for each in (signal.SIGCONT, signal.SIGTERM):  # And one more: at once.
                        os.kill(replica.process.pid, each)
                replica.process.stop()
        self._stack.close()

    @property
    def url(self) -> str:
        """Where kube-apiserver reaches the webhooks: `https://127.0.0.1:port`."""
        return f"https://127.0.0.1:{self.port}"

    def start(self, number: int, *, wait: bool = True) -> None:
        """Start one that does not run; it gets its endpoint at a probe once it is ready."""
        replica = self.replicas[number]
        assert not replica.alive, f"gate {number} runs already"
        replica.process = ServerProcess(
            f"gate-{number}",
            [PROGRAM, "gate", "--kubeconfig", replica.folder / "kubeconfig"],
            replica.folder / "gate.log",
            replica.environment,
        )
        replica.started.append(replica.process.pid)
        if wait:
            replica.process.wait_until(lambda: replica.endpoint, START_TIMEOUT_S)

    def kill(self, number: int) -> None:
        """End one between two instructions (SIGKILL); its endpoint stays for two probes."""
        self._signal(number, signal.SIGKILL)

    def leave(self, number: int) -> None:
        """Ask one to leave (SIGTERM), as a rollout does: it drains and ends by itself."""
        self._signal(number, signal.SIGTERM)

    def freeze(self, number: int) -> None:
        """Stop one (SIGSTOP): its connections stay open and nothing is answered."""
        self._signal(number, signal.SIGSTOP)

    def thaw(self, number: int) -> None:
        """Let one that was frozen go on."""
        self._signal(number, signal.SIGCONT)

    def cut(self, number: int) -> None:
        """Let nothing through from kube-apiserver to one; its endpoint goes with its probes."""
        self.switchboard.cut(self.replicas[number].link)

    def cut_off(self, number: int) -> None:
        """Let nothing through from one to kube-apiserver: it judges on with what it knows."""
        self.switchboard.cut(self.replicas[number].outgoing)

    def mend(self, number: int) -> None:
        """Mend both its ways."""
        for link in (self.replicas[number].link, self.replicas[number].outgoing):
            self.switchboard.mend(link)

    def _signal(self, number: int, which: signal.Signals) -> None:
        process = self.replicas[number].process
        assert process is not None
        assert process.alive, f"gate {number} does not run"
        os.kill(process.pid, which)

    def _choose(self) -> Link | None:
        """Return one of the endpoints that carried least, by chance, ready or not by now.

        kube-proxy leaves all to chance: with the few connections of a short test, some gate
        would be asked nothing.
        """
        links = [each.link for each in self.replicas if each.endpoint]
        least = min((link.carried for link in links), default=0)
        return self._choice.choice([each for each in links if each.carried == least] or [None])

    def _probe(self, replica: Replica) -> None:
        failed = 0
        while not self._over.wait(PROBE_S):
            failed = 0 if replica.link.whole and replica.ready() else failed + 1
            replica.endpoint = failed < PROBES if replica.endpoint else not failed

    def _replica(self, number: int) -> Replica:
        folder = self._folder / f"gate-{number}"
        folder.mkdir()
        volume = SecretVolume(folder / "tls")
        volume.put(self._pair)
        kubeconfig = json.loads(self._kubeconfig.read_text())
        cluster = kubeconfig["clusters"][0]["cluster"]
        outgoing = Link(int(cluster["server"].rpartition(":")[2]))
        port = self.switchboard.lead(outgoing)
        cluster["server"] = f"https://127.0.0.1:{port}"
        (folder / "kubeconfig").write_text(json.dumps(kubeconfig))
        listen_port, status_port = free_ports(2)
        environment = {
            "SALLYPORT_LISTEN__PORT": str(listen_port),
            "SALLYPORT_LISTEN__CERT": str(volume / "tls.crt"),
            "SALLYPORT_LISTEN__KEY": str(volume / "tls.key"),
            "SALLYPORT_LISTEN__DRAIN_SECONDS": str(DRAIN_S),
            "SALLYPORT_STATUS__PORT": str(status_port),
            **self._environment,
            **self._own(folder),
        }
        return Replica(folder, volume, Link(listen_port), outgoing, status_port, environment)
