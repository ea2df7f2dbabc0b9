"""What is planted into the year: harm by requests to storage, from a wiped checkpoint to poison."""

from typing import Any, Final

from tests.harness.worlds.storage_logs import identity
from tests.harness.worlds.weights_year.attacks import OUTSIDE, Attack, Planted
from tests.harness.worlds.weights_year.logs import Year
from tests.harness.worlds.weights_year.people import DAY, HOUR, START, Job, Store, shard_of


def _at(year: Year, day: int, hour: float = 11.0) -> float:
    return START + day * DAY + hour * HOUR + year.draw.uniform(0, HOUR)


def _store(year: Year) -> Store:
    return year.draw.choice(sorted({one.store for one in year.people}, key=lambda one: one.name))


def wiped_by_key(year: Year, day: int) -> Planted:
    """An account key deletes sixteen shards from outside."""
    store, at = _store(year), _at(year, day)
    told: dict[str, Any] = {
        "identity": identity("AccountKey"),
        "address": f"{OUTSIDE}:50000",
        "properties": {"userAgentHeader": "azcopy/10.24"},
        "status": 202,
    }
    found = []
    for shard in range(16):
        found += year.access(None, at + shard, "DeleteBlob", store, shard_of(900, shard), **told)
    finds = frozenset({"key-or-anonymous-change"})
    return Planted("wiped by key", finds, store.name, at, at + HOUR, frozenset(), found)


def poisoned(year: Year, day: int) -> Planted:
    """Someone who may write puts other bytes into a model that is served, from a Pod of theirs."""
    served = year.named(Job.SERVE, year.draw.randrange(10))
    there = [one for one in year.people if one.store is served.store and one.job is Job.EVALUATE]
    one = next(each for each in there if each.leaves > day)
    by, found = year.session(one, _at(year, day), 2 * HOUR)
    for part in range(2):
        blob = f"serving/model-{served.number}/part-{part:03d}.safetensors"
        found += year.access(by, by.begin + 60 + part, "PutBlob", one.store, blob, status=201)
    finds = frozenset({"overwritten-weights"})
    oid, client = one.ids(day)
    whos = frozenset({f"oid:{oid}", f"client:{client}", one.human})
    return Planted("poisoned", finds, one.store.name, by.begin, by.end, whos, found)


HARMING: Final[tuple[Attack, ...]] = (wiped_by_key, poisoned)
