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
from core.weights.documents.access import Access, Act, Caller, SignedBy
from core.weights.documents.events import Finding, Severity

_MOST: Final = 4096
_MOST_ALARMS: Final = 512
_HALF_LIFE_S: Final = 600.0
_ENTERED_S: Final = HOUR_S
_DISTANCES: Final = 5.0
_SPREAD: Final = 0.7
_KINDS: Final = {401: "unauthenticated", 403: "forbidden", 404: "missing"}
_GUESSED: Final = "guessed"
_NO_RIGHT: Final = frozenset({"unauthenticated", "forbidden"})
_ENTERS: Final = frozenset({Act.READ, Act.WRITE, Act.DELETE, Act.COPY})
_ENTERED: Final = "entered"
_PLACE: Final = frozenset({Same.STORE, Same.WHO, Same.ADDRESS})
_GUESSES: Final = frozenset({Same.ACCOUNT, Same.WHO, Same.ADDRESS})
_WORDS: Final = {
    "unauthenticated": "without a valid token (401)",
    "forbidden": "without the right (403)",
    "missing": "for what is not there (404)",
    _GUESSED: "for containers that are not there (404)",
}
_SHARED: Final = frozenset({SignedBy.ACCOUNT_KEY, SignedBy.SAS, SignedBy.ANONYMOUS})
"""What signs a request for whoever holds it."""


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
    who: str = ""


class RefusedBurstState(msgspec.Struct):
    """What this detection remembers."""

    counts: dict[str, RefusedCounts] = {}
    peaks: dict[str, DailyAmounts] = {}
    """Of a principal, store and kind: the largest count of each day."""
    alarms: dict[str, RefusedAlarm] = {}
    raised: dict[str, int] = {}


def _see(access: Access, state: RefusedBurstState, known: EventContext) -> Sequence[Finding]:
    if known.done:
        is_entry = state.alarms and access.act in _ENTERS
        return _judge_entry(access, state, known) if is_entry else ()
    kind = _kind_of(access)
    if kind is None:
        return ()
    store = access.store or (_store_of(access, known) if kind == _GUESSED else "")
    if not store:
        return ()
    counts = touch(
        state.counts,
        f"{store} {known.who} {access.address} {kind}",
        lambda: RefusedCounts(known.at, known.at),
        _MOST,
    )
    _fade(counts, known.at)
    digest = digest_of(access.container, access.blob)
    if kind not in _NO_RIGHT and digest == counts.last:
        return ()
    counts.last = digest
    counts.count += 1
    counts.events += 1
    return _judge_burst(access, kind, store, counts, state, known)


def _kind_of(access: Access) -> str | None:
    """Say how a request was refused; None where it was not, or for another reason."""
    kind = _KINDS.get(access.status)
    return _GUESSED if kind == "missing" and not access.blob else kind


def _store_of(access: Access, known: EventContext) -> str:
    """Name a store of the account of a request for a container that none holds."""
    held = known.surroundings.stores
    return next((name for name in sorted(held) if held[name].spec.account == access.account), "")


def _least(access: Access, kind: str, known: EventContext) -> float:
    """Return how many are a burst: public addresses have no fleet whose clients are told once."""
    if kind == "unauthenticated" and access.caller is Caller.PUBLIC:
        kind = "forbidden"
    return known.tuned[f"refused_least_{kind}"]


def _fade(counts: RefusedCounts, at: float) -> None:
    passed = at - counts.at
    if passed <= 0:
        return
    counts.count *= 2.0 ** (-passed / _HALF_LIFE_S)
    counts.at = at
    if counts.count < 1.0:
        counts.first, counts.events = at, 0


def _judge_burst(  # noqa: PLR0913, PLR0917  what a burst is
    access: Access,
    kind: str,
    store: str,
    counts: RefusedCounts,
    state: RefusedBurstState,
    known: EventContext,
) -> Sequence[Finding]:
    if counts.count < _least(access, kind, known):
        return ()
    pair = f"{store} {known.who}"
    days = touch(state.peaks, f"{pair} {kind}", DailyAmounts, _MOST)
    raise_amount(days, known.day, counts.count)
    if kind in _NO_RIGHT:
        alarm = RefusedAlarm(known.at, counts.first, counts.events, access.id, known.who)
        touch(state.alarms, f"{store} {access.address}", lambda: alarm, _MOST_ALARMS)
        state.alarms[f"{store} {access.address}"] = alarm
    usual = usual_before(days, known.day)
    is_usual = usual and usual.days >= known.tuned["refused_usual_days"]
    if usual and is_usual and counts.count < usual.limit(_DISTANCES, _SPREAD):
        return ()
    severity = Severity.LOW if _is_ours(access) else Severity.MEDIUM
    name = f"{pair} {access.address} {kind} {known.day}"
    finding_key = graver_key(state.raised, name, severity, least=Severity.LOW)
    if finding_key is None:
        return ()
    found = make_finding(
        DETECTION,
        access,
        known,
        finding_key,
        severity,
        f"Many requests to {store} were refused: {_WORDS[kind]}",
        f"{counts.count:.0f} by {known.who} from {origin_of(access)}, each counting half after "
        f"10 minutes; the last one was {access.operation} of "
        f"{access.blob or access.container or access.account} "
        f"({access.status_text or access.status}).",
        first=counts.first,
        events=counts.events,
        aspect=kind,
    )
    return [msgspec.structs.replace(found, store=store)]


def _judge_entry(
    access: Access, state: RefusedBurstState, known: EventContext
) -> Sequence[Finding]:
    """Judge a request that succeeds after a burst of refusals.

    One under a grant leaves the alarm as it is: a stranger may still come from the address.
    """
    place = f"{access.store} {access.address}"
    alarm = state.alarms.get(place)
    if alarm is None or _is_ours(access) or not _is_same_caller(access, alarm, known):
        return ()
    del state.alarms[place]
    name = f"entered {known.pair} {access.address} {known.day}"
    if known.at > alarm.at + _ENTERED_S or not is_news(state.raised, name):
        return ()
    before = "" if alarm.who == known.who else f" of {alarm.who}"
    return [
        make_finding(
            DETECTION,
            access,
            known,
            (name,),
            Severity.HIGH,
            f"{known.who} was let into {access.store} after many refusals",
            f"{requests_text(alarm.events)}{before} were refused, and then {access.operation} of "
            f"{access.blob or access.container} succeeded from {origin_of(access)}, "
            f"{(known.at - alarm.at) / 60:.0f} minutes after the last one.",
            first=alarm.first,
            events=alarm.events + 1,
            evidence=[alarm.evidence],
            aspect=_ENTERED,
        )
    ]


def _is_same_caller(access: Access, alarm: RefusedAlarm, known: EventContext) -> bool:
    """Return whether whoever was refused may be who is let in.

    Many share the addresses of listed networks: there it is the same principal, or a key or SAS,
    which anybody may hold.
    """
    is_shared = access.caller in LISTED and access.signed_by not in _SHARED
    return known.who == alarm.who or not is_shared


def _is_refused(kind: str) -> Callable[[Access], bool]:
    """Return what says whether an access was refused in one way."""
    return lambda access: _kind_of(access) == kind


def _is_of_entry(access: Access) -> bool:
    """Return whether it was refused for want of a right, or let in as a stranger."""
    is_refused = _kind_of(access) in _NO_RIGHT
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
    "without a valid token (401), without the right (403), or for blobs or containers that are not "
    "there (404; asking for one name again counts once; a container need not be of a store, if "
    "the account is). Medium; low under a grant from a known network, "
    "where a role that was just assigned takes minutes to count. High where a request from the "
    "address succeeds within an hour after refusals by 401 or 403, without a grant or from "
    "elsewhere: one of the same principal, and in networks that nobody listed, or with a key, a "
    "SAS or no signature, one of anybody. What a "
    "principal does on three days is held against its own bursts.",
    severity=Severity.HIGH,
    techniques=("T1110", "T1580", "T1595.003", "AML.T0007"),
    needs=("the StorageRead, StorageWrite and StorageDelete logs",),
    blind=(
        "anonymous requests that failed: storage logs few of them",
        "one who asks slowly, or from many addresses",
        "another identity that is let in from an address of a listed network, which many share",
        "requests that the account's firewall drops before they are logged",
    ),
    fires=(
        "60 requests refused with 403 AuthorizationPermissionMismatch in two minutes (medium)",
        "40 requests refused with 403 AuthenticationFailed, then a GetBlob with a SAS (high)",
        "400 different names that are not there asked for in five minutes (medium)",
        "40 containers that are not there listed without a signature (medium)",
        "40 refused with a SAS, a GetBlob of a Pod under a grant, then one with another SAS (high)",
    ),
    quiet=(
        "a job that polls for one marker until it is there",
        "a Pod whose role was just assigned, under a grant (low)",
        "refusals for other reasons: leases, conditions, throttling",
        "another Pod of the same node that reads with its own identity after the refusals",
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
    elsewhere=lambda access: access.status in _KINDS,
    covers={
        _ENTERED: Coverage(_is_of_entry, _PLACE, Span.DAYS),
        **{
            kind: Coverage(_is_refused(kind), _GUESSES if kind == _GUESSED else _PLACE, Span.DAYS)
            for kind in _WORDS
        },
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
            "each new client is told once by a 401 which tokens are taken; from a public address "
            "the number of 403 counts",
        ),
        Tunable(
            "refused_least_missing",
            300,
            "names",
            "mounts and frameworks look for some dozen files that may be there",
        ),
        Tunable(
            "refused_least_guessed",
            30,
            "containers",
            "programs are told the names of their containers, and try a wrong one five times",
        ),
        Tunable("refused_usual_days", 3, "days", "three days make a job that is broken so"),
    ),
)
