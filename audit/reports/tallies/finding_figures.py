"""The tally of what findings come to: of the accesses that they are about, as the ledger has them.

A finding tells how much it was when it was found. What came after, on the same day or in the same
window, is counted here, once for a finding and once for a case.
"""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Final, NamedTuple

from audit.access.cases import FindingCase, place_of
from audit.access.detections.catalogue import DETECTIONS
from audit.access.model.coverage import (
    Coverage,
    CoverageKey,
    Same,
    coverage_of,
    days_of,
    first_day_of,
    keys_of_access,
    keys_of_finding,
)
from audit.access.model.detection import Detection
from audit.access.model.findings import is_failure
from core.base.ids import uuid7_unix_ms
from core.base.times import DAY_MS
from core.weights.documents.access import Access
from core.weights.documents.events import Finding

_BY_ID: Final[Mapping[str, Detection]] = {each.id: each for each in DETECTIONS}

MOST_EVIDENCE: Final = 100
"""Ids of accesses that stand beside a finding; `Figures.events` counts all."""


class Figures:
    """What accesses come to that findings are about."""

    __slots__ = ("amount", "events", "evidence", "first", "last")

    def __init__(self) -> None:
        self.events = self.amount = 0
        self.first = self.last = ""
        self.evidence: list[str] = []
        """Of the first accesses, as they come: in the order of their ids."""

    def add(self, access: Access, amount: int) -> None:
        """Count one."""
        self.events += 1
        self.amount += amount
        self.first = min(self.first or access.time, access.time)
        self.last = max(self.last, access.time)
        if len(self.evidence) < MOST_EVIDENCE:
            self.evidence.append(access.id)


class _Counted(NamedTuple):
    """A finding that counts accesses."""

    place: str
    """Cluster and id."""
    coverage: Coverage
    detection: Detection
    first_day: int
    days: range | None

    def concerns(self, access: Access, day: int) -> bool:
        """Return whether it counts an access of one of its days, or of a day after its first."""
        if day < self.first_day:
            return False
        return self.detection.is_shown(access) and self.coverage.concerns(access)


class FindingFigures:
    """Takes accesses; gives what each finding, and each case, comes to."""

    def __init__(self, findings: Sequence[Finding] = (), cases: Sequence[FindingCase] = ()) -> None:
        self._by_key: dict[tuple[CoverageKey, int | None], list[_Counted]] = defaultdict(list)
        """By day, too: of one principal there may be findings on each day of a year. None: those
        that count all days after their first."""
        self._sames: set[frozenset[Same]] = set()
        self._of_finding: dict[str, Figures] = {}
        self._of_case: dict[str, Figures] = {}
        self._counting: set[str] = set()
        self._case_of = {place: case.id for case in cases for place in case.members}
        for finding in findings:
            self._note(finding)

    def _note(self, finding: Finding) -> None:
        detection = _BY_ID.get(finding.detection)
        if detection is None or is_failure(finding):
            return  # Of another release; or about the detection itself, and not about accesses.
        coverage = coverage_of(finding, detection.covers)
        if coverage is None:
            return
        counted = _Counted(
            place_of(finding),
            coverage,
            detection,
            first_day_of(finding),
            days_of(finding, coverage.span),
        )
        self._sames.add(coverage.same)
        self._counting.add(counted.place)
        for key in keys_of_finding(finding, coverage.same):
            for day in (None,) if counted.days is None else counted.days:
                self._by_key[key, day].append(counted)

    def add(self, access: Access) -> None:
        """Count an access for each finding and each case that is about it, once for each."""
        found = self._found(access)
        cases: dict[str, int] = {}
        for place, amount in found.items():
            self._of_finding.setdefault(place, Figures()).add(access, amount)
            if (case := self._case_of.get(place)) is not None:
                cases[case] = max(amount, cases.get(case, 0))
        for case, amount in cases.items():
            self._of_case.setdefault(case, Figures()).add(access, amount)

    def _found(self, access: Access) -> dict[str, int]:
        """Return which findings are about an access, with its bytes for each."""
        day = uuid7_unix_ms(access.id) // DAY_MS
        found: dict[str, int] = {}
        for same in self._sames:
            for key in keys_of_access(access, same):
                for one in (*self._by_key.get((key, day), ()), *self._by_key.get((key, None), ())):
                    if one.concerns(access, day):
                        found[one.place] = one.coverage.bytes_of(access)
        return found

    def span(self) -> tuple[int, int | None]:
        """Return from when to before when accesses are counted, in milliseconds since the epoch.

        None: there is no end. Nothing is counted at all: nothing lies between them.
        """
        counted = [one for ones in self._by_key.values() for one in ones]
        if not counted:
            return 0, 0
        begin = min(one.first_day for one in counted) * DAY_MS
        stops = [None if one.days is None else one.days.stop for one in counted]
        if None in stops:
            return begin, None
        return begin, max(stop for stop in stops if stop is not None) * DAY_MS

    def is_counted(self, finding: Finding) -> bool:
        """Return whether a finding counts accesses at all."""
        return place_of(finding) in self._counting

    def concerns(self, access: Access) -> bool:
        """Return whether a finding is about an access."""
        return bool(self._found(access))

    def of_finding(self, finding: Finding) -> Figures | None:
        """Return what a finding comes to; None where the period has no access that it is about."""
        return self._of_finding.get(place_of(finding))

    def of_case(self, case: FindingCase) -> Figures | None:
        """Return what a case comes to; None as for a finding."""
        return self._of_case.get(case.id)
