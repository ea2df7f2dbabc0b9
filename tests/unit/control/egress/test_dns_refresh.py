"""Names are stored before anything opens by them, and a restart knows what was learnt."""

import math
import time
from collections.abc import Mapping, Sequence
from ipaddress import ip_address
from typing import Any

import pytest

from control.egress import dns_store
from control.egress.dns_refresh import SAVE_S, DnsRefresh
from control.egress.dns_store import DnsStore
from core.base.errors import ClusterError
from egress.dns import store as names_stored
from egress.dns.learnt_names import DnsReply, LearntName, NamesSettings, SeenAddress
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


class Servers:
    """Name servers that know what the test says."""

    def __init__(self) -> None:
        self.known: dict[str, str] = {}
        self.asked: list[str] = []

    async def ask(self, name: str) -> Sequence[DnsReply]:
        """Answer; without an address, as one that fails."""
        self.asked.append(name)
        if address := self.known.get(name, ""):
            return [DnsReply("s", 4, (ip_address(address),), 60)]
        return [DnsReply("s", 4, problem="does not answer")]


class Clock:
    """A clock that the test moves."""

    now = 1_800_000_000.0

    def __call__(self) -> float:
        """Return the time."""
        return self.now


class Case:
    """A naming loop with all around it."""

    def __init__(self, stored: Stored) -> None:
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
        )

    async def run(self) -> None:
        """Run once."""
        await self.naming.run(LEADER)

    def open(self) -> list[str]:
        """Return what the first name may be opened by."""
        return [*map(str, self.naming.source.resolved("a.example.com", ()).addresses)]


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
    case.servers.known["a.example.com"] = "192.0.2.8"
    case.clock.now += 2 * SAVE_S
    await case.run()
    assert case.open() == ["192.0.2.7/32", "192.0.2.8/32"]
    assert case.changed == ["a.example.com"] * 2


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
