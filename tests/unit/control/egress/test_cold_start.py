"""How many of a Pod's connections to a name are refused after its allowlist was made."""

import random
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field

import pytest

from control.egress.dns_refresh import INTERVAL_S, DnsRefresh
from control.egress.dns_store import DnsStore
from core.base.networks import Network
from egress.dns.learnt_names import NamesSettings
from tests.harness.worlds.rotating_names import CachingServers, Rotation
from tests.unit.control.egress.test_dns_refresh import LEADER, Clock, Stored

NAME = "objects.example.com"
LAG_S = 2.0
"""From an answer until its address is open on the node: docs/evidence/egress-packets.md."""
STEP_S = 0.1


@dataclass
class Moment:
    """What is so at one time."""

    second: float
    refused: bool
    learning: bool


@dataclass
class ColdStart:
    """A name whose allowlist has just been made, and a Pod that connects ten times a second."""

    rotation: Rotation
    settings: NamesSettings = field(default_factory=NamesSettings)
    bursts: Collection[int] = (4, 6)
    clock: Clock = field(default_factory=Clock)
    moments: list[Moment] = field(default_factory=list)

    def __post_init__(self) -> None:
        """Make it, with chance that is the same each time."""
        self.servers = CachingServers(self.rotation, self.clock, random.Random(20))  # noqa: S311 -- the same each time
        self.refresh = DnsRefresh(
            DnsStore(Stored(), "own"),
            self.servers,
            lambda: {NAME},
            lambda _: None,
            (),
            self.settings,
            self.clock,
            bursts=self.bursts,
        )

    async def run(self, seconds: float) -> None:
        """Let time pass."""
        shown: list[tuple[float, Sequence[Network]]] = []
        began, due = self.clock.now, 0.0
        while (second := self.clock.now - began) < seconds:
            if second >= due:
                await self.refresh.run(LEADER)
                due = second + INTERVAL_S
            shown.append((second, self.refresh.source.resolved(NAME, ()).addresses))
            while len(shown) > 1 and shown[1][0] <= second - LAG_S:
                shown.pop(0)
            opened = shown[0][1] if shown[0][0] <= second - LAG_S else ()
            to = self.servers.resolve_for_pod()
            refused = not any(to in each for each in opened)
            learning = bool(self.refresh.source.resolved(NAME, ()).learning)
            self.moments.append(Moment(second, refused, learning))
            self.clock.now += STEP_S

    def refused(self, first: float, last: float) -> float:
        """Return the share of connections that were refused between two seconds."""
        those = [each.refused for each in self.moments if first <= each.second < last]
        return sum(those) / len(those)

    def learning(self, first: float, last: float) -> bool:
        """Return whether the condition says Learning all the time between two seconds."""
        return all(each.learning for each in self.moments if first <= each.second < last)


S3 = Rotation(pool=256, shown=8, ttl=5)
STATIC = Rotation(pool=1, shown=1, ttl=300)


async def test_few_connections_are_refused_after_a_minute() -> None:
    """At most 5 % to a pool of 256 addresses behind three servers; without bursts most are."""
    after, before = ColdStart(S3), ColdStart(S3, bursts=())
    await after.run(120)
    await before.run(120)
    assert after.refused(60, 120) <= 0.05
    assert before.refused(60, 120) > 0.5


@pytest.mark.parametrize(
    "rotation",
    [
        S3,
        Rotation(pool=6, shown=1, ttl=60),
        Rotation(pool=64, shown=4, ttl=20),
        Rotation(pool=256, shown=1, ttl=5),
        Rotation(pool=256, shown=8, ttl=30),
        Rotation(pool=256, shown=8, ttl=0),
        Rotation(pool=2000, shown=8, ttl=5),
    ],
    ids=lambda each: f"{each.shown}-of-{each.pool}-for-{each.ttl}-s",
)
async def test_learning_is_said_while_more_are_refused(rotation: Rotation) -> None:
    """In each half minute after the first answer, of any kind of rotation."""
    case = ColdStart(rotation)
    await case.run(150)
    for first in range(3, 123, 30):
        refused = case.refused(first, first + 30)
        assert refused <= 0.05 or case.learning(first, first + 30), (first, refused)


async def test_names_that_do_not_rotate_are_learnt_in_a_minute() -> None:
    """They are said to be learning until then, for the next answer may be another one."""
    case = ColdStart(STATIC)
    await case.run(90)
    assert case.learning(1, 60)
    assert not any(each.learning for each in case.moments if each.second > 61)
    assert sum(case.servers.asked.values()) <= 9


async def test_pools_that_are_too_large_are_said_with_the_engine_that_would_do() -> None:
    """Such a name never settles."""
    case = ColdStart(Rotation(pool=2000, shown=8, ttl=5))
    await case.run(120)
    said = case.refresh.source.resolved(NAME, ())
    assert "over the 256 that are kept (egress.names.max_addresses)" in said.learning
    assert "egress.engine: cilium" in said.learning
    assert "a network or a service tag" in said.problem


async def test_bursts_keep_their_bounds() -> None:
    """Whatever the TTL, no second has more questions than a bucket of two seconds holds."""
    settings = NamesSettings(burst_questions=3, burst_name_questions=2)
    case = ColdStart(Rotation(pool=256, shown=1, ttl=0), settings)
    await case.run(60)
    ordinary = case.servers.count
    assert max(case.servers.asked.values()) <= 2 * 2 + ordinary
    assert sum(case.servers.asked.values()) <= 60 * 2 + 4 + ordinary


async def test_addresses_that_the_engine_does_not_enforce_are_not_waited_for() -> None:
    """Where it knows IPv6 alone, no burst asks how IPv4 rotates."""
    case = ColdStart(S3, bursts=(6,))
    await case.run(60)
    assert not any(each.learning for each in case.moments if each.second > 1)
    assert not any(key[2] for key in case.servers.kept), "no burst's question"
