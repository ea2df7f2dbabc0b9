"""Names are stored before anything opens by them, and a restart knows what was learnt."""

import asyncio
import math
import time
from collections.abc import Collection, Mapping, Sequence
from ipaddress import ip_address
from typing import Any

import pytest

from control.egress import dns_store
from control.egress.dns_refresh import SAVE_S, DnsRefresh
from control.egress.dns_store import DnsStore
from core.base.errors import ClusterError
from egress.dns import store as names_stored
from egress.dns.learnt_names import DnsReply, LearntName, NamesSettings, SeenAddress
from egress.dns.resolver import NameServer, Question
from kube.client.connection import Connection
from kube.client.objects import FIELD_MANAGER, Objects
from kube.leader.lease import Leadership


class Stored(Objects):
    """Keeps what is applied; `broken` has it refuse writes, `writes` counts them."""

    def __init__(self) -> None:
        super().__init__(Connection(None))
        self.objects: dict[str, dict[str, Any]] = {}
        self.writes: list[str] = []
        self.broken = False

    async def get(self, path: str) -> dict[str, Any] | None:
        """Return one."""
        return self.objects.get(path)

    async def apply(
        self, path: str, body: Mapping[str, Any], manager: str = FIELD_MANAGER
    ) -> dict[str, Any]:
        """Keep one."""
        del manager
        if self.broken:
            raise ClusterError("PATCH: 500 broken", 500)
        self.writes.append(path.rpartition("-")[2])
        self.objects[path] = dict(body)
        return self.objects[path]

    async def delete(self, path: str, uid: str = "") -> None:
        """Drop one."""
        del uid
        self.writes.append(f"-{path.rpartition('-')[2]}")
        self.objects.pop(path, None)


LEADER = Leadership(1, math.inf, time.monotonic)
SETTINGS = NamesSettings(window_s=3600, min_refresh_s=30, max_refresh_s=300)


QUESTION = Question(NameServer("192.0.2.53"), 4)


class Servers:
    """Name servers that know what the test says."""

    def __init__(self) -> None:
        self.known: dict[str, str] = {}
        self.asked: list[str] = []
        self.held: dict[str, asyncio.Event] = {}

    async def ask(self, name: str) -> Sequence[DnsReply]:
        """Answer; without an address, as one that fails."""
        return [await self.ask_one(name, QUESTION)]

    def questions(self) -> Sequence[Question]:
        """Return the only one."""
        return (QUESTION,)

    async def ask_one(self, name: str, question: Question) -> DnsReply:
        """Answer; as `ask`."""
        self.asked.append(name)
        if name in self.held:
            await self.held[name].wait()
        if address := self.known.get(name, ""):
            return DnsReply(question.key[0], 4, (ip_address(address),), 60)
        return DnsReply(question.key[0], 4, problem="does not answer")


class Clock:
    """A clock that the test moves."""

    now = 1_800_000_000.0

    def __call__(self) -> float:
        """Return the time."""
        return self.now


class Case:
    """A naming loop with all around it."""

    def __init__(self, stored: Stored, *, bursts: Collection[int] = (4, 6)) -> None:
        self.stored, self.servers, self.clock = stored, Servers(), Clock()
        self.wanted = {"a.example.com"}
        self.changed: list[str] = []
        self.naming = DnsRefresh(
            DnsStore(stored, "own"),
            self.servers,
            lambda: self.wanted,
            self.changed.append,
            (),
            SETTINGS,
            self.clock,
            bursts=bursts,
        )

    async def run(self) -> None:
        """Run once."""
        await self.naming.run(LEADER)

    def open(self, name: str = "a.example.com") -> list[str]:
        """Return what a name may be opened by."""
        return [*map(str, self.naming.source.resolved(name, ()).addresses)]


async def test_what_cannot_be_stored_opens_nothing() -> None:
    """It opens once it is stored, and who renders is told then."""
    case = Case(Stored())
    case.servers.known["a.example.com"] = "192.0.2.7"
    case.stored.broken = True
    with pytest.raises(ClusterError):
        await case.run()
    assert (case.open(), case.changed) == ([], [])
    case.stored.broken = False
    await case.run()
    assert (case.open(), case.changed) == (["192.0.2.7/32"], ["a.example.com"])
    assert case.stored.writes == ["0"]


async def test_a_restart_opens_what_was_open() -> None:
    """With name servers that do not answer, and for a name that nobody has asked for again."""
    first = Case(Stored())
    first.servers.known["a.example.com"] = "192.0.2.7"
    await first.run()
    second = Case(first.stored)
    await second.naming.load()
    assert second.open() == first.open()
    await second.run()
    assert second.open() == first.open()
    assert second.naming.failures == 1


async def test_names_are_asked_for_when_they_are_due_and_stored_seldom() -> None:
    """A look costs nothing; that an address was seen again is stored once a minute at most."""
    case = Case(Stored())
    case.servers.known["a.example.com"] = "192.0.2.7"
    for _ in range(5):
        await case.run()
    assert (case.servers.asked, case.stored.writes) == (["a.example.com"], ["0"])
    case.clock.now += 2 * SAVE_S
    await case.run()
    assert len(case.servers.asked) == 2
    assert len(case.stored.writes) <= 2
    assert case.changed == ["a.example.com"] * 2, "its addresses, then that it is learnt"
    case.servers.known["a.example.com"] = "192.0.2.8"
    case.clock.now += 2 * SAVE_S
    await case.run()
    assert case.open() == ["192.0.2.7/32", "192.0.2.8/32"]
    assert case.changed == ["a.example.com"] * 3


async def test_a_term_begins_with_what_is_stored() -> None:
    """Another leader may have learnt meanwhile."""
    case = Case(Stored())
    case.servers.known["a.example.com"] = "192.0.2.7"
    await case.run()
    other = Case(case.stored)
    other.servers.known["a.example.com"] = "192.0.2.9"
    await other.run()
    case.naming.loop.forget()
    await case.naming.load()
    assert case.open() == ["192.0.2.7/32", "192.0.2.9/32"]


async def test_a_restart_goes_on_learning_and_another_engine_does_not() -> None:
    """The beginning stays; where the engine learns names by itself, nothing is told."""
    first = Case(Stored())
    first.servers.known["a.example.com"] = "192.0.2.7"
    await first.run()
    for bursts, count in (((4, 6), 1), ((), 0)):
        later = Case(first.stored, bursts=bursts)
        later.clock.now += 50
        later.servers.known["a.example.com"] = "192.0.2.7"
        await later.run()
        learnt = later.naming.source.state["a.example.com"]
        assert learnt.learning == (Clock.now if bursts else None)
        assert later.naming.learning() == (count, 0.0)


async def test_a_server_that_keeps_silent_holds_no_other_name() -> None:
    """Its answer counts in the run in which it comes; the name is not asked for twice meanwhile."""
    case = Case(Stored())
    case.wanted = {"a.example.com", "b.example.com"}
    case.servers.known = {"a.example.com": "192.0.2.7", "b.example.com": "192.0.2.8"}
    silent = asyncio.Event()
    case.servers.held["b.example.com"] = silent
    await case.run()
    assert (case.open(), case.open("b.example.com")) == (["192.0.2.7/32"], [])
    await case.run()
    silent.set()
    await case.run()
    assert case.open("b.example.com") == ["192.0.2.8/32"]
    assert case.servers.asked.count("b.example.com") == 1


async def test_a_hint_asks_our_own_servers_soon_and_opens_nothing_itself() -> None:
    """Of a name that has settled, before it is due; what they do not say stays closed."""
    case = Case(Stored())
    case.servers.known["a.example.com"] = "192.0.2.7"
    for _ in range(8):
        await case.run()
        case.clock.now += 20
    await case.run()
    case.servers.known["a.example.com"] = "192.0.2.8"
    case.servers.asked.clear()
    await case.run()
    assert case.servers.asked == [], "it is not due"
    assert case.naming.hint("a.example.com", [ip_address("192.0.2.66")])
    assert case.open() == ["192.0.2.7/32"]
    await case.run()
    assert case.servers.asked == ["a.example.com"]
    assert case.open() == ["192.0.2.7/32", "192.0.2.8/32"]


async def test_a_hint_in_a_burst_asks_before_the_last_answer_ends() -> None:
    """A Pod has seen more than what the cache told us."""
    case = Case(Stored())
    case.servers.known["a.example.com"] = "192.0.2.7"
    await case.run()
    case.clock.now += 5
    await case.run()
    assert case.servers.asked == ["a.example.com"], "the answer is valid for 60 s"
    assert case.naming.hint("a.example.com", [ip_address("192.0.2.8")])
    await case.run()
    assert case.servers.asked == ["a.example.com"] * 2


async def test_what_is_no_news_is_no_hint() -> None:
    """A name that nobody wants, a known address, a family that is not enforced."""
    case = Case(Stored(), bursts=(4,))
    case.servers.known["a.example.com"] = "192.0.2.7"
    await case.run()
    new = ip_address("192.0.2.66")
    assert not case.naming.hint("other.example.com", [new])
    assert not case.naming.hint("a.example.com", [ip_address("192.0.2.7")])
    assert not case.naming.hint("a.example.com", [ip_address("2001:db8::1")])
    assert not case.naming.hint("a.example.com", [])
    assert case.naming.hint("a.example.com", [ip_address("192.0.2.7"), new])


async def test_hints_for_one_name_come_slowly() -> None:
    """A server that shows another address each time does not have it asked for all the time."""
    case = Case(Stored())
    case.servers.known["a.example.com"] = "192.0.2.7"
    await case.run()
    taken = 0
    for number in range(100):
        taken += case.naming.hint("a.example.com", [ip_address(f"198.51.100.{number}")])
        case.clock.now += 0.1
        await case.run()
    assert taken == 5
    assert len(case.servers.asked) <= 1 + 2 * taken


async def test_engines_that_learn_names_take_no_hints() -> None:
    """They have no bursts."""
    case = Case(Stored(), bursts=())
    case.servers.known["a.example.com"] = "192.0.2.7"
    await case.run()
    assert not case.naming.hint("a.example.com", [ip_address("192.0.2.66")])


async def test_a_lost_term_forgets_hints() -> None:
    """The next leader has its own."""
    case = Case(Stored())
    case.servers.known["a.example.com"] = "192.0.2.7"
    await case.run()
    new = [ip_address("192.0.2.66")]
    assert case.naming.hint("a.example.com", new)
    assert not case.naming.hint("a.example.com", new), "one was taken just now"
    case.naming.loop.forget()
    assert case.naming.hint("a.example.com", new)


async def test_a_lost_term_drops_what_was_asked() -> None:
    """What a server says afterwards is the next leader's to learn."""
    case = Case(Stored())
    case.servers.known["a.example.com"] = "192.0.2.7"
    case.servers.held["a.example.com"] = asyncio.Event()
    await case.run()
    case.naming.loop.forget()
    case.servers.held.clear()
    await case.run()
    assert case.open() == ["192.0.2.7/32"]
    assert case.servers.asked == ["a.example.com"] * 2


def names(count: int) -> dict[str, LearntName]:
    """Return what is known of names."""
    seen = tuple(
        SeenAddress(ip_address(f"192.0.2.{number}"), 1_800_000_000.0) for number in range(9)
    )
    return {
        f"host-{number}.example.com": LearntName(seen, 1_800_000_000.0) for number in range(count)
    }


async def test_shards_grow_and_shrink_without_losing_a_name(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """More are written from the last to the first; what is over goes after the rest is written."""
    monkeypatch.setattr(names_stored, "MAX_SHARD_BYTES", 2000)
    stored = Stored()
    store = DnsStore(stored, "own")
    await store.load()
    await store.save(LEADER, names(5))
    stored.writes.clear()
    await store.save(LEADER, names(60))
    grown = [int(each) for each in stored.writes]
    assert len(grown) > 4
    assert grown == sorted(grown, reverse=True)
    assert (await DnsStore(stored, "own").load()).keys() == names(60).keys()
    stored.writes.clear()
    await store.save(LEADER, names(2))
    gone = [each for each in stored.writes if each.startswith("-")]
    assert gone
    assert stored.writes[-len(gone) :] == gone
    assert (await DnsStore(stored, "own").load()).keys() == names(2).keys()


async def test_a_broken_shard_takes_no_other_with_it() -> None:
    """What it had is learnt anew."""
    stored = Stored()
    path = "/api/v1/namespaces/own/configmaps/sallyport-egress-names-{}"
    store = DnsStore(stored, "own")
    await store.load()
    await store.save(LEADER, names(1))
    body: dict[str, Any] = {"data": {"names.json": "{"}}
    stored.objects[path.format(1)] = body
    assert (await DnsStore(stored, "own").load()).keys() == names(1).keys()


async def test_too_many_names_are_refused_aloud(monkeypatch: pytest.MonkeyPatch) -> None:
    """Control's account may write so many ConfigMaps and no more."""
    monkeypatch.setattr(dns_store, "MOST_SHARDS", 2)
    monkeypatch.setattr(names_stored, "MAX_SHARD_BYTES", 1000)
    store = DnsStore(Stored(), "own")
    await store.load()
    with pytest.raises(ClusterError, match="DNS names need"):
        await store.save(LEADER, names(60))
