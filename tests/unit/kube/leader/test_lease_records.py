"""What a Lease says, what a candidate makes of it, and how long a leader may act."""

import datetime as dt
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.base.errors import ClusterError, NotLeaderError, SettingsError
from kube.leader.lease import (
    LONGEST_S,
    Leadership,
    LeaseSettings,
    boot_time,
    build_claim,
    build_release,
    build_unheld,
    read_record,
)

SETTINGS = LeaseSettings()
NOW = dt.datetime(2026, 3, 1, 12, 0, 0, 5, tzinfo=dt.UTC)


def lease(**spec: Any) -> dict[str, Any]:
    """Return a Lease as kube-apiserver does."""
    return {"metadata": {"name": "l", "resourceVersion": "7", "labels": {"a": "b"}}, "spec": spec}


@pytest.mark.parametrize(
    ("spec", "patience"),
    [
        ({"holderIdentity": "other", "leaseDurationSeconds": 15}, 15),
        ({"holderIdentity": "other", "leaseDurationSeconds": 30}, 30),
        ({"holderIdentity": "other", "leaseDurationSeconds": 1}, 15),
        ({"holderIdentity": "other", "leaseDurationSeconds": 2**31 - 1}, LONGEST_S),
        ({"holderIdentity": "other"}, 15),
        ({"holderIdentity": "", "leaseDurationSeconds": 1}, 0),
        ({"holderIdentity": "", "leaseDurationSeconds": 15}, 15),
        ({"leaseDurationSeconds": 15}, 15),
        ({}, 15),
    ],
)
def test_a_candidate_waits_as_long_as_a_holder_may_act(
    spec: dict[str, Any], patience: float
) -> None:
    """Its own duration at least, a longer one of the holder's up to a cap; none when released."""
    assert read_record(lease(**spec)).patience(SETTINGS) == patience


@given(
    st.dictionaries(
        st.sampled_from("holderIdentity leaseDurationSeconds leaseTransitions acquireTime".split()),
        st.none() | st.booleans() | st.integers() | st.text() | st.lists(st.integers()),
    )
)
def test_a_senseless_record_can_be_waited_for_and_taken_over(spec: dict[str, Any]) -> None:
    """Whatever is in it, a candidate waits a time that ends, and writes a sound one."""
    record = read_record(lease(**spec))
    released_by_holder = not record.holder and record.duration_s == 1
    assert record.patience(SETTINGS) == 0 if released_by_holder else True
    assert released_by_holder or SETTINGS.duration_s <= record.patience(SETTINGS) <= LONGEST_S
    taken = read_record(build_claim(record, "me", SETTINGS, NOW))
    assert (taken.holder, taken.duration_s) == ("me", 15)
    assert taken.transitions == record.transitions + (record.holder != "me")


def test_a_record_without_a_version_is_an_error() -> None:
    """Nothing could be written with a precondition."""
    with pytest.raises(ClusterError, match="resourceVersion"):
        read_record({"metadata": {}, "spec": {}})


def test_a_takeover_counts_a_transition_and_keeps_the_labels() -> None:
    """And carries the version that it was read at."""
    record = read_record(lease(holderIdentity="other", leaseTransitions=4))
    body = build_claim(record, "me", SETTINGS, NOW)
    assert body["metadata"] == lease()["metadata"]
    assert body["spec"] == {
        "holderIdentity": "me",
        "leaseDurationSeconds": 15,
        "acquireTime": "2026-03-01T12:00:00.000005Z",
        "renewTime": "2026-03-01T12:00:00.000005Z",
        "leaseTransitions": 5,
    }


def test_a_renewal_and_a_release_keep_the_transitions() -> None:
    """A renewal keeps the time of the takeover as well."""
    record = read_record(
        lease(holderIdentity="me", leaseTransitions=4, acquireTime="2026-01-01T00:00:00.000000Z")
    )
    renewed = build_claim(record, "me", SETTINGS, NOW)["spec"]
    assert renewed["leaseTransitions"] == 4
    assert renewed["acquireTime"] == "2026-01-01T00:00:00.000000Z"
    given_up = build_release(record, NOW)
    assert given_up["spec"]["leaseTransitions"] == 4
    after = read_record({**given_up, "metadata": lease()["metadata"]})
    assert after.patience(SETTINGS) == 0


def test_a_record_made_where_there_was_none_is_waited_for() -> None:
    """Its deletion may not have reached a leader yet."""
    body = build_unheld("ns", "l", SETTINGS)
    body["metadata"]["resourceVersion"] = "1"
    assert read_record(body).patience(SETTINGS) == SETTINGS.duration_s


@pytest.mark.parametrize(
    "times",
    [
        {"deadline_s": 11},
        {"call_timeout_s": 5},
        {"duration_s": 14},
        {"duration_s": 61},
        {"retry_s": 6},
        {"retry_s": 0, "call_timeout_s": 0},
    ],
)
def test_times_by_which_two_could_lead_are_refused(times: dict[str, float]) -> None:
    """A call begun at the deadline must end before the duration, and a renewal before that."""
    with pytest.raises(SettingsError, match="lease: "):
        LeaseSettings(**times)


def test_a_leadership_ends_at_its_deadline_and_never_comes_back() -> None:
    """`require` passes until the very moment; `end` is for good."""
    now = [100.0]
    leadership = Leadership(3, 110.0, lambda: now[0])
    now[0] = 109.999
    leadership.require()
    now[0] = 110.0
    assert not leadership.holds()
    with pytest.raises(NotLeaderError):
        leadership.require()
    leadership.extend(120.0)
    assert leadership.remaining() == 10
    leadership.extend(105.0)
    assert leadership.remaining() == 10
    leadership.end()
    leadership.extend(200.0)
    assert not leadership.holds()


def test_boot_time_goes_on() -> None:
    """It is a clock."""
    first = boot_time()
    assert 0 < first <= boot_time()
