"""Takes part in the election and runs the loops while leading."""

import asyncio
from collections.abc import Iterable

from control.loop import Loop, RunningLoop
from control.metrics import LoopMetrics
from kube.leader.election import LeaseElection
from kube.leader.lease import Leadership


class Runner:
    """The loops of this process; run `run` as a task, and cancel it to stop.

    Stopping is harmless at any time: the loops are cancelled, then the Lease is given up, so that
    the next leader begins at once; each loop can be broken off anywhere.
    """

    def __init__(
        self, election: LeaseElection, loops: Iterable[Loop], metrics: LoopMetrics
    ) -> None:
        self._election = election
        self._loops = [RunningLoop(loop, metrics) for loop in loops]
        metrics.watch(election.leads)

    def missing(self) -> list[str]:
        """Say what is missing until this process does its work, for `/readyz`.

        One that waits to lead misses nothing as long as it can read the Lease.
        """
        if self._election.problem:
            return [f"lease: {self._election.problem}"]
        if not self._election.leads():
            return []
        return [what for loop in self._loops for what in loop.missing()]

    async def run(self) -> None:
        """Run the loops whenever this process leads, until cancelled."""
        await self._election.run(self._lead)

    async def _lead(self, leadership: Leadership) -> None:
        async with asyncio.TaskGroup() as group:
            for loop in self._loops:
                group.create_task(loop.keep_running(leadership))
