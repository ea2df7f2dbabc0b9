"""Names learnt from real answers: while they rotate, move, fail and come back."""

from collections.abc import Iterator

import pytest

from core.base.networks import Network
from egress.dns.learnt_names import UNASKED, LearntName, NamesSettings, learn
from egress.dns.resolver import NameServer, Resolver
from egress.dns.resolver_settings import ResolverSettings
from egress.dns.store import decode_names, encode_names
from egress.dns.usable_addresses import LearntNames
from tests.harness.fakes.dns_server import Behaviour, DnsServer, dns_server

NAME = "github.example"
SIX = tuple(f"192.0.2.{number}" for number in range(10, 70, 10))
SETTINGS = NamesSettings()
RESERVED: tuple[Network, ...] = ()


@pytest.fixture
def server() -> Iterator[DnsServer]:
    """A name server."""
    with dns_server() as running:
        yield running


async def look(server: DnsServer, before: LearntName, now: float) -> LearntName:
    """Ask once, and give what is known then."""
    asking = ResolverSettings(timeout_s=0.3, tries=1)
    resolver = Resolver([NameServer(server.address, server.port)], asking)
    return learn(before, await resolver.ask(NAME), now, SETTINGS)


def open_to(learnt: LearntName) -> list[str]:
    """Return the addresses that an intent without `within` opens."""
    found = LearntNames({NAME: learnt}, RESERVED, SETTINGS).resolved(NAME, ())
    return [str(address) for network in found.addresses for address in network]


async def test_rotating_answers_stay_open(server: DnsServer) -> None:
    """A name that gives one of six addresses is open to all six, and stays so hour by hour."""
    server.set(NAME, *SIX, behaviour=Behaviour.ROTATES)
    learnt = UNASKED
    for question in range(40):
        learnt = await look(server, learnt, question * 300.0)
        if question >= 12:
            assert open_to(learnt) == list(SIX)


async def test_a_name_that_moves_opens_at_once_and_closes_after_the_window(
    server: DnsServer,
) -> None:
    """The new address is open with the first answer that has it, the old one a window longer."""
    server.set(NAME, "192.0.2.1")
    learnt = await look(server, UNASKED, 0.0)
    server.set(NAME, "192.0.2.2")
    learnt = await look(server, learnt, 60.0)
    assert open_to(learnt) == ["192.0.2.1", "192.0.2.2"]
    learnt = await look(server, learnt, 3_600.0)
    assert open_to(learnt) == ["192.0.2.1", "192.0.2.2"]
    learnt = await look(server, learnt, 3_661.0)
    assert open_to(learnt) == ["192.0.2.2"]


@pytest.mark.parametrize("behaviour", [Behaviour.FAILS, Behaviour.REFUSES, Behaviour.SILENT])
async def test_servers_that_fail_close_nothing(server: DnsServer, behaviour: Behaviour) -> None:
    """For days; and with the first answer the window counts again."""
    server.set(NAME, "192.0.2.1")
    learnt = await look(server, UNASKED, 0.0)
    server.set(NAME, "192.0.2.2", behaviour=behaviour)
    for day in range(1, 3):
        learnt = await look(server, learnt, day * 86_400.0)
        assert open_to(learnt) == ["192.0.2.1"]
        assert learnt.problems
    server.set(NAME, "192.0.2.2")
    learnt = await look(server, learnt, 3 * 86_400.0)
    assert (open_to(learnt), learnt.problems) == (["192.0.2.2"], ())


async def test_a_name_that_is_gone_closes(server: DnsServer) -> None:
    """NXDOMAIN is an answer: after the window nothing is open, and that is told."""
    server.set(NAME, "192.0.2.1")
    learnt = await look(server, UNASKED, 0.0)
    server.names.clear()
    learnt = await look(server, learnt, 10.0)
    assert open_to(learnt) == ["192.0.2.1"]
    learnt = await look(server, learnt, 3_601.0)
    assert open_to(learnt) == []
    found = LearntNames({NAME: learnt}, RESERVED, SETTINGS).resolved(NAME, ())
    assert found.problem == f"{NAME} has no address: no such name, or none of its own"


async def test_a_restart_forgets_nothing(server: DnsServer) -> None:
    """What was learnt before is open after a restart, though the servers are down."""
    server.set(NAME, *SIX)
    learnt = await look(server, UNASKED, 0.0)
    stored = decode_names({"names-0": encode_names({NAME: learnt})[0]}).names
    server.set(NAME, behaviour=Behaviour.SILENT)
    assert open_to(stored[NAME]) == list(SIX)
    assert open_to(await look(server, stored[NAME], 9_999.0)) == list(SIX)
