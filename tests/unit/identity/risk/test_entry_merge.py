"""What is heard of an identity joins what is known of it, whatever order it comes in."""

from itertools import permutations

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.risk.model import RiskEntry, RiskLevel, RiskSource, RiskState, identity_key
from core.risk.snapshot import RiskSnapshot, SnapshotDraft
from identity.risk.entry_merge import (
    MOST_AHEAD_S,
    Detection,
    MergeResult,
    merge_detection,
    merge_entry,
    merge_revocation,
)
from identity.risk.standings import entry_at_risk

KEY = identity_key("8d1d8d2c-1a9f-4c7e-9a57-5bb2b1a4a001")
NOW = 1_795_000_000
ENTRA, CAEP = RiskSource.ENTRA, RiskSource.CAEP

ENTRIES = st.builds(
    RiskEntry,
    level=st.sampled_from(RiskLevel),
    state=st.sampled_from(RiskState),
    deleted=st.booleans(),
    updated=st.integers(NOW - 3, NOW),
)


def draft() -> SnapshotDraft:
    """Begin with nothing."""
    return SnapshotDraft.of(RiskSnapshot())


def risk(
    updated: int, state: RiskState = RiskState.AT_RISK, level: RiskLevel = RiskLevel.HIGH
) -> RiskEntry:
    """Return an entry."""
    return RiskEntry(level=level, state=state, updated=updated)


def known(made: SnapshotDraft, family: RiskSource = ENTRA) -> RiskEntry:
    """Return what is known, which must be something."""
    entry = made.entry(family, KEY)
    assert entry is not None
    return entry


def said(entry: RiskEntry) -> tuple[object, ...]:
    """Return what an entry says of risk."""
    return entry.level, entry.state, entry.deleted, entry.updated


def test_a_later_word_replaces_an_earlier_one_and_not_the_other_way_round() -> None:
    """Older data never overwrites newer data; the same again changes nothing."""
    made = draft()
    assert merge_entry(made, ENTRA, KEY, risk(NOW - 10), NOW) is MergeResult.CHANGED
    assert (
        merge_entry(made, ENTRA, KEY, risk(NOW, RiskState.REMEDIATED, RiskLevel.NONE), NOW)
        is MergeResult.CHANGED
    )
    assert merge_entry(made, ENTRA, KEY, risk(NOW - 10), NOW) is MergeResult.OLDER
    again = risk(NOW, RiskState.REMEDIATED, RiskLevel.NONE)
    assert merge_entry(made, ENTRA, KEY, again, NOW) is MergeResult.SAME
    assert known(made).state is RiskState.REMEDIATED


@pytest.mark.parametrize("field", ["updated", "revoked", "active"])
def test_what_lies_too_far_ahead_is_refused(field: str) -> None:
    """300 seconds are let pass for clocks; a second more is refused, and nothing changes."""
    base = risk(NOW)
    made = draft()
    ahead = msgspec.structs.replace(base, **{field: NOW + MOST_AHEAD_S + 1})
    assert merge_entry(made, ENTRA, KEY, ahead, NOW) is MergeResult.FUTURE
    assert not made.changed
    just = msgspec.structs.replace(base, **{field: NOW + MOST_AHEAD_S})
    assert merge_entry(made, ENTRA, KEY, just, NOW) is MergeResult.CHANGED


def test_families_leave_one_another_alone() -> None:
    """That Entra knows of no risk takes nothing back that another transmitter said."""
    made = draft()
    merge_entry(made, CAEP, KEY, risk(NOW - 10), NOW)
    merge_entry(made, ENTRA, KEY, risk(NOW, RiskState.NONE, RiskLevel.NONE), NOW)
    assert known(made, CAEP).state is RiskState.AT_RISK
    assert known(made).state is RiskState.NONE


def test_since_is_kept_while_the_risk_goes_on() -> None:
    """A level that rises is the same risk; one that comes back after it was gone is a new one."""
    made = draft()
    merge_entry(made, ENTRA, KEY, risk(NOW - 40, level=RiskLevel.LOW), NOW)
    merge_entry(made, ENTRA, KEY, risk(NOW - 30), NOW)
    assert known(made).since == NOW - 40
    merge_entry(made, ENTRA, KEY, risk(NOW - 20, RiskState.DISMISSED, RiskLevel.NONE), NOW)
    assert known(made).since == 0
    merge_entry(made, ENTRA, KEY, risk(NOW - 10), NOW)
    assert known(made).since == NOW - 10


def test_of_two_words_of_one_second_the_worse_stands_until_its_source_is_asked_again() -> None:
    """Polling and push may cross; long after, what the source says now holds."""
    made = draft()
    merge_entry(made, ENTRA, KEY, risk(NOW), NOW)
    gone = risk(NOW, RiskState.REMEDIATED, RiskLevel.NONE)
    assert merge_entry(made, ENTRA, KEY, gone, NOW) is MergeResult.SAME
    assert known(made).state is RiskState.AT_RISK
    assert merge_entry(made, ENTRA, KEY, gone, NOW + 61, settled=True) is MergeResult.CHANGED
    assert known(made).state is RiskState.REMEDIATED


@given(st.lists(ENTRIES, min_size=1, max_size=4))
def test_the_order_of_arrival_is_of_no_matter(entries: list[RiskEntry]) -> None:
    """Whatever arrives, in whatever order and however often: level, state and time end the same."""
    ends = set()
    for order in permutations(entries):
        made = draft()
        for entry in (*order, *order[:2]):
            merge_entry(made, ENTRA, KEY, entry, NOW)
        ends.add(said(known(made)))
    assert len(ends) == 1
    assert ends.pop()[3] == max(each.updated for each in entries)


@given(ENTRIES, ENTRIES)
def test_a_risk_is_never_hidden_by_a_word_of_the_same_second(
    one: RiskEntry, other: RiskEntry
) -> None:
    """Where either says "at risk" as of the latest second, the result does."""
    made = draft()
    merge_entry(made, ENTRA, KEY, one, NOW)
    merge_entry(made, ENTRA, KEY, other, NOW)
    latest = max(one.updated, other.updated)
    risky = any(entry_at_risk(each) for each in (one, other) if each.updated == latest)
    assert entry_at_risk(known(made)) is risky
    assert bool(known(made).since) is risky


@given(st.lists(ENTRIES, max_size=4))
def test_what_is_replayed_changes_nothing(entries: list[RiskEntry]) -> None:
    """A second time, not one byte of the snapshot changes."""
    made = draft()
    for entry in entries:
        merge_entry(made, ENTRA, KEY, entry, NOW)
    before = made.finish(NOW)
    again = SnapshotDraft.of(before)
    for entry in entries:
        assert merge_entry(again, ENTRA, KEY, entry, NOW) is not MergeResult.CHANGED
    assert not again.changed


def detection(active: int, event: str = "a", state: RiskState = RiskState.AT_RISK) -> Detection:
    """Return a detection."""
    return Detection(event * 64, "unfamiliarFeatures", active, state)


def test_a_detection_is_cited_whether_it_comes_before_or_after_the_level() -> None:
    """Detections and levels are asked for separately."""
    ends = []
    for first in (True, False):
        made = draft()
        for is_detection in (first, not first):
            if is_detection:
                merge_detection(made, ENTRA, KEY, detection(NOW - 60), NOW)
            else:
                merge_entry(made, ENTRA, KEY, risk(NOW - 30), NOW)
        ends.append(known(made))
    assert ends[0] == ends[1]
    assert ends[0].event_id == "a" * 64
    assert ends[0].active == NOW - 60
    assert ends[0].since == NOW - 30


def test_the_latest_activity_is_cited_and_what_is_no_risk_is_not() -> None:
    """One of several; one that was dismissed is not what a risk rests on."""
    made = draft()
    merge_entry(made, ENTRA, KEY, risk(NOW - 30), NOW)
    assert merge_detection(made, ENTRA, KEY, detection(NOW - 90, "b"), NOW) is MergeResult.CHANGED
    assert merge_detection(made, ENTRA, KEY, detection(NOW - 60, "c"), NOW) is MergeResult.CHANGED
    assert merge_detection(made, ENTRA, KEY, detection(NOW - 90, "b"), NOW) is MergeResult.OLDER
    dismissed = detection(NOW - 10, "d", RiskState.DISMISSED)
    assert merge_detection(made, ENTRA, KEY, dismissed, NOW) is MergeResult.SAME
    future = detection(NOW + MOST_AHEAD_S + 1, "e")
    assert merge_detection(made, ENTRA, KEY, future, NOW) is MergeResult.FUTURE
    assert known(made).event_id == "c" * 64


def test_a_detection_alone_says_nothing_of_risk() -> None:
    """Its own level is not its identity's: that comes with riskyUsers."""
    made = draft()
    merge_detection(made, ENTRA, KEY, detection(NOW), NOW)
    assert not entry_at_risk(known(made))
    assert known(made).updated == 0


def test_a_new_risk_does_not_cite_what_an_old_one_rested_on() -> None:
    """Detections take up to 48 hours: an older activity belongs to the risk before."""
    made = draft()
    merge_detection(made, ENTRA, KEY, detection(NOW - 90 * 3600), NOW)
    merge_entry(made, ENTRA, KEY, risk(NOW - 89 * 3600), NOW)
    merge_entry(made, ENTRA, KEY, risk(NOW - 80 * 3600, RiskState.REMEDIATED, RiskLevel.NONE), NOW)
    assert known(made).event_id
    merge_entry(made, ENTRA, KEY, risk(NOW), NOW)
    assert known(made).event_id == ""
    assert known(made).active == 0


def test_revocations_keep_the_latest_time_and_level_and_state() -> None:
    """They say nothing of risk, and a replay changes nothing."""
    made = draft()
    merge_entry(made, CAEP, KEY, risk(NOW - 30), NOW)
    revoke = (NOW - 10, "b" * 64, "session-revoked", NOW)
    assert merge_revocation(made, CAEP, KEY, *revoke) is MergeResult.CHANGED
    assert merge_revocation(made, CAEP, KEY, *revoke) is MergeResult.SAME
    assert merge_revocation(made, CAEP, KEY, NOW - 20, "c", "x", NOW) is MergeResult.OLDER
    late = (NOW + MOST_AHEAD_S + 1, "c", "x", NOW)
    assert merge_revocation(made, CAEP, KEY, *late) is MergeResult.FUTURE
    assert known(made, CAEP).revoked == NOW - 10
    assert known(made, CAEP).state is RiskState.AT_RISK
    assert known(made, CAEP).event_id == ""
    merge_entry(made, CAEP, KEY, risk(NOW, RiskState.NONE, RiskLevel.NONE), NOW)
    assert known(made, CAEP).revoked == NOW - 10
