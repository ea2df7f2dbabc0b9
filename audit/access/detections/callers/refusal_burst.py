"""26: bursts of requests that storage refused, by principal and address."""

from collections.abc import Callable, Sequence
from typing import Final

import msgspec

from audit.access.baselines.daily_amounts import DailyAmounts, raise_amount, usual_before
from audit.access.model.coverage import Coverage, Same, Span
from audit.access.model.detection import (
    HOUR_S,
    Detection,
    EventContext,
    ResponseStep,
    Tunable,
)
from audit.access.model.findings import graver_key, make_finding, requests_text
from audit.access.model.sightings import LISTED, digest_of, is_news, origin_of, touch
from core.weights.documents.access import Access, Act
from core.weights.documents.events import Finding, Severity

_MOST: Final = 4096
_MOST_ALARMS: Final = 512
_HALF_LIFE_S: Final = 600.0
_ENTERED_S: Final = HOUR_S
_DISTANCES: Final = 5.0
_SPREAD: Final = 0.7
_KINDS: Final = {401: "unauthenticated", 403: "forbidden", 404: "missing"}
_ENTERS: Final = frozenset({Act.READ, Act.WRITE, Act.DELETE, Act.COPY})
_ENTERED: Final = "entered"
_PLACE: Final = frozenset({Same.STORE, Same.WHO, Same.ADDRESS})
_WORDS: Final = {
    "unauthenticated": "without a valid token (401)",
    "forbidden": "without the right (403)",
    "missing": "for what is not there (404)",
}


class RefusedCounts(msgspec.Struct, gc=False, array_like=True):
    """What one principal was refused in one store at one address, of one kind; it fades."""

    at: float
    first: float
    count: float = 0.0
    events: int = 0
    last: int = 0
    """Digest of the blob that was asked for last: asking for it again counts once."""


class RefusedAlarm(msgspec.Struct, gc=False, array_like=True):
    """A burst of requests without a right, which may be followed by one that succeeds."""

    at: float
    first: float
    events: int
    evidence: str


class RefusedBurstState(msgspec.Struct):
    """What this detection remembers."""

    counts: dict[str, RefusedCounts] = {}
    peaks: dict[str, DailyAmounts] = {}
    """Of a principal, store and kind: the largest count of each day."""
    alarms: dict[str, RefusedAlarm] = {}
    raised: dict[str, int] = {}


def _see(access: Access, state: RefusedBurstState, known: EventContext) -> Sequence[Finding]:
    kind = _KINDS.get(access.status)
    if kind is None:
        if not state.alarms or not known.done or access.act not in _ENTERS:
            return ()
        return _judge_entry(access, state, known)
    name = f"{known.pair} {access.address} {kind}"
    counts = touch(state.counts, name, lambda: RefusedCounts(known.at, known.at), _MOST)
    _fade(counts, known.at)
    digest = digest_of(access.container, access.blob)
    if kind == "missing" and digest == counts.last:
        return ()
    counts.last = digest
    counts.count += 1
    counts.events += 1
    return _judge_burst(access, kind, counts, state, known)


def _fade(counts: RefusedCounts, at: float) -> None:
    passed = at - counts.at
    if passed <= 0:
        return
    counts.count *= 2.0 ** (-passed / _HALF_LIFE_S)
    counts.at = at
    if counts.count < 1.0:
        counts.first, counts.events = at, 0


def _judge_burst(
    access: Access,
    kind: str,
    counts: RefusedCounts,
    state: RefusedBurstState,
    known: EventContext,
) -> Sequence[Finding]:
    if counts.count < known.tuned[f"refused_least_{kind}"]:
        return ()
    days = touch(state.peaks, f"{known.pair} {kind}", DailyAmounts, _MOST)
    raise_amount(days, known.day, counts.count)
    if kind != "missing":
        alarm = RefusedAlarm(known.at, counts.first, counts.events, access.id)
        touch(state.alarms, f"{known.pair} {access.address}", lambda: alarm, _MOST_ALARMS)
        state.alarms[f"{known.pair} {access.address}"] = alarm
    usual = usual_before(days, known.day)
    is_usual = usual and usual.days >= known.tuned["refused_usual_days"]
    if usual and is_usual and counts.count < usual.limit(_DISTANCES, _SPREAD):
        return ()
    severity = Severity.LOW if _is_ours(access) else Severity.MEDIUM
    name = f"{known.pair} {access.address} {kind} {known.day}"
    finding_key = graver_key(state.raised, name, severity, least=Severity.LOW)
    if finding_key is None:
        return ()
    return [
        make_finding(
            DETECTION,
            access,
            known,
            finding_key,
            severity,
            f"Many requests to {access.store} were refused: {_WORDS[kind]}",
            f"{counts.count:.0f} by {known.who} from {origin_of(access)}, each counting half after "
            f"10 minutes; the last one was {access.operation} of "
            f"{access.blob or access.container or access.account} "
            f"({access.status_text or access.status}).",
            first=counts.first,
            events=counts.events,
            aspect=kind,
        )
    ]


def _judge_entry(
    access: Access, state: RefusedBurstState, known: EventContext
) -> Sequence[Finding]:
    """Judge a request that succeeds after a burst of refusals."""
    alarm = state.alarms.pop(f"{known.pair} {access.address}", None)
    if alarm is None or known.at > alarm.at + _ENTERED_S or _is_ours(access):
        return ()
    name = f"entered {known.pair} {access.address} {known.day}"
    if not is_news(state.raised, name):
        return ()
    return [
        make_finding(
            DETECTION,
            access,
            known,
            (name,),
            Severity.HIGH,
            f"{known.who} was let into {access.store} after many refusals",
            f"{requests_text(alarm.events)} were refused, and then {access.operation} of "
            f"{access.blob or access.container} succeeded from {origin_of(access)}, "
            f"{(known.at - alarm.at) / 60:.0f} minutes after the last one.",
            first=alarm.first,
            events=alarm.events + 1,
            evidence=[alarm.evidence],
            aspect=_ENTERED,
        )
    ]


def _is_refused(kind: str) -> Callable[[Access], bool]:
    """Return what says whether an access was refused in one way."""
    return lambda access: _KINDS.get(access.status) == kind


def _is_of_entry(access: Access) -> bool:
    """Return whether it was refused for want of a right, or let in as a stranger."""
    is_refused = _KINDS.get(access.status, "missing") != "missing"
    is_entry = access.succeeded and access.act in _ENTERS and not _is_ours(access)
    return is_refused or is_entry


def _is_ours(access: Access) -> bool:
    """Return whether a grant covers it and it comes from a network that the operator named."""
    return bool(access.grant) and access.caller in LISTED


DETECTION: Final = Detection(
    id="refused-burst",
    number=26,
    title="Bursts of refused requests",
    about="One principal has many requests to a store refused from one address within minutes: "
    "without a valid token (401), without the right (403), or for names that are not there (404; "
    "asking for one name again counts once). Medium; low under a grant from a known network, "
    "where a role that was just assigned takes minutes to count. High where a request succeeds "
    "within an hour after refusals by 401 or 403, without a grant or from elsewhere. What a "
    "principal does on three days is held against its own bursts.",
    severity=Severity.HIGH,
    techniques=("T1110", "T1580", "T1595.003", "AML.T0007"),
    needs=("the StorageRead, StorageWrite and StorageDelete logs",),
    blind=(
        "anonymous requests that failed: storage logs few of them",
        "one who asks slowly, or from many addresses",
        "requests that the account's firewall drops before they are logged",
    ),
    fires=(
        "60 requests refused with 403 AuthorizationPermissionMismatch in two minutes (medium)",
        "40 requests refused with 403 AuthenticationFailed, then a GetBlob with a SAS (high)",
        "400 different names that are not there asked for in five minutes (medium)",
    ),
    quiet=(
        "a job that polls for one marker until it is there",
        "a Pod whose role was just assigned, under a grant (low)",
        "refusals for other reasons: leases, conditions, throttling",
    ),
    remedy="Find what asked: a broken job gets its grant, a stranger is kept out by the firewall.",
    steps=(
        ResponseStep(15, "Look whether a request of the address succeeded before or after."),
        ResponseStep(30, "Close the account's firewall to the address where nobody knows it."),
        ResponseStep(60, "Ask for the Pod's owner; a grant or a role that is missing is mended."),
    ),
    recoverable="Nothing was lost by requests that were refused. What succeeded later has accesses "
    "and findings of its own.",
    bound=f"{_MOST} of principal, store, address and kind, as many with 60 days, {_MOST_ALARMS} "
    "bursts",
    begin=RefusedBurstState,
    see=_see,
    acts=frozenset(Act),
    covers={
        _ENTERED: Coverage(_is_of_entry, _PLACE, Span.DAYS),
        **{kind: Coverage(_is_refused(kind), _PLACE, Span.DAYS) for kind in _WORDS},
    },
    tuning=(
        Tunable(
            "refused_least_forbidden",
            30,
            "requests",
            "clients try a request five times; a job of several blobs fails within a dozen",
        ),
        Tunable(
            "refused_least_unauthenticated",
            100,
            "requests",
            "each new client is told once by a 401 which tokens are taken",
        ),
        Tunable(
            "refused_least_missing",
            300,
            "names",
            "mounts and frameworks look for some dozen files that may be there",
        ),
        Tunable("refused_usual_days", 3, "days", "three days make a job that is broken so"),
    ),
)
