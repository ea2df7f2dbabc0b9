"""What a security event token (RFC 8417) with OpenID CAEP 1.0 events says, once it is verified.

Pure: `identity.clients.signing_keys` verifies the signature before, and gives the claims here.

A complex subject (`user` and `device`, say) is taken for its user: a session that was revoked on
one device counts for the person. CAEP knows no level below LOW, and no other way to take a risk
back: a transmitter that clears someone sends LOW, so it is kept as remediated.
"""

import enum
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final
from urllib.parse import urlsplit

from core.base.errors import SettingsError
from core.risk.model import RiskEntry, RiskLevel, RiskSource, RiskState, identity_key
from core.risk.snapshot import SnapshotDraft
from identity.entra.values import kept_event_id, object_id_of
from identity.risk.entry_merge import MOST_AHEAD_S, MergeResult, merge_entry, merge_revocation
from identity.risk.standings import entry_at_risk

MOST_BYTES: Final = 64 * 1024
"""Of a token. Those of CAEP have about one kilobyte."""

MOST_JTI: Final = 1024

SETTLED_S: Final = 86_400.0
"""After which a risk that is over, or sessions that were ended, count for nothing. Tokens are taken
for `max_age_s` only, and revocations count for hours."""

_CAEP: Final = "https://schemas.openid.net/secevent/caep/event-type/"
RISK_LEVEL_CHANGE: Final = f"{_CAEP}risk-level-change"
SESSION_REVOKED: Final = f"{_CAEP}session-revoked"

_LEVELS: Final = {"LOW": RiskLevel.LOW, "MEDIUM": RiskLevel.MEDIUM, "HIGH": RiskLevel.HIGH}

_PERSON: Final = "USER"
"""As `principal`. The risk of a device, tenant or group is no person's."""

_NAMES: Final = {"opaque": "id", "iss_sub": "sub"}
"""Where a subject identifier has the name, by its format."""

_LATEST: Final = 2**32 * 1000
"""Snapshots keep seconds in 32 bits; this is the last of them in milliseconds."""

_MILLISECONDS: Final = 10**11
"""A greater time is in milliseconds, as CAEP's drafts before 2024 had it: in seconds it would be
in the year 5138."""


@dataclass(frozen=True, slots=True)
class SecurityEventSettings:
    """Whose events are taken, and by which keys they are verified."""

    issuer: str
    """`iss`, letter for letter."""
    audience: str
    """`aud`, letter for letter."""
    keys_url: str
    """The issuer's `jwks_uri`. Keys are taken from nowhere else, whatever a token names."""
    trust: Path | None = None
    """CA of that site (PEM); the public ones where it is None."""
    token_file: Path | None = None
    """With the bearer token that the transmitter must show; None for none."""
    max_age_s: float = 3600.0
    """A token that was issued longer ago is refused."""

    def __post_init__(self) -> None:
        """Refuse what cannot work.

        Raises:
            SettingsError: naming the setting and the fix.
        """
        for name in ("issuer", "audience", "keys_url"):
            if not getattr(self, name):
                raise SettingsError(f"identity.security_events.{name}: is missing")
        site = urlsplit(self.keys_url)
        if site.scheme != "https" or not site.hostname or "@" in site.netloc or site.fragment:
            raise SettingsError("identity.security_events.keys_url: must be https://HOST/PATH")


class Reason(enum.Enum):
    """Why a token changes nothing: value of the label `result` of the metric."""

    MALFORMED = "malformed"
    ISSUER = "issuer"
    AUDIENCE = "audience"
    TIME = "time"
    """It was issued too long ago, or does not say when."""
    FUTURE = "future"
    """It, or its event, lies ahead of our clock."""
    SUBJECT = "subject"
    """It does not name a person by an object id of Entra's."""


@dataclass(frozen=True, slots=True)
class RefusedEvent:
    """A token that is not taken; the text is for the transmitter, and quotes nothing."""

    reason: Reason
    text: str


@dataclass(frozen=True, slots=True)
class RiskLevelChange:
    """Someone's risk is another now."""

    key: bytes
    level: RiskLevel
    at: int
    event_id: str

    def merge_into(self, draft: SnapshotDraft, now: float) -> MergeResult:
        """Take it in; see `identity.risk.entry_merge`."""
        entry = RiskEntry(
            level=self.level,
            state=RiskState.REMEDIATED if self.level is RiskLevel.LOW else RiskState.AT_RISK,
            updated=self.at,
            active=self.at,
            event_id=self.event_id,
            event_type="risk-level-change",
        )
        return merge_entry(draft, RiskSource.CAEP, self.key, entry, now)


@dataclass(frozen=True, slots=True)
class SessionRevoked:
    """Someone's sessions were ended."""

    key: bytes
    at: int
    event_id: str

    def merge_into(self, draft: SnapshotDraft, now: float) -> MergeResult:
        """Take it in; see `identity.risk.entry_merge`."""
        return merge_revocation(
            draft, RiskSource.CAEP, self.key, self.at, self.event_id, "session-revoked", now
        )


SecurityEvent = RiskLevelChange | SessionRevoked


@dataclass(frozen=True, slots=True)
class ReadToken:
    """A sound token."""

    jti: str
    events: tuple[SecurityEvent, ...]
    """Empty where its events are of other types, or about something that is no person."""


def forget_settled(draft: SnapshotDraft, now: float) -> None:
    """Forget of whom a transmitter says nothing that still counts.

    A token that old is not taken again, so nothing old comes back.
    """
    for key, entry in list(draft.before.entries(RiskSource.CAEP)):
        if not entry_at_risk(entry) and max(entry.updated, entry.revoked) < now - SETTLED_S:
            draft.drop(RiskSource.CAEP, key)


def read_claims(
    claims: Mapping[str, Any], settings: SecurityEventSettings, now: float
) -> ReadToken | RefusedEvent:
    """Say what a verified token says, or why it is not taken.

    RFC 8417 (claims, and what is forbidden), OpenID Shared Signals Framework 1.0 (subjects), CAEP
    1.0 (events). Event types that are not known here are no error: a receiver acknowledges them.
    """
    return (
        _not_for_us(claims, settings)
        or _misshapen(claims)
        or _untimely(claims, settings, now)
        or _read_events(claims, now)
    )


def _not_for_us(claims: Mapping[str, Any], settings: SecurityEventSettings) -> RefusedEvent | None:
    if claims.get("iss") != settings.issuer:
        return RefusedEvent(Reason.ISSUER, "iss is not the issuer that is configured here")
    audience = claims.get("aud")
    fits = settings.audience in audience if isinstance(audience, list) else False
    if not fits and audience != settings.audience:
        return RefusedEvent(Reason.AUDIENCE, "aud is not the audience that is configured here")
    return None


def _misshapen(claims: Mapping[str, Any]) -> RefusedEvent | None:
    text = ""
    jti, events = claims.get("jti"), claims.get("events")
    if forbidden := [name for name in ("sub", "exp") if name in claims]:
        text = f"{forbidden[0]} must not be in a security event token; use sub_id"
    elif not isinstance(jti, str) or not 0 < len(jti) <= MOST_JTI:
        text = "jti is missing, or no string of a sensible length"
    elif not isinstance(events, dict) or not events:
        text = "events is missing, or names no event"
    return RefusedEvent(Reason.MALFORMED, text) if text else None


def _untimely(
    claims: Mapping[str, Any], settings: SecurityEventSettings, now: float
) -> RefusedEvent | None:
    issued = _time(claims.get("iat"))
    if issued is None:
        return RefusedEvent(Reason.TIME, "iat is missing, or no time")
    if issued > now + MOST_AHEAD_S:
        return RefusedEvent(Reason.FUTURE, "iat lies ahead; check both clocks")
    if issued < now - settings.max_age_s:
        text = f"iat is more than {settings.max_age_s:g} s ago; send tokens as they are issued"
        return RefusedEvent(Reason.TIME, text)
    return None


def _time(value: object) -> int | None:
    """Return a NumericDate (RFC 7519, 2) in whole seconds."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 < value < _LATEST:
        return None
    return int(value / 1000 if value >= _MILLISECONDS else value)


def _read_events(claims: Mapping[str, Any], now: float) -> ReadToken | RefusedEvent:
    jti, events = str(claims["jti"]), claims["events"]
    ours = {kind: events[kind] for kind in (RISK_LEVEL_CHANGE, SESSION_REVOKED) if kind in events}
    if not ours:
        return ReadToken(jti, ())
    object_id = _person(claims.get("sub_id"))
    if not object_id:
        text = "sub_id must name a person by an Entra object id (opaque, iss_sub, or user of both)"
        return RefusedEvent(Reason.SUBJECT, text)
    about = _About(identity_key(object_id), kept_event_id(jti), _time(claims["iat"]) or 0)
    found: list[SecurityEvent] = []
    for kind, event in ours.items():
        read = _read_event(kind, event, about, now)
        if isinstance(read, RefusedEvent):
            return read
        if read is not None:
            found.append(read)
    return ReadToken(jti, tuple(found))


@dataclass(frozen=True, slots=True)
class _About:
    key: bytes
    event_id: str
    issued: int


def _read_event(
    kind: str, event: object, about: _About, now: float
) -> SecurityEvent | RefusedEvent | None:
    """Return what an event says; None where it is about something that is no person."""
    if not isinstance(event, dict):
        return RefusedEvent(Reason.MALFORMED, "an event must be an object")
    at = _time(event["event_timestamp"]) if "event_timestamp" in event else about.issued
    if at is None:
        return RefusedEvent(Reason.MALFORMED, "event_timestamp is no time")
    if at > now + MOST_AHEAD_S:
        return RefusedEvent(Reason.FUTURE, "event_timestamp lies ahead; check both clocks")
    if kind == SESSION_REVOKED:
        return SessionRevoked(about.key, at, about.event_id)
    return _read_level(event, at, about)


def _read_level(
    event: Mapping[str, Any], at: int, about: _About
) -> RiskLevelChange | RefusedEvent | None:
    level, principal = event.get("current_level"), event.get("principal")
    if not isinstance(level, str) or level not in _LEVELS:
        return RefusedEvent(Reason.MALFORMED, "current_level must be LOW, MEDIUM or HIGH")
    if not isinstance(principal, str):
        return RefusedEvent(Reason.MALFORMED, "principal is missing")
    if principal != _PERSON:
        return None
    return RiskLevelChange(about.key, _LEVELS[level], at, about.event_id)


def _person(subject: object) -> str:
    """Return the object id of the person whom a subject identifier (RFC 9493) names."""
    if isinstance(subject, dict) and subject.get("format") == "complex":
        subject = subject.get("user")
    if not isinstance(subject, dict):
        return ""
    field = _NAMES.get(str(subject.get("format")), "")
    value = subject.get(field)
    return (object_id_of(value) or "") if isinstance(value, str) else ""
