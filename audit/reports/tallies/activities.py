"""The tally of a period's entries of the activity and audit logs."""

from audit.reports.model import MOST_ROWS, MOST_SHOWN, ActivityCount
from audit.reports.tallies.bounded_rows import BoundedRows, DistinctTexts
from core.weights.documents.events import Activity


class _Topic:
    def __init__(self) -> None:
        self.succeeded = self.failed = 0
        self.principals, self.addresses = DistinctTexts(64), DistinctTexts(64)
        self.last = ""


class ActivityTally:
    """Takes entries of the activity and audit logs; gives a row for each subject."""

    def __init__(self) -> None:
        self._rows = BoundedRows[tuple[str, str, str], _Topic](lambda _: _Topic(), MOST_ROWS)

    def add(self, activity: Activity) -> None:
        """Count an entry."""
        row = self._rows.get((activity.topic.value, activity.log.value, activity.store))
        if row is None:
            return
        row.succeeded += activity.succeeded
        row.failed += not activity.succeeded
        row.principals.add(activity.who)
        row.addresses.add(activity.address)
        row.last = max(row.last, activity.time)

    def rows(self) -> list[ActivityCount]:
        """Return the rows, by subject."""
        return [
            ActivityCount(
                topic=topic,
                log=log,
                store=store,
                succeeded=row.succeeded,
                failed=row.failed,
                principals=row.principals.list(MOST_SHOWN),
                addresses=row.addresses.list(MOST_SHOWN),
                last=row.last,
            )
            for (topic, log, store), row in sorted(self._rows.items())
        ]
