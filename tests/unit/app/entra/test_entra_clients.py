"""Settings arrive where they are used, and only what a way needs."""

from pathlib import Path
from typing import Any

import pytest

from app.entra.clients import event_hub_of, federated_token, poll_settings_of, security_events_of
from app.settings.identity import IdentitySection
from core.base.errors import SettingsError
from identity.clients.tokens import CredentialKind

GUID = "AAAAAAAA-2222-3333-4444-555555555555"
TOKEN = Path("of-the-environment")


def section(**changed: Any) -> IdentitySection:
    """A section that is whole."""
    return IdentitySection.model_validate(
        {"enabled": True, "tenant": GUID, "client_id": GUID, "token_file": "token", **changed}
    )


def test_what_is_asked_is_what_is_set() -> None:
    """Each setting of polling, once."""
    found = poll_settings_of(
        section(
            authority="https://login.example",
            graph="https://graph.example",
            trust="ca.crt",
            rate=3,
            poll_every=30,
            full_every=7200,
            guests=True,
        ),
        None,
    )
    assert found.tenant == GUID.lower()
    assert (found.sign_in.client_id, found.sign_in.kind) == (
        GUID.lower(),
        CredentialKind.FEDERATED,
    )
    assert (found.sign_in.authority, found.sign_in.trust) == (
        "https://login.example",
        Path("ca.crt"),
    )
    assert (found.graph.site, found.graph.trust, found.graph.rate_s) == (
        "https://graph.example",
        Path("ca.crt"),
        3,
    )
    assert (found.times.every_s, found.times.full_s, found.guests) == (30, 7200, True)


@pytest.mark.parametrize(
    ("changed", "kind", "file"),
    [
        ({}, CredentialKind.FEDERATED, Path("token")),
        ({"token_file": None}, CredentialKind.FEDERATED, TOKEN),
        (
            {"token_file": None, "credential": "certificate", "certificate": "c.pem"},
            CredentialKind.CERTIFICATE,
            Path("c.pem"),
        ),
        (
            {
                "token_file": None,
                "credential": "secret",
                "secret_file": "s",
                "allow_secret": True,
            },
            CredentialKind.SECRET,
            Path("s"),
        ),
        (
            {"token_file": None, "credential": "managed-identity"},
            CredentialKind.MANAGED_IDENTITY,
            None,
        ),
    ],
)
def test_each_credential_has_its_file(
    changed: dict[str, Any], kind: CredentialKind, file: Path | None
) -> None:
    """The setting's before that of the environment."""
    found = poll_settings_of(section(**changed), TOKEN).sign_in
    assert (found.kind, found.file) == (kind, file)


def test_the_environments_token_is_that_of_azures_webhook() -> None:
    """Where it is not set, none is named."""
    assert federated_token({"AZURE_FEDERATED_TOKEN_FILE": "/a/token"}) == Path("/a/token")
    assert federated_token({"AZURE_FEDERATED_TOKEN_FILE": ""}) is None
    assert federated_token({}) is None


def test_pushes_are_taken_where_they_are_set() -> None:
    """Without servers, or an issuer, there are none."""
    assert event_hub_of(section()) is None
    assert security_events_of(section()) is None
    hub = event_hub_of(
        section(event_hub={"servers": ["a:9093"], "topics": ["x", "y"], "group": "g"})
    )
    assert hub is not None
    assert (hub.servers, hub.topics, hub.group) == (("a:9093",), ("x", "y"), "g")
    assert hub.connection_string_file is None
    events = security_events_of(
        section(
            trust="ca.crt",
            security_events={
                "issuer": "https://i.example",
                "audience": "us",
                "keys_url": "https://i.example/keys",
                "token_file": "bearer",
            },
        )
    )
    assert events is not None
    assert (events.issuer, events.audience, events.keys_url) == (
        "https://i.example",
        "us",
        "https://i.example/keys",
    )
    assert (events.trust, events.token_file) == (Path("ca.crt"), Path("bearer"))


def test_what_is_incomplete_is_refused() -> None:
    """Before anything is started."""
    with pytest.raises(SettingsError, match=r"identity\.token_file"):
        poll_settings_of(section(token_file=None), None)
