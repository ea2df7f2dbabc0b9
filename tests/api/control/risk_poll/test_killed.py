"""A leader that ends anywhere loses nothing, and however leaders change, Graph's limit is kept."""

import asyncio
import os
import signal
import sys
import traceback
import uuid
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path

import msgspec
import pytest

from core.risk.model import RiskEntry, RiskSource, identity_key
from core.risk.snapshot import RiskSnapshot
from identity.entra.graph_requests import Resource
from identity.entra.values import level_of, seconds_of, state_of
from kube.client.objects import Objects
from kube.risk.store import RiskStore
from tests.api.control.leader.field import SETTINGS, TAKEOVER_S, through
from tests.api.control.risk_poll.poller import Task
from tests.api.control.risk_poll.polls import polled, until
from tests.api.kube.objects import new_name
from tests.harness.fakes.entra.entra import FakeEntra
from tests.harness.fakes.switchboard import Link, Switchboard
from tests.harness.programs.apiserver import ApiServer
from tests.harness.programs.client import Client
from tests.harness.programs.process import ServerProcess
from tests.harness.sizes import size


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
        command = [sys.executable, "-m", "tests.api.control.risk_poll.poller"]
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


REQUESTS = size(ci=9, proof=24)
"""A leader ends at each of so many requests, one cluster each."""

ROUNDS = size(ci=1, proof=10)
PEOPLE = 1100
"""Three pages of users."""

Told = tuple[object, ...]


def told(entry: RiskEntry) -> Told:
    """Return what Entra said of somebody."""
    return entry.level, entry.state, entry.deleted, entry.updated, entry.event_id


def wanted(entra: FakeEntra) -> dict[bytes, Told]:
    """Return what a poller that never ended would know."""
    events = {
        each["userId"]: each["id"]
        for each in entra.directory.objects[Resource.USER_EVENTS].values()
    }
    return {
        identity_key(object_id): (
            level_of(each["riskLevel"]),
            state_of(each["riskState"]),
            each["isDeleted"],
            seconds_of(each["riskLastUpdatedDateTime"]),
            events.get(object_id, ""),
        )
        for object_id, each in entra.directory.objects[Resource.USERS].items()
    }


def known(snapshot: RiskSnapshot) -> dict[bytes, Told]:
    """Return what is stored."""
    return {key: told(each) for key, each in snapshot.entries(RiskSource.ENTRA)}


def populated(folder: Path) -> FakeEntra:
    """Return an Entra with people, some at risk, and detections."""
    entra = FakeEntra(folder).start()
    ids = [str(uuid.uuid4()) for _ in range(PEOPLE)]
    for number, each in enumerate(ids):
        risky = number % 10 == 0
        state, level = ("atRisk", "medium") if risky else ("remediated", "none")
        entra.put_user(each, level=level, state=state, updated=entra.now() - 90_000 - number)
    for each in ids[:30:10]:
        entra.put_detection(uuid.uuid4().hex * 2, each, activity=entra.now() - 90_600)
    return entra


async def end_at(request: int, objects: Objects, client: Client, folder: Path) -> None:
    """Let a leader end at one request, somebody change, and another one lead."""
    namespace = new_name("killed")
    await client.create_namespace(namespace)
    entra = populated(folder)

    async def is_asked() -> bool:
        return len(entra.requests) >= request

    try:
        async with polled(objects, namespace, entra):
            await until("asked", is_asked, 120)
        for each in list(entra.directory.objects[Resource.USERS])[:3]:
            entra.put_user(each, level="high", state="atRisk")
        async with polled(objects, namespace, entra) as poller:

            def is_whole(snapshot: RiskSnapshot) -> bool:
                return snapshot.head.users.as_of is not None and known(snapshot) == wanted(entra)

            await poller.until(f"whole after an end at request {request}", is_whole, 180)
        assert entra.violations == 0, request
    finally:
        entra.stop()


@pytest.mark.proof
async def test_a_leader_that_ends_at_any_request_loses_nothing(
    objects: Objects, client: Client, tmp_path: Path
) -> None:
    """Whoever leads next knows what one that never ended would: all at once, a request each."""
    folders = [tmp_path / str(number) for number in range(REQUESTS)]
    for folder in folders:
        folder.mkdir()
    ends = await asyncio.gather(
        *(end_at(number, objects, client, folder) for number, folder in enumerate(folders)),
        return_exceptions=True,
    )
    assert not [end for end in ends if end is not None]


@asynccontextmanager
async def contest(
    apiserver: ApiServer, objects: Objects, client: Client, folder: Path
) -> AsyncIterator[Contest]:
    """Yield a place of its own; at the end all is known, and the limit was kept."""
    namespace = new_name("polls")
    await client.create_namespace(namespace)
    entra = populated(folder)
    pollers = Pollers(apiserver, namespace, entra, folder)
    try:
        yield Contest(pollers, objects)
        pollers.start()  # Proxies of the scenario have ended: one that needs none.
        store = RiskStore(objects, namespace)

        async def is_whole() -> bool:
            return known(await store.read()) == wanted(entra)

        await until("whole", is_whole, 180)
        assert entra.violations == 0
        assert not [each for each in entra.requests if each.status != 200]
    finally:
        pollers.end()
        entra.stop()


def change_somebody(entra: FakeEntra) -> None:
    """Let somebody come to be at risk."""
    someone = min(
        entra.directory.objects[Resource.USERS].values(),
        key=lambda each: each["riskLastUpdatedDateTime"],
    )
    entra.put_user(someone["id"], level="high", state="atRisk")


async def killed(held: Contest, _: ApiServer) -> None:
    """SIGKILL, in the middle of whatever it does."""
    held.pollers.start()
    leader = await held.leader()
    for number in range(ROUNDS):
        held.pollers.start()
        await asyncio.sleep(1 + 0.37 * number)
        change_somebody(held.pollers.entra)
        os.kill(held.pollers.processes[leader].pid, signal.SIGKILL)
        leader = await held.leader(other_than=leader)


async def left(held: Contest, _: ApiServer) -> None:
    """SIGTERM: it gives the Lease up, and the next one begins at once."""
    held.pollers.start()
    leader = await held.leader()
    for number in range(ROUNDS):
        held.pollers.start()
        await asyncio.sleep(4 + 0.37 * number)
        change_somebody(held.pollers.entra)
        await asyncio.to_thread(held.pollers.processes[leader].stop)
        leader = await held.leader(other_than=leader)


async def cut_off(held: Contest, server: ApiServer) -> None:
    """It reaches Graph, but kube-apiserver no more; then it does again."""
    with Switchboard() as switchboard:
        links = [Link(server.port) for _ in range(2)]
        ways = {held.pollers.start(switchboard.lead(link)): link for link in links}
        leader = await held.leader()
        for _ in range(ROUNDS):
            change_somebody(held.pollers.entra)
            switchboard.cut(ways[leader])
            before, leader = leader, await held.leader(other_than=leader)
            switchboard.mend(ways[before])
            await asyncio.sleep(2)


async def stopped(held: Contest, _: ApiServer) -> None:
    """SIGSTOP for longer than the Lease lasts; woken, it knows that it leads no more."""
    for _number in range(2):
        held.pollers.start()
    leader = await held.leader()
    for _round in range(ROUNDS):
        change_somebody(held.pollers.entra)
        # In the second after an answer it waits: nothing is on its way that would arrive later.
        await asyncio.sleep(0.2)
        os.kill(held.pollers.processes[leader].pid, signal.SIGSTOP)
        before, leader = leader, await held.leader(other_than=leader)
        os.kill(held.pollers.processes[before].pid, signal.SIGCONT)
        await asyncio.sleep(3)


Scenario = Callable[[Contest, ApiServer], Awaitable[None]]
SCENARIOS = (killed, left, cut_off, stopped)


@pytest.mark.proof
async def test_however_leaders_change_graph_is_asked_once_a_second_and_nothing_is_lost(
    apiserver: ApiServer, objects: Objects, client: Client, tmp_path: Path
) -> None:
    """Two processes with a real election: killed, left, cut off, stopped. Each with its Entra."""

    async def play(scenario: Scenario, folder: Path) -> None:
        async with contest(apiserver, objects, client, folder) as held:
            await scenario(held, apiserver)

    folders = [tmp_path / each.__name__ for each in SCENARIOS]
    for folder in folders:
        folder.mkdir()
    plays = (play(each, folder) for each, folder in zip(SCENARIOS, folders, strict=True))
    ends = await asyncio.gather(*plays, return_exceptions=True)
    failed = {
        scenario.__name__: "".join(traceback.format_exception(end))
        for scenario, end in zip(SCENARIOS, ends, strict=True)
        if end is not None
    }
    assert not failed
