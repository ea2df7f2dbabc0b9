"""Graph's refusals are told apart, name what to mend, and quote nothing of Graph's texts."""

import json

import pytest

from identity.entra.graph_answers import graph_error
from identity.entra.graph_requests import Resource

SCOPES = "You cannot perform the requested operation, required scopes are missing in the token."
UNLICENSED = "Your tenant is not licensed for this feature."
CANARY = "Canary Person canary@canary.example 203.0.113.77"


def body(code: str, message: str = CANARY) -> bytes:
    """Write an error as Graph does."""
    return json.dumps({"error": {"code": code, "message": message}}).encode()


@pytest.mark.parametrize(
    ("resource", "permission"),
    [
        (Resource.USERS, "IdentityRiskyUser.Read.All"),
        (Resource.SERVICE_PRINCIPALS, "IdentityRiskyServicePrincipal.Read.All"),
        (Resource.USER_EVENTS, "IdentityRiskEvent.Read.All"),
        (Resource.SERVICE_PRINCIPAL_EVENTS, "IdentityRiskEvent.Read.All"),
        (Resource.APPLICATIONS, "Application.Read.All"),
        (Resource.GUESTS, "User.Read.All"),
    ],
)
@pytest.mark.parametrize(
    ("code", "message"),
    [
        ("Forbidden", SCOPES),
        ("Authorization_RequestDenied", "Insufficient privileges to complete the operation."),
        ("Forbidden", ""),
    ],
)
def test_a_403_names_the_missing_permission(
    resource: Resource, permission: str, code: str, message: str
) -> None:
    """Of the resource that was asked for."""
    error = graph_error(403, body(code, message), resource)
    assert error.kind == "permission"
    assert permission in str(error)


@pytest.mark.parametrize(
    ("code", "message"),
    [
        ("Forbidden", UNLICENSED),
        ("AccessDenied", f"{UNLICENSED} Please upgrade your subscription to access it."),
        ("Authentication_RequestFromNonPremiumTenantOrB2CTenant", "doesn't have premium license"),
    ],
)
@pytest.mark.parametrize(
    ("resource", "licence"),
    [(Resource.USERS, "Entra ID P2"), (Resource.SERVICE_PRINCIPALS, "Workload ID Premium")],
)
def test_a_403_names_the_missing_licence(
    resource: Resource, licence: str, code: str, message: str
) -> None:
    """It is no permission that is missing then: nobody should go looking for one."""
    error = graph_error(403, body(code, message), resource)
    assert error.kind == "licence"
    assert licence in str(error)
    assert "permission" not in str(error)


@pytest.mark.parametrize(
    ("status", "kind"),
    [
        (429, "throttled"),
        (500, "server-error"),
        (503, "server-error"),
        (401, "unauthorized"),
        (302, "redirected"),
        (400, "rejected"),
        (404, "rejected"),
        (410, "rejected"),
    ],
)
def test_each_status_has_its_kind(status: int, kind: str) -> None:
    """By which is decided whether to wait, to rest, or to begin anew."""
    error = graph_error(status, body("Some_Code"), Resource.USERS, 7.0)
    assert error.kind == kind
    assert error.retry_after_s == (7.0 if kind in {"throttled", "server-error"} else 0.0)


@pytest.mark.parametrize("status", [302, 400, 401, 403, 404, 429, 500])
@pytest.mark.parametrize(
    "sent",
    [
        body("Code"),
        body(CANARY),
        body(f"Code{CANARY}"),
        CANARY.encode(),
        b"\xff\xfe",
        b"",
        b'{"error": "canary"}',
        b'{"error": {"code": 7}}',
    ],
)
def test_nothing_that_graph_wrote_is_quoted(status: int, sent: bytes) -> None:
    """Names and addresses stand in its texts; only a code that is a word is repeated."""
    text = str(graph_error(status, sent, Resource.USERS))
    assert "anary" not in text
    assert "203." not in text
