"""What principals do on a day of the year, by their jobs."""

import math
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Final

from tests.harness.worlds.weights_year.people import (
    COPY_SOURCE,
    COPYING,
    DAY,
    GIB,
    HOUR,
    START,
    Happening,
    Job,
    Principal,
    agent,
    shard_of,
)

if TYPE_CHECKING:
    from tests.harness.worlds.weights_year.logs import Year

_FRIDAY: Final = 4
_HOLIDAYS: Final = range(112, 128)
"""Days of the year on which hardly anybody works: over the turn of the year."""


def _at(year: "Year", day: int, hour: float) -> float:
    """Return a time of a day, within working hours of several zones."""
    return START + day * DAY + hour * HOUR + year.draw.uniform(0, 1800)


def _works(year: "Year", one: Principal, day: int, chance: float) -> bool:
    chance *= 0.15 if day % 7 > _FRIDAY else 1.0
    chance *= 0.1 if day % 365 in _HOLIDAYS else 1.0
    return year.draw.random() < chance * year.shape.rate


def _step(day: int) -> int:
    return 1000 + day // 5 * 100


def _train(year: "Year", one: Principal, day: int) -> list[Happening]:
    """Start a gang every third day: together it reads a checkpoint, again where a node fails."""
    if year.draw.random() > 0.33 * year.shape.rate:
        return []
    found: list[Happening] = []
    starts = 1 + (year.draw.random() < 0.15) + (year.draw.random() < 0.05)
    for start in range(starts):
        at, pods = _at(year, day, year.draw.uniform(0, 18)) + start * HOUR, 8
        for rank in range(pods):
            by, records = year.session(one, at, year.draw.uniform(3, 20) * HOUR)
            shards = range(rank, one.store.shards, pods)
            # All is read at once, when it starts.
            for place, shard in enumerate(shards):
                blob = shard_of(_step(day), shard)
                when = by.begin + 40 + place * 25
                amount = one.store.shard_gib * GIB
                records += year.access(by, when, "GetBlob", one.store, blob, amount=amount)
            found += records
        if start == 0 and day % 5 == 0:
            found += _write(year, one, day)
    return found


def _write(year: "Year", one: Principal, day: int) -> list[Happening]:
    """Write a checkpoint, and delete what is older than a month."""
    by, found = year.session(one, _at(year, day, 20), 2 * HOUR)
    for shard in range(0, one.store.shards, 4):
        blob = f"runs/{one.number}/step-{_step(day):05d}/shard-{shard:05d}.safetensors"
        found += year.access(by, by.begin + shard * 20, "PutBlob", one.store, blob)
    for shard in range(0, one.store.shards, 4):
        blob = f"runs/{one.number}/step-{_step(day - 35):05d}/shard-{shard:05d}.safetensors"
        found += year.access(by, by.begin + 3600 + shard, "DeleteBlob", one.store, blob)
    return found


def _evaluate(year: "Year", one: Principal, day: int) -> list[Happening]:
    """Read a sample of the newest checkpoint; more at a month's end."""
    if not _works(year, one, day, 0.7):
        return []
    busy = 2.0 if day % 30 > 27 else 1.0
    share = min(1.0, 0.1 * one.appetite * busy * math.exp(year.draw.gauss(0, 0.3)))
    shards = year.draw.sample(range(one.store.shards), max(1, round(one.store.shards * share)))
    by, found = year.session(one, _at(year, day, year.draw.uniform(6, 18)), 2 * HOUR)
    found += year.access(by, by.begin + 5, "ListBlobs", one.store)
    return [*found, *year.reads(by, one.store, shards, _step(day))]


def _serve(year: "Year", one: Principal, day: int) -> list[Happening]:
    """Roll a model out once a week, to more Pods now and then: each reads it whole."""
    if day % 7 != one.weekday:
        return []
    pods = 4 if year.draw.random() < 0.9 else 20
    found: list[Happening] = []
    at = _at(year, day, 9)
    for _ in range(round(pods * year.shape.rate) or 1):
        by, records = year.session(one, at + year.draw.uniform(0, 600), 30 * HOUR)
        for shard in range(8):
            blob = f"serving/model-{one.number}/part-{shard:03d}.safetensors"
            when = by.begin + 20 + shard * 6
            records += year.access(by, when, "GetBlob", one.store, blob, amount=5 * GIB)
        found += records
    return found


def _research(year: "Year", one: Principal, day: int) -> list[Happening]:
    """Look around and read some shards by hand; a new one reads more in the first week."""
    if not _works(year, one, day, 0.5):
        return []
    by, found = year.session(one, _at(year, day, year.draw.uniform(7, 19)), 3 * HOUR)
    for number in range(year.draw.randrange(1, 6)):
        found += year.access(by, by.begin + 10 + number, "ListBlobs", one.store)
    files = round(3 * one.appetite * math.exp(year.draw.gauss(0, 0.4)))
    files += 6 if day - one.joins < 7 else 0
    shards = year.draw.sample(range(one.store.shards), min(files, one.store.shards))
    for place, shard in enumerate(shards):
        blob = shard_of(_step(day), shard)
        when = by.begin + 60 + place * 300
        found += year.access(by, when, "GetBlobProperties", one.store, blob)
        amount = one.store.shard_gib * GIB
        found += year.access(by, when + 5, "GetBlob", one.store, blob, amount=amount)
    return found


def _watch(year: "Year", one: Principal, day: int) -> list[Happening]:
    """A dashboard: looks every other hour, and reads nothing."""
    by, found = year.session(one, _at(year, day, 0), 24 * HOUR)
    for hour in range(0, 24, 2):
        found += year.access(by, by.begin + hour * HOUR + 60, "ListBlobs", one.store)
        blob = "run/latest.json"
        found += year.access(by, by.begin + hour * HOUR + 61, "GetBlobProperties", one.store, blob)
    return found


def _back_up(year: "Year", one: Principal, day: int) -> list[Happening]:
    """Copy within the account each night: three records of each copy."""
    by, found = year.session(one, _at(year, day, 2), 2 * HOUR)
    store = one.store
    for shard in range(12):
        blob = f"backup/step-{_step(day):05d}/shard-{shard:05d}.safetensors"
        correlation = f"{one.number:08x}-{day:08x}-{shard:016x}"
        place = f"{store.container}/{shard_of(_step(day), shard)}"
        source = f"https://{store.account}.blob.core.windows.net:443/{place}"
        for part, operation in enumerate(COPYING):
            uri: dict[str, Any] = {"uri": source} if operation == COPY_SOURCE else {}
            properties = {"operationCount": part, "userAgentHeader": agent(one.agent, by.begin)}
            when = by.begin + 60 + shard * 30
            found += year.access(
                by,
                when,
                operation,
                store,
                blob,
                correlation=correlation,
                properties=properties,
                **uri,
            )
    return found


def _inventory(year: "Year", one: Principal, day: int) -> list[Happening]:
    """List everything once a week."""
    if day % 7 != one.weekday:
        return []
    by, found = year.session(one, _at(year, day, 4), HOUR)
    for number in range(140):
        found += year.access(by, by.begin + 10 + number * 3, "ListBlobs", one.store)
    return found


LIVES: Final[Mapping[Job, Callable[["Year", Principal, int], list[Happening]]]] = {
    Job.TRAIN: _train,
    Job.EVALUATE: _evaluate,
    Job.SERVE: _serve,
    Job.RESEARCH: _research,
    Job.WATCH: _watch,
    Job.BACK_UP: _back_up,
    Job.INVENTORY: _inventory,
}
