"""3: what a principal reads in small parts adds up to a whole checkpoint."""

from collections.abc import Sequence
from statistics import median
from typing import Final

import msgspec

from audit.access.baselines.blob_sizes import (
    BlobSizes,
    bytes_of_others,
    note_change,
    note_read,
    size_of,
)
from audit.access.baselines.footprints import Footprint, add_window, forget_before
from audit.access.model.azure_scanners import is_malware_scan
from audit.access.model.coverage import Coverage, Span, is_read_of_bytes
from audit.access.model.detection import Detection, EventContext, Tunable, YoungBaseline
from audit.access.model.findings import make_finding, size_text
from audit.access.model.sightings import LISTED, digest_of, touch
from core.base.times import DAY_S, day_text
from core.weights.documents.access import Access, Act, Confidence
from core.weights.documents.events import Finding, Severity

_MOST: Final = 2048
_STEP: Final = 0.01
"""Of a checkpoint: so much more must have been read before it is added up again."""

_WINDOWS: Final = 6
"""Of its own past that a reader is held against."""

_REMEMBERED_DAYS: Final = 180
"""After so long a finding may come again at the same amount."""

_STRANGE: Final = "strange"
_ACCOUNTED: Final = "accounted"


class ReaderWindow(msgspec.Struct, gc=False, array_like=True):
    """What one principal has read of one store within the window."""

    footprint: Footprint = msgspec.field(default_factory=Footprint)
    days: dict[int, float] = {}
    """Bytes by day that had not been read before."""
    since: float = 0.0
    """Bytes since they were added up last."""
    total: float = 0.0
    """On slow days of the window, as added up last."""
    told: float = 0.0
    """What the last finding came to, and on which day it was."""
    told_day: int = -1
    events: int = 0
    last_day: int = -1
    before: list[float] = []
    """What it came to at the end of each window before, the last ones."""


class SlowExfiltrationState(msgspec.Struct):
    """What this detection remembers."""

    readers: dict[str, ReaderWindow] = {}
    written: BlobSizes = msgspec.field(default_factory=BlobSizes)
    unsized: dict[str, float] = {}
    """Stores whose `checkpointSize` nobody said, and when they were read last."""


def _counts(access: Access) -> bool:
    return is_read_of_bytes(access) and not is_malware_scan(access)


def _see(access: Access, state: SlowExfiltrationState, known: EventContext) -> Sequence[Finding]:
    if not known.done:
        return ()
    if access.act is not Act.READ:
        note_change(state.written, access, known)
        return ()
    if not access.bytes_out or is_malware_scan(access):
        return ()
    checkpoint = known.checkpoint_bytes(access.store)
    if checkpoint:
        return _count(access, state, known, checkpoint)
    if access.store in state.unsized or len(state.unsized) < _MOST:
        state.unsized[access.store] = known.at
    return ()


def _count(
    access: Access, state: SlowExfiltrationState, known: EventContext, checkpoint: int
) -> Sequence[Finding]:
    digest = digest_of(access.container, access.blob)
    amount = bytes_of_others(state.written, digest, access, known, known.tuned["slow_own_times"])
    if not amount:
        return ()
    note_read(state.written, digest, known.day)
    window = int(known.tuned["slow_window_days"])
    is_strange = not _is_accounted(access)
    name = f"{known.pair} strange" if is_strange else known.pair
    reader = touch(state.readers, name, ReaderWindow, _MOST)
    if known.day > reader.last_day:
        _begin_day(reader, known.day, window, known.tuned["slow_most_share_a_day"] * checkpoint)
    reader.events += 1
    size = size_of(state.written, digest, access)
    gained = add_window(reader.footprint, digest, known.day, amount, size, window)
    if not gained:
        return ()
    reader.days[known.day] = reader.days.get(known.day, 0.0) + gained
    reader.since += gained
    if reader.since < _STEP * checkpoint:
        return ()
    reader.since = 0.0
    return _judge(access, state, reader, known, is_strange=is_strange)


def _is_accounted(access: Access) -> bool:
    """Return whether a grant, a Pod and a listed network account for an access."""
    return (
        bool(access.grant)
        and access.attribution.confidence is not Confidence.UNATTRIBUTED
        and access.caller in LISTED
    )


def _begin_day(reader: ReaderWindow, day: int, window: int, most: float) -> None:
    if 0 <= reader.last_day // window < day // window:
        slow = sum(amount for amount in reader.days.values() if amount <= most)
        reader.before = [*reader.before, slow][-_WINDOWS:]
    reader.last_day = day
    forget_before(reader.footprint, day - window)
    old = [each for each in reader.days if each <= day - window]
    for each in old:
        del reader.days[each]


def _judge(
    access: Access,
    state: SlowExfiltrationState,
    reader: ReaderWindow,
    known: EventContext,
    *,
    is_strange: bool,
) -> Sequence[Finding]:
    tuned, checkpoint = known.tuned, known.checkpoint_bytes(access.store)
    most = tuned["slow_most_share_a_day"] * checkpoint
    slow = {day: amount for day, amount in reader.days.items() if amount <= most}
    total = reader.total = sum(slow.values())
    if reader.told and known.day > reader.told_day + _REMEMBERED_DAYS:
        reader.told = 0.0
    least = max(tuned["slow_share"] * checkpoint, 2 * reader.told)
    if total < least or len(slow) < tuned["slow_least_days"]:
        return ()
    usual = 0.0 if is_strange else _usual(state.readers, access.store, reader, known)
    own = 0.0 if is_strange else _own(reader, known)
    if own:
        if total < tuned["slow_times_self"] * own:
            return ()
    elif total < tuned["slow_times_peers"] * usual:
        return ()
    reader.told, reader.told_day = total, known.day
    first = min(slow) * DAY_S
    severity = Severity.HIGH
    if not is_strange:
        severity = _accounted_severity(state.readers, access.store, known)
    if own:
        peers = f" In the windows before it came to {size_text(own)}, by their median."
    else:
        peers = f" Three of four other readers came to less than {size_text(usual)}." * bool(usual)
    return [
        make_finding(
            DETECTION,
            access,
            known,
            (access.store, known.who, str(min(slow)), str(is_strange), size_text(total)),
            severity,
            f"{known.who} has read a checkpoint of {access.store} in small parts",
            f"{size_text(total)} of different bytes on {len(slow)} days since {day_text(first)} by "
            f"{known.who}, {total / checkpoint:.1f} times a full checkpoint "
            f"({size_text(checkpoint)}); no such day had more than {size_text(max(slow.values()))}."
            f" Bytes that were read again, or that it wrote itself, are not counted.{peers}",
            first=first,
            events=reader.events,
            amount=total,
            aspect=_STRANGE if is_strange else _ACCOUNTED,
        )
    ]


def _accounted_severity(
    readers: dict[str, ReaderWindow], store: str, known: EventContext
) -> Severity:
    """Say how grave it is where all is granted: where many do so, it is how the store is used."""
    oldest = known.day - known.tuned["slow_window_days"]
    many = sum(
        other.told_day > oldest and name.startswith(f"{store} ") for name, other in readers.items()
    )
    return Severity.LOW if many > known.tuned["slow_crowd"] else Severity.MEDIUM


def _own(reader: ReaderWindow, known: EventContext) -> float:
    """Return what a reader comes to by its own past; 0 where there is too little of that."""
    before = reader.before
    return median(before) if len(before) >= known.tuned["slow_least_windows"] else 0.0


def _usual(
    readers: dict[str, ReaderWindow], store: str, reader: ReaderWindow, known: EventContext
) -> float:
    """Return what three of four other readers stay below; 0 where there are too few."""
    oldest = known.day - known.tuned["slow_window_days"]
    totals = sorted(
        other.total
        for name, other in readers.items()
        if other is not reader and other.last_day > oldest and name.startswith(f"{store} ")
    )
    if len(totals) < known.tuned["slow_least_peers"]:
        return 0.0
    return totals[3 * len(totals) // 4]


def _young(state: SlowExfiltrationState, now: float) -> Sequence[YoungBaseline]:
    return [
        YoungBaseline(
            detection=DETECTION.id,
            subject=store,
            why="the WeightStore has no checkpointSize: what is read of it is not held against one",
        )
        for store, at in state.unsized.items()
        if at > now - 45 * DAY_S
    ]


DETECTION: Final = Detection(
    id="slow-exfiltration",
    number=3,
    title="A whole checkpoint read in small parts",
    about="The different bytes that a principal reads of a store are added up over a window, of "
    "days on which it read no large part of a checkpoint; blobs that it alone wrote are not. "
    "Found at about one checkpoint, and again at each doubling within half a year. Accesses that a "
    "grant, a Pod and a listed network account for are added up apart: they give a medium finding, "
    "and only where they come to more than they used to (twice the median of the windows before) "
    "or, while there is too little past, than others' do (three of four readers of the store, and "
    "half as much again). What is not accounted for is high, whatever others do. Whoever loads a "
    "checkpoint at once is quiet here (detections 2, 4 and 11 look at that), and so is re-reading.",
    severity=Severity.HIGH,
    techniques=("AML.T0025", "AML.T0048.004", "T1030", "T1020"),
    needs=("the StorageRead log", "checkpointSize of the WeightStore"),
    blind=(
        "what Microsoft Defender's scanner reads by Azure's role for it: each new blob",
        "who adds an eighth of its size to each blob that nobody has read or written within memory "
        "(the last 20,000 blobs), and reads the rest",
        "bytes that the principal wrote, or had read before within the window: a trainer that "
        "sends its own checkpoint away by and by reads nothing new",
        "a granted principal that has always read a checkpoint a month in small parts",
        "one that shares the work among several principals",
        "one that takes longer than the window",
        "parts of a blob whose size is not known count once for the best day",
    ),
    remedy="Look at what ran under the principal on these days, and where that could connect to: "
    "a slow reader needs a way out. End the grant until it is known.",
    bound=f"{_MOST} pairs of principal and store, 128 blobs and the window's days of each",
    begin=SlowExfiltrationState,
    see=_see,
    acts=frozenset({Act.READ, Act.WRITE, Act.COPY}),
    covers={
        "": Coverage(_counts, span=Span.ONWARDS),
        _STRANGE: Coverage(
            lambda access: _counts(access) and not _is_accounted(access),
            span=Span.ONWARDS,
        ),
        _ACCOUNTED: Coverage(
            lambda access: is_read_of_bytes(access) and _is_accounted(access), span=Span.ONWARDS
        ),
    },
    tuning=(
        Tunable(
            "slow_window_days",
            30,
            "days",
            "a month: at a day's share of 3 % the whole is out; memory grows with it",
        ),
        Tunable(
            "slow_share",
            0.8,
            "of a checkpoint",
            "some of a checkpoint's bytes (optimizer state, logs) are of no use to a thief, and "
            "what is sampled is off by some per cent",
        ),
        Tunable(
            "slow_most_share_a_day",
            0.3,
            "of a checkpoint",
            "whoever takes more in a day is not slow: that is seen at once",
        ),
        Tunable(
            "slow_times_peers",
            1.5,
            "times",
            "who reads half as much again as three of four others is not one of them",
        ),
        Tunable(
            "slow_times_self",
            2.0,
            "times",
            "whoever reads a checkpoint a month in small parts for its work does so each month; "
            "twice its own median is more than seasons make",
        ),
        Tunable(
            "slow_least_windows",
            3,
            "windows",
            "the median of fewer is chance; until then others are what it is held against",
        ),
        Tunable(
            "slow_crowd",
            5,
            "others",
            "where five others of the store were found within the window, reading so is how it is "
            "used; severity is low then",
        ),
        Tunable("slow_least_peers", 8, "readers", "the upper quarter of fewer is one or two"),
        Tunable(
            "slow_own_times",
            8.0,
            "times",
            "of what its writer put there in blocks: a trainer reads its checkpoint back some "
            "times; who only adds a block to a blob reads far more than that",
        ),
        Tunable(
            "slow_least_days",
            3,
            "days",
            "four days of a quarter are the fastest that is slow",
        ),
    ),
    young=_young,
)
