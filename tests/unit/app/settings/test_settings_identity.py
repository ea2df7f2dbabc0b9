"""The section `identity`: what contradicts itself is refused, naming setting and fix."""

from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

from app.settings.identity import IdentitySection, require_sources, require_tenant
from core.base.errors import SettingsError

GUID = "11111111-2222-3333-4444-555555555555"
TOKEN = Path("token")
WHOLE: dict[str, Any] = {
    "enabled": True,
    "tenant": GUID,
    "client_id": GUID,
    "token_file": TOKEN,
}
EVENTS = {
    "issuer": "https://issuer.example",
    "audience": "receiver",
    "keys_url": "https://issuer.example/keys",
    "cert": "c",
    "key": "k",
}


@pytest.mark.parametrize(
    "changed",
    [
        {},
        {"credential": "certificate", "certificate": "c.pem", "token_file": None},
        {
            "credential": "secret",
            "secret_file": "s",
            "allow_secret": True,
            "token_file": None,
        },
        {"credential": "managed-identity", "client_id": "", "token_file": None},
        {"event_hub": {"servers": ["a.servicebus.windows.net:9093"], "topics": ["risk"]}},
        {"security_events": EVENTS},
    ],
)
def test_what_fits_together_is_taken(changed: dict[str, Any]) -> None:
    """Each way to sign in, and each source."""
    require_sources(IdentitySection(**{**WHOLE, **changed}), None)


def test_the_token_of_the_environment_will_do() -> None:
    """What Azure's webhook puts into a Pod needs no setting."""
    section = IdentitySection(**{**WHOLE, "token_file": None})
    require_sources(section, TOKEN)
    with pytest.raises(SettingsError, match=r"identity\.token_file .*: missing"):
        require_sources(section, None)


@pytest.mark.parametrize(
    ("changed", "says"),
    [
        ({"tenant": ""}, r"identity\.tenant .*: missing; give the tenant's id"),
        ({"client_id": ""}, r"identity\.client_id .*: missing: the application"),
        ({"credential": "certificate", "token_file": None}, r"identity\.certificate .*: missing"),
        ({"credential": "certificate", "certificate": "c"}, r"token_file .*: not used .* drop one"),
        ({"certificate": "c"}, r"identity\.certificate .*: not used .* federated; drop one"),
        ({"secret_file": "s"}, r"identity\.secret_file .*: not used .*; drop one"),
        (
            {"credential": "secret", "secret_file": "s", "token_file": None},
            r"identity\.credential .*: a secret is a long-lived key; use federated, or set",
        ),
        ({"event_hub": {"topics": ["risk"]}}, r"event_hub\.servers .*: missing"),
        ({"event_hub": {"servers": ["a:9093"]}}, r"event_hub\.topics .*: missing"),
        (
            {"event_hub": {"auth": "connection-string", "connection_string_file": "f"}},
            r"event_hub\.auth .*: a connection string is a long-lived key; use federated",
        ),
        (
            {"event_hub": {"auth": "connection-string", "allow_connection_string": True}},
            r"connection_string_file .*: missing",
        ),
        ({"event_hub": {"connection_string_file": "f"}}, r"connection_string_file .*: not used"),
        *(
            (
                {"security_events": {**EVENTS, name: None if name in {"cert", "key"} else ""}},
                rf"security_events\.{name} .*: missing",
            )
            for name in EVENTS
        ),
    ],
)
def test_what_contradicts_itself_is_refused(changed: dict[str, Any], says: str) -> None:
    """The message names the setting, its variable, and what to do."""
    with pytest.raises(SettingsError, match=says) as caught:
        require_sources(IdentitySection(**{**WHOLE, **changed}), None)
    assert "SALLYPORT_IDENTITY__" in str(caught.value)


def test_nothing_is_demanded_while_it_is_off() -> None:
    """The section may be filled in before it is switched on."""
    section = IdentitySection(credential="secret", client_id=GUID)
    require_tenant(section)
    require_sources(section, None)


def test_the_gate_needs_the_tenant_alone() -> None:
    """It asks nobody: how to sign in is not its business."""
    require_tenant(IdentitySection(enabled=True, tenant=GUID))
    with pytest.raises(SettingsError, match=r"identity\.tenant"):
        require_tenant(IdentitySection(enabled=True))


@pytest.mark.parametrize(
    "wrong",
    [
        {"rate": 0.9},
        {"tenant": "contoso.onmicrosoft.com"},
        {"authority": "http://login.microsoftonline.com"},
        {"graph": "https://graph.microsoft.com/v1.0"},
        {"event_hub": {"servers": ["a.servicebus.windows.net"]}},
        {"security_events": {"keys_url": "http://issuer.example/keys"}},
        {"client": GUID},
    ],
)
def test_what_is_out_of_bounds_is_refused(wrong: dict[str, Any]) -> None:
    """Faster than Graph allows, in the clear, or of a name that is none."""
    with pytest.raises(ValidationError):
        IdentitySection(**wrong)
