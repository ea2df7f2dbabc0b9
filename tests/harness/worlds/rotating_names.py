"""A name that shows some of many addresses in each answer, behind servers that cache; no network.

The servers keep answers as CoreDNS does (plugin/cache): each for itself, those with DNSSEC's
records apart, with the seconds that are left of the TTL, rounded down.
"""

import random
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from ipaddress import IPv4Address

from egress.dns.learnt_names import DnsReply, QuestionKey
from egress.dns.resolver import NameServer, Question

FIRST = IPv4Address("198.18.0.0")
"""Addresses are of the range for benchmarks (RFC 2544)."""


@dataclass(frozen=True)
class Rotation:
    """How a name answers."""

    pool: int
    """Addresses in all."""
    shown: int
    """Of them, at random, in each answer."""
    ttl: int


@dataclass
class CachingServers:
    """Servers on a clock of the test's."""

    rotation: Rotation
    clock: Callable[[], float]
    chance: random.Random
    count: int = 3
    asked: Counter[int] = field(default_factory=Counter)
    """How many questions came in each second."""
    kept: dict[QuestionKey, tuple[tuple[IPv4Address, ...], float]] = field(default_factory=dict)

    def questions(self) -> Sequence[Question]:
        """Return A of each server, with and without DNSSEC's records."""
        servers = [NameServer(f"10.244.0.{number}") for number in range(1, self.count + 1)]
        return [Question(each, 4, dnssec_ok) for dnssec_ok in (False, True) for each in servers]

    async def ask(self, name: str) -> Sequence[DnsReply]:
        """Answer the questions without DNSSEC's records."""
        asked = [each for each in self.questions() if not each.dnssec_ok]
        return [await self.ask_one(name, each) for each in asked]

    async def ask_one(self, name: str, question: Question) -> DnsReply:
        """Answer one."""
        del name
        self.asked[int(self.clock())] += 1
        addresses, ends = self.answer(question)
        left = int(ends - self.clock())
        server, _, dnssec_ok = question.key
        return DnsReply(server, 4, tuple(sorted(addresses)), left, dnssec_ok=dnssec_ok)

    def answer(self, question: Question) -> tuple[tuple[IPv4Address, ...], float]:
        """Return the answer that a server keeps, or a new one, and when it ends."""
        kept = self.kept.get(question.key)
        if kept is None or kept[1] <= self.clock():
            numbers = self.chance.sample(range(self.rotation.pool), self.rotation.shown)
            ends = self.clock() + self.rotation.ttl
            kept = tuple(FIRST + number for number in numbers), ends
            self.kept[question.key] = kept
        return kept

    def resolve_for_pod(self) -> IPv4Address:
        """Return the address that a Pod connects to, which asks any of the servers."""
        plain = [each for each in self.questions() if not each.dnssec_ok]
        return self.chance.choice(self.answer(self.chance.choice(plain))[0])
