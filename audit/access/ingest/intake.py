"""Counts what one batch of a source came to: each record is in it once. Pure."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain
from typing import Final

from audit.access.model.batch import RecordBatch
from audit.access.parsers.reader import ParsedRecord
from audit.ledger.records.frames import Frame, FrameKind, decision_frame_id
from audit.ledger.store.delivery import StoredDelivery
from core.base.ids import stable_id, uuid7_unix_ms
from core.base.times import milli_text
from core.weights.documents.access import Access
from core.weights.documents.events import Activity, Finding, LogGap, encode_event
from core.weights.documents.intake import FORMAT, Intake, RefusedRecord, encode_intake

_CLOCKS_MS: Final = 60_000
"""By which the clock of whoever wrote a record may be ahead of this machine's."""


@dataclass
class BatchIntake:
    """A stretch whose records were read."""

    stretch: RecordBatch
    read: int = 0
    """Records of it."""
    accesses: list[Access] = field(default_factory=list)
    activities: list[Sequence[Activity]] = field(default_factory=list)
    """By record: one that sets several things tells of several."""
    refused: list[RefusedRecord] = field(default_factory=list)
    skipped: int = 0
    skipped_kinds: Mapping[str, int] = field(default_factory=dict)
    begun: bytes | None = None
    """What operations of Azure's have begun by its end, where it tells of one."""

    def add(self, read: ParsedRecord) -> None:
        """Take what a record is."""
        if isinstance(read, Access):
            self.accesses.append(read)
        elif isinstance(read, RefusedRecord):
            self.refused.append(read)
        elif read:
            self.activities.append(read)
        else:
            self.skipped += 1

    @property
    def times_ms(self) -> tuple[int, int]:
        """The earliest and the latest time of a record in it; 0 where there is none."""
        ids = self._ids()
        return (uuid7_unix_ms(min(ids)), uuid7_unix_ms(max(ids))) if ids else (0, 0)

    def latest_ms(self, now_ms: int) -> int:
        """Return the latest time that lies no further ahead than clocks differ; 0 for none.

        For what claims to be of another day nobody waits: it would hold up all others.
        """
        most, ids = now_ms + _CLOCKS_MS, self._ids()
        if not ids or (latest := uuid7_unix_ms(max(ids))) <= most:
            return latest if ids else 0
        return max((time for time in map(uuid7_unix_ms, ids) if time <= most), default=0)

    def _ids(self) -> list[str]:
        """Return the ids of all that was read: they sort by time."""
        return [each.id for each in self.events()]

    def events(self) -> Iterator[Access | Activity]:
        """Return all that was read."""
        return chain(self.accesses, *self.activities)

    def frames(self) -> Iterator[Frame]:
        """Yield what is stored of it besides accesses."""
        for activities in self.activities:
            for activity in activities:
                yield event_frame(FrameKind.ACTIVITY, activity)
        for gap in self.stretch.gaps:
            yield event_frame(FrameKind.LOG_GAP, gap)
        for refused in self.refused:
            frame_id = decision_frame_id(refused.id)
            yield Frame(FrameKind.REFUSED, frame_id, encode_intake(refused))


@dataclass(frozen=True)
class BatchCounts:
    """What became of a stretch's records in the ledger."""

    stored: int
    known: int
    aside: int
    """Accesses and activities that could be read and not be kept: too old, too far ahead, or with
    the id of another record that says otherwise."""
    late: int


def make_intake(cluster: str, taken: BatchIntake, counted: BatchCounts, now_ms: int) -> Intake:
    """Return the document that says what a stretch came to."""
    stretch = taken.stretch
    first, last = taken.times_ms
    return Intake(
        format=FORMAT,
        id=stable_id(now_ms, "intake", cluster, stretch.name, stretch.begin, stretch.end),
        cluster=cluster,
        source=stretch.source,
        begin=_place(stretch, stretch.begin),
        end=_place(stretch, stretch.end),
        read=taken.read,
        stored=counted.stored,
        known=counted.known,
        refused=len(taken.refused) + counted.aside,
        aside=counted.aside,
        skipped=taken.skipped,
        skipped_kinds=dict(taken.skipped_kinds),
        late=counted.late,
        first=_text(first),
        last=_text(last),
    )


def intake_frame(intake: Intake) -> Frame:
    """Return an intake as it is stored."""
    return Frame(FrameKind.INTAKE, decision_frame_id(intake.id), encode_intake(intake))


def finding_frames(findings: Sequence[Finding]) -> list[Frame]:
    """Return findings as they are stored; those of one id once."""
    by_id = {finding.id: finding for finding in reversed(findings)}
    return [event_frame(FrameKind.FINDING, finding) for finding in by_id.values()]


def event_frame(kind: FrameKind, event: Activity | LogGap | Finding) -> Frame:
    """Return an event as it is stored."""
    return Frame(kind, decision_frame_id(event.id), encode_event(event))


def _place(stretch: RecordBatch, place: str) -> str:
    return f"{stretch.key}@{place}" if place else ""


def _text(time_ms: int) -> str:
    return milli_text(time_ms) if time_ms else ""


def count_batch(taken: BatchIntake, stored: StoredDelivery, late: int) -> BatchCounts:
    """Count what became of the records; one that tells of several activities is one."""
    new = set(stored.ids.get(FrameKind.ACTIVITY, ()))
    told = sum(
        any(bytes.fromhex(each.id.replace("-", "")) in new for each in activities)
        for activities in taken.activities
    )
    records = len(taken.accesses) + len(taken.activities)
    count = len(stored.accesses) + told
    aside = min(stored.quarantined, records - count)
    return BatchCounts(stored=count, known=records - count - aside, aside=aside, late=late)
