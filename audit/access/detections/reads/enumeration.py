"""5: somebody looks at what there is: bursts of listings, and reads of who may do what."""

import re
from collections.abc import Sequence
from typing import Final

import msgspec

from audit.access.baselines.daily_amounts import DailyAmounts, raise_amount, usual_before
from audit.access.model.coverage import Coverage, Same, Span
from audit.access.model.detection import Detection, EventContext, Tunable
from audit.access.model.findings import make_finding
from audit.access.model.sightings import is_news, origin_of, touch
from core.weights.documents.access import Access, Act, Caller, SignedBy
from core.weights.documents.events import Finding, Severity

_MOST: Final = 4096
_HALF_LIFE_S: Final = 600.0
_POLICY_HALF_LIFE_S: Final = 1800.0
_LISTS: Final = ("List", "FindBlobs", "ReadDir", "SftpList")
_CHANGES: Final = ("Set", "Delete")
_NOT_ABOUT_RIGHTS: Final = frozenset({"GetUserDelegationKey"})
"""Detection 18 looks at those."""

_POLICIES: Final = "policies"
_LISTINGS: Final = "lists"
_LOOKS: Final = "looks"
_FEEDS: Final = "feeds"

_CHANGE_FEED: Final = "$blobchangefeed"
_INVENTORY: Final = re.compile(
    r"\d{4}/\d\d/\d\d/\d\d-\d\d-\d\d/[^/]+/.*(?:\.csv|\.parquet|manifest\.(?:json|checksum))"
)
"""Paths of blob inventory's reports: time of the run, rule, file ("Blob inventory reports")."""

_UNNAMED: Final = frozenset({SignedBy.ACCOUNT_KEY, SignedBy.SAS, SignedBy.ANONYMOUS})
_CHANGE_WEIGHT: Final = 5.0
_DISTANCES: Final = 5.0
_SPREAD: Final = 0.7


class LookCounts(msgspec.Struct, gc=False, array_like=True):
    """What one principal looks at in one store from one address; each count fades."""

    at: float
    lists: float = 0.0
    looks: float = 0.0
    reads: float = 0.0
    policies: float = 0.0
    first: float = 0.0
    events: int = 0


class EnumerationState(msgspec.Struct):
    """What this detection remembers."""

    counts: dict[str, LookCounts] = {}
    peaks: dict[str, DailyAmounts] = {}
    """Of a principal, store and kind of burst: the largest count of each day."""
    raised: dict[str, int] = {}


def _see(access: Access, state: EnumerationState, known: EventContext) -> Sequence[Finding]:
    if not access.store:
        return _judge_feed(access, state, known)
    if access.operation in _NOT_ABOUT_RIGHTS:
        return ()
    return _look(access, state, known)


def _look(access: Access, state: EnumerationState, known: EventContext) -> Sequence[Finding]:
    name = f"{known.pair} {access.address}"
    if access.act is Act.READ:
        counts = state.counts.get(name)
        if counts is not None:
            _fade(counts, known.at)
            counts.reads += 1
        return ()
    counts = touch(state.counts, name, lambda: LookCounts(at=known.at, first=known.at), _MOST)
    _fade(counts, known.at)
    counts.events += 1
    aspect = _aspect_of(access)
    if aspect == _POLICIES:
        is_change = access.operation.startswith(_CHANGES)
        counts.policies += _CHANGE_WEIGHT if is_change else 1.0
        return _judge(access, state, known, counts, aspect, counts.policies)
    if aspect == _LISTINGS:
        counts.lists += 1
        return _judge(access, state, known, counts, aspect, counts.lists)
    counts.looks += 1
    if counts.looks < known.tuned["enumeration_looks_to_reads"] * counts.reads:
        return ()
    return _judge(access, state, known, counts, aspect, counts.looks)


def _is_feed(access: Access) -> bool:
    """Return whether a list of all blobs of an account was read: its change feed or inventory."""
    if access.act is not Act.READ or not access.succeeded:
        return False
    return access.container == _CHANGE_FEED or bool(_INVENTORY.fullmatch(access.blob))


def _judge_feed(access: Access, state: EnumerationState, known: EventContext) -> Sequence[Finding]:
    held = known.surroundings.stores
    store = next((one for one in sorted(held) if held[one].spec.account == access.account), "")
    if not store:
        return ()
    usual = touch(state.peaks, f"{store} {known.who} {_FEEDS}", DailyAmounts, _MOST)
    before = usual_before(usual, known.day)
    raise_amount(usual, known.day, 1)
    is_usual = before is not None and before.days >= known.tuned["enumeration_usual_days"]
    is_unnamed = access.caller is Caller.PUBLIC or access.signed_by in _UNNAMED
    severity = Severity.MEDIUM if is_unnamed else Severity.LOW
    key = (store, known.who, _FEEDS, str(known.day))
    if is_usual or not is_news(state.raised, " ".join(key)):
        return ()
    what = "change feed" if access.container == _CHANGE_FEED else "inventory"
    found = make_finding(
        DETECTION,
        access,
        known,
        key,
        severity,
        f"{known.who} reads the {what} of {access.account}",
        f"{access.operation} of {access.container}/{access.blob} from {origin_of(access)}. It "
        f"names the blobs of the account, those of {store} among them, without a listing.",
        aspect=_FEEDS,
    )
    return [msgspec.structs.replace(found, store=store)]


def _aspect_of(access: Access) -> str:
    """Say what a request is that looks around; empty where it does not."""
    if access.act is Act.READ or access.operation in _NOT_ABOUT_RIGHTS:
        return ""
    if access.act is Act.POLICY:
        return _POLICIES
    return _LISTINGS if access.operation.startswith(_LISTS) else _LOOKS


def _fade(counts: LookCounts, at: float) -> None:
    passed = at - counts.at
    if passed <= 0:
        return
    left = 2.0 ** (-passed / _HALF_LIFE_S)
    counts.lists *= left
    counts.looks *= left
    counts.reads *= left
    counts.policies *= 2.0 ** (-passed / _POLICY_HALF_LIFE_S)
    counts.at = at
    if counts.lists + counts.looks + counts.policies < 1.0:
        counts.first, counts.events = at, 0


def _judge(  # noqa: PLR0913, PLR0917  one count of three
    access: Access,
    state: EnumerationState,
    known: EventContext,
    counts: LookCounts,
    what: str,
    count: float,
) -> Sequence[Finding]:
    least = known.tuned[f"enumeration_least_{what}"]
    if count < least:
        return ()
    peaks = touch(state.peaks, f"{known.pair} {what}", DailyAmounts, _MOST)
    raise_amount(peaks, known.day, count)
    name = f"{known.pair} {what} {known.day}"
    if name in state.raised:
        return ()
    usual = usual_before(peaks, known.day)
    is_usual = usual is not None and usual.days >= known.tuned["enumeration_usual_days"]
    if is_usual and usual and count < usual.limit(_DISTANCES, _SPREAD):
        return ()
    is_news(state.raised, name)
    words, minutes = _WORDS[what], _POLICY_HALF_LIFE_S if what == "policies" else _HALF_LIFE_S
    history = (
        f"on {usual.days} days before, such bursts came to {usual.median:.0f} (median)"
        if usual
        else "no such burst of it is known"
    )
    return [
        make_finding(
            DETECTION,
            access,
            known,
            (access.store, known.who, what, str(known.day)),
            _severity(access, what),
            f"{known.who} {words} {access.store}",
            f"{count:.0f} such requests, each counting half after {minutes / 60:.0f} minutes, and "
            f"{counts.reads:.0f} reads in the same time, from {origin_of(access)}; {history}. "
            f"{least:.0f} are looked at. Requests that were refused count as well.",
            first=counts.first,
            events=counts.events,
            aspect=what,
        )
    ]


def _severity(access: Access, what: str) -> Severity:
    if what == "policies" or not access.grant:
        return Severity.MEDIUM
    return Severity.LOW


_WORDS: Final = {
    "lists": "lists what is in",
    "looks": "looks at the properties of many blobs of",
    "policies": "asks or changes who may read",
}

DETECTION: Final = Detection(
    id="enumeration",
    number=5,
    title="Somebody looks around in a store",
    about="Bursts of listings, of looks at blobs' properties that no reads go with, and of "
    "requests for access-control lists and policies (a change counts five). Counted for one "
    "principal and store from one address, so a fleet in which each Pod lists once is quiet; "
    "what a principal does on three days is held against its own bursts. Also a read of the "
    "account's change feed, or of a report of blob inventory, which name all blobs (low; medium "
    "from a public address, with a key, a SAS or no signature; quiet for who reads it on a fourth "
    "day).",
    severity=Severity.MEDIUM,
    techniques=("AML.T0007", "T1619", "T1580"),
    needs=("the StorageRead and StorageWrite logs",),
    blind=(
        "one who lists slowly, or lists once and reads what others do not",
        "a fleet behind one address counts as one",
        "an inventory that was exported to another account, or copied",
        "failed anonymous requests, of which storage logs few",
    ),
    remedy="Look at what the Pod or person ran: backup and inventory tools belong in "
    "weights.expected, people should not need to search.",
    bound=f"{_MOST} triples of principal, store and address; the days of {_MOST} kinds of bursts",
    begin=EnumerationState,
    see=_see,
    acts=frozenset({Act.LIST, Act.POLICY, Act.READ}),
    elsewhere=_is_feed,
    covers={
        _FEEDS: Coverage(_is_feed, frozenset({Same.ACCOUNT, Same.WHO})),
        "": Coverage(lambda access: bool(_aspect_of(access)), span=Span.DAYS),
        _POLICIES: Coverage(lambda access: _aspect_of(access) == _POLICIES, span=Span.DAYS),
        _LISTINGS: Coverage(lambda access: _aspect_of(access) == _LISTINGS, span=Span.DAYS),
        _LOOKS: Coverage(lambda access: _aspect_of(access) == _LOOKS, span=Span.DAYS),
    },
    tuning=(
        Tunable(
            "enumeration_least_lists",
            100,
            "listings",
            "a listing gives 5,000 names, so 100 in ten minutes are more than any store's shards",
        ),
        Tunable(
            "enumeration_least_looks",
            500,
            "looks",
            "mounts look at each blob before they read it, some hundred at a start",
        ),
        Tunable(
            "enumeration_looks_to_reads",
            5,
            "looks for each read",
            "whoever reads what it looked at is working: mounts look two or three times",
        ),
        Tunable(
            "enumeration_least_policies",
            10,
            "requests",
            "programs that train ask for access-control lists never, or once at a start",
        ),
        Tunable(
            "enumeration_usual_days",
            3,
            "days",
            "three days make an inventory that comes again",
        ),
    ),
)
