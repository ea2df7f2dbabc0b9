"""Merges what is heard of an identity with its entry. Pure; the one way into a snapshot.

Whatever order things arrive in, and however often, the newest word of a source stands; of two of
the same second the worse one. So polling and push, or two processes, never undo one another.
"""

import enum
from dataclasses import dataclass
from typing import Final

import msgspec

from core.risk.model import (
    LATEST_DETECTION_S,
    PrincipalKind,
    RiskEntry,
    RiskLevel,
    RiskSource,
    RiskState,
)
from core.risk.snapshot import SnapshotDraft
from identity.risk.standings import entry_at_risk

MOST_AHEAD_S: Final = 300
"""What says that it happened later than this many seconds from now is refused."""

_SLACK_S: Final = 3600

_STATES: Final = (
    RiskState.CONFIRMED_SAFE,
    RiskState.NONE,
    RiskState.DISMISSED,
    RiskState.REMEDIATED,
    RiskState.UNKNOWN,
    RiskState.AT_RISK,
    RiskState.CONFIRMED_COMPROMISED,
)
_LEVELS: Final = (
    RiskLevel.NONE,
    RiskLevel.LOW,
    RiskLevel.UNKNOWN,
    RiskLevel.HIDDEN,
    RiskLevel.MEDIUM,
    RiskLevel.HIGH,
)
_STATE_RANKS: Final = {each: rank for rank, each in enumerate(_STATES)}
_LEVEL_RANKS: Final = {each: rank for rank, each in enumerate(_LEVELS)}

_RISKY: Final = frozenset({RiskState.AT_RISK, RiskState.CONFIRMED_COMPROMISED})


class MergeResult(enum.Enum):
    """What became of what was heard."""

    CHANGED = "changed"
    SAME = "same"
    """It says what is known."""
    OLDER = "older"
    """What is known is newer."""
    FUTURE = "future"
    """Its time lies too far ahead: refused."""


@dataclass(frozen=True, slots=True)
class Detection:
    """An event that made an identity risky: Graph's `riskDetection`, a record of UserRiskEvents."""

    event_id: str
    event_type: str
    active: int
    """`activityDateTime`, Unix seconds."""
    state: RiskState = RiskState.AT_RISK
    """Its own. One that is not at risk (any more) is not what a risk rests on."""
    kind: PrincipalKind = PrincipalKind.USER


def merge_entry(  # noqa: PLR0913  Each is another part of the rule.
    draft: SnapshotDraft,
    source: RiskSource,
    key: bytes,
    entry: RiskEntry,
    now: float,
    *,
    settled: bool = False,
) -> MergeResult:
    """Take in what a source says of an identity's level and state, as of `entry.updated`.

    `since` is worked out here, and whatever `entry` says of it counts for nothing. What `entry`
    does not say (`event_id` empty, `revoked` 0) stays as it is known.

    Args:
        draft: what is changed.
        source: whose word it is.
        key: `core.risk.model.identity_key` of the identity.
        entry: what it says.
        now: Unix seconds, of the source's clock where it gives one.
        settled: the source was asked what holds now, long after `entry.updated`: its word stands
            against another of the same second.
    """
    if max(entry.updated, entry.revoked, entry.active) > now + MOST_AHEAD_S:
        return MergeResult.FUTURE
    before = draft.entry(source, key)
    if before is not None and entry.updated < before.updated:
        return MergeResult.OLDER
    if before is not None and entry.updated == before.updated and not settled:
        bad, known = _badness(entry), _badness(before)
        if bad < known or (bad == known and before.event_id):
            return MergeResult.SAME
    return _put(draft, source, key, _joined(before, entry))


def merge_detection(
    draft: SnapshotDraft, source: RiskSource, key: bytes, detection: Detection, now: float
) -> MergeResult:
    """Take in what an identity's risk rests on; its level and state stay as they are known.

    Of several the one whose activity is the latest is kept. One that arrives before its
    identity's level waits for it in an entry that says nothing of risk.
    """
    if detection.active > now + MOST_AHEAD_S:
        return MergeResult.FUTURE
    if detection.state not in _RISKY:
        return MergeResult.SAME
    before = draft.entry(source, key) or RiskEntry(kind=detection.kind, updated=0)
    if (detection.active, detection.event_id) < (before.active, before.event_id):
        return MergeResult.OLDER
    after = msgspec.structs.replace(
        before,
        event_id=detection.event_id,
        event_type=detection.event_type,
        active=detection.active,
    )
    return _put(draft, source, key, after)


def merge_revocation(  # noqa: PLR0913, PLR0917  As `merge`.
    draft: SnapshotDraft,
    source: RiskSource,
    key: bytes,
    at: int,
    event_id: str,
    event_type: str,
    now: float,
) -> MergeResult:
    """Take in that an identity's sessions were revoked; the latest time is kept.

    It is what is cited only where the identity is not at risk: else what made it risky is.
    """
    if at > now + MOST_AHEAD_S:
        return MergeResult.FUTURE
    before = draft.entry(source, key) or RiskEntry(updated=0)
    if at <= before.revoked:
        return MergeResult.SAME if at == before.revoked else MergeResult.OLDER
    after = msgspec.structs.replace(before, revoked=at)
    if not entry_at_risk(before):
        after = msgspec.structs.replace(after, event_id=event_id, event_type=event_type)
    return _put(draft, source, key, after)


def _put(draft: SnapshotDraft, source: RiskSource, key: bytes, after: RiskEntry) -> MergeResult:
    if after == draft.entry(source, key):
        return MergeResult.SAME
    draft.put(source, key, after)
    return MergeResult.CHANGED


def _badness(entry: RiskEntry) -> tuple[bool, int, int, bool]:
    """Return what is greater for what is worse, and the same only for the same."""
    ranks = _STATE_RANKS[entry.state], _LEVEL_RANKS[entry.level]
    return entry_at_risk(entry), *ranks, entry.deleted


def _joined(before: RiskEntry | None, entry: RiskEntry) -> RiskEntry:
    """Return what is known after a newer word."""
    risky = entry_at_risk(entry)
    if before is None:
        return msgspec.structs.replace(entry, since=entry.updated if risky else 0)
    goes_on = risky and bool(before.since)
    since = before.since if goes_on else entry.updated
    cited = before if not entry.event_id and _still_cited(before, entry, goes_on) else entry
    return msgspec.structs.replace(
        entry,
        since=since if risky else 0,
        revoked=max(before.revoked, entry.revoked),
        event_id=cited.event_id,
        event_type=cited.event_type,
        active=cited.active,
    )


def _still_cited(before: RiskEntry, entry: RiskEntry, goes_on: bool) -> bool:  # noqa: FBT001
    """Return whether what was cited is still what the entry rests on.

    A risk that begins anew does not rest on what happened longer before than detections take.
    """
    if goes_on or not entry_at_risk(entry):
        return True
    return before.active >= entry.updated - LATEST_DETECTION_S - _SLACK_S
