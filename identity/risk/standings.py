"""The standings of an identity, and whether a person is at risk, from the snapshot. Pure.

More than one can hold (Entra says medium, another transmitter that its sessions were revoked, and
what is known is old): each has its row in the table, and the strictest effect counts. So no source
takes back what the other says, and to know less never helps.
"""

import enum
from collections.abc import Callable, Collection
from dataclasses import dataclass
from typing import Final

import msgspec

from core.people.two_person import AtRisk
from core.risk.model import (
    LATEST_DETECTION_S,
    ApplicationKind,
    RiskEntry,
    RiskLevel,
    RiskSource,
    RiskState,
    Role,
    Standing,
    identity_key,
)
from core.risk.snapshot import Coverage, RiskSnapshot
from identity.risk.principals import Principal, PrincipalNature

AHEAD_S: Final = 300.0
"""Seconds that clocks may differ: what is known as of a later time is not trusted."""

_WORST_FIRST: Final = (
    Standing.COMPROMISED,
    Standing.HIGH,
    Standing.DELETED,
    Standing.MEDIUM,
    Standing.UNKNOWN,
    Standing.REVOKED,
    Standing.LOW,
    Standing.STALE,
    Standing.HIDDEN,
    Standing.UNIDENTIFIED,
    Standing.FOREIGN,
    Standing.GUEST,
    Standing.MANAGED_IDENTITY,
    Standing.REMEDIATED,
    Standing.DISMISSED,
    Standing.CONFIRMED_SAFE,
    Standing.OUTSIDE,
    Standing.CLEAN,
)
_RANKS: Final = {each: rank for rank, each in enumerate(_WORST_FIRST)}

_BY_LEVEL: Final = {
    RiskLevel.NONE: Standing.CLEAN,
    RiskLevel.LOW: Standing.LOW,
    RiskLevel.MEDIUM: Standing.MEDIUM,
    RiskLevel.HIGH: Standing.HIGH,
    RiskLevel.HIDDEN: Standing.HIDDEN,
    RiskLevel.UNKNOWN: Standing.UNKNOWN,
}
_BY_STATE: Final = {
    RiskState.CONFIRMED_SAFE: Standing.CONFIRMED_SAFE,
    RiskState.REMEDIATED: Standing.REMEDIATED,
    RiskState.DISMISSED: Standing.DISMISSED,
    RiskState.CONFIRMED_COMPROMISED: Standing.COMPROMISED,
    RiskState.UNKNOWN: Standing.UNKNOWN,
}
_RISKY_LEVELS: Final = frozenset({RiskLevel.LOW, RiskLevel.MEDIUM, RiskLevel.HIGH})
_RISKY_STATES: Final = frozenset({RiskState.AT_RISK, RiskState.CONFIRMED_COMPROMISED})
_OPEN_STATES: Final = frozenset({RiskState.NONE, RiskState.UNKNOWN})


@dataclass(frozen=True)
class Freshness:
    """How old knowledge may be, and whose it is."""

    max_age_s: float = 1800.0
    """Seconds after which what Entra said last is stale."""
    revoked_s: float = 5400.0
    """Seconds for which a token from before a revocation may live: Entra's access tokens are valid
    for 60 to 90 minutes ("Configurable token lifetimes", learn.microsoft.com)."""
    tenant: str = ""
    """The installation's own; empty where it names none."""


DEFAULT_FRESHNESS: Final = Freshness()
"""That of an installation that says nothing."""


class IdentityStandings(msgspec.Struct, frozen=True, gc=False, kw_only=True):
    """What is known of one identity."""

    standings: tuple[Standing, ...]
    """All that hold, the worst first; at least one."""
    events: tuple[str, ...] = ()
    """Ids of the detections or events that it rests on; at most one of each source."""
    event_types: tuple[str, ...] = ()
    age_s: float | None = None
    """Seconds since what Entra says of such identities was complete; None where it never was, or
    does not count."""
    since: int = 0
    """When it came to be at risk, Unix seconds; 0 where it is not."""

    @property
    def standing(self) -> Standing:
        """The worst, by a fixed order; what counts for a request is the strictest row."""
        return self.standings[0]


OUTSIDE: Final = IdentityStandings(standings=(Standing.OUTSIDE,))
_CLEAN: Final = (Standing.CLEAN,)


def standing_of(
    principal: Principal, snapshot: RiskSnapshot, freshness: Freshness, now: float
) -> IdentityStandings:
    """Return what is known of an identity at a time (Unix seconds)."""
    if principal.nature is PrincipalNature.OUTSIDE:
        return OUTSIDE
    key, kind = _whose(principal, snapshot)
    coverage = _coverage(kind, snapshot)
    age = None if coverage is None or coverage.as_of is None else now - coverage.as_of
    found = _of_kind(kind, principal, freshness.tenant or snapshot.head.tenant)
    if coverage is not None:
        found += _of_coverage(coverage, age, freshness)
    entries = [entry for source in RiskSource if (entry := snapshot.entry(source, key))]
    for entry in entries:
        found += _of_entry(entry, freshness, now)
    return IdentityStandings(
        standings=_worst_first(found),
        events=tuple(each.event_id for each in entries if each.event_id),
        event_types=tuple(each.event_type for each in entries if each.event_type),
        age_s=None if age is None else max(age, 0.0),
        since=min((each.since for each in entries if each.since), default=0),
    )


def _worst_first(found: list[Standing]) -> tuple[Standing, ...]:
    """Order what holds; nothing, or nothing but clean, is clean."""
    if not found:
        return _CLEAN
    wrong = sorted({each for each in found if each is not Standing.CLEAN}, key=_RANKS.__getitem__)
    return tuple(wrong) or _CLEAN


def is_at_risk(snapshot: RiskSnapshot, key: bytes) -> bool:
    """Return whether any source says that an identity is at risk, however old its word is.

    `key` is `core.risk.model.identity_key` of a label. Entra's "at risk" counts also where no
    licence shows the level, or where it is one that this release does not know.
    """
    return any(
        entry_at_risk(each) for source in RiskSource if (each := snapshot.entry(source, key))
    )


def entry_at_risk(entry: RiskEntry) -> bool:
    """Return whether one source's word is that an identity is at risk."""
    risky = entry.state in _OPEN_STATES and entry.level in _RISKY_LEVELS
    return risky or entry.state in _RISKY_STATES


class _Kind(enum.Enum):
    """What an identity is, where it is none of `ApplicationKind`."""

    MEMBER = "member"
    """A user of the tenant."""
    GUEST = "guest"
    UNASKED = "unasked"
    """An application that nobody has asked Entra about yet, or that hides."""


def _whose(principal: Principal, snapshot: RiskSnapshot) -> tuple[bytes, ApplicationKind | _Kind]:
    """Return the key of an identity's entries, and what it is."""
    key, is_person = principal.key, principal.nature is PrincipalNature.PERSON
    if principal.is_guest or (principal.role is not Role.WORKLOAD and snapshot.is_guest(key)):
        return key, _Kind.GUEST
    if is_person and principal.role is Role.REQUESTER:
        return key, _Kind.MEMBER
    application = snapshot.application(principal.client_id or principal.who)
    if application is None:
        return key, _Kind.MEMBER if is_person else _Kind.UNASKED
    return identity_key(application.object_id) if application.object_id else key, application.kind


def _coverage(kind: ApplicationKind | _Kind, snapshot: RiskSnapshot) -> Coverage | None:
    """Return how far its risk is known; None where no poll can tell it."""
    if kind in _ASSESSED_NOWHERE:
        return None
    return snapshot.head.users if kind is _Kind.MEMBER else snapshot.head.service_principals


def _of_kind(kind: ApplicationKind | _Kind, principal: Principal, tenant: str) -> list[Standing]:
    standing = _BY_KIND.get(kind)
    found = [standing] if standing else []
    if principal.tenant and principal.tenant != tenant.lower():
        found.append(Standing.FOREIGN)
    return found


def _of_coverage(coverage: Coverage, age: float | None, freshness: Freshness) -> list[Standing]:
    if coverage.unlicensed:
        return [Standing.HIDDEN]
    is_fresh = age is not None and -AHEAD_S <= age <= freshness.max_age_s
    return [] if is_fresh else [Standing.STALE]


def _of_entry(entry: RiskEntry, freshness: Freshness, now: float) -> list[Standing]:
    """Return the standings that one source's word comes to."""
    standing = _BY_STATE.get(entry.state) or _BY_LEVEL[entry.level]
    if standing is Standing.CLEAN and entry.state is RiskState.AT_RISK:
        standing = Standing.UNKNOWN
    found = [standing]
    if entry.deleted:
        found.append(Standing.DELETED)
    if entry.revoked and now < entry.revoked + freshness.revoked_s:
        found.append(Standing.REVOKED)
    return found


_BY_KIND: Final[dict[ApplicationKind | _Kind, Standing]] = {
    ApplicationKind.MANAGED_IDENTITY: Standing.MANAGED_IDENTITY,
    ApplicationKind.FOREIGN: Standing.FOREIGN,
    ApplicationKind.MISSING: Standing.UNIDENTIFIED,
    _Kind.GUEST: Standing.GUEST,
    _Kind.UNASKED: Standing.UNIDENTIFIED,
}
_ASSESSED_NOWHERE: Final = (
    ApplicationKind.MANAGED_IDENTITY,
    ApplicationKind.FOREIGN,
    _Kind.GUEST,
)
"""Whose risk no poll of this tenant tells: its age says nothing of them."""


_EVER: Final = 2**32


@dataclass(frozen=True)
class PeopleAtRisk:
    """Answers `core.people.two_person.RiskOf` from the snapshot of now, however old it is."""

    snapshot: Callable[[], RiskSnapshot | None]
    """None where nothing is decided by risk."""

    def __call__(self, marks: Collection[str]) -> AtRisk | None:
        """Return the risk of the person with any of these marks; None if there is none."""
        snapshot = self.snapshot()
        if snapshot is None:
            return None
        risky = [key for key in map(identity_key, marks) if is_at_risk(snapshot, key)]
        if not risky:
            return None
        return AtRisk(min(_sure_before(snapshot, key) for key in risky))


def _sure_before(snapshot: RiskSnapshot, key: bytes) -> float:
    """Return before when whoever has an identity was certainly its owner; 0 for never.

    Entra reports what happened at most 48 hours before the risk arose, and says of some of it when
    that was. Whose account somebody has confirmed to be compromised, nobody says since when: so
    then nothing is certain, and neither is it where it is not known since when the risk lasts.
    """
    earliest = min(
        0
        if entry.state is RiskState.CONFIRMED_COMPROMISED
        else min(entry.since, entry.active or _EVER)
        for source in RiskSource
        if (entry := snapshot.entry(source, key)) and entry_at_risk(entry)
    )
    return max(float(earliest - LATEST_DETECTION_S), 0.0)
