"""Tallies of what came in of a period and what is missing: the report's completeness."""

from collections import Counter
from dataclasses import dataclass, field
from typing import Final

from audit.reports.completeness import (
    Completeness,
    GapRow,
    LearntDetections,
    RefusedReason,
    SkippedKind,
    SourcePopulation,
)
from audit.reports.model import MOST_ROWS
from audit.reports.periods import Period, unix_ms_of
from audit.reports.tallies.accesses import AccessTally
from audit.reports.tallies.bounded_rows import MOST_KEYS, BoundedRows, cut_rows
from audit.reports.tallies.confirmations import ConfirmationTally
from audit.reports.tallies.findings import FindingTally
from core.weights.documents.events import LogGap
from core.weights.documents.intake import Intake, RefusedRecord
from core.weights.documents.pod_life import LifeEvent, PodLife

_MOST_REASONS: Final = 50
_MOST_KINDS: Final = 50
_OTHER_KINDS: Final = "kinds beyond those that are told apart"
_HOUR_MS: Final = 3_600_000
_STORAGE: Final = "storage"
_ASIDE: Final = "could be read, and not be kept: too old, too far ahead, or with another's id"
_COUNTS: Final = ("read", "stored", "known", "refused", "skipped", "late")


@dataclass
class _Source:
    stretches: int = 0
    counts: Counter[str] = field(default_factory=Counter)
    first: str = ""
    last: str = ""


@dataclass
class _Reason:
    place: str = ""
    records: int = 0


class IntakeTally:
    """Takes what tells of the population; gives the first part of a report."""

    def __init__(self, period: Period) -> None:
        self._period = period
        self._sources: BoundedRows[str, _Source] = BoundedRows(lambda _: _Source())
        self._reasons: BoundedRows[tuple[str, str], _Reason] = BoundedRows(lambda _: _Reason())
        self._refused = 0
        self._skipped = Counter[str]()
        self._gaps: list[LogGap] = []
        self._more_gaps = 0
        self._pods = self._unsure_ends = 0
        self.confirmations = ConfirmationTally(period)
        self.learnt: list[LearntDetections] = []
        self.admitted = self.storage = self.unreadable = 0

    def add_intake(self, intake: Intake, unix_ms: int) -> None:
        """Count a stretch that has records of the period; one of refused ones alone by its own."""
        first = unix_ms_of(intake.first) if intake.first else unix_ms
        last = unix_ms_of(intake.last) if intake.last else unix_ms
        if first >= self._period.end_ms or last < self._period.begin_ms:
            return
        if intake.aside:
            self._note_refused(_ASIDE, intake.source, intake.end, intake.aside)
        source = self._sources.get(intake.source)
        if source is None:
            return
        source.stretches += 1
        for name in _COUNTS:
            source.counts[name] += getattr(intake, name)
        for kind, records in intake.skipped_kinds.items():
            known = kind in self._skipped or len(self._skipped) < MOST_KEYS
            self._skipped[kind if known else _OTHER_KINDS] += records
        if intake.first:
            source.first = min(source.first or intake.first, intake.first)
            source.last = max(source.last, intake.last)

    def add_refused(self, record: RefusedRecord) -> None:
        """Count a record in quarantine; itself it is never shown."""
        self._note_refused(record.reason, record.source, record.place, 1)

    def _note_refused(self, why: str, source: str, place: str, records: int) -> None:
        self._refused += records
        if (reason := self._reasons.get((why, source))) is not None:
            reason.place = reason.place or place
            reason.records += records

    def add_gap(self, gap: LogGap) -> None:
        """Note a gap that touches the period."""
        self.confirmations.add_gap(gap)
        begin, end = unix_ms_of(gap.begin), unix_ms_of(gap.end)
        if begin >= self._period.end_ms or end <= self._period.begin_ms:
            return
        if len(self._gaps) < 10 * MOST_ROWS:
            self._gaps.append(gap)
        else:
            self._more_gaps += 1

    def add_life(self, life: PodLife) -> None:
        """Count what became known of a Pod."""
        self._pods += life.event is LifeEvent.SEEN
        self._unsure_ends += life.event is LifeEvent.ENDED and not life.sure

    def completeness(self, accesses: AccessTally, findings: FindingTally) -> Completeness:
        """Return all of it."""
        reasons = sorted(
            self._reasons.items(), key=lambda item: (-item[1].records, item[0][1], item[0][0])
        )
        refused, more_refused = cut_rows(reasons, _MOST_REASONS)
        kinds = sorted(self._skipped.items(), key=lambda item: (-item[1], item[0]))
        skipped, more_skipped = cut_rows(kinds, _MOST_KINDS)
        gaps, more_gaps = cut_rows(
            sorted(self._gaps, key=lambda gap: (gap.begin, gap.id)), MOST_ROWS
        )
        return Completeness(
            sources=[_population(name, source) for name, source in sorted(self._sources.items())],
            refused=[
                RefusedReason(reason=why, source=source, records=row.records, place=row.place)
                for (why, source), row in refused
            ],
            more_refused=more_refused + self._reasons.overflowed,
            refused_records=self._refused,
            skipped=[SkippedKind(kind=kind, records=records) for kind, records in skipped],
            more_skipped=more_skipped,
            gaps=[_gap(gap) for gap in gaps],
            more_gaps=more_gaps + self._more_gaps,
            gap_hours=self._gap_hours(),
            accesses=accesses.accesses,
            elsewhere=accesses.elsewhere,
            late_findings=findings.late,
            confidence=dict(sorted(accesses.confidence.items())),
            shaken=accesses.shaken,
            lives=self.confirmations.lives(
                admitted=self.admitted, pods=self._pods, unsure_ends=self._unsure_ends
            ),
            storage=self.storage,
            broken=dict(sorted(findings.broken.items())),
            learnt=self.learnt,
            overflowed=accesses.overflowed,
            unreadable=self.unreadable,
            days=[accesses.days[day] for day in range(self._period.days)],
        )

    def _gap_hours(self) -> float:
        """Count hours of the period that a gap of storage logs covers."""
        spans = sorted(
            (
                max(unix_ms_of(gap.begin), self._period.begin_ms),
                min(unix_ms_of(gap.end), self._period.end_ms),
            )
            for gap in self._gaps
            if gap.log == _STORAGE
        )
        total = reached = 0
        for begin, end in spans:
            total += max(end - max(begin, reached), 0)
            reached = max(reached, end)
        return round(total / _HOUR_MS, 2)


def _population(name: str, source: _Source) -> SourcePopulation:
    return SourcePopulation(
        source=name,
        stretches=source.stretches,
        first=source.first,
        last=source.last,
        **{count: source.counts[count] for count in _COUNTS},
    )


def _gap(gap: LogGap) -> GapRow:
    return GapRow(log=gap.log, subject=gap.subject, begin=gap.begin, end=gap.end, why=gap.why)
