"""What is planted into the year: attacks of each kind, from loud to stealthy, that read or copy.

Each gives what happens, and which detections should find it, of whom, in which store, from when to
when. What changes settings of accounts is in `changes`.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Final

from tests.harness.worlds.storage_logs import identity
from tests.harness.worlds.weights_year.logs import Year
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
    Session,
    Store,
    agent,
    shard_of,
    text_of,
)

OUTSIDE: Final = "203.0.113.77"
"""An address of documentation's (RFC 5737): no network of the operator's."""


@dataclass
class Planted:
    """One attack."""

    name: str
    finds: frozenset[str]
    """Ids of the detections of which each should find it."""
    store: str
    begin: float
    end: float
    whos: frozenset[str] = frozenset()
    """Of whom a finding may be; empty: of anybody."""
    happenings: list[Happening] = field(default_factory=list)


Attack = Callable[[Year, int], Planted]


def _at(year: Year, day: int, hour: float = 11.0) -> float:
    return START + day * DAY + hour * HOUR + year.draw.uniform(0, HOUR)


def _mine(one: Principal, day: int) -> frozenset[str]:
    oid, client = one.ids(day)
    return frozenset({f"oid:{oid}", f"client:{client}", one.human})


def _stolen(year: Year, one: Principal, day: int, address: str) -> Session:
    """Return a session of a principal's that runs in no Pod."""
    oid, client = one.ids(day)
    at = _at(year, day)
    token = f"{year.draw.getrandbits(128):032X}"
    return Session(one, oid, client, address, token, at, at + 3 * HOUR)


def _signed(year: Year, day: int, name: str, kind: str, shards: int) -> Planted:
    store = year.draw.choice(_stores(year))
    at = _at(year, day)
    found = []
    for shard in range(min(shards, store.shards)):
        found += year.access(
            None,
            at + shard * 20,
            "GetBlob",
            store,
            shard_of(900, shard),
            amount=store.shard_gib * GIB,
            identity=identity(kind),
            address=f"{OUTSIDE}:50000",
            properties={"userAgentHeader": "azcopy/10.24"},
        )
    finds = frozenset({"key-or-anonymous-read"})
    return Planted(name, finds, store.name, at, at + shards * 20 + HOUR, frozenset(), found)


def _stores(year: Year) -> list[Store]:
    return sorted({one.store for one in year.people}, key=lambda one: one.name)


def leaked_sas(year: Year, day: int) -> Planted:
    """A SAS that somebody wrote into a notebook reads a whole checkpoint."""
    return _signed(year, day, "leaked SAS", "SAS", 60)


def account_key(year: Year, day: int) -> Planted:
    """An account key reads a few shards."""
    return _signed(year, day, "account key", "AccountKey", 3)


def anonymous(year: Year, day: int) -> Planted:
    """A container was public for an hour, and somebody found it."""
    return _signed(year, day, "anonymous", "Anonymous", 2)


def greedy_insider(year: Year, day: int) -> Planted:
    """Someone who evaluates reads everything there is from a Pod of their own, in a day."""
    one = year.named(Job.RESEARCH, year.draw.randrange(50))
    by, found = year.session(one, _at(year, day), 6 * HOUR)
    for step in (900, 901, 902, 903):
        shards = range(one.store.shards)
        for place, shard in enumerate(shards):
            amount = one.store.shard_gib * GIB
            when = by.begin + 60 + place * 40 + (step - 900) * 4000
            found += year.access(
                by, when, "GetBlob", one.store, shard_of(step, shard), amount=amount
            )
    finds = frozenset({"volume-above-baseline"})
    return Planted(
        "greedy insider", finds, one.store.name, by.begin, by.end + DAY, _mine(one, day), found
    )


def patient_insider(year: Year, day: int) -> Planted:
    """Someone reads four shards a day more than they need, none of them twice, for a month."""
    one = year.named(Job.RESEARCH, year.draw.randrange(50))
    found, shards = [], one.store.shards
    days = 30
    each = -(-shards // days) + 1
    for number in range(days):
        by, records = year.session(one, _at(year, day + number, 13), 2 * HOUR)
        found += records
        for shard in range(number * each, min(shards, (number + 1) * each)):
            amount = one.store.shard_gib * GIB
            when = by.begin + 60 + shard % each * 300
            found += year.access(
                by, when, "GetBlob", one.store, shard_of(900, shard), amount=amount
            )
    begin = START + day * DAY
    finds = frozenset({"slow-exfiltration"})
    who = _mine(one, day)
    return Planted(
        "patient insider", finds, one.store.name, begin, begin + (days + 2) * DAY, who, found
    )


def stolen_identity(year: Year, day: int) -> Planted:
    """A workload's identity is used from outside, with another program."""
    one = year.named(Job.SERVE, year.draw.randrange(10))
    by = _stolen(year, one, day, OUTSIDE)
    found = []
    for shard in range(20):
        found += year.access(
            by,
            by.begin + shard * 30,
            "GetBlob",
            one.store,
            shard_of(900, shard),
            amount=one.store.shard_gib * GIB,
            properties={"userAgentHeader": "rclone/v1.66"},
        )
    finds = frozenset({"new-caller", "no-live-pod", "ungranted"})
    return Planted(
        "stolen identity", finds, one.store.name, by.begin, by.end, _mine(one, day), found
    )


def sleeping_identity(year: Year, day: int) -> Planted:
    """An identity of which no Pod runs that day reads from a node, by a token made elsewhere."""
    one = year.named(Job.SERVE, year.draw.randrange(10))
    while day % 7 in {one.weekday, (one.weekday + 1) % 7, (one.weekday + 2) % 7}:
        day += 1
    by = _stolen(year, one, day, "10.225.0.7")
    found = []
    for shard in range(6):
        when = by.begin + shard * 60
        amount = one.store.shard_gib * GIB
        found += year.access(by, when, "GetBlob", one.store, shard_of(900, shard), amount=amount)
    finds = frozenset({"no-live-pod"})
    return Planted(
        "sleeping identity", finds, one.store.name, by.begin, by.end, _mine(one, day), found
    )


def enumeration(year: Year, day: int) -> Planted:
    """Somebody lists everything, and looks at what there is."""
    one = year.named(Job.RESEARCH, year.draw.randrange(50))
    by, found = year.session(one, _at(year, day), 2 * HOUR)
    for number in range(250):
        found += year.access(by, by.begin + 20 + number, "ListBlobs", one.store)
    for number in range(20):
        found += year.access(by, by.begin + 400 + number, "GetContainerACL", one.store)
    finds = frozenset({"enumeration"})
    return Planted("enumeration", finds, one.store.name, by.begin, by.end, _mine(one, day), found)


def dead_drop(year: Year, day: int) -> Planted:
    """A large file is put down, read once by another, and deleted."""
    one, other = year.named(Job.EVALUATE, 3), year.named(Job.RESEARCH, 7)
    store = one.store
    by, found = year.session(one, _at(year, day), 4 * HOUR)
    reader, records = year.session(other, by.begin, 4 * HOUR)
    found += records
    blob, size = "tmp/x.bin", store.checkpoint // 4
    written = {"requestBodySize": size, "contentLengthHeader": size}
    agents = {"userAgentHeader": agent(one.agent, by.begin), "operationCount": 0}
    found += year.access(
        by, by.begin + 60, "PutBlob", store, blob, properties={**agents, **written}
    )
    found += year.access(reader, by.begin + 1800, "GetBlob", store, blob, amount=size)
    found += year.access(by, by.begin + 3600, "DeleteBlob", store, blob)
    finds = frozenset({"create-read-delete"})
    whos = _mine(one, day) | _mine(other, day)
    return Planted("dead drop", finds, store.name, by.begin, by.end, whos, found)


def mass_delete(year: Year, day: int) -> Planted:
    """Somebody deletes a thousand blobs."""
    one = year.named(Job.RESEARCH, year.draw.randrange(50))
    by, found = year.session(one, _at(year, day), 3 * HOUR)
    for number in range(1200):
        blob = f"runs/old/{number:05d}.bin"
        found += year.access(by, by.begin + 30 + number * 2, "DeleteBlob", one.store, blob)
    finds = frozenset({"mass-delete"})
    return Planted("mass delete", finds, one.store.name, by.begin, by.end, _mine(one, day), found)


def copied_out(year: Year, day: int) -> Planted:
    """Storage copies weights into another account of ours, whose log comes here too."""
    one = year.named(Job.EVALUATE, year.draw.randrange(30))
    by, found = year.session(one, _at(year, day), 2 * HOUR)
    store, target = one.store, Store("", "scratchpad", "inbox", 1, 1)
    for shard in range(8):
        blob, correlation = shard_of(900, shard), f"{day:08x}-c0c0-{shard:016x}"
        source = f"https://{store.account}.blob.core.windows.net:443/{store.container}/{blob}"
        for part, operation in enumerate(COPYING):
            told = {"operationCount": part, "userAgentHeader": agent(one.agent, by.begin)}
            place: dict[str, Any] = {"uri": source} if operation == COPY_SOURCE else {}
            when = by.begin + 60 + shard * 20
            found += year.access(
                by, when, operation, target, blob, correlation=correlation, properties=told, **place
            )
    finds = frozenset({"copy-out"})
    return Planted("copied out", finds, store.name, by.begin, by.end, _mine(one, day), found)


def carried_token(year: Year, day: int) -> Planted:
    """A Pod's token is used at the same time from another machine."""
    one = year.named(Job.EVALUATE, year.draw.randrange(30))
    by, found = year.session(one, _at(year, day), 3 * HOUR)
    found += year.reads(by, one.store, range(6), 900)
    there = Session(by.one, by.oid, by.client, OUTSIDE, by.token, by.begin + 600, by.end)
    found += year.reads(there, one.store, range(6, 12), 900)
    finds = frozenset({"token-two-addresses"})
    return Planted("carried token", finds, one.store.name, by.begin, by.end, _mine(one, day), found)


def lapsed_grant(year: Year, day: int) -> Planted:
    """Nobody renews a grant, and the reads go on."""
    place = year.draw.randrange(30)
    one = year.named(Job.EVALUATE, place)
    while one.lapses[0] < year.shape.days:  # Each lapses once.
        place += 1
        one = year.named(Job.EVALUATE, place)
    begin = START + day * DAY
    one.lapses = (day, day + 20)
    finds = frozenset({"ungranted"})
    return Planted("lapsed grant", finds, one.store.name, begin, begin + 21 * DAY, _mine(one, day))


def delegation(year: Year, day: int) -> Planted:
    """Somebody has a key issued to sign SAS with, in their own name."""
    one = year.named(Job.RESEARCH, year.draw.randrange(50))
    by, found = year.session(one, _at(year, day), HOUR)
    found += year.access(by, by.begin + 60, "GetUserDelegationKey", one.store)
    finds = frozenset({"delegation-key"})
    return Planted("delegation key", finds, "", by.begin, by.end, _mine(one, day), found)


READING: Final[tuple[Attack, ...]] = (
    leaked_sas,
    account_key,
    anonymous,
    greedy_insider,
    patient_insider,
    stolen_identity,
    sleeping_identity,
    enumeration,
    dead_drop,
    mass_delete,
    copied_out,
    carried_token,
    lapsed_grant,
    delegation,
)

__all__ = ["OUTSIDE", "READING", "Attack", "Planted", "text_of"]
