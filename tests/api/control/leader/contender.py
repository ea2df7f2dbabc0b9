"""A process that takes part in an election and acts while it leads; run as a program.

Each line of the shared log is one act: `identity term stamp what`. The stamp is CLOCK_BOOTTIME,
the same for all processes of a machine, read right before `require()`.
"""

import asyncio
import contextlib
import datetime as dt
import os
import signal
import sys
from dataclasses import dataclass
from pathlib import Path

import msgspec

from core.base.errors import ClusterError, NotLeaderError
from kube.client.connection import Connection
from kube.client.objects import Objects
from kube.leader.election import LeaseElection
from kube.leader.lease import Clocks, Leadership, LeaseSettings, boot_time, wall_time

ACT_S = 0.02
ACTS_PER_COUNT = 10


class Task(msgspec.Struct, frozen=True):
    """What the program is told, as JSON in its one argument."""

    kubeconfig: str
    namespace: str
    lease: str
    identity: str
    log: str
    offset: str
    """A file with the seconds by which this process's wall clock is off."""
    settings: dict[str, float]
    pause: bool = False
    """Stop (SIGSTOP) once between `require()` and the write that it guards."""


@dataclass
class Contender:
    """Acts while it leads: writes to the shared log, and counts in a ConfigMap."""

    task: Task
    objects: Objects
    paused: bool = False

    async def lead(self, leadership: Leadership) -> None:
        """Act until cancelled."""
        acts = 0
        with contextlib.suppress(NotLeaderError):
            while True:
                self.log(leadership, "acts")
                if acts % ACTS_PER_COUNT == 0:
                    with contextlib.suppress(ClusterError):
                        await self.count(leadership)
                acts += 1
                await asyncio.sleep(ACT_S)

    async def count(self, leadership: Leadership) -> None:
        """Raise the counter by one, if it is as it was read."""
        path = f"/api/v1/namespaces/{self.task.namespace}/configmaps/{self.task.lease}"
        body = await self.objects.get(path)
        assert body is not None
        content = body["data"]
        body["data"] = {
            "count": str(int(content["count"]) + 1),
            "terms": f"{content['terms']} {leadership.term}".strip(),
        }
        leadership.require()
        if self.task.pause and not self.paused:
            self.paused = True
            self.log(leadership, "stops")
            os.kill(os.getpid(), signal.SIGSTOP)
        writing = asyncio.ensure_future(self.objects.replace(path, body))
        try:
            await asyncio.wait({writing})
        finally:  # What became of it is of interest also where the leader was cancelled meanwhile.
            await asyncio.wait({writing})
            error = writing.exception()
            status = error.status if isinstance(error, ClusterError) else ""
            self.write(leadership, boot_time(), f"failed-{status}" if error else "counted")

    def log(self, leadership: Leadership, what: str) -> None:
        """Write one act into the shared log."""
        stamp = boot_time()
        leadership.require()
        self.write(leadership, stamp, what)

    def write(self, leadership: Leadership, stamp: float, what: str) -> None:
        """Write a line, whole: O_APPEND, one write."""
        with Path(self.task.log).open("ab", buffering=0) as file:
            line = f"{self.task.identity} {leadership.term} {stamp:.6f} {what}\n"
            file.write(line.encode())

    def today(self) -> dt.datetime:
        """Return the wall clock, as far off as the test says."""
        return wall_time() + dt.timedelta(seconds=float(Path(self.task.offset).read_text()))


async def main() -> None:
    """Take part until SIGTERM; then leave cleanly."""
    task = msgspec.json.decode(sys.argv[1], type=Task)
    settings = LeaseSettings(**task.settings)
    connection = Connection(Path(task.kubeconfig))
    await connection.open()
    objects = Objects(connection, settings.call_timeout_s)
    contender = Contender(task, objects)
    clocks = Clocks(today=contender.today)
    election = LeaseElection(objects, task.namespace, task.lease, task.identity, settings, clocks)
    running = asyncio.ensure_future(election.run(contender.lead))
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, running.cancel)
    with contextlib.suppress(asyncio.CancelledError):
        await running
    await connection.close()


if __name__ == "__main__":
    asyncio.run(main())
