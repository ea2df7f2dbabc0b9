"""What the risk snapshot takes in a gate, and what a lookup and a swap cost.

Everything in one process of its own, by the code that a gate runs; only kube-apiserver's answers
come from memory. With `--record` the result is written to docs/evidence/risk-snapshot.md.
"""

import argparse
import asyncio
import gc
import random
import statistics
import time
import tracemalloc
import uuid
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from http import HTTPStatus
from pathlib import Path
from typing import Any, Final

import msgspec

from core.base.errors import ClusterError
from core.risk.model import RiskEntry, RiskSource, identity_key
from core.risk.snapshot import RiskSnapshot, SnapshotDraft
from core.risk.snapshot_storage import (
    HEAD_NAME,
    SHARD_KEY,
    build_head,
    encode_base,
    encode_head,
    shard_name,
)
from kube.client.connection import Connection
from kube.client.objects import Objects
from kube.client.settings import LiveSettings
from kube.risk.store import RiskSecrets
from kube.risk.watch import WatchedRisk
from tests.harness.evidence import record
from tests.unit.core.risk.samples import filled, rebased

PEOPLE: Final = 100_000
LOOKUP_US: Final = 5.0
STALL_MS: Final = 5.0
STORED_MIB: Final = 8.0
MEMORY_MIB: Final = 40.0

_MIB: Final = 2**20
_TIMES: Final = 20_000
_PAGE: Final = 4096
_SWAPS: Final = 9


class StoredSecrets(Connection):
    """Answers GETs from memory, as kube-apiserver would."""

    def __init__(self) -> None:
        super().__init__(None)
        self.bodies: dict[str, bytes] = {}

    def put(self, snapshot: RiskSnapshot, generation: str) -> None:
        """Store a snapshot."""
        written = encode_base(snapshot.base.items())
        self._put(HEAD_NAME, encode_head(build_head(snapshot, generation, written.digests)))
        for number, content in enumerate(written.shards):
            self._put(shard_name(generation, number), {SHARD_KEY: content})

    def put_head(self, snapshot: RiskSnapshot, generation: str, digests: tuple[str, ...]) -> None:
        """Store a head over shards that are stored."""
        self._put(HEAD_NAME, encode_head(build_head(snapshot, generation, digests)))

    def _put(self, name: str, data: Mapping[str, bytes]) -> None:
        body = {
            "apiVersion": "v1",
            "kind": "Secret",
            "metadata": {"name": name, "resourceVersion": "1"},
            "data": data,
        }
        self.bodies[name] = msgspec.json.encode(body)

    async def get(self, path: str, *_: Any, **__: Any) -> bytes:
        """Return one, a moment later."""
        await asyncio.sleep(0.001)
        body = self.bodies.get(path.rpartition("/")[2])
        if body is None:
            raise ClusterError("there is none", HTTPStatus.NOT_FOUND)
        return body

    @property
    def sizes(self) -> list[int]:
        """Return the sizes of the Secrets as JSON."""
        return [len(each) for each in self.bodies.values()]


class GateRisk:
    """The part of a gate that holds the snapshot; `head` puts a head before it as a watch does."""

    def __init__(self, connection: StoredSecrets) -> None:
        settings = LiveSettings(namespace="s", risk=True)
        self.watched = WatchedRisk(connection, settings)
        self._secrets = RiskSecrets(Objects(connection), "s")
        self._stored = connection

    async def head(self) -> RiskSnapshot:
        """Take what is stored; it is in force when this returns."""
        secret = await self._secrets.read(HEAD_NAME)
        await self.watched.take(secret.content if secret else None)
        return self.watched.current() or RiskSnapshot()


@dataclass(frozen=True)
class CallTimes:
    """Microseconds of one call."""

    median: float
    p99: float

    def __str__(self) -> str:
        """Return both, as the evidence has them."""
        return f"{self.median:.2f} µs, p99 {self.p99:.2f} µs"


def resident_mib() -> float:
    """Return this process's resident memory."""
    return int(Path("/proc/self/statm").read_text().split()[1]) * _PAGE / _MIB


def peak_mib() -> float:
    """Return the highest resident memory since `_forget_peak`."""
    status = Path("/proc/self/status").read_text()
    return int(status.split("VmHWM:")[1].split()[0]) / 1024


def _forget_peak() -> None:
    Path("/proc/self/clear_refs").write_text("5")


def timed(call: Callable[[Any], object], arguments: Iterable[Any]) -> CallTimes:
    """Time one call after the other; the clock's own cost is taken off."""
    clock = time.perf_counter_ns

    def times(function: Callable[[Any], object]) -> list[int]:
        found = []
        for each in arguments:
            began = clock()
            function(each)
            found.append(clock() - began)
        return sorted(found)

    arguments = list(arguments)
    empty = statistics.median(times(_nothing))
    found = times(call)
    return CallTimes(
        (statistics.median(found) - empty) / 1000, (found[len(found) * 99 // 100] - empty) / 1000
    )


def _nothing(_: object) -> None:
    """Cost what a call costs."""


async def _longest_stall_ms(work: Callable[[], Any]) -> float:
    """Return the longest time in which work kept the event loop from anything else.

    Counted in CPU time of the process, its threads included: what others take of the machine is
    none of it, and 10 ms of a thread that runs beside the loop would be seen as well.
    """
    longest, going = 0.0, True

    async def look() -> None:
        nonlocal longest
        last = time.process_time()
        while going:
            await asyncio.sleep(0)
            now = time.process_time()
            longest, last = max(longest, now - last), now

    task = asyncio.create_task(look())
    await asyncio.sleep(0)
    await work()
    going = False
    await task
    return longest * 1000


async def measure(people: int) -> dict[str, Any]:
    """Measure with so many identities; see `lines` for what comes of it."""
    stored = StoredSecrets()
    keys = _fill(stored, people, "a", seed=1, version=1)
    sizes = [stored.sizes]
    gate = GateRisk(stored)
    gc.collect()
    before = resident_mib()
    tracemalloc.start()
    snapshot = await gate.head()
    held, loading = (each / _MIB for each in tracemalloc.get_traced_memory())
    tracemalloc.stop()
    found: dict[str, Any] = {
        "held_mib": held,
        "loading_mib": loading,
        "resident_mib": resident_mib() - before,
        "lookups": lookups(snapshot, keys),
        "secrets": len(sizes[0]),
        "stored_mib": sum(sizes[0]) / _MIB,
        "largest_kib": max(sizes[0]) / 1024,
    }
    del snapshot
    found["stall_one_ms"] = await _one_change(gate, stored, people)
    found["lookups"]["`entry` of one of them, beside the most changes"] = timed(
        partial((await gate.head()).entry, RiskSource.ENTRA), keys[:_TIMES]
    )
    stalls, more, idle = list[float](), list[float](), list[float]()
    for number in range(_SWAPS):
        _fill(stored, people, "ba"[number % 2], seed=2 + number, version=100 + number)
        gc.collect()
        before_swap = resident_mib()
        _forget_peak()
        stalls.append(await _longest_stall_ms(gate.head))
        more.append(peak_mib() - before_swap)
        idle.append(await _longest_stall_ms(partial(asyncio.sleep, 0.1)))
    found |= {"stall_swap_ms": statistics.median(stalls), "stall_idle_ms": statistics.median(idle)}
    found["swap_mib"] = max(more)
    tracemalloc.start()
    _fill(stored, people, "a", seed=3, version=200)
    tracemalloc.reset_peak()
    floor = tracemalloc.get_traced_memory()[0]
    await gate.head()
    found["swap_traced_mib"] = (tracemalloc.get_traced_memory()[1] - floor) / _MIB
    tracemalloc.stop()
    return found


def _fill(
    stored: StoredSecrets, people: int, generation: str, seed: int, version: int
) -> list[bytes]:
    snapshot, keys = filled(people, seed=seed)
    head = msgspec.structs.replace(snapshot.head, version=version)
    stored.put(replace(rebased(snapshot), head=head), generation)
    return keys


async def _one_change(gate: GateRisk, stored: StoredSecrets, people: int) -> float:
    """Change one record beside as many others as a head ever holds; give the longest stall."""
    snapshot = await gate.head()
    digests = encode_base(snapshot.base.items()).digests
    stalls = []
    draft = SnapshotDraft.of(snapshot)
    for number in range(min(people // 20, 5000)):
        entry = RiskEntry(updated=number + 1, event_id=uuid.UUID(int=number).hex * 2)
        draft.put(RiskSource.CAEP, random.Random(number).randbytes(16), entry)  # noqa: S311  A sample.
    for number in range(_SWAPS):
        draft.put(RiskSource.CAEP, bytes([number]) * 16, RiskEntry(updated=number + 1))
        after = draft.finish(float(2_000_000_000 + number))
        stored.put_head(after, "a", digests)
        stalls.append(await _longest_stall_ms(gate.head))
        draft = SnapshotDraft.of(after)
    return statistics.median(stalls)


def lookups(snapshot: RiskSnapshot, keys: list[bytes]) -> dict[str, CallTimes]:
    """Time lookups of people whom the snapshot has, and of strangers."""
    chance = random.Random(5)  # noqa: S311  A sample.
    some = [chance.choice(keys) for _ in range(_TIMES)]
    strangers = [chance.randbytes(16) for _ in range(_TIMES)]
    labels = [f"oid:{uuid.UUID(bytes=key)}" for key in some]
    for _ in range(2):  # The first round warms up.
        found = {
            "`key_of` an object id": timed(identity_key, labels),
            "`entry` of one of them": timed(partial(snapshot.entry, RiskSource.ENTRA), some),
            "`entry` of a stranger": timed(partial(snapshot.entry, RiskSource.ENTRA), strangers),
            "`entry` by the other family": timed(partial(snapshot.entry, RiskSource.CAEP), some),
        }
    return found


def lines(people: int, found: Mapping[str, Any]) -> list[str]:
    """Return the result for a person."""
    lookup: Mapping[str, CallTimes] = found["lookups"]
    worst = max(each.median for each in lookup.values())
    swap = max(found["swap_mib"], found["swap_traced_mib"])
    stall = max(found["stall_one_ms"], found["stall_swap_ms"])
    return [
        f"- {people} identities, each with an event id of 64 hexadecimal digits; one in 20 is at"
        " risk",
        "",
        f"- Stored: {found['secrets']} Secrets, {found['stored_mib']:.2f} MiB as JSON (base64), the"
        f" largest {found['largest_kib']:.0f} KiB; at most {STORED_MIB:g} MiB:"
        f" {_holds(found['stored_mib'] < STORED_MIB)}",
        f"- In memory: {found['held_mib']:.1f} MiB by tracemalloc, {found['loading_mib']:.1f} MiB"
        f" at the highest while it was loaded; resident memory grew by"
        f" {found['resident_mib']:.1f} MiB",
        f"- While one takes the place of another, none of whose shards is the same: at most"
        f" {found['swap_traced_mib']:.1f} MiB more by tracemalloc, {found['swap_mib']:.1f} MiB"
        f" more resident; with the one that is held below {MEMORY_MIB:g} MiB:"
        f" {_holds(found['held_mib'] + swap < MEMORY_MIB)}",
        *(f"- {name}: {each}" for name, each in lookup.items()),
        f"- Each lookup below {LOOKUP_US:g} µs: {_holds(worst < LOOKUP_US)}",
        "- Longest stall of the event loop, in CPU time of the process, the median of"
        f" {_SWAPS} runs: {found['stall_one_ms']:.1f} ms for one change beside the most that a head"
        f" holds, {found['stall_swap_ms']:.1f} ms for a whole swap, {found['stall_idle_ms']:.1f} ms"
        f" while nothing is done; below {STALL_MS:g} ms: {_holds(stall < STALL_MS)}",
    ]


def _holds(held: bool) -> str:  # noqa: FBT001
    return "holds" if held else "**DOES NOT HOLD**"


def main(parser: argparse.ArgumentParser, arguments: Sequence[str]) -> None:
    """Measure, print, and record where that is asked for."""
    parser.add_argument("--people", type=int, default=PEOPLE)
    parser.add_argument("--record", action="store_true", help="write its page of docs/evidence")
    options = parser.parse_args(arguments)
    text = lines(options.people, asyncio.run(measure(options.people)))
    print("\n".join(text))
    if options.record:
        record("risk-snapshot", text)
