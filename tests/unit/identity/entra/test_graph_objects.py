"""What Graph's pages say, also where they are odd, cut short, or of a release to come."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.risk.model import ApplicationKind, PrincipalKind, RiskLevel, RiskState, identity_key
from identity.entra.graph_answers import (
    GraphPage,
    GuestUser,
    RiskDetection,
    RiskyPrincipal,
    ServicePrincipal,
    read_page,
)
from identity.entra.graph_requests import Resource

TENANT = "0b0e2c5c-2f7a-4c40-9d6b-0a1a2c3d4e5f"
ONE = "8d1d8d2c-1a9f-4c7e-9a57-5bb2b1a4a001"
TWO = "8d1d8d2c-1a9f-4c7e-9a57-5bb2b1a4a002"
CANARY = {
    "userDisplayName": "Canary Person",
    "userPrincipalName": "canary@canary.example",
    "displayName": "Canary Application",
    "ipAddress": "203.0.113.77",
    "location": {"city": "Canary"},
}


def page(*objects: Any, link: str | None = None) -> bytes:
    """Write a page as Graph does."""
    written: dict[str, Any] = {"@odata.context": "x", "value": list(objects)}
    if link is not None:
        written["@odata.nextLink"] = link
    return json.dumps(written).encode()


def read(resource: Resource, *objects: Any, link: str | None = None) -> GraphPage:
    """Read a page, which must be one."""
    found = read_page(page(*objects, link=link), resource, TENANT)
    assert found is not None
    return found


def user(**fields: Any) -> dict[str, Any]:
    """Return a riskyUser."""
    return {
        "id": ONE,
        "isDeleted": False,
        "riskLevel": "high",
        "riskState": "atRisk",
        "riskLastUpdatedDateTime": "2026-11-22T08:00:00.1234567Z",
        **CANARY,
        **fields,
    }


def test_a_risky_user() -> None:
    """Key, level, state, time; and the time as Graph wrote it."""
    found = read(Resource.USERS, user(), link="https://next")
    [item] = found.items
    assert isinstance(item, RiskyPrincipal)
    assert item.key == identity_key(ONE)
    entry = item.entry
    assert (entry.level, entry.state, entry.kind) == (
        RiskLevel.HIGH,
        RiskState.AT_RISK,
        PrincipalKind.USER,
    )
    assert entry.updated == 1_795_334_400
    assert item.written == "2026-11-22T08:00:00.1234567Z"
    assert found.next_link == "https://next"


def test_a_risky_service_principal() -> None:
    """With its client id."""
    raw = {**user(), "appId": TWO.upper()}
    [item] = read(Resource.SERVICE_PRINCIPALS, raw).items
    assert isinstance(item, RiskyPrincipal)
    assert item.entry.kind is PrincipalKind.SERVICE_PRINCIPAL
    assert (item.object_id, item.client_id) == (ONE, TWO)


@pytest.mark.parametrize("resource", Resource)
def test_no_name_reaches_a_type_of_ours(resource: Resource) -> None:
    """Even where Graph sends what it was not asked for."""
    raw = {
        **user(userId=ONE, servicePrincipalId=ONE, appId=TWO, appOwnerOrganizationId=TENANT),
        "riskEventType": "Canary Person",
        "activityDateTime": "2026-11-22T08:00:00Z",
    }
    found = read(resource, raw)
    assert len(found.items) == 1
    assert "anary" not in repr(found)
    assert "203.0" not in repr(found)


@pytest.mark.parametrize("word", ["unknownFutureValue", "severe", "", None])
def test_levels_and_states_of_a_release_to_come_are_unknown(word: str | None) -> None:
    """Never clean."""
    [item] = read(Resource.USERS, user(riskLevel=word, riskState=word)).items
    assert isinstance(item, RiskyPrincipal)
    assert item.entry.level is RiskLevel.UNKNOWN
    assert item.entry.state is RiskState.UNKNOWN


@pytest.mark.parametrize(
    ("written", "seconds"),
    [
        ("2026-11-22T08:00:00Z", 1_795_334_400),
        ("2026-11-22T8:00:00.958Z", 1_795_334_400),
        ("2026-11-22T09:00:00+01:00", 1_795_334_400),
        ("2026-11-22T08:00:00", 1_795_334_400),
        ("11/22/2026 8:00:00 AM", 1_795_334_400),
        ("11/22/2026 12:00:00 AM", 1_795_305_600),
        ("11/22/2026 12:00:00 PM", 1_795_348_800),
        ("0001-01-01T00:00:00Z", 0),
        ("9999-12-31T23:59:59Z", 0),
        ("2026-13-22T08:00:00Z", 0),
        ("11/22/2026 13:00:00 PM", 0),
        ("soon", 0),
        ("", 0),
        (None, 0),
    ],
)
def test_times_are_read_as_entra_writes_them(written: str | None, seconds: int) -> None:
    """With one digit of an hour, too; what is none is 0, and hides nobody."""
    [item] = read(Resource.USERS, user(riskLastUpdatedDateTime=written)).items
    assert isinstance(item, RiskyPrincipal)
    assert item.entry.updated == seconds


@pytest.mark.parametrize(
    "bad",
    [
        {},
        {"id": None},
        {"id": ""},
        {"id": 7},
        {"id": "canary@canary.example"},
        {"id": f"{{{ONE}}}"},
        {"id": ONE.replace("-", "")},
        "text",
        7,
        None,
        [],
    ],
)
@pytest.mark.parametrize("resource", Resource)
def test_an_object_without_an_id_is_counted_and_the_others_are_read(
    resource: Resource, bad: Any
) -> None:
    """One bad object costs no other."""
    good = user(userId=ONE, servicePrincipalId=ONE, appId=TWO, appOwnerOrganizationId=TENANT)
    good |= {"activityDateTime": "2026-11-22T08:00:00Z"}
    found = read(resource, bad, good)
    assert found.unreadable == 1
    assert len(found.items) == 1


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"<html>",
        page(user())[:-20],
        b"[]",
        b'{"value": {}}',
        b'{"error": {"code": "x"}}',
        b'{"value": [], "@odata.nextLink": 7}',
        b"\xff",
        b"[" * 100_000,
    ],
)
@pytest.mark.parametrize("resource", Resource)
def test_what_is_no_page_is_none(resource: Resource, body: bytes) -> None:
    """Cut short, of a proxy, of another shape: nothing of it counts."""
    assert read_page(body, resource, TENANT) is None


@given(st.binary(max_size=200))
def test_no_bytes_raise(body: bytes) -> None:
    """Whatever is sent."""
    read_page(body, Resource.USERS, TENANT)


def test_detections() -> None:
    """Of whom, what, and when it happened."""
    raw = {
        "id": "A" * 64,
        "userId": ONE,
        "riskEventType": "unfamiliarFeatures",
        "riskState": "atRisk",
        "activityDateTime": "2026-11-22T07:00:00Z",
        "detectedDateTime": "2026-11-22T08:00:00Z",
        **CANARY,
    }
    [item] = read(Resource.USER_EVENTS, raw).items
    assert isinstance(item, RiskDetection)
    assert item.key == identity_key(ONE)
    assert item.detection.event_id == "a" * 64
    assert item.detection.active == 1_795_330_800
    assert item.written == "2026-11-22T08:00:00Z"


@pytest.mark.parametrize(
    ("sort", "owner", "kind"),
    [
        ("Application", TENANT.upper(), ApplicationKind.APPLICATION),
        ("Application", TWO, ApplicationKind.FOREIGN),
        ("ManagedIdentity", None, ApplicationKind.MANAGED_IDENTITY),
        ("ManagedIdentity", TENANT, ApplicationKind.MANAGED_IDENTITY),
        ("Legacy", TENANT, ApplicationKind.APPLICATION),
    ],
)
def test_what_a_client_id_stands_for(sort: str, owner: str | None, kind: ApplicationKind) -> None:
    """A managed identity is never taken for an application, whose risk is assessed."""
    raw = {"id": ONE, "appId": TWO, "servicePrincipalType": sort, "appOwnerOrganizationId": owner}
    [item] = read(Resource.APPLICATIONS, raw).items
    assert isinstance(item, ServicePrincipal)
    assert (item.client_id, item.application.object_id) == (TWO, ONE)
    assert item.application.kind is kind


def test_a_type_that_nobody_knows_stays_unidentified() -> None:
    """Nobody's, of a type of a release to come: it is not called clean."""
    raw = {"id": ONE, "appId": TWO, "servicePrincipalType": "Agent", "appOwnerOrganizationId": None}
    assert read(Resource.APPLICATIONS, raw).items == ()


def test_guests() -> None:
    """Their ids alone."""
    assert read(Resource.GUESTS, {"id": ONE, **CANARY}).items == (GuestUser(identity_key(ONE)),)
