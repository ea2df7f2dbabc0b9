"""The tally of the period before, which a report compares its own with."""

from collections import Counter, defaultdict
from collections.abc import Mapping

from audit.reports.model import Comparison, DetectionComparison, StoreComparison, StoreRow
from audit.reports.periods import Period, month_before, month_period
from audit.reports.tallies.accesses import AccessSum
from audit.reports.tallies.bounded_rows import MOST_KEYS
from core.weights.documents.access import Access
from core.weights.documents.events import Finding


def period_before(period: Period) -> Period:
    """Return the month before a whole month; before any other period, one that is as long."""
    before = month_before(period.begin_ms)
    year, month = int(period.begin[:4]), int(period.begin[5:7])
    if period == month_period(year, month):
        return before
    return Period(max(2 * period.begin_ms - period.end_ms, 0), period.begin_ms)


class StoreSum:
    """What the accesses to one store come to."""

    def __init__(self) -> None:
        self.summed = AccessSum()
        self.ungranted = 0

    def add(self, access: Access) -> None:
        """Count an access."""
        self.summed.add(access)
        self.ungranted += access.succeeded and bool(access.ungranted)


class PeriodBeforeTally:
    """Takes the findings and accesses of the period before."""

    def __init__(self, period: Period) -> None:
        self.period = period
        self._stores: defaultdict[str, StoreSum] = defaultdict(StoreSum)
        self._detections = Counter[str]()

    def add_access(self, access: Access) -> None:
        """Count an access; one to a store more than a report can tell of is left out."""
        if access.store in self._stores or len(self._stores) < MOST_KEYS:
            self._stores[access.store].add(access)

    def add_finding(self, finding: Finding) -> None:
        """Count a finding."""
        self._detections[finding.detection] += 1

    def compare(self, stores: list[StoreRow], found: Mapping[str, "DetectionCount"]) -> Comparison:
        """Return how a report's own stores and findings stand to those of before."""
        now = {row.store: row for row in stores}
        names = sorted(now.keys() | self._stores.keys())
        detections = sorted(found.keys() | self._detections.keys())
        return Comparison(
            begin=self.period.begin,
            end=self.period.end,
            is_recorded=bool(self._stores or self._detections),
            stores=[self._compare_store(name, now.get(name)) for name in names],
            detections=[
                DetectionComparison(
                    detection=name,
                    findings=found[name].findings if name in found else 0,
                    open=found[name].open if name in found else 0,
                    before=self._detections[name],
                )
                for name in detections
            ],
        )

    def _compare_store(self, name: str, row: StoreRow | None) -> StoreComparison:
        before = self._stores.get(name) or StoreSum()
        sums = before.summed.sums()
        return StoreComparison(
            store=name,
            accesses=row.sums.accesses if row else 0,
            accesses_before=sums.accesses,
            bytes_out=row.sums.bytes_out if row else 0,
            bytes_out_before=sums.bytes_out,
            ungranted=row.ungranted if row else 0,
            ungranted_before=before.ungranted,
        )


class DetectionCount:
    """Findings of one detection, and how many of them are open."""

    def __init__(self) -> None:
        self.findings = 0
        self.open = 0
