"""The logs of a real CoreDNS, over a channel on which both ends prove who they are."""

import asyncio
import contextlib
import math
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Collection, Iterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from ipaddress import ip_network
from pathlib import Path

import dns.rcode
import pytest
from prometheus_client import CollectorRegistry

from control.egress.dns_logs import DnsLogs, LogMessages
from control.egress.dns_refresh import INTERVAL_S, DnsRefresh
from control.egress.dns_store import DnsStore
from control.egress.metrics import EgressMetrics
from core.base.errors import DnsLogError
from egress.clients.dns_log import read_dns_log
from egress.dns.dnstap import asked_name, read_client_answer
from egress.dns.learnt_names import NamesSettings
from egress.dns.log_settings import DnsLogSettings
from egress.dns.resolver import NameServer, Resolver
from egress.dns.resolver_settings import ResolverSettings
from tests.harness.evidence import ROOT, record
from tests.harness.fakes.dns_server import Behaviour, DnsServer, dns_server
from tests.harness.programs.coredns import answers, running_coredns
from tests.harness.programs.coredns_log import Logged, ask_as_pod
from tests.harness.programs.ports import free_ports
from tests.harness.programs.process import ServerProcess
from tests.harness.sizes import PROOF
from tests.tools.provide import provide
from tests.unit.control.egress.test_dns_refresh import LEADER, Stored

NAME = "objects.example.com"


@pytest.fixture
def logged(tmp_path: Path) -> Logged:
    """Where it logs to."""
    return Logged(tmp_path)


@pytest.fixture
def upstream() -> Iterator[DnsServer]:
    """The name server behind it, that knows the name."""
    with dns_server() as server:
        server.set(NAME, "192.0.2.1", ttl=5)
        yield server


@pytest.fixture
def coredns(logged: Logged, upstream: DnsServer, tmp_path: Path) -> Iterator[int]:
    """It runs; yields its port."""
    with running_coredns(tmp_path, upstream.port, logged.corefile, NAME) as port:
        yield port


async def test_names_that_pods_are_answered_are_logged(logged: Logged, coredns: int) -> None:
    """With the Pod that asked; in whatever case it did."""
    told: list[tuple[bytes, str | None]] = []

    def take(frame: bytes) -> None:
        if found := read_client_answer(frame):
            told.append((found.client, asked_name(found.response)))

    begun = asyncio.Event()
    server = NameServer("127.0.0.1", logged.settings.port)
    reading = asyncio.create_task(
        read_dns_log(server, logged.settings, lambda _: begun.set(), take)
    )
    async with asyncio.timeout(10):
        await begun.wait()
        while not told:
            await ask_as_pod(coredns, "Objects.Example.COM")
            await asyncio.sleep(0.05)
    assert told[0] == (bytes((127, 0, 0, 2)), NAME)
    reading.cancel()
    with contextlib.suppress(asyncio.CancelledError):
        await reading


@pytest.mark.usefixtures("coredns")
async def test_neither_end_is_somebody_else(logged: Logged, tmp_path: Path) -> None:
    """CoreDNS shows its log to nobody without a certificate, and another server's is not read."""
    (tmp_path / "other").mkdir()
    stranger = replace(Logged(tmp_path / "other").settings, port=logged.settings.port)
    refused = r"its certificate is refused .*: egress\.dns_log\.server_name and ca"
    for settings, says in (
        (stranger, refused),
        (replace(stranger, authority=logged.settings.authority), r"must take the certificate of"),
        (replace(logged.settings, authority=stranger.authority), refused),
        (replace(logged.settings, server_name="kube-dns.kube-system.svc"), refused),
    ):
        begun: list[frozenset[bytes]] = []
        with pytest.raises(DnsLogError, match=says):
            await read_dns_log(
                NameServer("127.0.0.1", settings.port), settings, begun.append, lambda _: None
            )
        assert begun == []


async def test_the_corefile_of_the_page_logs(
    logged: Logged, upstream: DnsServer, tmp_path: Path
) -> None:
    """As it stands there, but for ports, files and the server behind it."""
    page = (ROOT / "docs/operate/egress-dns-log.md").read_text()
    block = page.partition("```text\n")[2].partition("```")[0]
    port = free_ports(1)[0]
    for old, new in (
        ("# as it is", "errors"),
        (":53 ", f":{port} "),
        (":6053 ", f":{logged.settings.port} "),
        ("/etc/coredns/dns-log/tls.crt", str(logged.server.certificate)),
        ("/etc/coredns/dns-log/tls.key", str(logged.server.key)),
        ("/etc/coredns/dns-log/ca.crt", str(logged.authority)),
        ("/etc/resolv.conf", f"127.0.0.1:{upstream.port}"),
    ):
        assert old in block
        block = block.replace(old, new)
    (tmp_path / "Corefile").write_text(block)
    command: list[str | Path] = [provide("coredns"), "-conf", tmp_path / "Corefile"]
    process = ServerProcess("coredns", command, tmp_path / "coredns.log")
    control = Control(port, logged.settings)
    try:
        process.wait_until(lambda: answers(port), 20)
        async with control.running():
            await _until(lambda: control.opens("192.0.2.1"))
            await _until(lambda: control.count("s_open") == 1)
    finally:
        process.stop()


class Control:
    """What learns names, with the log or without."""

    def __init__(
        self,
        coredns: int,
        settings: DnsLogSettings | None,
        names: Collection[str] = (NAME,),
        quiet_s: float = 1.0,
    ) -> None:
        self.registry = CollectorRegistry()
        metrics = EgressMetrics(self.registry)
        self.refresh = DnsRefresh(
            DnsStore(Stored(), "own"),
            Resolver([NameServer("127.0.0.1", coredns)], ResolverSettings()),
            lambda: names,
            lambda _: None,
            (),
            NamesSettings(quiet_s=quiet_s),
        )
        self.logs = (
            DnsLogs(settings, LogMessages(self.refresh, metrics), metrics) if settings else None
        )
        if self.logs:
            self.logs.set_pods(["127.0.0.1"])

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """Run the loops."""
        runs: list[tuple[Callable[..., Awaitable[None]], float]] = [(self.refresh.run, INTERVAL_S)]
        if self.logs:
            runs.append((self.logs.run, 1.0))
        tasks = [asyncio.create_task(_repeat(*each)) for each in runs]
        try:
            yield
        finally:
            for task in tasks:
                task.cancel()
            self.refresh.loop.forget()
            if self.logs:
                self.logs.loop.forget()

    def opens(self, address: str, name: str = NAME) -> bool:
        """Return whether an address is open."""
        found = self.refresh.source.resolved(name, ()).addresses if self.refresh.loaded else ()
        return ip_network(address) in found

    def count(self, name: str) -> float:
        """Return a metric of logs."""
        return self.registry.get_sample_value(f"sallyport_egress_dns_log{name}") or 0.0


async def _repeat(run: Callable[..., Awaitable[None]], interval_s: float) -> None:
    while True:
        await run(LEADER)
        await asyncio.sleep(interval_s)


async def _answered(coredns: int, address: str) -> None:
    """Ask as a Pod does, until the answer has an address."""
    for _ in range(200):
        if address in (await ask_as_pod(coredns, NAME)).to_text():
            return
        await asyncio.sleep(0.1)
    raise AssertionError(address)


async def _until(holds: Callable[[], bool], seconds: float = 20) -> None:
    async with asyncio.timeout(seconds):
        while not holds():  # noqa: ASYNC110 -- what is waited for has no event
            await asyncio.sleep(0.05)


async def test_a_new_address_is_open_sooner_with_the_log(
    logged: Logged, upstream: DnsServer, coredns: int
) -> None:
    """As soon as a Pod is answered it, not when the name is due."""
    plain, follows = Control(coredns, None), Control(coredns, logged.settings)
    async with plain.running(), follows.running():
        await _until(lambda: plain.opens("192.0.2.1") and follows.opens("192.0.2.1"))
        await _until(lambda: follows.count("s_open") == 1)
        await asyncio.sleep(8)  # The bursts of a new name are over.
        assert not plain.refresh._bursts  # noqa: SLF001 -- nothing else shows that it is over
        upstream.set(NAME, "192.0.2.2", ttl=5)
        await _answered(coredns, "192.0.2.2")
        answered = time.monotonic()
        while not follows.opens("192.0.2.2") and time.monotonic() - answered < 20:
            await ask_as_pod(coredns, NAME)
            await asyncio.sleep(0.5)
        assert time.monotonic() - answered < 6
        assert not plain.opens("192.0.2.2"), "it asks at most every 30 s"
        assert follows.count("_hints_total") >= 1


async def test_what_the_log_says_opens_nothing(
    logged: Logged, upstream: DnsServer, coredns: int, tmp_path: Path
) -> None:
    """A log that shows an address that our own server does not give has it asked, no more."""
    with dns_server() as forger:
        forger.set(NAME, "203.0.113.66", ttl=5)
        other = Logged(tmp_path)
        with running_coredns(tmp_path, forger.port, other.corefile) as port:
            control = Control(coredns, other.settings)
            async with control.running():
                await _until(lambda: control.opens("192.0.2.1"))
                await _until(lambda: control.count("s_open") == 1)
                await ask_as_pod(port, NAME)
                await _until(lambda: control.count("_hints_total") == 1)
                before = len(upstream.questions)
                await asyncio.sleep(7)
                assert len(upstream.questions) > before, "the name was asked for again"
                assert not control.opens("203.0.113.66")
    assert logged.settings.port != other.settings.port


async def _flood(port: int, name: str, seconds: float) -> list[int]:
    """Have ten Pods ask all the time; return the codes of the answers."""
    codes: list[int] = []
    until = time.monotonic() + seconds

    async def pod() -> None:
        while time.monotonic() < until:
            codes.append((await ask_as_pod(port, name)).rcode())
            await asyncio.sleep(0.02)

    await asyncio.gather(*(pod() for _ in range(10)))
    return codes


async def test_what_others_ask_does_not_reach_the_log_of_a_zone(
    logged: Logged, upstream: DnsServer, coredns: int
) -> None:
    """A block for the names that matter logs no others: a busy server keeps such a log open."""
    upstream.set("busy.example.net", "192.0.2.9", ttl=5)
    control = Control(coredns, logged.settings)
    async with control.running():
        await _until(lambda: control.count("s_open") == 1)
        codes = await _flood(coredns, "busy.example.net", 3)
        assert len(codes) > 200
        assert set(codes) == {dns.rcode.NOERROR}
        assert control.count("_messages_total") < 100, "of our own questions alone"
        await _until(lambda: control.count("s_open") == 1)
        own = control.count("_messages_total")
        await ask_as_pod(coredns, NAME)
        await _until(lambda: control.count("_messages_total") > own)


async def test_a_busy_zone_answers_everybody_and_ends_its_log(logged: Logged, coredns: int) -> None:
    """CoreDNS 1.15 ends a log that two answers write at once; it is opened again, and read."""
    control = Control(coredns, logged.settings)
    async with control.running():
        await _until(lambda: control.count("s_open") == 1)
        codes = await _flood(coredns, NAME, 4)
        assert set(codes) == {dns.rcode.NOERROR}
        before = control.count("_messages_total")

        async def read_again() -> None:
            while control.count("_messages_total") <= before:
                await ask_as_pod(coredns, NAME)
                await asyncio.sleep(0.2)

        await asyncio.wait_for(read_again(), 20)


CHANGES = 40
SETTLES_S = 75.0
"""A burst, and then some: until names are asked for every 30 s again."""
SPREAD_S = 120.0


def _changes(upstream: DnsServer, number: int, block: str) -> frozenset[str]:
    """Give a name other addresses, and return them; every second one is a pool of eight."""
    name = _changing(number)
    if number % 2:
        pool = [f"{block}.{8 * number % 256 + each}" for each in range(8)]
        upstream.set(name, *pool, ttl=5, behaviour=Behaviour.DRAWS).shown = 2
        return frozenset(pool)
    upstream.set(name, f"{block}.{number}", ttl=5)
    return frozenset({f"{block}.{number}"})


def _changing(number: int) -> str:
    return f"n{number}.{NAME}"


async def _time_to_open(
    upstream: DnsServer, coredns: int, controls: Sequence[Control], number: int
) -> list[float]:
    """Change a name at some time; return after how many seconds each opens what a Pod is told."""
    await asyncio.sleep(SPREAD_S * number / CHANGES)
    wanted, name = _changes(upstream, number, "198.51.100"), _changing(number)
    told: frozenset[str] = frozenset()
    for _ in range(200):
        answer = (await ask_as_pod(coredns, name)).answer[0]
        if told := wanted & {each.address for each in answer}:
            break
        await asyncio.sleep(0.25)
    address = min(told)
    began, opened = time.monotonic(), [math.nan, math.nan]
    while any(map(math.isnan, opened)) and time.monotonic() - began < 60:
        for index, control in enumerate(controls):
            if math.isnan(opened[index]) and control.opens(address, name):
                opened[index] = time.monotonic() - began
        await asyncio.sleep(0.05)
    return opened


@pytest.mark.proof
@pytest.mark.skipif(not PROOF, reason="a proof: set SALLYPORT_PROOF=1 (make proof)")
async def test_dns_log_figures(logged: Logged, upstream: DnsServer, coredns: int) -> None:
    """Names that have settled and change: new addresses are open within 3 s with the log."""
    names = [_changing(number) for number in range(CHANGES)]
    for number in range(CHANGES):
        _changes(upstream, number, "192.0.2")
    controls = [
        Control(coredns, each, names, NamesSettings().quiet_s) for each in (None, logged.settings)
    ]
    async with controls[0].running(), controls[1].running():
        await asyncio.sleep(SETTLES_S)
        found = await asyncio.gather(
            *(_time_to_open(upstream, coredns, controls, number) for number in range(CHANGES))
        )
    median = [sorted(each[index] for each in found)[CHANGES // 2] for index in (0, 1)]
    record("egress-dns-log", _page(found, controls[1]))
    assert median[1] < 3 < median[0]


def _page(found: Sequence[Sequence[float]], control: Control) -> Iterator[str]:
    yield ""
    yield f"{CHANGES} names behind a real CoreDNS 1.15 (`cache 30`), whose answers are valid for"
    yield "5 s, have settled, and then change to other addresses, each once. Seconds from the"
    yield "first answer that a Pod was given with a new address until `control` has stored it:"
    yield ""
    yield "| | | Median | 95th percentile | Longest |"
    yield "| --- | --- | --- | --- | --- |"
    for first, kind in enumerate(("one address", "two of eight addresses")):
        for index, label in enumerate(("without the log", "with the log")):
            times = sorted(each[index] for each in found[first::2])
            middle, late = times[len(times) // 2], times[int(len(times) * 0.95)]
            yield f"| {kind} | {label} | {middle:.1f} | {late:.1f} | {times[-1]:.1f} |"
    yield ""
    hints, messages, ends = (
        f"{control.count(each):.0f}" for each in ("_hints_total", "_messages_total", "_ends_total")
    )
    yield (
        f"Hints that were taken: {hints}. Messages that were read: {messages}; times that CoreDNS "
        f"ended the log: {ends}."
    )
