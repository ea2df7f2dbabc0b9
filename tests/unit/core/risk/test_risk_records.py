"""A record gives back what was written, and never something milder where it cannot."""

import uuid

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.risk.model import (
    Application,
    ApplicationKind,
    Behaviour,
    BehaviourEntry,
    PrincipalKind,
    RiskEntry,
    RiskLevel,
    RiskState,
)
from core.risk.records import (
    MOST_EVENT_ID,
    MOST_EVENT_TYPE,
    MOST_EVENT_TYPES,
    OTHER_TYPE,
    RecordSort,
    not_at_risk_since,
    pack_application,
    pack_behaviour,
    pack_entry,
    unpack_application,
    unpack_behaviour,
    unpack_entry,
)

_times = st.integers(0, 2**32 - 1)
_ids = st.one_of(
    st.just(""),
    st.uuids().map(str),
    st.uuids().map(lambda each: str(each).upper()),
    st.binary(min_size=32, max_size=32).map(bytes.hex),
    st.binary(min_size=32, max_size=32).map(lambda each: each.hex().upper()),
    st.text("abc-é漢", max_size=21),
)
ENTRIES = st.builds(
    RiskEntry,
    kind=st.sampled_from(PrincipalKind),
    level=st.sampled_from(RiskLevel),
    state=st.sampled_from(RiskState),
    deleted=st.booleans(),
    updated=_times,
    since=_times,
    active=_times,
    revoked=_times,
    event_id=_ids,
    event_type=st.text("abcXYZ", max_size=MOST_EVENT_TYPE),
)


@given(ENTRIES)
def test_an_entry_is_read_as_it_was_written(entry: RiskEntry) -> None:
    """Letter for letter, whatever form the id has."""
    types = {"": 0}
    record = pack_entry(entry, types)
    assert unpack_entry(record, tuple(types)) == entry


@given(st.text(max_size=200))
def test_a_long_id_is_cut_and_stays_readable(text: str) -> None:
    """Whatever characters it has, it takes at most so many bytes and can be read back."""
    record = pack_entry(RiskEntry(updated=1, event_id=text), {"": 0})
    found = unpack_entry(record, ("",)).event_id
    assert len(found.encode()) <= MOST_EVENT_ID
    assert len(record) < 255


def test_times_that_do_not_fit_are_held_at_the_ends() -> None:
    """Before 1970 and after 2106 nothing overflows."""
    record = pack_entry(RiskEntry(updated=2**40, since=-5), {"": 0})
    found = unpack_entry(record, ("",))
    assert (found.updated, found.since) == (2**32 - 1, 0)


def test_types_of_events_are_bounded() -> None:
    """Beyond so many, any further one is `other`, and the ones before stay what they are."""
    types = {"": 0}
    for number in range(MOST_EVENT_TYPES + 50):
        record = pack_entry(RiskEntry(updated=1, event_type=f"type{number}"), types)
    assert len(types) == MOST_EVENT_TYPES + 1
    assert unpack_entry(record, tuple(types)).event_type == OTHER_TYPE


def test_what_only_a_later_release_knows_is_never_milder() -> None:
    """A level and a state with new numbers are unknown; an application is nobody's of ours."""
    record = bytearray(pack_entry(RiskEntry(updated=1), {"": 0}))
    record[0] = record[1] = record[2] = 200
    found = unpack_entry(bytes(record), ())
    assert (found.level, found.state) == (RiskLevel.UNKNOWN, RiskState.UNKNOWN)
    assert found.event_type == OTHER_TYPE
    later = bytes([200]) + bytes(16)
    assert unpack_application(later).kind is ApplicationKind.FOREIGN


@pytest.mark.parametrize("kind", ApplicationKind)
def test_an_application_is_read_as_it_was_written(kind: ApplicationKind) -> None:
    """With an object id, and without."""
    for object_id in ("", str(uuid.uuid4())):
        application = Application(kind, object_id)
        assert unpack_application(pack_application(application)) == application


@given(st.integers(0, 127), _times)
def test_behaviour_is_read_as_it_was_written(bits: int, until: int) -> None:
    """Every combination of signals."""
    acting = BehaviourEntry(Behaviour(bits), until)
    assert unpack_behaviour(pack_behaviour(acting)) == acting


@given(ENTRIES)
def test_only_who_is_not_at_risk_is_ever_left_out(entry: RiskEntry) -> None:
    """Neither one at risk, nor an unknown state, nor one whose sessions were revoked."""
    record = pack_entry(entry, {"": 0})
    safe = entry.state in {
        RiskState.NONE,
        RiskState.CONFIRMED_SAFE,
        RiskState.REMEDIATED,
        RiskState.DISMISSED,
    }
    risky = entry.state is RiskState.NONE and entry.level is not RiskLevel.NONE
    expected = entry.updated if safe and not risky and not entry.revoked else None
    assert not_at_risk_since(bytes([RecordSort.CAEP]) + bytes(16), record) == expected
    assert not_at_risk_since(bytes([RecordSort.GUEST]) + bytes(16), b"") is None
