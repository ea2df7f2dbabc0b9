"""What is planted into the year: harm by requests to storage, from a wiped checkpoint to poison."""

from typing import Any, Final

from tests.harness.worlds.storage_logs import identity
from tests.harness.worlds.weights_year.attacks import OUTSIDE, Attack, Planted
from tests.harness.worlds.weights_year.logs import Year
from tests.harness.worlds.weights_year.people import (
    DAY,
    GIB,
    HOUR,
    START,
    Job,
    Store,
    agent,
    shard_of,
)


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
        when = by.begin + 60 + part
        sent = {"requestBodySize": 5 * GIB, "userAgentHeader": agent(one.agent, when)}
        found += year.access(by, when, "PutBlob", one.store, blob, status=201, properties=sent)
    finds = frozenset({"overwritten-weights"})
    oid, client = one.ids(day)
    whos = frozenset({f"oid:{oid}", f"client:{client}", one.human})
    return Planted("poisoned", finds, one.store.name, by.begin, by.end, whos, found)


def held_to_ransom(year: Year, day: int) -> Planted:
    """A model is rewritten with a key that nobody else has, and what serves it is refused."""
    served = year.named(Job.SERVE, 11 + year.draw.randrange(5))
    by, found = year.session(served, _at(year, day), 30 * HOUR)
    told: dict[str, Any] = {
        "identity": identity("AccountKey"),
        "address": f"{OUTSIDE}:50000",
        "properties": {"requestBodySize": 5 * GIB, "userAgentHeader": "azcopy/10.24"},
    }
    text = "BlobUsesCustomerSpecifiedEncryption"
    for part in range(8):
        blob, when = f"serving/model-{served.number}/part-{part:03d}.safetensors", by.begin + part
        found += year.access(None, when + 60, "PutBlob", served.store, blob, status=201, **told)
        found += year.access(
            by, when + HOUR, "GetBlob", served.store, blob, status=409, statusText=text
        )
    finds = frozenset({"customer-key"})
    return Planted("held to ransom", finds, served.store.name, by.begin, by.end, frozenset(), found)


def archived(year: Year, day: int) -> Planted:
    """Someone who may write moves a model that is served to the Archive tier."""
    served = year.named(Job.SERVE, 16 + year.draw.randrange(4))
    by, found = year.session(served, _at(year, day), 30 * HOUR)
    for part in range(8):
        blob, when = f"serving/model-{served.number}/part-{part:03d}.safetensors", by.begin + part
        found += year.access(
            by, when + 60, "SetBlobTier", served.store, blob, properties={"accessTier": "Archive"}
        )
    finds = frozenset({"archived-weights"})
    return Planted("archived", finds, served.store.name, by.begin, by.end, frozenset(), found)


def knocking(year: Year, day: int) -> Planted:
    """Somebody outside tries with a SAS that ended, and has another one later."""
    store, at = _store(year), _at(year, day)
    told: dict[str, Any] = {"identity": identity("SAS"), "address": f"{OUTSIDE}:50000"}
    refusal: dict[str, Any] = {"status": 403, "statusText": "AuthenticationFailed"}
    found = []
    for number in range(80):
        blob = shard_of(900, number % store.shards)
        found += year.access(None, at + number, "GetBlob", store, blob, **told, **refusal)
    found += year.access(None, at + 900, "GetBlob", store, shard_of(900, 0), amount=GIB, **told)
    finds = frozenset({"refused-burst", "key-or-anonymous-read"})
    return Planted("knocking", finds, store.name, at, at + HOUR, frozenset(), found)


def snapshots_read(year: Year, day: int) -> Planted:
    """Someone who evaluates makes snapshots of a model that is served, and reads those."""
    served = year.named(Job.SERVE, year.draw.randrange(10))
    there = [one for one in year.people if one.store is served.store and one.job is Job.EVALUATE]
    one = next(each for each in there if each.leaves > day)
    by, found = year.session(one, _at(year, day), 3 * HOUR)
    state = "2026-01-01T00%3A00%3A00.0000000Z"
    for shard in range(16):
        blob, when = shard_of(900, shard), by.begin + 60 + shard
        made: dict[str, Any] = {
            "properties": {"userAgentHeader": agent(one.agent, when)},
            "status": 201,
        }
        found += year.access(by, when, "SnapshotBlob", one.store, blob, **made)
        found += year.access(
            by,
            when + 600 + shard * 20,
            "GetBlob",
            one.store,
            blob,
            amount=one.store.shard_gib * GIB,
            query=f"snapshot={state}",
        )
    finds = frozenset({"snapshot-read"})
    oid, client = one.ids(day)
    whos = frozenset({f"oid:{oid}", f"client:{client}", one.human})
    return Planted("snapshots read", finds, one.store.name, by.begin, by.end, whos, found)


def guessed(year: Year, day: int) -> Planted:
    """Somebody outside guesses names of containers, without a signature."""
    store, at = _store(year), _at(year, day)
    told: dict[str, Any] = {"identity": identity("Anonymous"), "address": f"{OUTSIDE}:50000"}
    refusal: dict[str, Any] = {"status": 404, "statusText": "ResourceNotFound"}
    found = []
    for number in range(60):
        away = Store("", store.account, f"backup-{number}", 1, 1)
        found += year.access(None, at + number, "ListBlobs", away, **told, **refusal)
    finds = frozenset({"refused-burst"})
    return Planted("containers guessed", finds, store.name, at, at + HOUR, frozenset(), found)


HARMING: Final[tuple[Attack, ...]] = (
    wiped_by_key,
    poisoned,
    held_to_ransom,
    archived,
    knocking,
    snapshots_read,
    guessed,
)
