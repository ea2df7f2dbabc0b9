"""What verified security event tokens say, and which are not taken."""

from typing import Any, Final

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.base.errors import SettingsError
from core.risk.model import RiskLevel, RiskSource, RiskState, identity_key
from core.risk.snapshot import RiskSnapshot, SnapshotDraft
from identity.entra.values import kept_event_id
from identity.push.security_events import (
    ReadToken,
    Reason,
    RefusedEvent,
    RiskLevelChange,
    SecurityEventSettings,
    SessionRevoked,
    read_claims,
)
from identity.risk.entry_merge import MergeResult

ISSUER: Final = "https://transmitter.example/"
AUDIENCE: Final = "https://sallyport.example/"
SETTINGS: Final = SecurityEventSettings(ISSUER, AUDIENCE, "https://transmitter.example/keys")
PERSON: Final = "51e26eae-d07b-44e5-bb0b-249f49569a8c"
JTI: Final = "24c63fb56e5a2d77a6b512616ca9fa24"
NOW: Final = 1_750_000_000.0
CAEP: Final = "https://schemas.openid.net/secevent/caep/event-type/"
OPAQUE: Final = {"format": "opaque", "id": PERSON}
LEVEL: Final = {"principal": "USER", "current_level": "HIGH", "event_timestamp": int(NOW) - 5}


def claims(event: dict[str, Any] | None = None, **changes: Any) -> dict[str, Any]:
    """Return the claims of a risk level change; `changes` replace claims, None takes one away."""
    made = {
        "iss": ISSUER,
        "aud": AUDIENCE,
        "iat": int(NOW),
        "jti": JTI,
        "sub_id": OPAQUE,
        "events": {f"{CAEP}risk-level-change": LEVEL if event is None else event},
        **changes,
    }
    return {name: value for name, value in made.items() if value is not None}


def read(**changes: Any) -> ReadToken | RefusedEvent:
    """Read such claims."""
    return read_claims(claims(**changes), SETTINGS, NOW)


def events_of(**changes: Any) -> tuple[RiskLevelChange | SessionRevoked, ...]:
    """Return the events of sound claims."""
    found = read(**changes)
    assert isinstance(found, ReadToken), found
    return found.events


@pytest.mark.parametrize(
    ("word", "level", "state"),
    [
        ("LOW", RiskLevel.LOW, RiskState.REMEDIATED),
        ("MEDIUM", RiskLevel.MEDIUM, RiskState.AT_RISK),
        ("HIGH", RiskLevel.HIGH, RiskState.AT_RISK),
    ],
)
def test_a_risk_level_change_sets_the_level_of_a_person(
    word: str, level: RiskLevel, state: RiskState
) -> None:
    """In the family CAEP, with the token's id; LOW clears, since CAEP knows nothing below it."""
    (event,) = events_of(event=LEVEL | {"current_level": word})
    draft = SnapshotDraft.of(RiskSnapshot())
    assert event.merge_into(draft, NOW) is MergeResult.CHANGED
    entry = draft.entry(RiskSource.CAEP, identity_key(PERSON))
    assert entry is not None
    assert (entry.level, entry.state, entry.updated) == (level, state, int(NOW) - 5)
    assert (entry.event_id, entry.event_type) == (JTI, "risk-level-change")
    assert draft.entry(RiskSource.ENTRA, identity_key(PERSON)) is None


def test_a_revocation_and_a_level_meet_in_either_order() -> None:
    """Neither undoes the other, also where the older one comes last."""
    revoked = {"events": {f"{CAEP}session-revoked": {"event_timestamp": int(NOW) - 60}}}
    (revocation,), (level,) = events_of(**revoked), events_of()
    for order in ((revocation, level), (level, revocation)):
        draft = SnapshotDraft.of(RiskSnapshot())
        assert [each.merge_into(draft, NOW) for each in order] == [MergeResult.CHANGED] * 2
        entry = draft.entry(RiskSource.CAEP, identity_key(PERSON))
        assert entry is not None
        assert (entry.revoked, entry.level) == (int(NOW) - 60, RiskLevel.HIGH)
        assert entry.event_type == "risk-level-change", "what made them risky is cited"


@pytest.mark.parametrize(
    "subject",
    [
        OPAQUE,
        {"format": "opaque", "id": PERSON.upper()},
        {"format": "iss_sub", "iss": "https://sts.example/", "sub": PERSON},
        {"format": "complex", "user": OPAQUE, "device": {"format": "opaque", "id": "a laptop"}},
        {"format": "complex", "user": {"format": "iss_sub", "iss": "x", "sub": PERSON}},
    ],
)
def test_a_person_is_named_by_an_object_id(subject: dict[str, Any]) -> None:
    """In the formats of RFC 9493, and in a complex subject's user."""
    (event,) = events_of(sub_id=subject)
    assert event.key == identity_key(PERSON)


@pytest.mark.parametrize(
    "subject",
    [
        None,
        "",
        PERSON,
        [OPAQUE],
        {},
        {"format": "opaque"},
        {"format": "opaque", "id": 7},
        {"format": "opaque", "id": "00u1abcd"},
        {"format": "opaque", "id": f"{{{PERSON}}}"},
        {"format": "email", "email": "ada@example.com", "id": PERSON},
        {"format": "phone_number", "phone_number": "+1"},
        {"format": "iss_sub", "id": PERSON},
        {"format": "aliases", "identifiers": [OPAQUE]},
        {"format": "complex"},
        {"format": "complex", "user": PERSON},
        {"format": "complex", "session": OPAQUE},
        {"format": "complex", "user": {"format": "complex", "user": OPAQUE}},
        {"format": ["opaque"], "id": PERSON},
    ],
)
def test_a_subject_that_is_no_object_id_is_refused(subject: Any) -> None:
    """Sallyport keeps no mail and no names by which it could find the person."""
    found = read(sub_id=subject)
    assert isinstance(found, RefusedEvent)
    assert found.reason is Reason.SUBJECT


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"iss": "https://transmitter.example"}, Reason.ISSUER),
        ({"iss": None}, Reason.ISSUER),
        ({"iss": [ISSUER]}, Reason.ISSUER),
        ({"aud": "https://sallyport.example"}, Reason.AUDIENCE),
        ({"aud": [AUDIENCE + "x"]}, Reason.AUDIENCE),
        ({"aud": {AUDIENCE: 1}}, Reason.AUDIENCE),
        ({"aud": None}, Reason.AUDIENCE),
        ({"sub": PERSON}, Reason.MALFORMED),
        ({"exp": int(NOW) + 60}, Reason.MALFORMED),
        ({"jti": None}, Reason.MALFORMED),
        ({"jti": ""}, Reason.MALFORMED),
        ({"jti": 7}, Reason.MALFORMED),
        ({"jti": "x" * 5000}, Reason.MALFORMED),
        ({"events": None}, Reason.MALFORMED),
        ({"events": {}}, Reason.MALFORMED),
        ({"events": [CAEP]}, Reason.MALFORMED),
        ({"iat": None}, Reason.TIME),
        ({"iat": "now"}, Reason.TIME),
        ({"iat": True}, Reason.TIME),
        ({"iat": -1}, Reason.TIME),
        ({"iat": 10**30}, Reason.TIME),
        ({"iat": int(NOW) - 3601}, Reason.TIME),
        ({"iat": int(NOW) + 301}, Reason.FUTURE),
        ({"event": LEVEL | {"event_timestamp": int(NOW) + 301}}, Reason.FUTURE),
        ({"event": LEVEL | {"event_timestamp": (int(NOW) + 301) * 1000}}, Reason.FUTURE),
        ({"event": LEVEL | {"event_timestamp": "now"}}, Reason.MALFORMED),
        ({"event": LEVEL | {"event_timestamp": None}}, Reason.MALFORMED),
        ({"event": LEVEL | {"current_level": "high"}}, Reason.MALFORMED),
        ({"event": LEVEL | {"current_level": "CRITICAL"}}, Reason.MALFORMED),
        ({"event": LEVEL | {"current_level": ["HIGH"]}}, Reason.MALFORMED),
        ({"event": {"principal": "USER"}}, Reason.MALFORMED),
        ({"event": {"current_level": "HIGH"}}, Reason.MALFORMED),
        ({"events": {f"{CAEP}risk-level-change": "HIGH"}}, Reason.MALFORMED),
    ],
)
def test_claims_that_are_wrong_are_refused_with_the_reason(
    changes: dict[str, Any], reason: Reason
) -> None:
    """And the text quotes nothing of them."""
    found = read(**changes)
    assert isinstance(found, RefusedEvent)
    assert found.reason is reason
    assert PERSON not in found.text


def test_the_edges_of_time_are_taken() -> None:
    """Exactly as old, and as far ahead, as is allowed; fractions; milliseconds of old drafts."""
    for issued in (int(NOW) - 3600, int(NOW) + 300, NOW + 0.5):
        assert events_of(iat=issued)
    (event,) = events_of(event=LEVEL | {"event_timestamp": 1_615_304_991_643})
    assert event.at == 1_615_304_991
    (event,) = events_of(event={"principal": "USER", "current_level": "HIGH"})
    assert event.at == int(NOW), "without a time of its own it happened when it was issued"


def test_an_audience_may_be_a_list() -> None:
    """RFC 7519, 4.1.3."""
    assert events_of(aud=["https://other.example/", AUDIENCE])


@pytest.mark.parametrize(
    "events",
    [
        {"https://schemas.openid.net/secevent/ssf/event-type/verification": {"state": "x"}},
        {f"{CAEP}token-claims-change": {}},
        {f"{CAEP}Risk-Level-Change": {}},
        {"": 7},
    ],
)
def test_event_types_that_are_not_known_are_acknowledged(events: dict[str, Any]) -> None:
    """RFC 8935: only what cannot be read or verified is an error. Their subjects are not read."""
    assert read(events=events, sub_id={"format": "opaque", "id": "a stream"}) == ReadToken(JTI, ())


@pytest.mark.parametrize("principal", ["DEVICE", "SESSION", "TENANT", "user", ""])
def test_the_risk_of_what_is_no_person_is_acknowledged_and_changes_nothing(principal: str) -> None:
    """It says nothing about whoever the subject names beside it."""
    assert events_of(event=LEVEL | {"principal": principal}) == ()


def test_one_token_may_tell_of_both() -> None:
    """Two aspects of one event (RFC 8417, 2); one that is wrong refuses the token."""
    both = {f"{CAEP}risk-level-change": LEVEL, f"{CAEP}session-revoked": {}}
    level, revocation = events_of(events=both)
    assert isinstance(level, RiskLevelChange)
    assert isinstance(revocation, SessionRevoked)
    assert isinstance(read(events=both | {f"{CAEP}session-revoked": 7}), RefusedEvent)


def test_an_odd_jti_is_kept_as_its_digest() -> None:
    """An issuer may put a name or an address there; the snapshot must not have it."""
    for odd in ("ada@example.com", "10.0.0.1", "ada-canary", "\ud800"):
        (event,) = events_of(jti=odd)
        assert len(event.event_id) == 64
        assert odd not in repr(event)
    assert kept_event_id(JTI) == JTI
    assert kept_event_id(PERSON.upper()) == PERSON


_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner),
    max_leaves=8,
)


@given(name=st.sampled_from(sorted(claims())), value=_JSON)
def test_no_claim_raises(name: str, value: Any) -> None:
    """Whatever an issuer signs, it is read or refused."""
    assert isinstance(
        read_claims(claims() | {name: value}, SETTINGS, NOW), ReadToken | RefusedEvent
    )


@given(name=st.sampled_from(sorted(LEVEL)), value=_JSON)
def test_no_event_raises(name: str, value: Any) -> None:
    """As above, inside the event; and what is taken is never ahead of the clock."""
    found = read_claims(claims(LEVEL | {name: value}), SETTINGS, NOW)
    assert isinstance(found, ReadToken | RefusedEvent)
    if isinstance(found, ReadToken):
        assert all(0 <= event.at <= NOW + 300 for event in found.events)


@pytest.mark.parametrize(
    ("changes", "names"),
    [
        ({"issuer": ""}, "issuer"),
        ({"audience": ""}, "audience"),
        ({"keys_url": ""}, "keys_url"),
        ({"keys_url": "http://transmitter.example/keys"}, "keys_url"),
        ({"keys_url": "https://user:secret@transmitter.example/keys"}, "keys_url"),
        ({"keys_url": "https:///keys"}, "keys_url"),
    ],
)
def test_settings_that_cannot_work_are_refused(changes: dict[str, str], names: str) -> None:
    """The message names the setting, and quotes no password."""
    given = {"issuer": ISSUER, "audience": AUDIENCE, "keys_url": SETTINGS.keys_url, **changes}
    with pytest.raises(SettingsError, match=names) as refused:
        SecurityEventSettings(given["issuer"], given["audience"], given["keys_url"])
    assert "secret" not in str(refused.value)
