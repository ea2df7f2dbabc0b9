"""What an ingest counts of itself, for metrics. Plain numbers; nothing here names anybody."""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from audit.access.attribution.lives import unix_seconds
from core.weights.access import Access, Confidence
from core.weights.events import Finding
from core.weights.intake import Intake


@dataclass
class Counts:
    """Totals since the process began."""

    records: Counter[tuple[str, str]] = field(default_factory=Counter)
    """By source and outcome: `stored`, `known`, `refused`, `skipped`, `late`."""
    findings: Counter[tuple[str, str]] = field(default_factory=Counter)
    """By detection and severity. After a crash some are found again, and stored once."""
    confidence: Counter[str] = field(default_factory=Counter)
    """New accesses to weights, by how sure it is whose they were."""
    ungranted: int = 0
    """New accesses to weights that no grant covered."""
    gaps: int = 0
    """New accesses whose attribution a gap in the record made less sure."""
    aside: int = 0
    """Of the refused: could be read, and are older than what is kept, or too far ahead."""
    newest: dict[str, float] = field(default_factory=dict)
    """Unix seconds of the latest record, by source."""
    taken: dict[str, float] = field(default_factory=dict)
    """Unix seconds at which a source last brought something."""
    problems: list[str] = field(default_factory=list)
    """What could not be used, for the log; whoever logs it empties it."""

    def note(
        self, intake: Intake, accesses: Sequence[Access], findings: Sequence[Finding], now: float
    ) -> None:
        """Count a stretch that was stored now, in Unix seconds."""
        for outcome in ("stored", "known", "refused", "skipped", "late"):
            self.records[intake.source, outcome] += getattr(intake, outcome)
        self.note_findings(findings)
        weights = [access for access in accesses if access.store]
        self.confidence.update(each.attribution.confidence._value_ for each in weights)
        self.ungranted += sum(bool(each.ungranted) for each in weights)
        self.gaps += sum(each.attribution.gaps for each in weights)
        if intake.last:
            newest = unix_seconds(intake.last)
            self.newest[intake.source] = max(self.newest.get(intake.source, 0.0), newest)
        self.taken[intake.source] = now

    def note_findings(self, findings: Iterable[Finding]) -> None:
        """Count findings."""
        self.findings.update((each.detection, each.severity.value) for each in findings)


CONFIDENCES = tuple(each.value for each in Confidence)
"""All there are: each has a count, also of none."""
