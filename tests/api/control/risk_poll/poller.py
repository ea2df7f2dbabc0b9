"""A process that polls while it leads; run as a program, until SIGTERM or its end."""

import asyncio
import contextlib
import signal
import sys
from pathlib import Path

import msgspec
from prometheus_client import CollectorRegistry

from control.loop import LoopMetrics, Runner
from control.risk.poll.loop import PollSettings, build_poller
from identity.clients.graph import GraphSettings
from identity.clients.tokens import SignIn
from identity.entra.graph_requests import PollIntervals
from kube.client.connection import Connection
from kube.client.objects import Objects
from kube.leader.election import LeaseElection
from kube.leader.lease import LeaseSettings
from kube.risk.store import RiskStore


class Task(msgspec.Struct, frozen=True):
    """What the program is told, as JSON in its one argument."""

    kubeconfig: str
    namespace: str
    identity: str
    lease: dict[str, float]
    tenant: str
    client_id: str
    token_file: str
    authority: str
    site: str
    trust: str
    times: dict[str, float]


def settings_of(task: Task) -> PollSettings:
    """Return the poller's settings."""
    trust = Path(task.trust)
    sign_in = SignIn(
        task.tenant,
        task.client_id,
        file=Path(task.token_file),
        authority=task.authority,
        trust=trust,
    )
    return PollSettings(sign_in, GraphSettings(task.site, trust), PollIntervals(**task.times))


async def main() -> None:
    """Take part in the election, and poll while leading; leave cleanly on SIGTERM."""
    task = msgspec.json.decode(sys.argv[1], type=Task)
    lease = LeaseSettings(**task.lease)
    connection = Connection(Path(task.kubeconfig))
    await connection.open()
    objects = Objects(connection, lease.call_timeout_s)
    registry = CollectorRegistry()
    polling = build_poller(RiskStore(objects, task.namespace), settings_of(task), registry)
    election = LeaseElection(objects, task.namespace, "polls", task.identity, lease)
    running = asyncio.create_task(
        Runner(election, [polling.loop], LoopMetrics(registry)).run(), name="polls"
    )
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, running.cancel)
    with contextlib.suppress(asyncio.CancelledError):
        await running
    await polling.close()
    await connection.close()


if __name__ == "__main__":
    asyncio.run(main())
