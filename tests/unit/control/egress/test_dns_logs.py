"""Logs of the cluster's DNS say when to ask, whatever strangers or servers put into them."""

import asyncio
import math
import socket
import ssl
import struct
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from ipaddress import ip_address
from pathlib import Path

import pytest
from prometheus_client import CollectorRegistry

from control.egress import dns_logs
from control.egress.dns_logs import (
    ANSWERS,
    FIRST_RETRY_S,
    LAST_RETRY_S,
    MESSAGES,
    TOLD_AGAIN_S,
    DnsLogs,
    LogMessages,
)
from control.egress.metrics import EgressMetrics
from core.base.errors import DnsLogError, NotLeaderError
from core.base.networks import Address
from egress.clients import dns_log
from egress.dns.dnstap import ACCEPT, FINISH, MOST_BYTES, READY, START, STOP, control_frame
from egress.dns.log_settings import DnsLogSettings
from kube.leader.lease import Leadership
from tests.harness.programs.pki import Authority
from tests.unit.control.egress.test_dns_refresh import LEADER
from tests.unit.egress.dns.test_dnstap import CLIENT_QUERY, CLIENT_RESPONSE, answer, frame
from tests.unit.egress.dns.test_dnstap import field as part

NAME = "objects.example.com"
OWN = bytes((10, 0, 0, 9))
POD = bytes((10, 0, 0, 7))


def said(name: str, *records: str, client: bytes = POD) -> bytes:
    """Return a message of a log: what a client was answered."""
    return frame(CLIENT_RESPONSE, [part(4, client), part(14, answer(name, *records))])


def shown(name: str, address: str, client: bytes = POD) -> bytes:
    """Return the same with one address."""
    return said(name, f"{name}. 60 IN A {address}", client=client)


@dataclass
class Names:
    """Names of allowlists, and what hints came for them."""

    wanted: set[str] = field(default_factory=lambda: {NAME})
    hints: list[tuple[str, list[str]]] = field(default_factory=list)

    def takes_hints(self, name: str) -> bool:
        """Return whether it is wanted."""
        return name in self.wanted

    def hint(self, name: str, addresses: Sequence[Address]) -> bool:
        """Keep it."""
        self.hints.append((name, [str(each) for each in addresses]))
        return True


class Clock:
    """A clock that the test moves."""

    now = 1000.0

    def __call__(self) -> float:
        """Return the time."""
        return self.now


class Case:
    """What takes messages, with all around it."""

    def __init__(self) -> None:
        self.names, self.clock = Names(), Clock()
        self.registry = CollectorRegistry()
        self.metrics = EgressMetrics(self.registry)
        self.messages = LogMessages(self.names, self.metrics, self.clock)

    def take(self, *frames: bytes) -> None:
        """Take messages."""
        for each in frames:
            self.messages.take(each, frozenset({OWN}))

    def count(self, name: str) -> float:
        """Return a metric."""
        value = self.registry.get_sample_value(f"sallyport_egress_dns_log{name}")
        assert value is not None
        return value


def test_a_name_that_is_allowed_is_a_hint() -> None:
    """With the addresses that its answer leads to."""
    case = Case()
    case.take(
        said(
            "Objects.Example.COM",
            f"{NAME}. 60 IN CNAME b.example.net.",
            "b.example.net. 60 IN A 192.0.2.7",
        )
    )
    assert case.names.hints == [(NAME, ["192.0.2.7"])]
    assert (case.count("_messages_total"), case.count("_hints_total")) == (1, 1)


def test_strange_names_are_no_hints() -> None:
    """What a Pod asks for is its choice; only a name that an allowlist has, letter by letter."""
    case = Case()
    case.take(
        shown("objects.example.com.evil.example.net", "192.0.2.1"),
        shown("sub.objects.example.com", "192.0.2.1"),
        shown("example.com", "192.0.2.1"),
        said(r"objects\.example.com", r"objects\.example.com. 60 IN A 192.0.2.1"),
        shown("a" * 63 + "." + "b" * 63 + "." + "c" * 63 + ".example", "192.0.2.1"),
    )
    assert case.names.hints == []
    assert (case.count("_messages_total"), case.count("_dropped_total")) == (5, 0)


def test_a_strangers_name_that_leads_to_an_allowed_one_is_no_hint() -> None:
    """Nor are records that an answer brings for an allowed name beside its own."""
    case = Case()
    case.take(
        said(
            "evil.example.net",
            f"evil.example.net. 60 IN CNAME {NAME}.",
            f"{NAME}. 60 IN A 203.0.113.66",
        ),
    )
    assert case.names.hints == []


def test_a_long_chain_is_read_to_its_bound_and_ends_no_log() -> None:
    """A name's owner may answer what it likes; the next message is read as before."""
    case = Case()
    chain = [f"n{each}.example.com. 60 IN CNAME n{each + 1}.example.com." for each in range(60)]
    case.take(said(NAME, f"{NAME}. 60 IN CNAME n0.example.com.", *chain))
    assert (case.names.hints, case.count("_dropped_total")) == ([], 1)
    case.clock.now += 1
    case.take(shown(NAME, "192.0.2.7"))
    assert case.names.hints == [(NAME, ["192.0.2.7"])]


def test_our_own_questions_are_no_hints() -> None:
    """Else each answer that we are given would have us ask again."""
    case = Case()
    case.take(shown(NAME, "192.0.2.7", client=OWN))
    assert case.names.hints == []


def test_answers_that_the_log_lacks_are_counted() -> None:
    """A Corefile without `full`: the log is open, and teaches nothing. Questions are not missed."""
    case = Case()
    case.take(*[frame(CLIENT_RESPONSE, [part(4, POD)])] * 3, frame(CLIENT_QUERY, [part(4, POD)]))
    assert case.names.hints == []
    assert (case.count("_messages_total"), case.count("_dropped_total")) == (4, 3)


def test_a_flood_is_passed_over() -> None:
    """Of strange names, and of an allowed one: the rest of a second is not read."""
    case = Case()
    case.take(*[shown("evil.example.net", "192.0.2.1")] * 10_000, shown(NAME, "192.0.2.7"))
    assert case.names.hints == []
    assert case.count("_dropped_total") == 10_001 - 2 * MESSAGES
    case.clock.now += 1
    case.take(*[shown(NAME, "192.0.2.7")] * 1000)
    assert len(case.names.hints) == 1
    case.clock.now += 1
    case.take(shown(NAME, "192.0.2.8"))
    assert len(case.names.hints) == 2


def test_a_flood_of_one_name_holds_up_no_other() -> None:
    """Each has a pause of its own."""
    case = Case()
    case.names.wanted.add("b.example.com")
    case.take(*[shown(NAME, "192.0.2.7")] * 1000, shown("b.example.com", "192.0.2.9"))
    assert [name for name, _ in case.names.hints] == [NAME, "b.example.com"]


def test_a_flood_of_many_names_is_passed_over() -> None:
    """Answers that are read whole cost most: so many a second and no more, and then again."""
    case = Case()
    frames = []
    for number in range(1000):
        case.names.wanted.add(f"n{number}.example.com")
        frames.append(shown(f"n{number}.example.com", "192.0.2.7"))
    case.take(*frames)
    assert len(case.names.hints) == 2 * ANSWERS
    assert case.count("_dropped_total") == 1000 - 2 * ANSWERS
    case.clock.now += 1
    case.take(*frames)
    assert len(case.names.hints) == 3 * ANSWERS


def test_names_that_were_read_are_forgotten() -> None:
    """Memory does not grow with names."""
    case = Case()
    for number in range(400):
        case.names.wanted.add(f"n{number}.example.com")
        case.take(shown(f"n{number}.example.com", "192.0.2.7"))
        case.clock.now += 0.01
    assert len(case.names.hints) == 400
    assert len(case.messages._read_at) < 30  # noqa: SLF001 -- nothing shows memory but itself


def test_what_is_no_message_ends_the_log() -> None:
    """It is no log then, and what follows would be read as what it is not."""
    case = Case()
    with pytest.raises(DnsLogError):
        case.take(b"\xff" * 40)


Script = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]


def log_of(*frames: bytes, last: bytes = b"", waits: bool = True) -> Script:
    """Return what a server does: the handshake, messages, and then it waits or goes away."""

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(control_frame(READY))
        assert await reader.readexactly(len(control_frame(ACCEPT))) == control_frame(ACCEPT)
        writer.write(control_frame(START))
        for each in frames:
            writer.write(struct.pack(">I", len(each)) + each)
        writer.write(last)
        await writer.drain()
        if waits:
            await reader.read()

    return serve


@dataclass
class DnsPod:
    """A Pod of DNS on loopback that shows its log to whom its authority certifies."""

    authority: Authority
    settings: DnsLogSettings
    script: Script = field(default_factory=log_of)
    opened: int = 0
    readers: int = 0
    left: asyncio.Event = field(default_factory=asyncio.Event)
    """The last reader is gone."""

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Serve one reader."""
        self.opened += 1
        self.readers += 1
        try:
            await self.script(reader, writer)
        except (OSError, asyncio.IncompleteReadError):
            pass
        finally:
            self.readers -= 1
            if not self.readers:
                self.left.set()
            writer.close()


@asynccontextmanager
async def dns_pod(folder: Path, server_authority: Authority | None = None) -> AsyncIterator[DnsPod]:
    """Run one; of another authority than readers trust, where one is given."""
    authority = Authority(folder)
    shows = (server_authority or authority).issue_loopback_server("coredns")
    client = authority.issue_client("control", "spiffe://example/control")
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(shows.certificate, shows.key)
    context.load_verify_locations(authority.certificate_path)
    context.verify_mode = ssl.CERT_REQUIRED
    settings = DnsLogSettings(
        "localhost", 0, authority.certificate_path, client.certificate, client.key
    )
    pod = DnsPod(authority, settings)
    server = await asyncio.start_server(pod.serve, "127.0.0.1", 0, ssl=context)
    pod.settings = replace(settings, port=server.sockets[0].getsockname()[1])
    try:
        yield pod
    finally:
        server.close()


class Followed(Case):
    """Logs that are followed."""

    def __init__(self, pod: DnsPod, settings: DnsLogSettings | None = None) -> None:
        super().__init__()
        self.logs = DnsLogs(settings or pod.settings, self.messages, self.metrics, self.clock)
        self.logs.set_pods(["127.0.0.1"])

    async def until(self, holds: Callable[[], bool]) -> None:
        """Run until something holds."""
        async with asyncio.timeout(10):
            while not holds():
                await self.logs.run(LEADER)
                await asyncio.sleep(0.01)

    async def until_ended(self, times: float) -> None:
        """Run until logs have ended so often."""
        await self.until(lambda: self.count("_ends_total") == times)

    def open(self) -> float:
        """Return how many are open."""
        return self.count("s_open")


async def test_the_log_of_a_pod_is_followed(tmp_path: Path) -> None:
    """One connection; each of its messages is taken."""
    async with dns_pod(tmp_path) as pod:
        pod.script = log_of(shown(NAME, "192.0.2.7"), shown("x.example.net", "192.0.2.1"))
        case = Followed(pod)
        await case.until(lambda: case.count("_messages_total") == 2)
        assert (case.open(), pod.opened) == (1, 1)
        assert case.names.hints == [(NAME, ["192.0.2.7"])]
        case.logs.forget()


async def test_our_own_questions_of_the_other_family_are_no_hints(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """On dual stack name servers may be asked by IPv6 while the log is read by IPv4."""
    monkeypatch.setattr(dns_log, "_FAR", ((socket.AF_INET6, "::1"),))
    async with dns_pod(tmp_path) as pod:
        ours = (ip_address(each).packed for each in ("::1", "127.0.0.1"))
        asked = [shown(NAME, "192.0.2.7", client=each) for each in ours]
        pod.script = log_of(*asked, shown("other.example.com", "192.0.2.8"))
        case = Followed(pod)
        case.names.wanted.add("other.example.com")
        await case.until(lambda: case.count("_messages_total") == 3)
        assert case.names.hints == [("other.example.com", ["192.0.2.8"])]
        case.logs.forget()


@pytest.mark.parametrize(
    ("script", "why"),
    [
        (log_of(last=struct.pack(">I", MOST_BYTES + 1) + b"x" * 1000), "a huge message"),
        (log_of(last=b"\0\0\1\0half of it", waits=False), "cut short"),
        (log_of(last=control_frame(START)), "a control frame in its middle"),
        (log_of(b"\xff" * 40), "no dnstap message"),
    ],
)
async def test_a_log_that_breaks_is_opened_again(tmp_path: Path, script: Script, why: str) -> None:
    """After a pause; what came before the break counts, and what came after it does not."""
    async with dns_pod(tmp_path) as pod:
        pod.script = script
        case = Followed(pod)
        await case.until(lambda: case.count("_ends_total") == 1)
        assert case.open() == 0, why
        pod.script = log_of(shown(NAME, "192.0.2.7"))
        for _ in range(5):
            await case.logs.run(LEADER)
        assert pod.opened == 1, "it waits"
        case.clock.now += FIRST_RETRY_S
        await case.until(lambda: bool(case.names.hints))
        assert pod.opened == 2
        case.logs.forget()


@pytest.mark.parametrize(
    ("script", "why"),
    [
        (log_of(last=struct.pack(">I", MOST_BYTES + 1)), f"a frame of {MOST_BYTES + 1} bytes"),
        (log_of(last=control_frame(START)), "a control frame of kind 2"),
        (log_of(b"\x0b"), "the unknown wire type 3"),
    ],
    ids=["too large", "control frame", "wire type"],
)
async def test_why_a_log_breaks_is_logged_once_in_a_while(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], script: Script, why: str
) -> None:
    """However often it is opened again meanwhile."""
    async with dns_pod(tmp_path) as pod:
        pod.script = script
        case = Followed(pod)
        said = ""
        for times in (1, 2, 3):
            await case.until_ended(times)
            said += capsys.readouterr().out
            case.clock.now += FIRST_RETRY_S
        assert pod.opened == 3
        assert said.count("a DNS log broke") == said.count(why) == 1
        case.clock.now += TOLD_AGAIN_S
        await case.until_ended(4)
        assert why in capsys.readouterr().out


@pytest.mark.parametrize(
    "script",
    [
        log_of(waits=False),
        log_of(last=b"\0\0\1\0half of it", waits=False),
        log_of(last=control_frame(STOP), waits=False),
    ],
    ids=["between messages", "in a message", "in order"],
)
async def test_that_a_log_ends_is_not_logged(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], script: Script
) -> None:
    """CoreDNS ends one that it cannot write, many times a minute where it is busy."""
    async with dns_pod(tmp_path) as pod:
        pod.script = script
        case = Followed(pod)
        await case.until(lambda: case.count("_ends_total") == 1)
        assert pod.opened == 1
        assert "DNS log" not in capsys.readouterr().out


async def test_a_flood_ends_the_log(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """One DNS Pod that is taken over must not take the controller's time."""
    monkeypatch.setattr(dns_log, "MOST_A_SECOND", 1_000)
    async with dns_pod(tmp_path) as pod:
        pod.script = log_of(*[shown("x.example.net", "192.0.2.1")] * 1_500)
        case = Followed(pod)
        await case.until(lambda: case.count("_ends_total") == 1)
        assert case.count("_messages_total") == 1_000
        case.logs.forget()


async def test_others_have_their_turn_while_much_is_read(tmp_path: Path) -> None:
    """What has arrived is read in pieces."""
    turns = 0

    async def others() -> None:
        nonlocal turns
        while True:
            await asyncio.sleep(0)
            turns += 1 if 0 < case.count("_messages_total") < 5_000 else 0

    async with dns_pod(tmp_path) as pod:
        pod.script = log_of(last=_frames(5_000))
        case = Followed(pod)
        running = asyncio.create_task(others())
        await case.until(lambda: case.count("_messages_total") == 5_000)
        running.cancel()
        assert turns >= 40
        case.logs.forget()


def _frames(count: int) -> bytes:
    message = shown("x.example.net", "192.0.2.1")
    return (struct.pack(">I", len(message)) + message) * count


async def test_a_message_that_stops_in_the_middle_is_waited_for_briefly(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Though the server stays."""
    monkeypatch.setattr(dns_log, "REST_S", 0.1)
    async with dns_pod(tmp_path) as pod:
        pod.script = log_of(last=b"\0\0\1\0half of it")
        case = Followed(pod)
        await case.until(lambda: case.count("_ends_total") == 1)
        assert case.open() == 0


async def test_a_server_that_says_nothing_is_not_waited_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A log that does not begin counts as not open."""
    monkeypatch.setattr(dns_log, "OPENS_S", 0.2)

    async def silent(reader: asyncio.StreamReader, _: asyncio.StreamWriter) -> None:
        await reader.read()

    async with dns_pod(tmp_path) as pod:
        pod.script = silent
        case = Followed(pod)
        await case.until(lambda: case.count("_ends_total") == 1)
        assert case.open() == 0


async def test_a_log_that_ends_is_acknowledged(tmp_path: Path) -> None:
    """CoreDNS waits for `FINISH`, and answers nobody meanwhile."""
    received: list[bytes] = []

    async def ends(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await log_of(last=control_frame(STOP), waits=False)(reader, writer)
        received.append(await reader.read())

    async with dns_pod(tmp_path) as pod:
        pod.script = ends
        case = Followed(pod)
        await case.until(lambda: case.count("_ends_total") == 1 and bool(received))
        assert received == [control_frame(FINISH)]


async def test_another_authoritys_server_is_not_read(tmp_path: Path) -> None:
    """Whatever name its certificate has."""
    (tmp_path / "other").mkdir()
    stranger = Authority(tmp_path / "other")
    async with dns_pod(tmp_path, stranger) as pod:
        pod.script = log_of(shown(NAME, "192.0.2.7"))
        case = Followed(pod)
        await case.until(lambda: case.count("_ends_total") == 1)
        assert (case.open(), case.count("_messages_total"), pod.opened) == (0, 0, 0)


async def test_another_name_is_not_read(tmp_path: Path) -> None:
    """Of the same authority: any of its servers could speak for DNS else."""
    async with dns_pod(tmp_path) as pod:
        pod.script = log_of(shown(NAME, "192.0.2.7"))
        case = Followed(pod, replace(pod.settings, server_name="kube-dns.kube-system.svc"))
        await case.until(lambda: case.count("_ends_total") == 1)
        assert (case.open(), case.count("_messages_total")) == (0, 0)


async def test_files_that_cannot_be_used_are_told(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """By the name of the setting; they are tried again, since a Secret may come later."""
    async with dns_pod(tmp_path) as pod:
        missing = replace(pod.settings, authority=tmp_path / "missing.pem")
        case = Followed(pod, missing)
        await case.until(lambda: case.count("_ends_total") == 1)
        assert "egress.dns_log.ca: cannot be used" in capsys.readouterr().out
        case = Followed(pod, replace(pod.settings, key=tmp_path / "missing.pem"))
        await case.until(lambda: case.count("_ends_total") == 1)
        assert "egress.dns_log.cert and key: cannot be used" in capsys.readouterr().out


async def test_what_does_not_open_is_tried_ever_more_rarely(tmp_path: Path) -> None:
    """Twice as long each time, up to a minute."""
    async with dns_pod(tmp_path) as pod:
        case = Followed(pod, replace(pod.settings, server_name="other.example"))
        tries = 0
        for _ in range(600):
            before = case.count("_ends_total")
            await case.logs.run(LEADER)
            followed = case.logs._followed["127.0.0.1"]  # noqa: SLF001 -- its task is awaited
            if followed.task is not None:
                await followed.task
            tries += case.count("_ends_total") > before
            case.clock.now += 1
        assert tries == 7 + (600 - 63) // LAST_RETRY_S
        case.logs.forget()


async def test_nothing_is_left_when_leadership_is_lost(tmp_path: Path) -> None:
    """Neither a connection nor a number that grows old."""
    async with dns_pod(tmp_path) as pod:
        case = Followed(pod)
        await case.until(lambda: case.open() == 1)
        case.logs.loop.forget()
        case.metrics.forget()
        async with asyncio.timeout(5):
            await pod.left.wait()
        others = asyncio.all_tasks() - {asyncio.current_task()}
        assert not [each for each in others if "_follow" in str(each)]
        assert math.isnan(case.open())
        ended = Leadership(1, 0.0, lambda: 1.0)
        with pytest.raises(NotLeaderError):
            await case.logs.run(ended)
        await asyncio.sleep(0.1)
        assert pod.opened == 1


async def test_a_pod_that_is_gone_is_let_go(tmp_path: Path) -> None:
    """And one that comes is followed."""
    async with dns_pod(tmp_path) as pod:
        case = Followed(pod)
        await case.until(lambda: case.open() == 1)
        case.logs.set_pods([])
        await case.until(lambda: pod.readers == 0)
        assert case.open() == 0
        case.logs.set_pods(["127.0.0.1"])
        await case.until(lambda: case.open() == 1)
        case.logs.forget()


async def test_so_many_logs_and_no_more(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A DaemonSet that answers on each node has thousands; how many are left out is shown."""
    monkeypatch.setattr(dns_logs, "MOST_LOGS", 2)
    async with dns_pod(tmp_path) as pod:
        case = Followed(pod)
        case.logs.set_pods(_loopback(range(1, 6)))
        await case.until(lambda: case.count("_ends_total") + case.open() == 2)
        assert set(case.logs._followed) == {"127.0.0.1", "127.0.0.2"}  # noqa: SLF001
        assert case.count("s_left_out") == 3
        case.logs.forget()


def _loopback(numbers: Iterable[int]) -> list[str]:
    return [f"127.0.0.{each}" for each in numbers]
