"""A finding is said once for a name and a severity, and again only where it is graver."""

import pytest

from audit.access.model.findings import graver_key
from core.weights.documents.events import Severity

LOW, MEDIUM, HIGH, CRITICAL = Severity


def test_a_finding_is_news_once_for_each_graver_severity() -> None:
    """Its key tells the severities apart; as grave or less grave is no news."""
    raised: dict[str, int] = {}
    told = [
        graver_key(raised, "ann today", severity, least=LOW)
        for severity in (MEDIUM, MEDIUM, LOW, CRITICAL, HIGH, CRITICAL)
    ]
    news = ("ann today", "medium"), ("ann today", "critical")
    assert told == [news[0], None, None, news[1], None, None]
    assert graver_key(raised, "bob today", LOW, least=LOW) == ("bob today", "low")


@pytest.mark.parametrize(("least", "level"), [(LOW, 3), (MEDIUM, 2), (HIGH, 1)])
def test_what_is_remembered_counts_from_the_least_severity(least: Severity, level: int) -> None:
    """Releases share what is stored: the numbers of a detection must stay."""
    raised: dict[str, int] = {}
    graver_key(raised, "ann today", HIGH, least=least)
    assert raised == {"ann today": level}


def test_a_severity_below_the_least_is_an_error() -> None:
    """It would never be news: the detection must be found to fail, not be silent."""
    with pytest.raises(ValueError, match="severity low is below medium"):
        graver_key({}, "ann today", LOW, least=MEDIUM)
