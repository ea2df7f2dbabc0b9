"""Configures clients of Entra ID, and of those who report risk, by the section `identity`.

Of this room, only this, `app.entra.tokens` and the modules of control know `identity.clients`.
"""

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from app.settings.identity import IdentitySection, require_sources
from control.risk.poll.loop import PollSettings
from identity.clients.event_hub import EventHubSettings
from identity.clients.graph import GraphSettings
from identity.clients.tokens import CredentialKind, SignIn
from identity.entra.graph_requests import PollIntervals
from identity.push.security_events import SecurityEventSettings

TOKEN_FILE: Final = "AZURE_FEDERATED_TOKEN_FILE"  # noqa: S105  A variable's name.
"""What Azure's workload-identity webhook sets in Pods to which it gives a token."""


def federated_token(environment: Mapping[str, str] = os.environ) -> Path | None:
    """Return the token's file that the environment names, if it does."""
    named = environment.get(TOKEN_FILE)
    return Path(named) if named else None


def poll_settings_of(section: IdentitySection, environment_token: Path | None) -> PollSettings:
    """Return as whom, where and how often Graph is asked.

    Raises:
        SettingsError: something is missing, or contradicts something else.
    """
    require_sources(section, environment_token)
    sign_in = sign_in_of(section, environment_token)
    graph = GraphSettings(section.graph, section.trust, section.rate)
    times = PollIntervals(
        every_s=section.poll_every,
        full_s=section.full_every,
        heartbeat_s=min(PollIntervals().heartbeat_s, section.max_age / 3),
    )
    return PollSettings(sign_in, graph, times, section.guests)


def sign_in_of(section: IdentitySection, environment_token: Path | None) -> SignIn:
    """Return as whom, and where, one signs in.

    Raises:
        SettingsError: something is missing, or contradicts something else.
    """
    return SignIn(
        section.tenant.lower(),
        section.client_id.lower(),
        CredentialKind(section.credential),
        _credential_file(section, environment_token),
        section.allow_secret,
        section.authority,
        section.trust,
    )


def event_hub_of(section: IdentitySection) -> EventHubSettings | None:
    """Return which event hubs are read; None where there are none.

    Raises:
        SettingsError: a part is missing, or must not be.
    """
    hub = section.event_hub
    if not hub.servers:
        return None
    by_string = hub.auth == "connection-string"
    return EventHubSettings(
        tuple(hub.servers),
        tuple(hub.topics),
        hub.group,
        hub.connection_string_file if by_string else None,
        hub.allow_connection_string,
        section.trust,
    )


def security_events_of(section: IdentitySection) -> SecurityEventSettings | None:
    """Return whose security events are taken; None where there is no transmitter.

    Raises:
        SettingsError: a part is missing.
    """
    events = section.security_events
    if not events.issuer:
        return None
    return SecurityEventSettings(
        events.issuer, events.audience, events.keys_url, section.trust, events.token_file
    )


def _credential_file(section: IdentitySection, environment_token: Path | None) -> Path | None:
    files = {
        "federated": section.token_file or environment_token,
        "certificate": section.certificate,
        "secret": section.secret_file,
    }
    return files.get(section.credential)
