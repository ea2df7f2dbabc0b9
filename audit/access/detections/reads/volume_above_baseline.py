"""2: a principal reads more different bytes, or more blobs, in a day than it is used to."""

import math
from collections.abc import Sequence
from typing import Final

import msgspec

from audit.access.baselines.blob_sizes import BlobSizes, note_change, note_read, size_of
from audit.access.baselines.daily_amounts import (
    DailyAmounts,
    UsualAmount,
    add_amount,
    raise_amount,
    usual_before,
)
from audit.access.baselines.footprints import Footprint, add_day, forget_before
from audit.access.model.azure_scanners import is_malware_scan
from audit.access.model.coverage import Coverage, is_read_of_bytes
from audit.access.model.detection import GIB, Detection, EventContext, Tunable, YoungBaseline
from audit.access.model.findings import count_text, make_finding, size_text
from audit.access.model.sightings import count_crowd, digest_of, is_news, touch
from core.base.times import DAY_S, day_text
from core.weights.documents.access import Access, Act
from core.weights.documents.events import Finding, Severity

_MOST: Final = 2048
_FORGET_DAYS: Final = 45
_GRAVE: Final = 4.0
"""Times the limit, from which on it is grave."""

_NOTABLY: Final = 1.05
_NEAR_SPREAD: Final = 0.25
"""The least spread for large parts of a checkpoint: with three distances a factor of two."""


class ReaderBaseline(msgspec.Struct, gc=False, array_like=True):
    """What one principal reads of one store."""

    footprint: Footprint = msgspec.field(default_factory=Footprint)
    bytes: DailyAmounts = msgspec.field(default_factory=DailyAmounts)
    blobs: DailyAmounts = msgspec.field(default_factory=DailyAmounts)
    first: float = 0.0
    """Its first read of the day."""
    events: int = 0
    last_day: int = -1
    notable: float = math.inf
    """Bytes of the day from which on it is looked at."""
    notable_blobs: float = math.inf


class VolumeAboveBaselineState(msgspec.Struct):
    """What this detection remembers."""

    readers: dict[str, ReaderBaseline] = {}
    peers: dict[str, DailyAmounts] = {}
    """Of each store: the largest day reader, by day."""
    crowds: dict[str, dict[int, int]] = {}
    """Of each store: how many were found on its last days."""
    written: BlobSizes = msgspec.field(default_factory=BlobSizes)
    raised: dict[str, int] = {}


def _counts(access: Access) -> bool:
    return is_read_of_bytes(access) and not is_malware_scan(access)


def _see(access: Access, state: VolumeAboveBaselineState, known: EventContext) -> Sequence[Finding]:
    if not known.done:
        return ()
    if access.act is not Act.READ:
        note_change(state.written, access, known)
        return ()
    if not access.bytes_out or is_malware_scan(access):
        return ()
    reader = touch(state.readers, known.pair, ReaderBaseline, _MOST)
    if known.day > reader.last_day:
        _begin_day(reader, known, known.checkpoint_bytes(access.store))
    reader.events += 1
    digest = digest_of(access.container, access.blob)
    note_read(state.written, digest, known.day)
    size = size_of(state.written, digest, access)
    gained, fresh = add_day(reader.footprint, digest, known.day, access.bytes_out, size)
    if not gained and not fresh:
        return ()
    total = add_amount(reader.bytes, known.day, gained)
    blobs = add_amount(reader.blobs, known.day, fresh) if fresh else 0.0
    peers = state.peers.get(access.store)
    if peers is None:
        peers = state.peers[access.store] = DailyAmounts()
    raise_amount(peers, known.day, total)
    if total < reader.notable and blobs < reader.notable_blobs and known.day == reader.last_day:
        return ()
    # Looked at again only where it is notably more: most reads end above.
    reader.notable = max(reader.notable, total * _NOTABLY)
    reader.notable_blobs = max(reader.notable_blobs, blobs * _NOTABLY)
    return _judge(access, state, reader, known)


def _begin_day(reader: ReaderBaseline, known: EventContext, checkpoint: int) -> None:
    """Set from what on the day is looked at."""
    reader.last_day, reader.first, reader.events = known.day, known.at, 0
    forget_before(reader.footprint, known.day - _FORGET_DAYS)
    least, least_blobs = _least(known)
    reader.notable, reader.notable_blobs = least, least_blobs
    usual = usual_before(reader.bytes, known.day)
    blobs = usual_before(reader.blobs, known.day)
    if usual and not _is_young(usual, known):
        reader.notable = max(least, _limit(usual, known, checkpoint))
    if blobs and not _is_young(blobs, known):
        reader.notable_blobs = max(least_blobs, _limit(blobs, known))


def _judge(
    access: Access, state: VolumeAboveBaselineState, reader: ReaderBaseline, known: EventContext
) -> Sequence[Finding]:
    least, least_blobs = _least(known)
    usual = usual_before(reader.bytes, known.day)
    total = reader.bytes.totals.get(known.day, 0.0)
    if usual is None or _is_young(usual, known):
        return _judge_young(access, state, reader, known, total)
    limit = max(least, _limit(usual, known, known.checkpoint_bytes(access.store)))
    over = total / limit
    what = size_text(total)
    blobs = usual_before(reader.blobs, known.day)
    blobs_today = reader.blobs.totals.get(known.day, 0.0)
    texts = size_text
    if blobs:
        most = max(least_blobs, _limit(blobs, known))
        if blobs_today / most > over:
            over, usual, limit, texts = blobs_today / most, blobs, most, count_text
            what = f"{blobs_today:.0f} different blobs"
    level = 2 if over >= _GRAVE else 1
    name = f"{known.pair} {known.day}"
    if over < 1.0 or not is_news(state.raised, name, level):
        return ()
    crowd = count_crowd(state.crowds, access.store, known.day)
    return [
        make_finding(
            DETECTION,
            access,
            known,
            (access.store, known.who, str(known.day), str(level)),
            _severity(level, crowd, known),
            f"{known.who} reads more of {access.store} than it is used to",
            f"{what} on {day_text(known.at)} by {known.who}; on {usual.days} days before, the "
            f"median was {texts(usual.median)}, with a median distance of a factor "
            f"{math.exp(usual.spread):.1f}; {texts(limit)} would be unusual. Bytes that were read "
            f"again count once. {crowd} others were found at this store on that day and the one "
            "before.",
            first=reader.first,
            events=reader.events,
            amount=total,
        )
    ]


def _severity(level: int, crowd: int, known: EventContext) -> Severity:
    """Say how grave it is: what many do on the same days has a common cause, mostly a good one."""
    if crowd >= known.tuned["volume_crowd"]:
        return Severity.LOW
    return Severity.HIGH if level > 1 else Severity.MEDIUM


def _judge_young(
    access: Access,
    state: VolumeAboveBaselineState,
    reader: ReaderBaseline,
    known: EventContext,
    total: float,
) -> Sequence[Finding]:
    """Hold one of whom little is known against the largest days of all others."""
    peers = usual_before(state.peers[access.store], known.day)
    if peers is None or _is_young(peers, known):
        return ()
    limit = max(_least(known)[0], _limit(peers, known))
    name = f"{known.pair} {known.day}"
    if total < limit or not is_news(state.raised, name):
        return ()
    return [
        make_finding(
            DETECTION,
            access,
            known,
            (access.store, known.who, str(known.day), "young"),
            Severity.LOW,
            f"{known.who}, of whom little is known, reads more of {access.store} than others do",
            f"{size_text(total)} on {day_text(known.at)}; the largest reader of a day had a median "
            f"of {size_text(peers.median)} on {peers.days} days. {known.who} has read on "
            f"{len(reader.bytes.totals)} days, too few to say what is usual for it.",
            first=reader.first,
            events=reader.events,
            amount=total,
        )
    ]


def _limit(usual: UsualAmount, known: EventContext, checkpoint: int = 0) -> float:
    """Return from where on a day is unusual: a large part of a checkpoint needs less to be."""
    tuned = known.tuned
    limit = usual.limit(tuned["volume_distances"], tuned["volume_least_spread"])
    if not checkpoint:
        return limit
    near = usual.limit(tuned["volume_near_distances"], _NEAR_SPREAD)
    return min(limit, max(near, tuned["volume_large_share"] * checkpoint))


def _is_young(usual: UsualAmount, known: EventContext) -> bool:
    return usual.days < known.tuned["volume_least_days"]


def _least(known: EventContext) -> tuple[float, float]:
    return known.tuned["volume_least_gib"] * GIB, known.tuned["volume_least_blobs"]


def _young(state: VolumeAboveBaselineState, now: float) -> Sequence[YoungBaseline]:
    least = int(_LEAST_DAYS.value)
    recent = int(now // DAY_S) - _FORGET_DAYS
    return [
        YoungBaseline(
            detection=DETECTION.id,
            subject=name,
            why=f"{len(reader.bytes.totals)} days with reads; {least} are needed",
        )
        for name, reader in state.readers.items()
        if len(reader.bytes.totals) < least and reader.last_day >= recent
    ]


_LEAST_DAYS: Final = Tunable(
    "volume_least_days",
    10,
    "days with reads",
    "the median distance of fewer is chance; two weeks of working days have seen each weekday",
)

DETECTION: Final = Detection(
    id="volume-above-baseline",
    number=2,
    title="More bytes or blobs than the principal is used to",
    about="Each principal's different bytes, and different blobs, of a day and store are held "
    "against its own days before: median and median distance of logarithms, over days with reads. "
    "What was read again counts once, so restarts, epochs and 2,000 Pods instead of ten are quiet; "
    "and what was done on two days before (an evaluation at the month's end) is no news. A day "
    "of half a checkpoint needs less to be unusual. Whoever has too few days is held against the "
    "largest readers of the store, and found with low severity. A graver finding comes at four "
    "times the limit. Where several others of the store were found on the same days, severity is "
    "low: a release, a migration, a month's end.",
    severity=Severity.HIGH,
    techniques=("AML.T0035", "AML.T0025", "T1530"),
    needs=("the StorageRead log with responseBodySize", "ten days of reads of the principal"),
    blind=(
        "what Microsoft Defender's scanner reads by Azure's role for it: each new blob",
        "what stays below the limit: see detection 3",
        "a habit that grows by half every other day: see detection 3",
        "ranges: a blob of unknown size counts what was read of it on its best day, and one that "
        "is new all that is read of it",
        "above 128 blobs of a principal its numbers are estimates, 9 % off",
    ),
    remedy="Ask the humans behind the Pods what they ran. If nobody knows, end the grant, and "
    "revoke the identity's sessions or federated credential.",
    bound=f"{_MOST} pairs of principal and store, 60 days and 128 blobs of each; 20,000 sizes",
    begin=VolumeAboveBaselineState,
    see=_see,
    acts=frozenset({Act.READ, Act.WRITE, Act.COPY}),
    covers={"": Coverage(_counts)},
    tuning=(
        _LEAST_DAYS,
        Tunable(
            "volume_distances",
            5,
            "normal distances",
            "logarithms of daily bytes have heavy tails; three fire weekly among 200 principals, "
            "five are a factor of 7 for the least spread",
        ),
        Tunable(
            "volume_near_distances",
            3,
            "normal distances",
            "for a day that comes to a large part of a checkpoint: missing it costs more than "
            "looking at it",
        ),
        Tunable(
            "volume_large_share",
            0.5,
            "of a checkpoint",
            "half of a model is worth a look wherever it is more than twice what is usual",
        ),
        Tunable(
            "volume_least_spread",
            0.4,
            "of logarithms",
            "whoever reads the same each day must not be found for half as much again",
        ),
        Tunable(
            "volume_crowd",
            4,
            "findings",
            "four principals that go beyond their habits on the same two days are no chance, and "
            "intruders seldom have as many; they stay listed",
        ),
        Tunable(
            "volume_least_gib",
            20,
            "GiB",
            "less is no model that is worth a grant; the weights of 7 billion parameters are 14",
        ),
        Tunable(
            "volume_least_blobs",
            200,
            "blobs",
            "a checkpoint in shards has dozens, its optimizer's state some hundred",
        ),
    ),
    young=_young,
)
