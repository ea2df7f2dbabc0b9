"""The engine shows each event to those that want it, and nothing that goes wrong is silent."""

import random
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from audit.access.detections.catalogue import DETECTIONS
from audit.access.detections.engine import DetectionEngine
from audit.access.ingest.event_order import EventOrder, event_seconds
from audit.access.model.defaults import DELAY_S
from audit.access.model.detection import Detection, Event, EventContext
from core.base.errors import SettingsError
from core.weights.documents.access import Act, SignedBy
from core.weights.documents.events import Finding, Severity, Topic
from tests.unit.audit.access.detections.events import (
    ANN,
    BOB,
    Around,
    access,
    activity,
    at,
    attributed,
    gap,
    reads,
    shown,
)
from tests.unit.audit.access.detections.reads.stories import key_read, slowly, staged
from tests.unit.audit.access.detections.storage_requests import copied

UNGRANTED: dict[str, Any] = {"grant": "", "ungranted": "no grant", "attribution": attributed()}


def story() -> list[Event]:
    """Tell of much at once: quiet days, and an intruder with a key, a copy and a gap."""
    events: list[Event] = [
        *slowly(16, 5),
        *(one for day in range(15) for one in reads(at(day, 7), range(5), principal=BOB)),
        activity(at(15, 1), Topic.KEYS_LISTED),
        *(key_read(15.1 + n / 500) for n in range(30)),
        *reads(at(15, 7), range(80), "step-9", principal=BOB, **UNGRANTED),
        *copied(at(15, 8), account="thief", container="loot", store=""),
        *staged(15.5, principal=BOB, grant=""),
        gap(at(15, 14), at(15, 20)),
    ]
    return sorted(events, key=event_seconds)


def in_order(events: Sequence[Event]) -> list[Finding]:
    """Show events through the ordering that the pipeline has."""
    engine, ordering, around = DetectionEngine(), EventOrder(), Around()
    found: list[Finding] = []
    for event in events:
        for one in ordering.put(event, event_seconds(event)):
            found += engine.see(one, around)
    for one in ordering.flush(at(1000)):
        found += engine.see(one, around)
    return found


def test_the_story_has_findings_of_many_detections() -> None:
    """What the properties below hold for is not nothing."""
    found = in_order(story())
    assert len({one.detection for one in found}) >= 8
    assert not any(one.late for one in found)


@settings(max_examples=8, deadline=None)
@given(seed=st.integers(0, 1 << 30), share=st.floats(0.0, 0.5))
def test_reordering_and_duplicates_within_the_watermark_change_nothing(
    seed: int, share: float
) -> None:
    """Records come minutes late and twice: the same findings, with the same ids."""
    chance, events = random.Random(seed), story()  # noqa: S311  no secret
    doubled = [*events, *(one for one in events if chance.random() < share)]
    doubled.sort(key=lambda one: event_seconds(one) + chance.random() * DELAY_S * 0.99)
    assert in_order(doubled) == in_order(events)


def test_what_comes_after_later_events_is_told_as_late() -> None:
    """Nobody waited for it: the finding says that it was judged by what is left."""
    found = shown([access(at(3)), key_read(1)], "key-or-anonymous-read")
    assert [one.late for one in found] == [True]


def broken(event: Any, state: Any, known: EventContext) -> Sequence[Finding]:
    """Fail on a read, as a detection with a defect does."""
    raise KeyError(event.blob)


def test_a_detection_that_fails_is_told_and_stops_nobody() -> None:
    """Others see the event; a finding says each day that it does not work; it is counted."""
    told: list[tuple[str, str]] = []
    first = replace(DETECTIONS[0], see=broken)
    engine = DetectionEngine(
        [first, *DETECTIONS[1:]], on_failure=lambda *one: told.append((one[0], ""))
    )
    around = Around()
    events = [access(at(1, n), **UNGRANTED) for n in range(5)]
    found = [one for event in events for one in engine.see(event, around)]
    assert {one.detection for one in found} >= {first.id, "ungranted"}
    (says,) = (one for one in found if one.detection == first.id)
    assert says.severity is Severity.HIGH
    assert "does not work (KeyError)" in says.title
    assert "shard" not in says.detail + says.title
    assert engine.broken[first.id].times == len(told) == 5
    again = DetectionEngine([first, *DETECTIONS[1:]])
    again.restore(engine.snapshot())
    assert again.broken[first.id].times == 5


def test_findings_of_those_who_are_expected_are_counted_and_not_raised() -> None:
    """The operator's own rotation of keys raises nothing, and is no secret either."""
    engine = DetectionEngine(expected={"keys-and-logging": frozenset({f"oid:{BOB}"})})
    assert shown([activity(at(1), Topic.KEYS_LISTED)], engine=engine) == []
    assert engine.unraised == {"keys-and-logging": 1}
    by_client = DetectionEngine(expected={"keys-and-logging": frozenset({"client:robot"})})
    listed = activity(at(1), Topic.KEYS_LISTED, application="robot")
    assert shown([listed], engine=by_client) == []
    assert shown([activity(at(1), Topic.KEYS_LISTED, principal=ANN)], engine=engine) != []


@pytest.mark.parametrize(
    "content",
    [b"", b"\xc1", msgspec.msgpack.encode({"format": 2}), msgspec.msgpack.encode([1])],
    ids=["empty", "garbage", "later", "list"],
)
def test_a_snapshot_that_cannot_be_used_begins_anew_and_says_so(content: bytes) -> None:
    """An unknown version is never read as if it were known, and never stops the ingest."""
    engine = DetectionEngine()
    shown([key_read(1)], engine=engine)
    assert len(engine.restore(content)) == 1
    assert DetectionEngine().restore(engine.snapshot()) == ()


def test_a_state_that_cannot_be_read_begins_anew_alone() -> None:
    """Where one detection's state has changed its shape, the others go on."""
    engine, after = DetectionEngine(), DetectionEngine()
    shown([key_read(1)], engine=engine)
    stored = msgspec.msgpack.decode(engine.snapshot())
    stored["states"]["ungranted"] = {"done": 5}
    del stored["states"]["log-gap"]
    problems = after.restore(msgspec.msgpack.encode(stored))
    assert [one.partition(":")[0] for one in problems] == ["ungranted", "log-gap"]
    assert shown([key_read(1.1)], "key-or-anonymous-read", engine=after) == []


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"tuned": {"volume": 1.0}}, "no number volume"),
        ({"expected": {"x": frozenset()}}, "no detection x"),
    ],
    ids=["number", "detection"],
)
def test_settings_that_name_nothing_are_refused(given: dict[str, Any], message: str) -> None:
    """A typing error must not leave a detection as it was."""
    with pytest.raises(SettingsError, match=message):
        DetectionEngine(**given)


def test_an_operators_number_counts() -> None:
    """With a share of one half, six shards of a hundred are not grave yet."""
    events = [key_read(1 + n / 50, bytes_out=10 << 30) for n in range(12)]
    assert len(shown(events, "key-or-anonymous-read")) == 2
    engine = DetectionEngine(tuned={"unsigned_grave_share": 0.5})
    assert len(shown(events, "key-or-anonymous-read", engine=engine)) == 1


def test_numbers_and_ids_are_told_apart() -> None:
    """A setting's key is of one detection, and the numbers from 1 on are all there."""
    names = [one.name for each in DETECTIONS for one in each.tuning]
    assert len(names) == len(set(names))
    assert [each.number for each in DETECTIONS] == list(range(1, len(DETECTIONS) + 1))
    assert len({each.id for each in DETECTIONS}) == len(DETECTIONS)
    assert all(each.acts or each.topics or each.gaps for each in DETECTIONS)


def test_young_baselines_are_listed() -> None:
    """A report says of what there is too little history to judge by."""
    engine = DetectionEngine()
    shown([access(at(day)) for day in range(3)], engine=engine)
    young = {one.detection for one in engine.young(at(3))}
    assert young == {"volume-above-baseline", "new-caller"}
    shown([access(at(day)) for day in range(3, 20)], engine=engine)
    assert engine.young(at(20)) == []


def test_detections_want_no_more_than_they_name() -> None:
    """A detection of activities is never shown an access: most accesses touch few."""
    seen: list[str] = []

    def watch(event: Any, state: Any, known: EventContext) -> Sequence[Finding]:
        seen.append(type(event).__name__)
        return ()

    each = Detection(**{**vars(DETECTIONS[11]), "see": watch})
    engine = DetectionEngine([each])
    other = access(at(1, 1), signed_by=SignedBy.SAS, act=Act.OTHER)
    shown(
        [access(at(1)), other, activity(at(2), Topic.KEYS_LISTED), gap(at(1), at(2))], engine=engine
    )
    assert seen == ["Activity"]
