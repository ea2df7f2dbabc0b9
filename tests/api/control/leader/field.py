"""The field of an election: two processes, a shared log, a counter, and what they show."""

import asyncio
import itertools
import json
import os
import signal
import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import msgspec

from kube.leader.lease import boot_time
from tests.api.control.leader.contender import Task
from tests.harness.programs.apiserver import ApiServer
from tests.harness.programs.client import Client
from tests.harness.programs.process import ServerProcess
from tests.harness.sizes import PROOF

SETTINGS: Final[dict[str, float]] = (
    {"duration_s": 15, "deadline_s": 10, "retry_s": 2, "call_timeout_s": 4}
    if PROOF
    else {"duration_s": 6, "deadline_s": 3.5, "retry_s": 0.5, "call_timeout_s": 1.5}
)
"""In a proof run, those of production."""

TAKEOVER_S: Final = SETTINGS["duration_s"] + SETTINGS["retry_s"]
NOISE_S: Final = 3.0
"""What a busy machine may add: processes that wait for a core, calls that take long."""

_numbers = itertools.count()


def through(port: int, kubeconfig: Path, file: Path) -> Path:
    """Write a kubeconfig that reaches the same cluster through a proxy's port, and give it."""
    content = json.loads(kubeconfig.read_text())
    content["clusters"][0]["cluster"]["server"] = f"https://127.0.0.1:{port}"
    file.write_text(json.dumps(content))
    return file


@dataclass(frozen=True, order=True)
class Act:
    """One line of the shared log."""

    stamp: float
    identity: str = field(compare=False)
    term: int = field(compare=False)
    what: str = field(compare=False)


class Field:
    """Where two contenders meet: one Lease, one counter, one log."""

    def __init__(self, server: ApiServer, client: Client, folder: Path) -> None:
        self.namespace, self.lease = "default", f"election-{next(_numbers)}"
        self.log = folder / "acts.log"
        self.offset = folder / "offset"
        self.offset.write_text("0")
        self.log.touch()
        self._server, self._client, self._folder = server, client, folder
        self._processes: dict[str, ServerProcess] = {}
        self.paths = {
            "Lease": f"/apis/coordination.k8s.io/v1/namespaces/default/leases/{self.lease}",
            "ConfigMap": f"/api/v1/namespaces/default/configmaps/{self.lease}",
        }

    async def prepare(self) -> None:
        """Put the counter there."""
        metadata = {"name": self.lease, "namespace": self.namespace}
        content = {"count": "0", "terms": ""}
        await self._client.create(
            {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": content}
        )

    def start(self, port: int = 0, *, pause: bool = False) -> str:
        """Start a contender, through a proxy's port if one is given; return its identity."""
        identity = f"contender-{next(_numbers)}"
        kubeconfig = self._server.kubeconfig()
        if port:
            kubeconfig = through(port, kubeconfig, self._folder / f"{identity}.kubeconfig")
        task = Task(
            kubeconfig=str(kubeconfig),
            namespace=self.namespace,
            lease=self.lease,
            identity=identity,
            log=str(self.log),
            offset=str(self.offset),
            settings=SETTINGS,
            pause=pause,
        )
        command = [sys.executable, "-m", "tests.api.control.leader.contender"]
        argument = msgspec.json.encode(task).decode()
        log = self._folder / f"{identity}.log"
        self._processes[identity] = ServerProcess(identity, [*command, argument], log)
        return identity

    def send(self, identity: str, number: signal.Signals) -> None:
        """Send a contender a signal."""
        os.kill(self._processes[identity].pid, number)

    def stop(self) -> None:
        """End all contenders."""
        for process in self._processes.values():
            if process.alive:
                os.kill(process.pid, signal.SIGCONT)
            process.stop()

    def leave(self, identity: str) -> None:
        """End a contender cleanly."""
        self._processes[identity].stop()

    def acts(self) -> list[Act]:
        """Return the log so far, by time."""
        lines = [line.split() for line in self.log.read_text().splitlines()]
        return sorted(
            Act(float(stamp), identity, int(term), what) for identity, term, stamp, what in lines
        )

    async def leader(self, *, after: float = 0.0, other_than: str = "") -> Act:
        """Wait for an act after a moment, of another than one contender; return the first."""
        return await self.act(
            lambda act: act.what == "acts" and act.identity != other_than, after=after
        )

    async def act(self, fits: Callable[[Act], bool], *, after: float = 0.0) -> Act:
        """Wait for an act after a moment; return the first that fits."""
        deadline = boot_time() + 2 * TAKEOVER_S + 90
        while True:
            for act in self.acts():
                if act.stamp > after and fits(act):
                    return act
            assert boot_time() < deadline, self._tails()
            await asyncio.sleep(0.05)

    async def read(self, kind: str) -> dict[str, Any]:
        """Read the Lease or the ConfigMap as it is."""
        status, body = await self._client.request("GET", self.paths[kind])
        assert status == 200, body
        return body

    async def write(self, method: str, kind: str, patch: dict[str, Any] | None = None) -> None:
        """Do as a stranger does to the Lease."""
        status, body = await self._client.request(
            method, self.paths[kind], patch, content_type="application/merge-patch+json"
        )
        assert status == 200, body

    def require_one_at_a_time(self) -> int:
        """Assert that no two terms overlap, and return how many there were."""
        spans: dict[tuple[str, int], list[float]] = {}
        for act in self.acts():
            if act.what == "acts":
                spans.setdefault((act.identity, act.term), []).append(act.stamp)
        order = sorted((stamps[0], stamps[-1], who) for who, stamps in spans.items())
        for (_, end, one), (begin, _, other) in itertools.pairwise(order):
            assert end < begin, f"{one} acted at {end} and {other} already at {begin}"
        return len(order)

    async def require_sound_count(self) -> None:
        """Assert that no count was lost or added, and that terms only grow."""
        before = self._acts_of("counted")  # The leader goes on while its counts are read.
        content = (await self.read("ConfigMap"))["data"]
        terms = [int(term) for term in content["terms"].split()]
        after = self._acts_of("counted", "failed-0")
        killed = len(self._processes)
        assert before <= int(content["count"]) <= after + killed
        assert len(terms) == int(content["count"])
        assert terms == sorted(terms)

    def _acts_of(self, *kinds: str) -> int:
        return sum(act.what in kinds for act in self.acts())

    def _tails(self) -> str:
        return "\n".join(f"{name}\n{one.log_tail()}" for name, one in self._processes.items())
