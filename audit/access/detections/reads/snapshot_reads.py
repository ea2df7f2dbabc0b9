"""35: snapshots or earlier versions of many blobs read: a copy of everything that nobody uses."""

from collections.abc import Sequence
from typing import Final

import msgspec

from audit.access.baselines.daily_amounts import DailyAmounts, raise_amount, usual_before
from audit.access.model.coverage import Coverage
from audit.access.model.detection import Detection, EventContext, ResponseStep, Tunable
from audit.access.model.findings import graver_key, make_finding, size_text
from audit.access.model.sightings import LISTED, digest_of, origin_of, touch
from core.weights.documents.access import Access, Act
from core.weights.documents.events import Finding, Severity

_MOST: Final = 1024
_MOST_BLOBS: Final = 4096
_DISTANCES: Final = 5.0
_SPREAD: Final = 0.7
_MADE_DAYS: Final = 7
_SNAPSHOT: Final = "SnapshotBlob"


class SnapshotsMade(msgspec.Struct, gc=False, array_like=True):
    """The last series of snapshots of a store."""

    who: str
    day: int
    count: int = 0


class CopyReadDay(msgspec.Struct, gc=False, array_like=True):
    """What a principal read of earlier states in a store on a day."""

    first: float
    events: int = 0
    bytes: int = 0
    blobs: dict[int, int] = {}
    """By digest, how often each was read."""


class SnapshotReadState(msgspec.Struct):
    """What this detection remembers."""

    made: dict[str, SnapshotsMade] = {}
    """By store."""
    reads: dict[str, CopyReadDay] = {}
    peaks: dict[str, DailyAmounts] = {}
    """Blobs of which a principal read earlier states in a store, by day."""
    raised: dict[str, int] = {}


def _see(access: Access, state: SnapshotReadState, known: EventContext) -> Sequence[Finding]:
    if access.act is Act.READ:
        return _judge(access, state, known) if _concerns(access) else ()
    if access.operation == _SNAPSHOT and known.done:
        made = touch(state.made, access.store, lambda: SnapshotsMade(known.who, known.day), _MOST)
        if made.who != known.who or known.day > made.day + _MADE_DAYS:
            made.who, made.count = known.who, 0
        made.day = known.day
        made.count += 1
    return ()


def _concerns(access: Access) -> bool:
    """Return whether an earlier state of a blob was read ("Get Blob", Azure Storage)."""
    is_copy = "snapshot" in access.extra or "version" in access.extra
    return is_copy and access.act is Act.READ and access.succeeded and bool(access.blob)


def _judge(access: Access, state: SnapshotReadState, known: EventContext) -> Sequence[Finding]:
    key = f"{known.pair} {known.day}"
    day = touch(state.reads, key, lambda: CopyReadDay(known.at), _MOST)
    day.events += 1
    day.bytes += access.bytes_out
    digest = digest_of(access.container, access.blob)
    if digest in day.blobs or len(day.blobs) < _MOST_BLOBS:
        day.blobs[digest] = day.blobs.get(digest, 0) + 1
    count = len(day.blobs)
    if count < known.tuned["snapshot_read_blobs"]:
        return ()
    peaks = touch(state.peaks, known.pair, DailyAmounts, _MOST)
    raise_amount(peaks, known.day, count)
    usual = usual_before(peaks, known.day)
    is_usual = usual and usual.days >= known.tuned["snapshot_read_usual_days"]
    if usual and is_usual and count < usual.limit(_DISTANCES, _SPREAD):
        return ()
    is_ours = bool(access.grant) and access.caller in LISTED
    severity = Severity.MEDIUM if is_ours else Severity.HIGH
    finding_key = graver_key(state.raised, key, severity, least=Severity.MEDIUM)
    if finding_key is None:
        return ()
    return [_finding(access, day, state, known, finding_key, severity)]


def _finding(  # noqa: PLR0913, PLR0917  what a finding is made of
    access: Access,
    day: CopyReadDay,
    state: SnapshotReadState,
    known: EventContext,
    finding_key: tuple[str, str],
    severity: Severity,
) -> Finding:
    made = state.made.get(access.store)
    is_made = made is not None and known.day <= made.day + _MADE_DAYS
    before = (
        f"{made.who} made {made.count} snapshots of the store up to a week before. "
        if made is not None and is_made
        else "Nobody was seen to make snapshots within a week before. "
    )
    return make_finding(
        DETECTION,
        access,
        known,
        finding_key,
        severity,
        f"{known.who} reads snapshots or earlier versions of {len(day.blobs)} blobs",
        f"{size_text(day.bytes)} of {access.store} so far this day, from {origin_of(access)}. "
        f"{before}Who trains or serves reads the present state.",
        first=day.first,
        events=day.events,
        amount=day.bytes,
    )


DETECTION: Final = Detection(
    id="snapshot-read",
    number=35,
    title="Snapshots or earlier versions of many blobs read",
    about="One principal reads snapshots or earlier versions of ten blobs of a store on a day: a "
    "copy of everything that nobody who trains or serves needs. High without a grant or from a "
    "network that nobody listed, medium else. It says who made snapshots of the store within a "
    "week before. What a principal does on three days is held against its own days, so a backup is "
    "quiet from the fourth on.",
    severity=Severity.HIGH,
    techniques=("T1530", "T1213", "AML.T0035"),
    needs=("the StorageRead and StorageWrite logs",),
    blind=(
        "snapshots that are copied by storage into another account: see detection 7",
        "a snapshot that is promoted (copied onto its blob) and read then",
        "who reads a few blobs a day: see detection 3",
    ),
    fires=(
        "SnapshotBlob of 16 shards, then GetBlob with `snapshot=` of each, from an admitted Pod "
        "under a grant (medium)",
        "GetBlob with `versionid=` of 16 shards by a person without a grant (high)",
    ),
    quiet=(
        "snapshots that are made and that nobody reads",
        "one version that is looked at after a mistake",
        "a backup that reads each night's snapshots, from its fourth day on",
    ),
    remedy="Ask who needs an earlier state; a backup belongs in weights.expected.",
    steps=(
        ResponseStep(15, "Ask the principal, and end its Pod where nobody knows why it reads."),
        ResponseStep(30, "Take its read role away, and look at where its Pod could send bytes."),
        ResponseStep(60, "Delete snapshots that nobody needs; look who made them."),
    ),
    recoverable="Nothing was lost. What was read is disclosed, for good.",
    bound=f"{_MOST} stores, {_MOST} days of principals and stores with {_MOST_BLOBS} blobs each",
    begin=SnapshotReadState,
    see=_see,
    acts=frozenset({Act.READ, Act.WRITE}),
    covers={"": Coverage(_concerns)},
    tuning=(
        Tunable(
            "snapshot_read_blobs",
            10,
            "blobs",
            "a small checkpoint has as many shards; who looks for a mistake looks at one or two",
        ),
        Tunable(
            "snapshot_read_usual_days",
            3,
            "days",
            "three days make a backup that comes again",
        ),
    ),
)
