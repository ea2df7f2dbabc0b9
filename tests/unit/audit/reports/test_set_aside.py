"""What could be read and not be kept is in quarantine too: a report that is silent of it lies."""

from typing import Any

from audit.reports.periods import Period
from audit.reports.tallies.accesses import AccessTally
from audit.reports.tallies.findings import FindingTally
from audit.reports.tallies.intakes import IntakeTally
from core.base.times import DAY_MS, milli_text
from core.weights.documents.intake import FORMAT, Intake

BEGIN_MS = 20_500 * DAY_MS


def test_what_was_set_aside_is_counted_and_said() -> None:
    """A record from the day after tomorrow, or one that has another's id."""
    period = Period(BEGIN_MS, BEGIN_MS + DAY_MS)
    tally = IntakeTally(period)
    at = milli_text(BEGIN_MS + 5)
    fields: dict[str, Any] = {
        "cluster": "c",
        "source": "logs",
        "begin": "",
        "end": "k@9",
        "first": at,
        "last": at,
    }
    intake = Intake(format=FORMAT, id="i", read=7, stored=4, refused=3, aside=2, **fields)
    tally.add_intake(intake, BEGIN_MS + 9)
    known = tally.completeness(AccessTally(period), FindingTally(0))
    assert known.refused_records == 2
    ((why, records, place),) = [(row.reason, row.records, row.place) for row in known.refused]
    assert (records, place) == (2, "k@9")
    assert why.startswith("could be read, and not be kept")
