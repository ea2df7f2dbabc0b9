"""Starting and leaving under load: nothing is let in too early, nothing is lost at the end."""

import asyncio
import signal
import time
from collections import Counter
from pathlib import Path

import pytest

from core.base.errors import CannotBindError
from network.asgi import Receive, Scope, Send
from tests.harness.programs.ports import free_ports
from tests.harness.sizes import size
from tests.unit.webhooks.connection import Connection
from tests.unit.webhooks.gate import running_gate
from tests.unit.webhooks.judge import PrivilegedJudge
from tests.unit.webhooks.process import GateProcess, gate_process
from tests.unit.webhooks.reviews import encode, review
from webhooks.limits import ServerSettings
from webhooks.server import make_config

GOOD, BAD = encode(review(padding=18_000)), encode(review(bad=True))
KUBE_APISERVER_IDLE_SECONDS = 90


class ModelApiServer:
    """A client that behaves as kube-apiserver and its Service: it goes where it is ready.

    It keeps its connection, opens another when it is asked to, and repeats nothing.
    """

    def __init__(self, gates: list[GateProcess]) -> None:
        self.gates = gates
        self.ready = list(gates)
        self.done = asyncio.Event()
        self.answered: Counter[int] = Counter()

    async def watch(self) -> None:
        """Follow readiness, as endpoints follow it."""
        while not self.done.is_set():
            self.ready = [gate for gate in self.gates if await gate.ready()]
            await asyncio.sleep(0.05)

    async def work(self) -> None:
        """Send one review after another; any failure ends the test."""
        while not self.done.is_set():
            gate = self.ready[0]
            connection = await gate.connect()
            closes = False
            while not closes and not self.done.is_set():
                answer = await connection.post("/validate?timeout=10s", GOOD)
                assert answer.response["allowed"] is True
                self.answered[gate.admission[1]] += 1
                closes = answer.closes
            await connection.close()


async def test_sigterm_under_load_fails_no_request(tmp_path: Path) -> None:
    """16 busy connections move to the other gate, and the first exits with 0."""
    async with (
        gate_process(tmp_path / "a", "--drain", "1.5") as leaving,
        gate_process(tmp_path / "b") as staying,
    ):
        client = ModelApiServer([leaving, staying])
        tasks = [asyncio.create_task(client.watch())]
        tasks += [asyncio.create_task(client.work()) for _ in range(16)]
        await asyncio.sleep(0.7)
        leaving.terminate()
        status = await asyncio.wait_for(leaving.process.wait(), 10)
        await asyncio.sleep(0.3)
        client.done.set()
        await asyncio.gather(*tasks)
        assert status == 0
        assert client.answered[leaving.admission[1]] > 16
        assert client.answered[staying.admission[1]] > 16


async def test_a_draining_gate_answers_and_says_that_it_leaves(tmp_path: Path) -> None:
    """`/readyz` is false, `/livez` true, and each answer asks for a new connection."""
    settings = ServerSettings(port=0, status_port=0, drain_seconds=0.6)
    async with running_gate(tmp_path, server=settings) as gate:
        kept = await gate.connect()
        assert not (await kept.post("/validate", GOOD)).closes
        gate.stop.ask()
        await asyncio.sleep(0.1)
        answer = await gate.status("/readyz")
        assert (answer.status, b"shutting down" in answer.body) == (503, True)
        assert (await gate.status("/livez")).status == 200
        assert (await kept.post("/validate", GOOD)).closes
        assert (await gate.post("/validate", BAD)).response["allowed"] is False
        await kept.close()


async def test_what_is_in_flight_is_finished(tmp_path: Path) -> None:
    """A review that takes longer than the drain is still answered; idle connections close."""
    async with gate_process(tmp_path, "--delay", "1") as gate:
        idle, busy = await gate.connect(), await gate.connect()
        pending = asyncio.create_task(busy.post("/validate?timeout=10s", GOOD))
        await asyncio.sleep(0.2)
        gate.terminate()
        assert await asyncio.wait_for(idle.reader.read(), 3) == b""
        assert (await pending).response["allowed"] is True
        await idle.close()
        await busy.close()
        assert await asyncio.wait_for(gate.process.wait(), 5) == 0


@pytest.mark.parametrize(
    ("arguments", "signals", "seconds"),
    [
        (["--drain", "60", "--delay", "8"], 2, 4),
        (["--delay", "8", "--finish", "0.3"], 1, 4),
    ],
)
async def test_requests_that_are_cut_off_are_told_in_the_exit_status(
    tmp_path: Path, arguments: list[str], signals: int, seconds: float
) -> None:
    """By a second signal at once; by the limit on finishing otherwise. Never admitted."""
    async with gate_process(tmp_path, *arguments) as gate:
        busy = await gate.connect()
        pending = asyncio.create_task(busy.post("/validate?timeout=30s", GOOD))
        await asyncio.sleep(0.2)
        start = time.monotonic()
        for _ in range(signals):
            gate.terminate()
            await asyncio.sleep(0.2)
        assert await asyncio.wait_for(gate.process.wait(), 10) == 1
        assert time.monotonic() - start < seconds
        outcome = (await asyncio.gather(pending, return_exceptions=True))[0]
        assert isinstance(outcome, BaseException) or outcome.status == 500
        await busy.close()
        assert '"event":"stopped"' in gate.log.read_text()


async def test_the_second_signal_ends_a_drain(tmp_path: Path) -> None:
    """A person at a terminal presses Ctrl-C twice."""
    async with gate_process(tmp_path, "--drain", "60") as gate:
        gate.process.send_signal(signal.SIGINT)
        await asyncio.sleep(0.2)
        assert gate.process.returncode is None
        gate.process.send_signal(signal.SIGINT)
        assert await asyncio.wait_for(gate.process.wait(), 4) == 1


@pytest.mark.proof
@pytest.mark.parametrize("start", range(size(ci=4, proof=20)))
async def test_nothing_bad_is_let_in_around_the_start(tmp_path: Path, start: int) -> None:
    """From before the port is open until after ready, no bad review is admitted."""
    port = free_ports(1)[0]
    outcomes: Counter[str] = Counter()
    done = asyncio.Event()

    async def stream() -> None:
        path = "/validate" if start % 2 else "/mutate"
        while not done.is_set():
            try:
                connection = await Connection.open(("127.0.0.1", port), tmp_path / "ca.crt")
            except OSError:
                outcomes["refused"] += 1
                await asyncio.sleep(0.01)
                continue
            closes = False
            while not closes and not done.is_set():
                answer = await connection.post(path, BAD)
                closes = answer.closes
                allowed = answer.status == 200 and answer.response["allowed"]
                outcomes["admitted" if allowed else str(answer.status)] += 1
            await connection.close()

    streams = [asyncio.create_task(stream()) for _ in range(4)]
    async with gate_process(tmp_path, "--port", str(port), "--ready-after", "0.4") as gate:
        async with asyncio.timeout(10):
            while not await gate.ready():  # noqa: ASYNC110  Another process.
                await asyncio.sleep(0.02)
        await asyncio.sleep(0.2)
        done.set()
        await asyncio.gather(*streams)
    assert outcomes["admitted"] == 0
    assert outcomes["refused"] > 0
    assert outcomes["503"] > 0
    assert outcomes["200"] > 0


async def nothing(_scope: Scope, _receive: Receive, _send: Send) -> None:
    """Answer nothing."""


@pytest.mark.proof
async def test_connections_are_kept_longer_than_kube_apiserver_keeps_them(tmp_path: Path) -> None:
    """So that it is always the client that closes first."""
    settings = ServerSettings()
    assert settings.keep_alive_seconds > KUBE_APISERVER_IDLE_SECONDS
    async with running_gate(tmp_path) as gate:
        config = make_config(nothing, gate.pair.context, settings.keep_alive_seconds)
        assert config.timeout_keep_alive == settings.keep_alive_seconds
        connection = await gate.connect()
        await connection.post("/validate", GOOD)
        # uvicorn's default would close after 5 s; the proof waits as long as kube-apiserver.
        await asyncio.sleep(size(ci=6, proof=KUBE_APISERVER_IDLE_SECONDS + 2))
        assert (await connection.post("/validate", GOOD)).status == 200
        await connection.close()


async def test_a_connection_without_a_request_is_closed_in_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Idle and half-open ones would fill the memory."""
    monkeypatch.setattr("webhooks.protocol.HEAD_SECONDS", 0.2)
    async with running_gate(tmp_path) as gate:
        silent, slow, fine = [await gate.connect() for _ in range(3)]
        slow.writer.write(b"POST /validate HTTP/1.1\r\nHost:")
        await fine.post("/validate", GOOD)
        for stuck in (silent, slow):
            with pytest.raises((ConnectionError, EOFError)):
                await asyncio.wait_for(stuck.reader.readexactly(1), 5)
        assert (await fine.post("/validate", GOOD)).status == 200
        for connection in (silent, slow, fine):
            await connection.close()


async def test_connections_are_bounded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """One too many is dropped while all are being answered; their answers come."""
    monkeypatch.setattr("webhooks.protocol.AdmissionProtocol.max_connections", 3)
    async with running_gate(tmp_path, PrivilegedJudge(delay=0.5)) as gate:
        kept = [await gate.connect() for _ in range(3)]
        answers = [asyncio.create_task(c.post("/validate", GOOD)) for c in kept]
        await asyncio.sleep(0.1)
        with pytest.raises((OSError, EOFError)):
            await gate.post("/validate", GOOD)
        assert [answer.status for answer in await asyncio.gather(*answers)] == [200] * 3
        for connection in kept:
            await connection.close()


async def test_an_address_in_use_is_named(tmp_path: Path) -> None:
    """The message has the address and the setting to change."""
    async with running_gate(tmp_path) as gate:
        (tmp_path / "second").mkdir()
        taken = ServerSettings(port=gate.addresses.served[1], status_port=0)
        with pytest.raises(CannotBindError, match=r"127\.0\.0\.1:\d+ .*the webhook address"):
            async with running_gate(tmp_path / "second", server=taken):
                pytest.fail("two gates on one address")
