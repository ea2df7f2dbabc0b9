"""10: weights accessed while the identity was at risk, also where that is known later only."""

from collections.abc import Sequence
from typing import Final

import msgspec

from audit.access.model.coverage import Coverage, Same, identities_of
from audit.access.model.detection import HOUR_S, Detection, EventContext, Tunable
from audit.access.model.findings import (
    graver_key,
    make_finding,
    moment_text,
    requests_text,
    size_text,
)
from audit.access.model.sightings import touch
from core.base.times import day_text
from core.weights.documents.access import Access, Act
from core.weights.documents.events import Finding, Severity

_MOST: Final = 4096
_ASK_S: Final = 300.0
"""So long an answer about an identity is good for accesses of now."""

_MOST_DAYS: Final = 45
_MOST_A_SWEEP: Final = 16
"""Identities that are asked about again with one event, so that no event takes long."""


class RiskyDay(msgspec.Struct, gc=False, array_like=True):
    """What an identity accessed in one store on a day."""

    store: str
    day: int
    first: float
    bytes: int = 0
    events: int = 0
    example: str = ""
    """Id of the first access."""
    hours: dict[int, float] = {}
    """The last access of each hour: at these moments it is asked how the identity stood."""


class IdentityAccess(msgspec.Struct, gc=False, array_like=True):
    """What an identity accessed lately."""

    asked: float = 0.0
    """Time of the access that was asked for last."""
    days: dict[str, RiskyDay] = {}
    """By store and day."""


class AccessAtRiskState(msgspec.Struct):
    """What this detection remembers."""

    identities: dict[str, IdentityAccess] = {}
    swept: float = 0.0
    """When the last sweep began."""
    waiting: list[str] = []
    """Whom it has still to ask about."""
    raised: dict[str, int] = {}


def _concerns(access: Access) -> bool:
    return access.succeeded and bool(access.principal or access.application or access.delegator)


def _see(access: Access, state: AccessAtRiskState, known: EventContext) -> Sequence[Finding]:
    findings: list[Finding] = []
    if _concerns(access):
        key = f"{access.store} {known.day}"
        for who in identities_of(access):
            identity = touch(state.identities, who, IdentityAccess, _MOST)
            day = _note(access, identity, key, known)
            if known.at >= identity.asked + _ASK_S:
                identity.asked = known.at
                findings += _judge(access, who, day, known.at, state, known)
    if state.waiting:
        findings += _sweep(access, state, known)
    elif known.at > state.swept + known.tuned["at_risk_sweep_hours"] * HOUR_S:
        state.swept, state.waiting = known.at, list(state.identities)
    return findings


def _note(access: Access, identity: IdentityAccess, key: str, known: EventContext) -> RiskyDay:
    day = identity.days.get(key)
    if day is None:
        if len(identity.days) >= _MOST_DAYS:
            del identity.days[next(iter(identity.days))]
        day = RiskyDay(access.store, known.day, known.at, example=access.id)
        identity.days[key] = day
    day.bytes += access.bytes_out
    day.events += 1
    hour = int(known.at // HOUR_S)
    if known.at > day.hours.get(hour, 0.0):
        day.hours[hour] = known.at
    return day


def _sweep(access: Access, state: AccessAtRiskState, known: EventContext) -> Sequence[Finding]:
    """Ask again about what was accessed lately: risk is often found hours or days later."""
    oldest = known.day - known.tuned["at_risk_days"]
    findings: list[Finding] = []
    names, state.waiting = state.waiting[:_MOST_A_SWEEP], state.waiting[_MOST_A_SWEEP:]
    for who in names:
        identity = state.identities.get(who)
        if identity is None:
            continue
        for key in [key for key, day in identity.days.items() if day.day < oldest]:
            del identity.days[key]
        for day in identity.days.values():
            for at in day.hours.values():
                findings += _judge(access, who, day, at, state, known)
    return findings


def _judge(  # noqa: PLR0913, PLR0917  what it is judged by
    access: Access,
    who: str,
    day: RiskyDay,
    at: float,
    state: AccessAtRiskState,
    known: EventContext,
) -> Sequence[Finding]:
    standing = known.surroundings.at_risk(who, at)
    if not standing:
        return ()
    severity = _severity(standing)
    name = f"{day.store} {who} {day.day}"
    finding_key = graver_key(state.raised, name, severity, least=Severity.MEDIUM)
    if finding_key is None:
        return ()
    is_later = at < known.at
    finding = make_finding(
        DETECTION,
        access,
        known,
        finding_key,
        severity,
        f"{who} accessed {day.store or 'an account of weights'} while at risk ({standing})",
        f"{size_text(day.bytes)} in {requests_text(day.events)} on {day_text(day.first)}; at "
        f"{moment_text(at)} it was {standing}"
        + (f", which was known by {moment_text(known.at)}." if is_later else "."),
        first=day.first,
        events=day.events,
        amount=day.bytes,
    )
    if not is_later:
        return [msgspec.structs.replace(finding, who=who)]
    # What completes it is another access, perhaps somebody else's: none of that belongs here.
    return [
        msgspec.structs.replace(
            finding,
            who=who,
            store=day.store,
            account="",
            container="",
            addresses=[],
            pods=[],
            requesters=[],
            evidence=[day.example],
        )
    ]


def _severity(standing: str) -> Severity:
    if standing in {"compromised", "revoked", "deleted"}:
        return Severity.CRITICAL
    return Severity.MEDIUM if standing in {"low", "medium"} else Severity.HIGH


DETECTION: Final = Detection(
    id="access-at-risk",
    number=10,
    title="Accessed while the identity was at risk",
    about="An access by a principal or application, or from a Pod that a human asked for, that was "
    "at risk at that time. Asked at the access, and again every few hours for the last two weeks, "
    "for risk is often found later. Once for identity, store and day, and again where it turns out "
    "graver.",
    severity=Severity.CRITICAL,
    techniques=("T1078.004", "AML.T0012", "T1530"),
    needs=("identity risk (Entra ID, or another source of it)", "attribution for the humans"),
    blind=(
        "managed identities: nobody assesses their risk",
        "risk that is found after more days than are remembered",
        "an access of one of several Pods, asked for by different humans, counts for none of them",
    ),
    remedy="Revoke the identity's sessions, end its grants, and read the case: what it read since "
    "the risk began.",
    bound=f"{_MOST} identities with {_MOST_DAYS} days each, as many findings",
    begin=AccessAtRiskState,
    see=_see,
    acts=frozenset(Act),
    covers={"": Coverage(_concerns, frozenset({Same.STORE, Same.IDENTITY}))},
    tuning=(
        Tunable(
            "at_risk_days",
            14,
            "days",
            "risk that is computed offline comes within 48 hours; administrators confirm within "
            "two weeks",
        ),
        Tunable(
            "at_risk_sweep_hours",
            12,
            "hours",
            "the sweep asks for each hour with accesses; twice a day is soon enough for what "
            "comes a day late",
        ),
    ),
)
