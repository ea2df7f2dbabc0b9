"""The resolver against real name servers on loopback."""

import asyncio
import socket
import time
from collections.abc import Coroutine, Iterator, Sequence
from ipaddress import ip_address

import pytest
import uvloop

from core.base.errors import SettingsError
from egress.dns import resolver as resolver_module
from egress.dns.learnt_names import UNASKED, DnsReply, NamesSettings, learn
from egress.dns.resolver import NameServer, Resolver, server_of, servers_of_system
from egress.dns.resolver_settings import ResolverSettings
from tests.harness.fakes.dns_server import SPOOFED, Behaviour, DnsServer, dns_server

NAME = "weights.example.org"
QUICK = ResolverSettings(timeout_s=0.5, tries=2)
PATIENT = ResolverSettings(timeout_s=30, tries=2)


@pytest.fixture
def one() -> Iterator[DnsServer]:
    """A name server."""
    with dns_server() as server:
        yield server


@pytest.fixture
def other() -> Iterator[DnsServer]:
    """Another one, on IPv6."""
    with dns_server("::1") as server:
        yield server


def of(*servers: DnsServer, settings: ResolverSettings = QUICK) -> Resolver:
    """Return a resolver that asks these."""
    return Resolver([NameServer(each.address, each.port) for each in servers], settings)


def texts(replies: Sequence[DnsReply]) -> dict[tuple[str, int], list[str]]:
    """Return the addresses by server and family, of those that answered."""
    return {
        (reply.server, reply.family): [str(address) for address in reply.addresses]
        for reply in replies
        if not reply.problem
    }


def problems(replies: Sequence[DnsReply]) -> set[str]:
    """Return what is wrong, each once."""
    return {reply.problem for reply in replies if reply.problem}


def closed_port() -> int:
    """Return a port on which nobody listens."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as free:
        free.bind(("127.0.0.1", 0))
        port: int = free.getsockname()[1]
        return port


async def test_every_server_is_asked_for_both_families(one: DnsServer, other: DnsServer) -> None:
    """All that any of the servers knows is found, IPv4 and IPv6, each with its server and TTL."""
    one.set(NAME, "192.0.2.2", "192.0.2.1", "2001:db8::1", ttl=40)
    other.set(NAME, "192.0.2.9", ttl=20)
    replies = await of(one, other).ask(NAME)
    first, second = f"127.0.0.1:{one.port}", f"[::1]:{other.port}"
    assert texts(replies) == {
        (first, 4): ["192.0.2.1", "192.0.2.2"],
        (first, 6): ["2001:db8::1"],
        (second, 4): ["192.0.2.9"],
        (second, 6): [],
    }
    assert {reply.ttl for reply in replies if reply.addresses} == {40, 20}
    for server in (one, other):
        asked = sorted(server.questions)
        assert asked == [(NAME, "A", "udp"), (NAME, "AAAA", "udp")]


async def test_a_server_named_twice_is_asked_once(one: DnsServer) -> None:
    """The same address and port is one server."""
    await of(one, one).ask(NAME)
    assert len(one.questions) == 2


async def test_no_such_name_is_an_answer(one: DnsServer) -> None:
    """NXDOMAIN, and a name without addresses, are answers: no addresses now, and no problem."""
    one.set("alone.example.org")
    for name in (NAME, "alone.example.org"):
        replies = await of(one).ask(name)
        assert [(reply.addresses, reply.problem) for reply in replies] == [((), ""), ((), "")]


@pytest.mark.parametrize(
    ("behaviour", "problem"),
    [
        (Behaviour.FAILS, "answers SERVFAIL"),
        (Behaviour.REFUSES, "answers REFUSED"),
        (Behaviour.SILENT, "does not answer within 0.5 s"),
        (Behaviour.GARBAGE, "does not answer within 0.5 s"),
        (Behaviour.ONLY_SPOOFED, "does not answer within 0.5 s"),
        (Behaviour.NOT_RECURSIVE, "does not follow names to other servers"),
    ],
)
async def test_a_failure_is_no_answer(one: DnsServer, behaviour: Behaviour, problem: str) -> None:
    """A server that fails, refuses, keeps silent or sends nonsense has a problem, no answer."""
    one.set(NAME, "192.0.2.1", behaviour=behaviour)
    replies = await of(one).ask(NAME)
    assert [reply.addresses for reply in replies] == [(), ()]
    assert problems(replies) == {problem}


async def test_a_dead_server_takes_nothing_from_the_others(one: DnsServer) -> None:
    """Where one of two is not there, the other's answer counts, and the dead one is named."""
    one.set(NAME, "192.0.2.1", "2001:db8::1")
    dead = NameServer("127.0.0.1", closed_port())
    replies = await Resolver([dead, NameServer(one.address, one.port)], QUICK).ask(NAME)
    assert sorted(texts(replies).values()) == [["192.0.2.1"], ["2001:db8::1"]]
    failed = {(reply.server, reply.problem) for reply in replies if reply.problem}
    assert failed == {(str(dead), "cannot be reached (ConnectionRefusedError)")}


async def test_a_lost_packet_is_sent_again(one: DnsServer) -> None:
    """One question without an answer is no failure of the server."""
    one.set(NAME, "192.0.2.1", behaviour=Behaviour.SILENT_ONCE)
    replies = await of(one).ask(NAME)
    assert problems(replies) == set()
    assert ["192.0.2.1"] in texts(replies).values()


@pytest.mark.parametrize("behaviour", [Behaviour.WRONG_ID, Behaviour.WRONG_QUESTION])
async def test_spoofed_answers_are_passed_over(one: DnsServer, behaviour: Behaviour) -> None:
    """An answer with another id, or to another question, is not believed; the right one is."""
    one.set(NAME, "192.0.2.1", "2001:db8::1", behaviour=behaviour)
    replies = await of(one).ask(NAME)
    found = [address for each in texts(replies).values() for address in each]
    assert sorted(found) == ["192.0.2.1", "2001:db8::1"]


async def test_records_of_other_names_count_for_nothing(one: DnsServer) -> None:
    """Only records that the answer leads to from the name that was asked for are taken."""
    entry = one.set(NAME, "192.0.2.1")
    entry.besides = [("else.example.org", SPOOFED)]
    replies = await of(one).ask(NAME)
    assert ["192.0.2.1"] in texts(replies).values()
    one.set(NAME).besides = [("else.example.org", SPOOFED)]
    replies = await of(one).ask(NAME)
    assert [reply.addresses for reply in replies] == [(), ()]


async def test_aliases_are_followed_inside_the_answer(one: DnsServer) -> None:
    """CNAMEs lead to the addresses; the shortest TTL of the chain counts."""
    one.set(NAME, alias="edge.example.net", ttl=300)
    one.set("edge.example.net", alias="a.example.net", ttl=10)
    one.set("a.example.net", "192.0.2.1", ttl=60)
    replies = await of(one).ask(NAME)
    assert [(r.addresses, r.ttl) for r in replies if r.addresses] == [
        ((ip_address("192.0.2.1"),), 10)
    ]
    assert {name for name, _, _ in one.questions} == {NAME}
    (aliases,) = {r.aliases for r in replies if r.addresses}
    assert aliases == ("edge.example.net", "a.example.net")


async def test_aliases_in_a_circle_are_a_problem(one: DnsServer) -> None:
    """A chain without an end is told, and ends."""
    one.set(NAME, alias="b.example.org")
    one.set("b.example.org", alias=NAME)
    replies = await of(one).ask(NAME)
    assert [reply.addresses for reply in replies] == [(), ()]
    assert problems(replies)


async def test_long_answers_come_over_tcp(one: DnsServer) -> None:
    """An answer that is cut short in UDP is asked for over TCP, and is whole."""
    many = [f"192.0.2.{number}" for number in range(1, 201)]
    one.set(NAME, *many)
    replies = await of(one, settings=PATIENT).ask(NAME)
    assert many in texts(replies).values()
    assert [(kind, how) for _, kind, how in one.questions if kind == "A"] == [
        ("A", "udp"),
        ("A", "tcp"),
    ]


async def test_answers_change_while_it_runs(one: DnsServer) -> None:
    """Nothing is remembered here: the next question gets the next answer."""
    resolver = of(one)
    one.set(NAME, "192.0.2.1")
    before = texts(await resolver.ask(NAME))
    one.set(NAME, "192.0.2.2")
    after = texts(await resolver.ask(NAME))
    assert (["192.0.2.1"] in before.values(), ["192.0.2.2"] in after.values()) == (True, True)


async def test_questions_under_way_are_bounded(one: DnsServer) -> None:
    """With room for one question, four silent ones take four times as long as one."""
    one.set(NAME, behaviour=Behaviour.SILENT)
    settings = ResolverSettings(timeout_s=0.1, tries=1, at_once=1)
    start = time.monotonic()
    resolver = of(one, settings=settings)
    await asyncio.gather(resolver.ask(NAME), resolver.ask(NAME))
    assert time.monotonic() - start >= 0.4


def test_resolver_works_on_uvloop(one: DnsServer) -> None:
    """`sallyport control` runs on uvloop: answers, TCP and refused connections are the same."""
    one.set(NAME, *[f"192.0.2.{number}" for number in range(1, 201)])
    dead = NameServer("127.0.0.1", closed_port())

    async def ask() -> Sequence[DnsReply]:
        return await Resolver([NameServer(one.address, one.port), dead], QUICK).ask(NAME)

    work: Coroutine[None, None, Sequence[DnsReply]] = ask()
    replies = uvloop.run(work)
    assert max(len(reply.addresses) for reply in replies) == 200
    assert problems(replies) == {"cannot be reached (ConnectionRefusedError)"}


@pytest.mark.parametrize(
    ("text", "server"),
    [
        ("10.0.0.10", NameServer("10.0.0.10", 53)),
        ("10.0.0.10:5353", NameServer("10.0.0.10", 5353)),
        ("FD00::A", NameServer("fd00::a", 53)),
        ("[fd00::a]", NameServer("fd00::a", 53)),
        ("[fd00::a]:5353", NameServer("fd00::a", 5353)),
    ],
)
def test_servers_are_written_as_people_do(text: str, server: NameServer) -> None:
    """IPv4 or IPv6, with or without a port."""
    assert server_of(text) == server


@pytest.mark.parametrize(
    "text",
    [
        "",
        "dns.example.org",
        "10.0.0.10:0",
        "10.0.0.10:70000",
        "10.0.0.10:x",
        "[fd00::a",
        "[fd00::a]53",
    ],
)
def test_servers_that_are_none_are_refused(text: str) -> None:
    """A name, or a bad port, is told with the setting and what to write."""
    with pytest.raises(SettingsError, match=r"egress\.resolver\.servers: .* 10\.0\.0\.10:53"):
        server_of(text)


def test_servers_come_from_resolv_conf() -> None:
    """Its name servers, in their order; comments and options are passed over."""
    text = "# made\nsearch a.example\nnameserver 10.0.0.10\nnameserver fd00::a\noptions ndots:5\n"
    assert servers_of_system(text) == (NameServer("10.0.0.10"), NameServer("fd00::a"))


def test_without_servers_nothing_starts() -> None:
    """No server is a mistake in the settings, and so are times and numbers of nothing."""
    with pytest.raises(SettingsError, match="at least one name server"):
        Resolver([], QUICK)
    with pytest.raises(SettingsError, match="above zero"):
        ResolverSettings(at_once=0)


async def test_pods_are_asked_besides_and_are_missed_by_nobody(
    one: DnsServer, other: DnsServer
) -> None:
    """What they know counts; that one does not answer is told of no name."""
    one.set(NAME, "192.0.2.1")
    other.set(NAME, "192.0.2.9")
    resolver = of(one, settings=ResolverSettings(timeout_s=0.2, tries=1))
    gone = NameServer("127.0.0.1", closed_port())
    resolver.set_pods(
        [NameServer(other.address, other.port), gone, NameServer(one.address, one.port)]
    )
    replies = await resolver.ask(NAME)
    assert {each.server: list(map(str, each.addresses)) for each in replies if each.addresses} == {
        f"127.0.0.1:{one.port}": ["192.0.2.1"],
        f"[::1]:{other.port}": ["192.0.2.9"],
    }
    assert {each.server for each in replies if each.problem} == {str(gone)}
    learnt = learn(UNASKED, replies, 0.0, NamesSettings())
    assert learnt.problems == ()


async def test_each_question_of_a_burst_is_one_of_a_kind(one: DnsServer) -> None:
    """A and AAAA of each server, with and without DNSSEC's records: RFC 3225 marks the latter."""
    one.set(NAME, "192.0.2.1")
    resolver = of(one)
    questions = resolver.questions()
    assert len({each.key for each in questions}) == len(questions) == 4
    replies = [await resolver.ask_one(NAME, each) for each in questions]
    assert [each.key for each in replies] == [each.key for each in questions]
    assert [bool(each.addresses) for each in replies] == [True, False, True, False]
    assert one.dnssec_ok == [False, False, True, True]


async def test_a_pod_that_is_away_holds_no_room(
    one: DnsServer, other: DnsServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """After its first silence it is asked one question in a while, and as before once it answers.

    Else a Pod that cannot be reached would hold all questions under way for two timeouts each.
    """
    for number in range(40):
        one.set(f"{number}.example.org", "192.0.2.1")
        other.set(f"{number}.example.org", behaviour=Behaviour.SILENT)
    resolver = of(one, settings=ResolverSettings(timeout_s=0.3, tries=1, at_once=4))
    pod = NameServer(other.address, other.port)
    resolver.set_pods([pod])
    began = time.monotonic()
    found = await asyncio.gather(*(resolver.ask(f"{number}.example.org") for number in range(40)))
    assert time.monotonic() - began < 4, "all of them in turn take 6 s"
    assert all(texts(each)[str(server_of(f"127.0.0.1:{one.port}")), 4] for each in found)
    assert 8 <= len(other.questions) <= 12
    seen = len(other.questions)
    other.set(NAME, "192.0.2.9")
    assert (str(pod), 4) not in texts(await resolver.ask(NAME))
    assert len(other.questions) == seen
    monkeypatch.setattr(resolver_module, "AWAY_S", 0.0)
    resolver.set_pods([])
    resolver.set_pods([pod])
    assert texts(await resolver.ask(NAME))[str(pod), 4] == ["192.0.2.9"]


async def test_one_bad_name_sends_no_pod_away(one: DnsServer, other: DnsServer) -> None:
    """A Pod that says that it cannot tell answers, and silence about one name is not enough."""
    resolver = of(one, settings=ResolverSettings(timeout_s=0.5, tries=1))
    pod = NameServer(other.address, other.port)
    resolver.set_pods([pod])
    for number in range(12):
        other.set(NAME, behaviour=Behaviour.FAILS if number % 2 else Behaviour.SILENT)
        await resolver.ask(NAME)
    other.set(NAME, "192.0.2.9")
    assert texts(await resolver.ask(NAME))[str(pod), 4] == ["192.0.2.9"]


async def test_servers_that_are_set_are_asked_whatever_they_did(one: DnsServer) -> None:
    """Only Pods are left out: of servers a name's problem is told."""
    one.set(NAME, behaviour=Behaviour.FAILS)
    resolver = of(one)
    for _ in range(2):
        assert problems(await resolver.ask(NAME)) == {"answers SERVFAIL"}
    assert len(one.questions) == 2 * len(await resolver.ask(NAME))
