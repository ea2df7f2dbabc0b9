"""Snapshots as tests need them: random identities, from a seed."""

import dataclasses
import random
from typing import Final

from core.risk.columns import SHARDS, SnapshotBase, sections_of, shard_of
from core.risk.model import (
    Application,
    ApplicationKind,
    Behaviour,
    BehaviourEntry,
    RiskEntry,
    RiskLevel,
    RiskSource,
    RiskState,
)
from core.risk.records import WIDTHS
from core.risk.snapshot import RiskSnapshot, SnapshotDraft

NOW: Final = 1_790_000_000
_YEAR_S: Final = 365 * 86_400
_LEVELS: Final = (RiskLevel.LOW, RiskLevel.MEDIUM, RiskLevel.HIGH)
_SETTLED: Final = (
    RiskState.NONE,
    RiskState.CONFIRMED_SAFE,
    RiskState.REMEDIATED,
    RiskState.DISMISSED,
)
_TYPES: Final = ("unfamiliarFeatures", "leakedCredentials", "anonymizedIPAddress")


def filled(people: int, *, risky: float = 0.05, seed: int = 1) -> tuple[RiskSnapshot, list[bytes]]:
    """Return a snapshot of so many people, all in its changes, and their keys.

    Each has an event id of 64 hexadecimal digits, as Graph's detections do; the share `risky` of
    them is at risk.
    """
    chance = random.Random(seed)  # noqa: S311  Samples, the same each time.
    keys = [chance.randbytes(16) for _ in range(people)]
    draft = SnapshotDraft.of(RiskSnapshot())
    for key in keys:
        draft.put(RiskSource.ENTRA, key, entry(chance, at_risk=chance.random() < risky))
    return draft.finish(NOW), keys


def entry(chance: random.Random, *, at_risk: bool) -> RiskEntry:
    """Return what Entra may say of somebody."""
    updated = NOW - chance.randrange(_YEAR_S)
    return RiskEntry(
        level=chance.choice(_LEVELS) if at_risk else RiskLevel.NONE,
        state=RiskState.AT_RISK if at_risk else chance.choice(_SETTLED),
        updated=updated,
        since=updated - chance.randrange(86_400) if at_risk else 0,
        active=updated - chance.randrange(2 * 86_400),
        event_id=chance.randbytes(32).hex(),
        event_type=chance.choice(_TYPES),
    )


def of_every_sort() -> RiskSnapshot:
    """Return a small snapshot with records of every sort, half in the base and half beside it."""
    chance = random.Random(7)  # noqa: S311  Samples, the same each time.
    draft = SnapshotDraft.of(filled(40)[0])
    client = "11111111-2222-4333-8444-555555555555"
    draft.put_application(client, Application(ApplicationKind.APPLICATION, client))
    draft.put_behaviour(
        b"a" * 16, BehaviourEntry(Behaviour.NEW_NAMESPACE | Behaviour.DENIALS, NOW + 60)
    )
    draft.put_guest(b"g" * 16, is_guest=True)
    draft = SnapshotDraft.of(rebased(draft.finish(NOW)))
    gone = next(key for key, _ in draft.before.entries(RiskSource.ENTRA))
    draft.drop(RiskSource.ENTRA, gone)
    for number in range(10):
        key = bytes([number]) * 16
        draft.put(RiskSource.CAEP, key, entry(chance, at_risk=True))
    draft.put_application("missing", Application(ApplicationKind.MISSING))
    return draft.finish(NOW + 1)


def rebased(snapshot: RiskSnapshot) -> RiskSnapshot:
    """Return the same with everything in the base, as `kube.risk.store` writes it now and then."""
    parts: list[list[tuple[bytes, bytes]]] = [[] for _ in range(SHARDS)]
    for key, record in snapshot.records():
        parts[shard_of(key)].append((key, record))
    base = SnapshotBase(tuple(sections_of(part, WIDTHS) for part in parts))
    return dataclasses.replace(snapshot, base=base, changes={})
