"""How many of a Pod's connections are refused at first, behind three real CoreDNS that cache."""

import asyncio
import random
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from ipaddress import IPv4Address, ip_address
from pathlib import Path

import dns.asyncquery
import dns.message
import pytest

from control.egress.dns_refresh import INTERVAL_S, DnsRefresh
from control.egress.dns_store import DnsStore
from core.base.networks import Network
from egress.dns.learnt_names import NamesSettings
from egress.dns.resolver import NameServer, Resolver
from egress.dns.resolver_settings import ResolverSettings
from tests.harness.evidence import record
from tests.harness.fakes.dns_server import Behaviour, DnsServer, dns_server
from tests.harness.programs.coredns import running_coredns
from tests.harness.sizes import PROOF, size
from tests.unit.control.egress.test_dns_refresh import LEADER, Stored

LAG_S = 2.0
"""From an answer until its address is open on the node: docs/evidence/egress-packets.md."""
SECONDS = size(12, 120)
POOLS = {
    "objects.example.com": (256, 8, 5),
    "packages.example.org": (256, 1, 60),
    "git.example.net": (6, 1, 60),
    "api.example.com": (1, 1, 300),
}
"""Addresses of each name, how many an answer shows, and for how many seconds."""
OBJECTS = "objects.example.com"


@pytest.fixture
def authority() -> Iterator[DnsServer]:
    """A name server that knows the names."""
    with dns_server() as server:
        for name, (pool, shown, ttl) in POOLS.items():
            addresses = [str(IPv4Address("198.18.0.0") + number) for number in range(pool)]
            server.set(name, *addresses, ttl=ttl, behaviour=Behaviour.DRAWS).shown = shown
        yield server


@pytest.fixture
def caches(authority: DnsServer, tmp_path: Path) -> Iterator[list[int]]:
    """Three CoreDNS before it; yields their ports."""
    with ExitStack() as stack:
        yield [stack.enter_context(running_coredns(tmp_path, authority.port)) for _ in range(3)]


class Trial:
    """A controller that learns the names, and a Pod of each that connects four times a second."""

    def __init__(self, caches: Sequence[int], *, bursts: bool) -> None:
        self.caches = caches
        servers = [NameServer("127.0.0.1", port) for port in caches]
        self.refresh = DnsRefresh(
            DnsStore(Stored(), "own"),
            Resolver(servers, ResolverSettings()),
            lambda: POOLS,
            lambda _: None,
            (),
            NamesSettings(),
            bursts=(4, 6) if bursts else (),
        )
        self.began = time.monotonic()
        self.shown: list[tuple[float, dict[str, tuple[Network, ...]]]] = []
        self.moments: dict[str, list[tuple[float, bool, bool]]] = {name: [] for name in POOLS}
        """Second, refused, and whether it was said that the name is being learnt."""

    async def run(self, seconds: float) -> None:
        """Let it go on for so long."""
        learning = asyncio.create_task(self._learn())
        try:
            while self.second < seconds:
                await asyncio.gather(*(self._connect(name) for name in POOLS))
                await asyncio.sleep(0.25)
        finally:
            learning.cancel()
            self.refresh.loop.forget()

    @property
    def second(self) -> float:
        """Seconds since the allowlists were made."""
        return time.monotonic() - self.began

    async def _learn(self) -> None:
        while True:
            await self.refresh.run(LEADER)
            source = self.refresh.source
            opened = {name: source.resolved(name, ()).addresses for name in POOLS}
            self.shown.append((self.second, opened))
            await asyncio.sleep(INTERVAL_S)

    async def _connect(self, name: str) -> None:
        query = dns.message.make_query(f"{name}.", "A")
        port = random.choice(self.caches)  # noqa: S311 -- any of them, as a Service sends it
        answer = await dns.asyncquery.udp(query, "127.0.0.1", 5, port)
        to = ip_address(random.choice([*answer.answer[0]]).address)  # noqa: S311
        second = self.second
        old = [opened for at, opened in self.shown if at <= second - LAG_S]
        refused = not old or not any(to in each for each in old[-1][name])
        learning = bool(self.refresh.source.resolved(name, ()).learning)
        self.moments[name].append((second, refused, learning))

    def refused(self, name: str, first: float, last: float) -> float:
        """Return the share of a name's connections that were refused between two seconds."""
        those = [refused for at, refused, _ in self.moments[name] if first <= at < last]
        return sum(those) / len(those)

    def learning(self, name: str, first: float, last: float) -> bool:
        """Return whether it was said all the time between two seconds that it is being learnt."""
        return all(said for at, _, said in self.moments[name] if first <= at < last)


async def test_followed_caches_hide_nothing(authority: DnsServer, caches: list[int]) -> None:
    """CoreDNS keeps answers with DNSSEC's records apart, so two of each are had and followed."""
    trial = Trial(caches, bursts=True)
    await trial.run(SECONDS)
    burst = trial.refresh.source.state[OBJECTS]
    answers = sum(kind == "A" and name == OBJECTS for name, kind, _ in authority.questions)
    assert answers > 6, "each of three caches has asked for both kinds, and again"
    assert len(burst.seen) > 60
    for name in POOLS:
        refused = trial.refused(name, SECONDS / 2, SECONDS)
        assert refused <= 0.05 or trial.learning(name, SECONDS / 2, SECONDS), (name, refused)


@pytest.mark.proof
@pytest.mark.skipif(not PROOF, reason="a proof: set SALLYPORT_PROOF=1 (make proof)")
async def test_cold_start_figures(authority: DnsServer, tmp_path: Path) -> None:
    """At most 5 % of connections are refused after 60 s, or the condition says Learning."""
    trials, asked = {}, {}
    for bursts in (False, True):
        with ExitStack() as stack:
            ports = [
                stack.enter_context(running_coredns(tmp_path, authority.port)) for _ in range(3)
            ]
            trials[bursts] = Trial(ports, bursts=bursts)
            before = len(authority.questions)
            await trials[bursts].run(SECONDS)
            asked[bursts] = len(authority.questions) - before
    for name in POOLS:
        refused = trials[True].refused(name, 60, SECONDS)
        assert refused <= 0.05 or trials[True].learning(name, 60, SECONDS), (name, refused)
    assert trials[True].refused(OBJECTS, 60, SECONDS) <= 0.05
    record("egress-cold-start", _page(trials, asked))


def _page(trials: dict[bool, Trial], asked: dict[bool, int]) -> Iterator[str]:
    yield ""
    yield "Four names behind three real CoreDNS 1.15 (`cache 30`), and a Pod of each that asks any"
    yield "of them and connects four times a second; an address counts as open"
    yield f"{LAG_S:g} s after `control` has stored it. Refused of the Pod's connections, in the"
    yield "first and in the second minute after"
    yield "its allowlist was made:"
    yield ""
    yield (
        "| Addresses | Shown | TTL | Without bursts, 1st | 2nd | With bursts, 1st | 2nd "
        "| Still learning after 120 s |"
    )
    yield "| --- | --- | --- | --- | --- | --- | --- | --- |"
    for name, (pool, shown, ttl) in POOLS.items():
        shares = [
            f"{trials[bursts].refused(name, first, last) * 100:.1f} %"
            for bursts in (False, True)
            for first, last in ((0, 60), (60, SECONDS))
        ]
        told = trials[True].refresh.source.state[name]
        said = f"yes, up to {told.refused} %" if told.learning is not None else "no"
        yield f"| {pool} | {shown} | {ttl} s | {' | '.join(shares)} | {said} |"
    yield ""
    yield (
        "Questions that reached the authority of these names in two minutes: "
        f"{asked[False]} without bursts, {asked[True]} with them."
    )
