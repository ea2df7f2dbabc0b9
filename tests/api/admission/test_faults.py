"""Starting and dying under load: nothing is let in that was not judged."""

import asyncio
import os
import signal
import time
from collections import Counter
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path

import pytest

from tests.api.admission.objects import BAD, GOOD, allow_pods, new_namespace
from tests.harness.evidence import record
from tests.harness.load.reviews import pod_review, post
from tests.harness.programs.client import ApiStatusError, Client, Json, Outcome
from tests.harness.programs.gate import Gate
from tests.harness.programs.guarded_apiserver import Installation
from tests.harness.programs.ports import free_ports
from tests.harness.programs.webhooks import configurations
from tests.harness.sizes import PROOF, size

_LOOK_EVERY_S = 0.1
"""How soon a gate that is no longer ready gets no new connection; kube-proxy takes longer."""


class Service:
    """Passes TCP connections on, as kube-proxy does: it reads nothing of what is in them."""

    def __init__(self, gates: list[Gate]) -> None:
        self.gates = gates
        self.port = 0
        self._ready: Sequence[Gate] = tuple(gates)
        self._turn = count()
        self._passing: set[asyncio.Task[None]] = set()

    async def look(self) -> None:
        """Keep the list of ready gates."""
        while True:
            gates = list(self.gates)
            answers = [await asyncio.to_thread(gate.ready) for gate in gates]
            self._ready = [g for g, ready in zip(gates, answers, strict=True) if ready]
            await asyncio.sleep(_LOOK_EVERY_S)

    async def accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Pass one connection on to the next ready gate."""
        task = asyncio.current_task()
        assert task is not None
        self._passing.add(task)
        task.add_done_callback(self._passing.discard)
        writers = [writer]
        try:
            await self._pass(reader, writers)
        except (OSError, asyncio.CancelledError):
            for each in writers:
                each.transport.abort()

    async def _pass(
        self, reader: asyncio.StreamReader, writers: list[asyncio.StreamWriter]
    ) -> None:
        """Pass it on; `writers` holds the one to the client, and then the one to the gate."""
        if not self._ready:
            writers[0].close()
            return
        gate = self._ready[next(self._turn) % len(self._ready)]
        there, back = await asyncio.open_connection("127.0.0.1", gate.port)
        writers.append(back)
        await asyncio.gather(_pipe(reader, back), _pipe(there, writers[0]))

    async def end(self) -> None:
        """Break what is still open; an event loop that ends would leave it to the collector."""
        for task in self._passing:
            task.cancel()
        await asyncio.gather(*self._passing)


async def _pipe(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    with suppress(OSError):
        while data := await reader.read(65536):
            writer.write(data)
            await writer.drain()
    writer.close()


@asynccontextmanager
async def serving(gates: list[Gate]) -> AsyncIterator[Service]:
    """Run a Service for these gates; the list may change while it runs."""
    service = Service(gates)
    server = await asyncio.start_server(service.accept, "127.0.0.1", 0)
    service.port = server.sockets[0].getsockname()[1]
    looking = asyncio.create_task(service.look())
    try:
        yield service
    finally:
        looking.cancel()
        server.close()
        await service.end()


ALICE = "alice@example.com"
STARTS = size(ci=2, proof=20)
STREAMS = 6
PAUSE_S = 0.0 if PROOF else 0.03
"""Between a stream's reviews: without one they take all of CI's two processors from those that
start, and show no more."""


@dataclass
class Stream:
    """Reviews sent without end; what became of them is counted by phase."""

    phase: str = "down"
    seen: Counter[tuple[str, str]] = field(default_factory=Counter)
    over: bool = False

    async def direct(self, url: str, body: bytes, ca_pem: bytes) -> None:
        """Send to the gate itself, each on a new connection."""
        while not self.over:
            try:
                status, review = await post(url, body, ca_pem)
            except (OSError, TimeoutError):
                self._count("no connection")
                await asyncio.sleep(max(PAUSE_S, 0.005))
                continue
            allowed = status == 200 and review["response"]["allowed"]
            self._count("allowed" if allowed else f"status {status}")
            await asyncio.sleep(PAUSE_S)

    async def through(self, client: Client, pod: Json, namespace: str) -> None:
        """Send through kube-apiserver, as dry runs."""
        while not self.over:
            try:
                answer = await client.dry_run_create(pod, namespace)
            except ApiStatusError:
                self._count("webhook failed")
                await asyncio.sleep(PAUSE_S)
                continue
            self._count("allowed" if answer.outcome is Outcome.ALLOWED else "refused")
            await asyncio.sleep(PAUSE_S)

    def _count(self, outcome: str) -> None:
        self.seen[self.phase, outcome] += 1

    async def until_more(self, *outcomes: str) -> None:
        """Wait until each has happened again. Not at once: after a 503 kube-apiserver waits 1 s."""
        before = {outcome: self.total(outcome) for outcome in outcomes}
        end = time.monotonic() + 90
        while any(self.total(outcome) == count for outcome, count in before.items()):
            assert time.monotonic() < end, f"never {outcomes} again: {self.seen}"
            await asyncio.sleep(0.02)

    def total(self, outcome: str) -> int:
        """Return how often something happened, in all phases."""
        return sum(count for (_, seen), count in self.seen.items() if seen == outcome)


@pytest.fixture
async def namespace(admin: Client) -> str:
    """A namespace in which alice may make Pods and has only pss-restricted."""
    name = await new_namespace(admin)
    await allow_pods(admin, name, ALICE)
    return name


@pytest.fixture
async def port(admin: Client, installation: Installation, namespace: str) -> AsyncIterator[int]:
    """A port to which the registered validating webhook points instead, for this test."""
    (free,) = free_ports(1)
    ca_pem = installation.apiserver.authority.pem
    moved = configurations(f"https://127.0.0.1:{free}", ca_pem)
    await admin.apply(moved)
    yield free
    await admin.apply(configurations(installation.gate.url, ca_pem))
    await until_asked(admin, namespace)


async def until_asked(admin: Client, namespace: str) -> None:
    """Wait until kube-apiserver asks a gate that is there: it follows registrations later."""
    end = time.monotonic() + 60
    while True:
        with suppress(ApiStatusError):
            await admin.dry_run_create(GOOD(), namespace)
            return
        assert time.monotonic() < end
        await asyncio.sleep(0.1)


def start(installation: Installation, folder: Path, port: int) -> Gate:
    """Start a gate on the port; do not wait for it."""
    authority = installation.apiserver.authority
    return Gate(folder, authority, installation.kubeconfig, port=port, wait=False, strangers=True)


async def until_ready(gate: Gate) -> None:
    """Wait for readiness, at most 120 s."""
    end = time.monotonic() + 120
    while not await asyncio.to_thread(gate.ready):
        assert time.monotonic() < end, gate.log_tail()
        await asyncio.sleep(0.02)


@pytest.mark.proof
async def test_no_start_lets_anything_in(
    installation: Installation, admin: Client, namespace: str, port: int, tmp_path: Path
) -> None:
    """Over many starts under a stream of bad reviews, not one is let in, and each start judges."""
    ca_pem = installation.apiserver.authority.pem
    url = f"https://127.0.0.1:{port}/validate?timeout=10s"
    body = pod_review(BAD(), namespace, ALICE)
    stream = Stream()
    tasks = [asyncio.create_task(stream.direct(url, body, ca_pem)) for _ in range(STREAMS)]
    alice = admin.as_user(ALICE)
    tasks.append(asyncio.create_task(stream.through(alice, BAD(), namespace)))
    for _ in range(STARTS):
        stream.phase = "starting"
        gate = start(installation, tmp_path, port)
        await until_ready(gate)
        stream.phase = "ready"
        await stream.until_more("status 200", "refused")
        stream.phase = "stopping"
        await asyncio.to_thread(gate.stop)
        stream.phase = "down"
    stream.over = True
    await asyncio.gather(*tasks)
    assert stream.total("allowed") == 0, stream.seen
    if PROOF:
        _record("starts-under-load", f"{STARTS} starts", stream)


@pytest.mark.proof
async def test_a_killed_gate_fails_closed(
    installation: Installation, admin: Client, namespace: str, port: int, tmp_path: Path
) -> None:
    """Killed under load: kube-apiserver refuses everything; started again, it judges as before."""
    alice = admin.as_user(ALICE)
    bad, good = Stream(), Stream()
    gate = start(installation, tmp_path, port)
    await until_ready(gate)
    tasks = [
        asyncio.create_task(bad.through(alice, BAD(), namespace)),
        asyncio.create_task(good.through(alice, GOOD(), namespace)),
    ]
    for _ in range(size(ci=1, proof=10)):
        bad.phase = good.phase = "ready"
        await good.until_more("allowed")
        await bad.until_more("refused")
        os.kill(gate.pid, signal.SIGKILL)
        await asyncio.to_thread(gate.stop)
        await good.until_more("webhook failed")  # So what was answered before is counted.
        await bad.until_more("webhook failed")
        bad.phase = good.phase = "killed"
        await asyncio.sleep(1)
        await good.until_more("webhook failed")
        bad.phase = good.phase = "starting"
        gate = start(installation, tmp_path, port)
        await until_ready(gate)
    bad.over = good.over = True
    await asyncio.gather(*tasks)
    await asyncio.to_thread(gate.stop)
    assert bad.total("allowed") == 0, bad.seen
    assert good.seen["killed", "allowed"] == 0, good.seen
    assert good.seen["killed", "webhook failed"] > 0
    if PROOF:
        _record("killed-under-load", "10 kills", bad, good)


@pytest.mark.proof
async def test_leaving_fails_no_request(
    installation: Installation, admin: Client, namespace: str, tmp_path: Path
) -> None:
    """Replicas are replaced one by one under load, by SIGTERM: kube-apiserver notices nothing."""
    settings = {"SALLYPORT_LISTEN__DRAIN_SECONDS": "3"}
    authority = installation.apiserver.authority

    def new_gate(number: int) -> Gate:
        folder = tmp_path / str(number)
        folder.mkdir()
        return Gate(folder, authority, installation.kubeconfig, settings)

    gates = [await asyncio.to_thread(new_gate, number) for number in range(2)]
    async with serving(gates) as service:
        await admin.apply(configurations(f"https://127.0.0.1:{service.port}", authority.pem))
        await asyncio.sleep(2)
        alice, good = admin.as_user(ALICE), Stream("rolling")
        streams = [good.through(alice, GOOD(), namespace) for _ in range(STREAMS)]
        tasks = [asyncio.create_task(stream) for stream in streams]
        for number in range(2, 2 + size(ci=2, proof=20)):
            gates.append(await asyncio.to_thread(new_gate, number))
            await asyncio.sleep(0.5)
            leaving = gates.pop(0)
            await asyncio.to_thread(leaving.stop)
        good.over = True
        await asyncio.gather(*tasks)
        await admin.apply(configurations(installation.gate.url, authority.pem))
    await until_asked(admin, namespace)
    for gate in gates:
        await asyncio.to_thread(gate.stop)
    assert set(good.seen) == {("rolling", "allowed")}, good.seen
    if PROOF:
        _record("rolling-restart", "20 replicas replaced", good)


def _record(name: str, what: str, *streams: Stream) -> None:
    lines = [f"- {what}; reviews by phase and outcome:", ""]
    for stream in streams:
        lines += [f"  - {phase}, {seen}: {n}" for (phase, seen), n in sorted(stream.seen.items())]
        lines.append("")
    record(name, lines)
