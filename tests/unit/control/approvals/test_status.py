"""The status of an object: stamped by its changes alone, and in as few words as fit."""

import json
from typing import Final

import msgspec

from control.approvals.conditions import ApprovalConditions, ConditionAnswer, unreadable
from control.approvals.status import status_of, status_patch
from core.base.times import time_text
from kube.watch.statuses import ApprovalStatus, StatusHead

HEAD: Final = StatusHead("train", "net", "uid-1", 3, None, "")
WAITS: Final = ConditionAnswer.no("WaitsForApproval", "0 of 2")
HOLDS: Final = ConditionAnswer.yes("TwoPeople", "approved by a, b")


def test_a_condition_keeps_its_time_until_its_status_changes() -> None:
    """Another reason or message is no transition (the API conventions of Kubernetes)."""
    first = status_of(HEAD, ApprovalConditions(WAITS, WAITS), None, 100.0)
    other = ApprovalConditions(ConditionAnswer.no("ApproverAtRisk", "1 of 2"), WAITS)
    second = status_of(HEAD, other, first, 200.0)
    third = status_of(HEAD, ApprovalConditions(HOLDS, WAITS), second, 300.0)
    times = [
        [each.last_transition_time for each in one.conditions] for one in (first, second, third)
    ]
    early, late = time_text(100.0), time_text(300.0)
    assert times == [[early, early], [early, early], [late, early]]
    assert [each.observed_generation for each in third.conditions] == [3, 3]


def test_the_same_standing_gives_the_same_status() -> None:
    """Nothing is written where nothing has changed."""
    conditions = ApprovalConditions(HOLDS, WAITS, 500.0, ("a", "b"))
    first = status_of(HEAD, conditions, None, 100.0)
    assert status_of(HEAD, conditions, first, 200.0) == first


def test_what_is_written_is_read_back_as_it_was() -> None:
    """Also without an end: the patch takes away what stands there."""
    for ends in (500.0, None):
        status = status_of(HEAD, ApprovalConditions(HOLDS, HOLDS, ends, ("a",)), None, 100.0)
        patch = json.loads(json.dumps(status_patch(HEAD, status)))
        assert patch["metadata"] == {"uid": "uid-1"}
        assert ("ends" in patch["status"], patch["status"]["ends"] is None) == (True, ends is None)
        assert msgspec.convert(patch["status"], ApprovalStatus) == status


def test_an_object_that_cannot_be_read_is_said_to_be_invalid() -> None:
    """The gate leaves it out; its message says which field is wrong."""
    status = status_of(HEAD, unreadable("spec.x: there is no such field"), None, 100.0)
    active = status.condition("Active")
    assert active is not None
    told = "it counts for nothing: spec.x: there is no such field"
    assert (active.status, active.reason, active.message) == ("False", "Invalid", told)


def test_a_long_message_is_cut() -> None:
    """The CRD takes more, but nobody reads it."""
    long = ConditionAnswer.no("WaitsForApproval", "x" * 5000)
    status = status_of(HEAD, ApprovalConditions(long, long), None, 100.0)
    assert len(status.conditions[0].message) <= 1000
