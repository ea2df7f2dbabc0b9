"""What many names, and a whole file of service tags, cost. Only the amount of work is asserted."""

import asyncio
import resource
import statistics
import time
import tracemalloc
from collections.abc import Callable, Sequence
from ipaddress import ip_address, ip_network

import pytest

from egress.dns.learnt_names import UNASKED, DnsReply, LearntName, NamesSettings, learn
from egress.dns.resolver import NameServer, Resolver
from egress.dns.resolver_settings import ResolverSettings
from egress.dns.store import MAX_SHARD_BYTES, decode_names, encode_names
from egress.dns.usable_addresses import LearntNames
from egress.model.reserved_ranges import ALWAYS_RESERVED
from egress.service_tags import parse_service_tags
from tests.harness.evidence import record
from tests.harness.fakes.dns_server import dns_server
from tests.harness.sizes import PROOF, size
from tests.harness.worlds import service_tags

NAMES = size(200, 10_000)
ROUNDS = size(4, 20)
ADDRESSES = 10
RESERVED = (*ALWAYS_RESERVED, *map(ip_network, ("10.244.0.0/16", "10.0.0.0/16", "10.224.0.0/12")))
SETTINGS = NamesSettings()


def timed(work: Callable[[], object]) -> float:
    """Return seconds of CPU that some work takes."""
    began = time.process_time()
    work()
    return time.process_time() - began


def replies(number: int, turn: int) -> list[DnsReply]:
    """Return one server's answers for a name: ten addresses, one of them new at each turn."""
    base = 2**24 + number * 1_000 + turn
    four = tuple(ip_address(base + each) for each in range(ADDRESSES - 2))
    six = tuple(ip_address((0x2A00 << 112) + base + each) for each in range(2))
    return [DnsReply("10.0.0.10:53", 4, four, 60), DnsReply("10.0.0.10:53", 6, six, 60)]


def everything(state: dict[str, LearntName], turn: int) -> dict[str, LearntName]:
    """Return the state after one answer for each name."""
    return {
        f"name-{number}.example.org": learn(
            state.get(f"name-{number}.example.org", UNASKED),
            replies(number, turn),
            turn * 600.0,
            SETTINGS,
        )
        for number in range(NAMES)
    }


@pytest.mark.proof
def test_many_names_stay_small() -> None:
    """However often names are asked for, what is kept of them grows only to what a window holds."""
    lines, sizes, state = [], [], dict[str, LearntName]()
    tracemalloc.start()
    for turn in range(ROUNDS):
        state = everything(state, turn)
        sizes.append(tracemalloc.get_traced_memory()[0])
    tracemalloc.stop()
    most = ADDRESSES + 2 * min(6, ROUNDS - 1)
    assert {len(learnt.seen) for learnt in state.values()} == {most}
    if PROOF:
        assert sizes[-1] < sizes[8] * 1.05
    shards = encode_names(state)
    assert max(map(len, shards)) <= MAX_SHARD_BYTES
    known = LearntNames(state, RESERVED, SETTINGS)
    again = LearntNames(state, RESERVED, SETTINGS)
    figures = {
        "learning one answer for each name": lambda: everything(state, ROUNDS),
        "which may be opened, the first time": lambda: look_up(known, state),
        "which may be opened, again": lambda: look_up(again, state),
        "writing the shards": lambda: encode_names(state, len(shards)),
        "reading the shards": lambda: read(shards),
    }
    lines = [f"- {what}: {timed(work):.2f} s of CPU" for what, work in figures.items()]
    if PROOF:
        record(
            "egress-names",
            [
                "",
                f"{NAMES:,} names of {ADDRESSES} addresses, one of them new in each of {ROUNDS} "
                f"answers ten minutes apart (a window of an hour holds {most} of a name):",
                "",
                *lines,
                f"- memory after 10 and after {ROUNDS} answers: {sizes[9] / 2**20:.1f} and "
                f"{sizes[-1] / 2**20:.1f} MiB",
                f"- stored: {len(shards)} shards, {sum(map(len, shards)) / 2**20:.1f} MiB, the "
                f"largest {max(map(len, shards)) / 1024:.0f} KiB",
                *asking(),
            ],
        )


def look_up(known: LearntNames, state: dict[str, LearntName]) -> None:
    """Ask for the addresses of each name."""
    for name in state:
        known.resolved(name, ())


def read(shards: Sequence[bytes]) -> None:
    """Read shards, all of which are sound."""
    found = decode_names({f"names-{number}": raw for number, raw in enumerate(shards)})
    assert (len(found.names), found.problems) == (NAMES, ())


def asking() -> list[str]:
    """Say how fast a server on loopback is asked."""
    count = 1_000

    async def ask(server: NameServer) -> None:
        resolver = Resolver([server], ResolverSettings())
        await asyncio.gather(*(resolver.ask(f"name-{number}.example") for number in range(count)))

    with dns_server() as running:
        began, used = time.perf_counter(), resource.getrusage(resource.RUSAGE_SELF)
        asyncio.run(ask(NameServer(running.address, running.port)))
        took, now = time.perf_counter() - began, resource.getrusage(resource.RUSAGE_SELF)
    cpu = now.ru_utime + now.ru_stime - used.ru_utime - used.ru_stime
    return [
        f"- asking a name server on loopback, written in Python and in the same process: "
        f"{count / took:.0f} names/s (A and AAAA), {cpu / count * 1e3:.2f} ms of CPU a name, the "
        "server's own included",
    ]


@pytest.mark.proof
def test_only_tags_that_are_asked_for_are_read() -> None:
    """A whole file is taken without reading one prefix; AzureCloud reads its own, once."""
    raw = service_tags.encoded(service_tags.service_tags())
    taken = [timed(lambda: parse_service_tags(raw)) for _ in range(size(1, 15))]
    tags = parse_service_tags(raw)
    assert not tags._networks  # noqa: SLF001 -- the work, which nothing else shows
    cloud = timed(lambda: tags.networks("AzureCloud"))
    assert list(tags._networks) == ["azurecloud"]  # noqa: SLF001
    again = timed(lambda: tags.networks("AzureCloud"))
    if PROOF:
        prefixes = sum(len(tag.prefixes) for tag in tags.tags.values())
        record(
            "egress-service-tags",
            [
                "",
                f"A made-up file of full size: {len(raw) / 1e6:.1f} MB, {len(tags.tags):,} tags, "
                f"{prefixes:,} prefixes.",
                "",
                f"- taken: median {statistics.median(taken) * 1e3:.0f} ms, longest "
                f"{max(taken) * 1e3:.0f} ms of {len(taken)}",
                f"- AzureCloud read and collapsed, the first time: {cloud * 1e3:.0f} ms; again: "
                f"{again * 1e6:.0f} µs",
            ],
        )
