"""Each detection finds its stories and is quiet on others."""

import msgspec
import pytest

from audit.access.detections.catalogue import DETECTIONS
from audit.access.detections.engine import DetectionEngine
from audit.access.model.detection import Detection
from audit.access.model.findings import moment_text
from core.weights.documents.events import MOST_EVIDENCE, Severity, decode_finding, encode_event
from tests.unit.audit.access.detections.callers import stories as callers_stories
from tests.unit.audit.access.detections.changes import stories as changes_stories
from tests.unit.audit.access.detections.credentials import stories as credentials_stories
from tests.unit.audit.access.detections.events import (
    ANN,
    BOB,
    Around,
    access,
    at,
    attributed,
    shown,
)
from tests.unit.audit.access.detections.examples import EXAMPLES, Example
from tests.unit.audit.access.detections.logs import stories as logs_stories
from tests.unit.audit.access.detections.management import stories as management_stories
from tests.unit.audit.access.detections.reads import stories as reads_stories

TOLD_IN = (
    callers_stories,
    changes_stories,
    credentials_stories,
    logs_stories,
    management_stories,
    reads_stories,
)
"""Importing them notes their examples."""


def named(example: Example) -> str:
    """Name an example for its test."""
    return f"{example.detection}: {example.name}"


@pytest.mark.parametrize("example", EXAMPLES, ids=named)
def test_a_story_gives_the_findings_that_it_says(example: Example) -> None:
    """As many, as grave, and in this order; quiet is none of this detection."""
    found = shown(example.tell(), example.detection, example.around())
    assert tuple(one.severity for one in found) == example.severities
    assert len({one.id for one in found}) == len(found)
    for one in found:
        assert len(one.title) < 120
        assert one.detail.endswith((".", "…"))
        assert one.remedy
        assert one.techniques
        assert 1 <= len(one.evidence) <= MOST_EVIDENCE or one.detection == "log-gap"
        assert one.first <= one.time
        assert decode_finding(encode_event(one)) == one


@pytest.mark.parametrize("example", EXAMPLES, ids=named)
def test_a_story_told_twice_is_found_once(example: Example) -> None:
    """Duplicates come again at any time; an id that was seen lately changes nothing."""
    events = list(example.tell())
    doubled = [each for event in events for each in (event, event)]
    assert shown(doubled, around=example.around()) == shown(events, around=example.around())


@pytest.mark.parametrize("example", EXAMPLES, ids=named)
def test_a_story_interrupted_is_found_the_same(example: Example) -> None:
    """Whoever takes back a snapshot in the middle finds what it would have found."""
    events = list(example.tell())
    straight = DetectionEngine()
    whole = shown(events, around=example.around(), engine=straight)
    for cut in sorted({1, len(events) // 2}):
        before, after, around = DetectionEngine(), DetectionEngine(), example.around()
        found = shown(events[:cut], around=around, engine=before)
        assert after.restore(before.snapshot()) == ()
        found += shown(events[cut:], around=around, engine=after)
        assert found == whole
        assert remembered(after) == remembered(straight)


def remembered(engine: DetectionEngine) -> object:
    """Return what an engine remembers, so that 1 and 1.0 are the same."""
    return msgspec.msgpack.decode(engine.snapshot())


@pytest.mark.parametrize("each", DETECTIONS, ids=lambda each: each.id)
def test_each_detection_has_stories_that_fire_and_stories_that_do_not(each: Detection) -> None:
    """A detection that is never quiet says nothing; one that never fires neither."""
    mine = [one for one in EXAMPLES if one.detection == each.id]
    assert any(one.severities for one in mine)
    assert any(not one.severities for one in mine)


_WITHOUT_STEPS = 20
"""The first detections, whose pages have a remedy alone."""


@pytest.mark.parametrize("each", DETECTIONS[_WITHOUT_STEPS:], ids=lambda each: each.id)
def test_a_page_says_what_to_do_now_and_what_can_be_recovered(each: Detection) -> None:
    """With events that fire and that do not, and steps in the order in which they are done."""
    assert each.fires
    assert each.quiet
    assert each.recoverable.endswith(".")
    minutes = [one.minutes for one in each.steps]
    assert minutes
    assert minutes == sorted(minutes)
    assert all(one.action.endswith(".") for one in each.steps)
    assert any(one.startswith("T1") for one in each.techniques)


def test_each_severity_is_reached() -> None:
    """The gravest that a detection promises is what some story reaches, and none goes beyond."""
    order = list(Severity)
    for each in DETECTIONS:
        told = [s for one in EXAMPLES if one.detection == each.id for s in one.severities]
        assert max(told, key=order.index) is each.severity, each.id


def test_risk_that_is_found_later_finds_what_was_accessed_before() -> None:
    """Entra ID tells of risk up to days later: the access of then is found, with its own time."""
    around = Around()
    engine = DetectionEngine()
    assert shown([access(at(1, 2))], engine=engine, around=around) == []
    around.risks[f"oid:{ANN}"] = (at(1), at(1, 3), "high")
    later = [access(at(2, n), principal=BOB, attribution=attributed()) for n in range(24)]
    (found,) = shown(later, "access-at-risk", around=around, engine=engine)
    assert (found.who, found.store, found.first) == (
        f"oid:{ANN}",
        "frontier",
        moment_text(at(1, 2)),
    )
    assert found.evidence == [access(at(1, 2)).id]
    assert "which was known by" in found.detail
    assert found.pods == found.addresses == []
