"""Notices: the names that `findings show` prints, short and harmless; and whom they go to."""

import pytest

from audit.notifications.notice import (
    NoticeEvent,
    notice_of_finding,
    notice_of_gap,
    notice_of_test,
)
from audit.notifications.routes import Route
from audit.reports.sample.cast import CLUSTER as SAMPLE
from core.weights.documents.events import Severity
from tests.unit.audit.notifications.notices import AT_MS, make_finding, make_gap, make_notice


def test_notice_says_what_the_finding_says() -> None:
    """Under the finding's own id, so that a receiver can drop doubles, and look it up."""
    finding = make_finding()
    notice = notice_of_finding(finding)
    shared = set(notice.__struct_fields__) & set(finding.__struct_fields__) - {"format"}
    assert {name: getattr(notice, name) for name in shared} == {
        name: getattr(finding, name) for name in shared
    }
    assert notice.event is NoticeEvent.FINDING
    assert notice.id == finding.id


def test_texts_of_strangers_are_harmless_and_short() -> None:
    """No line break, no control character, no direction of writing; and lists are cut."""
    notice = notice_of_finding(
        make_finding(
            title="a\r\nb\u202ec", detail="x" * 5000, container="\x1b[31m", pods=["p"] * 50
        )
    )
    assert "\n" not in notice.title
    assert "\u202e" not in notice.title
    assert len(notice.detail) <= 2001
    assert "\x1b" not in notice.container
    assert len(notice.pods) == 20


def test_gap_that_a_detection_judged_is_told_as_a_gap() -> None:
    """With the severity that the detection gave it."""
    notice = notice_of_finding(make_finding(detection="log-gap", severity=Severity.HIGH))
    assert (notice.event, notice.severity) == (NoticeEvent.GAP, Severity.HIGH)


def test_gap_that_nobody_judges_is_told_as_it_was_recorded() -> None:
    """A gap of storage's log is graver than one of another."""
    assert notice_of_gap(make_gap("pods")).severity is Severity.LOW
    assert notice_of_gap(make_gap("storage")).severity is Severity.MEDIUM
    assert notice_of_gap(make_gap("pods")).id == make_gap("pods").id


def test_test_notice_is_marked() -> None:
    """Nobody takes it for a finding."""
    notice = notice_of_test("prod", "pager", AT_MS)
    assert notice.event is NoticeEvent.TEST
    assert notice.title.startswith("TEST")


@pytest.mark.parametrize(
    ("route", "takes"),
    [
        (Route(), True),
        (Route(at_least=Severity.HIGH), True),
        (Route(at_least=Severity.CRITICAL), False),
        (Route(stores=frozenset({"frontier"})), True),
        (Route(stores=frozenset({"distilled"})), False),
        (Route(events=frozenset({NoticeEvent.GAP})), False),
        (Route(since="2026-11-21T12:00:00.000Z"), True),
        (Route(since="2026-11-23T00:00:00.000Z"), False),
    ],
)
def test_sink_takes_what_its_route_says(route: Route, takes: bool) -> None:  # noqa: FBT001  pytest
    """By severity, store, event and time; the finding is of 2026-11-21 to 22, high."""
    assert route.takes(make_notice()) is takes


def test_notice_without_a_store_goes_to_sinks_of_every_store() -> None:
    """Keys of an account open all its stores: nobody is left out because no store is named."""
    assert Route(stores=frozenset({"distilled"})).takes(make_notice(store=""))


def test_sample_month_is_told_to_nobody() -> None:
    """It is made up."""
    assert not Route().takes(make_notice(cluster=SAMPLE))
