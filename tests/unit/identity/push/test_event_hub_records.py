"""What records of the event hub say: real ones, odd ones, and bytes that mean nothing."""

import json
from typing import Any, Final

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.risk.model import PrincipalKind, RiskLevel, RiskSource, RiskState, identity_key
from core.risk.snapshot import RiskSnapshot, SnapshotDraft
from identity.push.event_hub_records import (
    MOST_BYTES,
    MOST_RECORDS,
    DetectionRecord,
    RecordRefusal,
    RiskRecord,
    read_message,
)
from identity.risk.entry_merge import MergeResult
from tests.harness.worlds.entra_records import (
    CANARIES,
    DETECTION,
    EVENT,
    PERSON,
    TENANT,
    USER,
    changed,
    message,
    without,
)

NOW: Final = 1_661_200_000.0
UPDATED: Final = 1_661_191_912
ACTIVE: Final = 1_661_191_506


def read(*records: Any) -> list[RiskRecord | DetectionRecord | RecordRefusal]:
    """Return what a message of these records says."""
    return list(read_message(message(*records), TENANT))


def told(record: dict[str, Any]) -> RiskRecord:
    """Return what one sound record of an identity says."""
    (found,) = read(record)
    assert isinstance(found, RiskRecord)
    return found


def test_a_risky_user_is_told_by_id_level_state_and_time() -> None:
    """As Entra ID sends it; nothing else of the record is kept."""
    found = told(USER)
    assert found.key == identity_key(PERSON)
    assert (found.entry.level, found.entry.state) == (RiskLevel.MEDIUM, RiskState.AT_RISK)
    assert (found.entry.updated, found.entry.deleted) == (UPDATED, False)
    assert found.entry.kind is PrincipalKind.USER


def test_a_detection_is_what_a_risk_rests_on() -> None:
    """Its id, its type, and when the activity was; its level is not its user's."""
    (found,) = read(DETECTION)
    assert isinstance(found, DetectionRecord)
    assert found.key == identity_key(PERSON)
    detection = found.detection
    assert (detection.event_id, detection.event_type) == (EVENT, "anonymizedIPAddress")
    assert (detection.active, detection.state) == (ACTIVE, RiskState.AT_RISK)


def test_service_principals_are_told_the_same_way() -> None:
    """Both categories have their own names for the id."""
    risky = {**changed(USER, displayName=CANARIES[0]), "category": "RiskyServicePrincipals"}
    event = changed(DETECTION, servicePrincipalId=PERSON, userId="", keyIds=["k"])
    event["category"] = "ServicePrincipalRiskEvents"
    first, second = read(risky, event)
    assert isinstance(first, RiskRecord)
    assert isinstance(second, DetectionRecord)
    assert first.entry.kind is PrincipalKind.SERVICE_PRINCIPAL
    assert second.detection.kind is PrincipalKind.SERVICE_PRINCIPAL
    assert first.key == second.key == identity_key(PERSON)


def test_no_name_or_address_of_a_record_reaches_what_is_read() -> None:
    """Canaries in every place where Entra puts people's data."""
    text = repr(read(USER, DETECTION))
    assert not [each for each in CANARIES if each in text]
    assert PERSON not in text, "even the id is only in the key"


@pytest.mark.parametrize(
    "written",
    ["2022-08-22T18:11:52.702Z", "8/22/2022 6:11:52 PM", "2022-08-22T18:11:52.7021234Z"],
)
def test_times_are_read_in_each_spelling_of_the_logs(written: str) -> None:
    """RFC 3339, American, and seven digits of a second, as .NET writes them."""
    assert told(changed(USER, riskLastUpdatedDateTime=written)).entry.updated == UPDATED


def test_an_hour_of_one_digit_is_read() -> None:
    """As a real record of 2022-09-09 has it."""
    one_digit = changed(USER, riskLastUpdatedDateTime="2022-09-09T9:59:27.958Z")
    assert told(one_digit).entry.updated == 1_662_717_567


@pytest.mark.parametrize(
    ("level", "state", "wanted"),
    [
        ("medium", "atRisk", (RiskLevel.MEDIUM, RiskState.AT_RISK)),
        ("Medium", "AtRisk", (RiskLevel.MEDIUM, RiskState.AT_RISK)),
        ("high", "ConfirmedCompromised", (RiskLevel.HIGH, RiskState.CONFIRMED_COMPROMISED)),
        ("none", "confirmedSafe", (RiskLevel.NONE, RiskState.CONFIRMED_SAFE)),
        ("Hidden", "Dismissed", (RiskLevel.HIDDEN, RiskState.DISMISSED)),
        ("none", "remediated", (RiskLevel.NONE, RiskState.REMEDIATED)),
        ("catastrophic", "possessed", (RiskLevel.UNKNOWN, RiskState.UNKNOWN)),
        ("", "", (RiskLevel.UNKNOWN, RiskState.UNKNOWN)),
    ],
)
def test_words_are_read_in_both_spellings_and_none_that_is_unknown_is_clean(
    level: str, state: str, wanted: tuple[RiskLevel, RiskState]
) -> None:
    """Graph's lower camel case, and the logs' capitals."""
    entry = told(changed(USER, riskLevel=level, riskState=state)).entry
    assert (entry.level, entry.state) == wanted


def test_a_user_who_was_deleted_is_told_so() -> None:
    """A record that does not say counts as of one who is there."""
    assert told(changed(USER, isDeleted=True)).entry.deleted
    assert not told(changed(USER, isDeleted=None)).entry.deleted
    assert not told(without(USER, "isDeleted")).entry.deleted


def test_categories_are_known_in_any_case() -> None:
    """Azure's logs are not of one mind about capitals."""
    for category in ("RISKYUSERS", "riskyUsers"):
        assert isinstance(read({**USER, "category": category})[0], RiskRecord)


def test_the_tenant_is_known_by_the_resource_where_it_is_not_named() -> None:
    """Some records name it in the path alone, and some in capitals."""
    assert isinstance(read(changed(USER, "tenantId"))[0], RiskRecord)
    assert isinstance(read({**USER, "tenantId": TENANT.upper()})[0], RiskRecord)


OTHER: Final = "99999999-9128-461e-9d7f-a0d9c270ead2"


@pytest.mark.parametrize(
    ("record", "wanted"),
    [
        (without(USER, "id"), RecordRefusal.MALFORMED),
        (without(USER, "riskLevel"), RecordRefusal.MALFORMED),
        (without(USER, "riskState"), RecordRefusal.MALFORMED),
        (without(USER, "riskLastUpdatedDateTime"), RecordRefusal.MALFORMED),
        (changed(USER, id=None), RecordRefusal.MALFORMED),
        (changed(USER, riskLevel=3), RecordRefusal.MALFORMED),
        ({**USER, "properties": []}, RecordRefusal.MALFORMED),
        ({**USER, "properties": "none"}, RecordRefusal.MALFORMED),
        (changed(USER, "properties") | {"properties": None}, RecordRefusal.MALFORMED),
        (
            {name: value for name, value in USER.items() if name != "category"},
            RecordRefusal.MALFORMED,
        ),
        (changed(USER, id=""), RecordRefusal.SUBJECT),
        (changed(USER, id=CANARIES[1]), RecordRefusal.SUBJECT),
        (changed(USER, id="{" + PERSON + "}"), RecordRefusal.SUBJECT),
        (changed(USER, id=PERSON.replace("-", "")), RecordRefusal.SUBJECT),
        (changed(USER, riskLastUpdatedDateTime="yesterday"), RecordRefusal.TIME),
        (changed(USER, riskLastUpdatedDateTime="2022-02-30T18:11:52Z"), RecordRefusal.TIME),
        (changed(USER, riskLastUpdatedDateTime="13/22/2022 6:11:52 PM"), RecordRefusal.TIME),
        ({**USER, "tenantId": OTHER}, RecordRefusal.TENANT),
        (changed(USER, "tenantId", "resourceId"), RecordRefusal.TENANT),
        ({**changed(USER, "tenantId"), "resourceId": f"/tenants/{OTHER}/x"}, RecordRefusal.TENANT),
        ({**USER, "tenantId": OTHER, "resourceId": USER["resourceId"]}, RecordRefusal.TENANT),
        ({**USER, "category": "SignInLogs"}, RecordRefusal.SKIPPED),
        (without(DETECTION, "id"), RecordRefusal.MALFORMED),
        (changed(DETECTION, id=""), RecordRefusal.MALFORMED),
        (without(DETECTION, "userId"), RecordRefusal.SUBJECT),
        (changed(DETECTION, activityDateTime=""), RecordRefusal.TIME),
        (7, RecordRefusal.MALFORMED),
        (None, RecordRefusal.MALFORMED),
        ([USER], RecordRefusal.MALFORMED),
    ],
)
def test_a_record_that_says_nothing_usable_is_refused_and_the_others_are_read(
    record: Any, wanted: RecordRefusal
) -> None:
    """Between two sound ones, which both count: one record never stops a message."""
    first, middle, last = read(USER, record, DETECTION)
    assert isinstance(first, RiskRecord)
    assert middle is wanted
    assert isinstance(last, DetectionRecord)


@pytest.mark.parametrize(
    "body",
    [
        None,
        b"",
        b"{",
        b"null",
        b"7",
        b'{"records": 7}',
        b'{"records": {}}',
        b"\xff\xfe",
        b'{"records": [{"category": "\xff"}]}',
        b"[" * 100_000,
        b'{"records":' + b"[" * 50_000 + b"]" * 50_000 + b"}",
        b'{"records": [' + b'{"a":' * 50_000 + b"1" + b"}" * 50_000 + b"]}",
        message(USER) + b" " * MOST_BYTES,
        message(*[{}] * (MOST_RECORDS + 1)),
        b"PK\x03\x04",
    ],
    ids=range(15),
)
def test_a_message_that_is_none_is_refused_whole(body: bytes | None) -> None:
    """Once, as malformed; nothing is raised."""
    assert list(read_message(body, TENANT)) == [RecordRefusal.MALFORMED]


def test_a_message_may_be_a_list_or_one_record() -> None:
    """Both are seen in hubs that something else writes to."""
    assert len(list(read_message(b"[" + message(USER) + b"," + message(USER) + b"]", TENANT))) == 2
    (found,) = read_message(json.dumps(USER).encode(), TENANT)
    assert isinstance(found, RiskRecord)


def test_an_odd_event_id_is_kept_as_its_digest() -> None:
    """A name or an address that somebody puts there does not get into the snapshot."""
    for odd in CANARIES:
        (found,) = read(changed(DETECTION, id=odd, riskEventType=odd))
        assert isinstance(found, DetectionRecord)
        assert len(found.detection.event_id) == 64
        assert odd not in repr(found)


def test_an_event_type_that_is_new_is_kept() -> None:
    """`riskEventType` is an open set."""
    (found,) = read(changed(DETECTION, riskEventType="quantumLeap"))
    assert isinstance(found, DetectionRecord)
    assert found.detection.event_type == "quantumLeap"


def test_a_level_and_its_detection_meet_in_one_entry_in_either_order() -> None:
    """What arrives first waits for the other."""
    for order in ((USER, DETECTION), (DETECTION, USER)):
        draft = SnapshotDraft.of(RiskSnapshot())
        said = [each for each in read(*order) if not isinstance(each, RecordRefusal)]
        assert [each.merge_into(draft, NOW) for each in said] == [MergeResult.CHANGED] * 2
        entry = draft.entry(RiskSource.ENTRA, identity_key(PERSON))
        assert entry is not None
        assert (entry.level, entry.event_id, entry.active) == (RiskLevel.MEDIUM, EVENT, ACTIVE)
        assert draft.entry(RiskSource.CAEP, identity_key(PERSON)) is None


def test_what_lies_ahead_or_is_known_already_changes_nothing() -> None:
    """More than 300 seconds ahead, the same again, and something older."""
    draft = SnapshotDraft.of(RiskSnapshot())
    assert told(USER).merge_into(draft, NOW) is MergeResult.CHANGED
    before = draft.finish(NOW)
    ahead = changed(USER, riskLastUpdatedDateTime="2022-08-22T21:00:00Z", riskLevel="high")
    older = changed(USER, riskLastUpdatedDateTime="2022-08-22T18:11:51Z", riskLevel="high")
    for record, now, wanted in (
        (ahead, UPDATED, MergeResult.FUTURE),
        (USER, NOW, MergeResult.SAME),
        (older, NOW, MergeResult.OLDER),
    ):
        draft = SnapshotDraft.of(before)
        assert told(record).merge_into(draft, now) is wanted
        assert not draft.changed


@given(body=st.binary(max_size=300))
def test_no_bytes_raise(body: bytes) -> None:
    """Whatever is put into the hub, reading it ends in refusals."""
    assert all(isinstance(each, RecordRefusal) for each in read_message(body, TENANT))


_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner),
    max_leaves=8,
)


@given(name=st.sampled_from(sorted(USER["properties"])), value=_JSON)
def test_no_value_of_a_property_raises(name: str, value: Any) -> None:
    """A record with anything in any place is read or refused, and the next one is read."""
    found = read(changed(USER, **{name: value}), USER)
    assert len(found) == 2
    assert found[1] == read(USER)[0]
