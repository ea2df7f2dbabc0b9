"""The section `identity` of the settings: how Entra ID's risk is learnt, and how old it may be."""

from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Final, Literal

from pydantic import Field

from app.settings.messages import name_setting
from app.settings.section import Section
from core.base.errors import SettingsError
from identity.entra.endpoints import AUTHORITY, GRAPH, GRAPH_RATE_S
from identity.entra.graph_requests import PollIntervals
from identity.risk.standings import DEFAULT_FRESHNESS

_POLLS: Final = PollIntervals()

_GUID: Final = r"^([0-9A-Fa-f]{8}-([0-9A-Fa-f]{4}-){3}[0-9A-Fa-f]{12})?$"
_SITE: Final = r"^https://[A-Za-z0-9.-]+(:[0-9]{1,5})?$"
_TOPIC: Final = r"^[A-Za-z0-9]([A-Za-z0-9._-]*[A-Za-z0-9])?$"
_SERVER: Final = r"^[A-Za-z0-9.-]+:[0-9]{1,5}$"


class EventHub(Section):
    """Azure Event Hubs, to which Entra's diagnostic settings send what changed."""

    servers: list[Annotated[str, Field(pattern=_SERVER, max_length=300)]] = Field(
        default_factory=list,
        description="`NAMESPACE.servicebus.windows.net:9093`; without any, nothing is read there.",
    )
    topics: list[Annotated[str, Field(pattern=_TOPIC, max_length=256)]] = Field(
        default_factory=list,
        description="Event hubs that get the categories RiskyUsers, UserRiskEvents, "
        "RiskyServicePrincipals and ServicePrincipalRiskEvents.",
    )
    group: str = Field(
        "sallyport",
        pattern=r"^[A-Za-z0-9$][A-Za-z0-9._-]*$",
        max_length=256,
        description="The consumer group; each cluster needs one of its own.",
    )
    auth: Literal["federated", "connection-string"] = Field(
        "federated", description="`federated` signs in as `identity.client_id` does."
    )
    connection_string_file: Path | None = Field(
        None, description="A file that holds a connection string, a long-lived key."
    )
    allow_connection_string: bool = Field(
        default=False, description="Whether a connection string may be used at all."
    )


class SecurityEvents(Section):
    """Where a transmitter of OpenID CAEP events pushes them (RFC 8935), over TLS."""

    host: str = Field("127.0.0.1", description="Address; 0.0.0.0 in a Pod.")
    port: int = Field(9445, ge=0, le=65535, description="Port; 0 takes any that is free.")
    cert: Path | None = Field(None, description="Serving certificate (PEM), with its chain.")
    key: Path | None = Field(None, description="Its private key (PEM).")
    issuer: str = Field(
        "",
        pattern=r"^(https://\S+)?$",
        max_length=1024,
        description="`iss` of its events; without it there is no such endpoint.",
    )
    audience: str = Field(
        "", pattern=r"^\S*$", max_length=1024, description="`aud` of its events: this receiver."
    )
    keys_url: str = Field(
        "",
        pattern=r"^(https://\S+)?$",
        max_length=1024,
        description="Where the issuer publishes its keys (`jwks_uri`).",
    )
    token_file: Path | None = Field(
        None, description="A file with the bearer token that the transmitter must send, if any."
    )


class BehaviourSection(Section):
    """What identities do that they did not do before, as the auditor learns it."""

    enabled: bool = Field(
        default=True, description="Ask the auditor for it; nothing is asked without an auditor."
    )
    every: float = Field(10.0, ge=5, le=600, description="Seconds between questions.")


class LookBack(Section):
    """What is looked for when an identity turns out to be at risk."""

    enabled: bool = Field(
        default=True, description="Report what it started, changed or entered and is still there."
    )
    days: int = Field(14, ge=3, le=90, description="The longest time that is looked back on.")


class IdentitySection(Section):
    """Who is at risk, as Entra ID knows it. Without it no request depends on risk."""

    enabled: bool = Field(default=False, description="Whether risk decides at all.")
    tenant: str = Field("", pattern=_GUID, description="The tenant's id.")
    client_id: str = Field(
        "", pattern=_GUID, description="The application as which `control` asks Graph."
    )
    credential: Literal["federated", "certificate", "managed-identity", "secret"] = Field(
        "federated", description="How it signs in; `federated` needs no long-lived key."
    )
    token_file: Path | None = Field(
        None,
        description="The federated token, read anew each time; without it the one that "
        "`AZURE_FEDERATED_TOKEN_FILE` names.",
    )
    certificate: Path | None = Field(
        None, description="Certificate and private key in one file (PEM)."
    )
    secret_file: Path | None = Field(None, description="A file that holds a client secret.")
    allow_secret: bool = Field(default=False, description="Whether a client secret may be used.")
    authority: str = Field(
        AUTHORITY,
        pattern=_SITE,
        description="Where it signs in; national clouds have their own.",
    )
    graph: str = Field(GRAPH, pattern=_SITE, description="Microsoft Graph, as `authority`.")
    trust: Path | None = Field(
        None, description="CA (PEM) of `authority` and `graph`; without it the public ones."
    )
    rate: float = Field(
        GRAPH_RATE_S,
        ge=1,
        le=60,
        description="Seconds between two requests to Graph, which allows a tenant one a second "
        "over all applications.",
    )
    poll_every: float = Field(
        _POLLS.every_s, ge=2, le=600, description="Seconds between two questions for what changed."
    )
    full_every: float = Field(
        _POLLS.full_s,
        ge=3600,
        le=7 * 86400,
        description="Seconds between two passes over everybody.",
    )
    guests: bool = Field(
        default=False,
        description="Also learn who is a guest; needs Graph's permission User.Read.All.",
    )
    max_age: float = Field(
        DEFAULT_FRESHNESS.max_age_s,
        ge=180,
        le=7 * 86400,
        description="Seconds after which what is known is stale. While nothing changes, that is "
        "written down once a minute.",
    )
    revoked_for: float = Field(
        DEFAULT_FRESHNESS.revoked_s,
        ge=300,
        le=86400,
        description="Seconds for which revoked sessions count: a token from before may be in use.",
    )
    suspend_exceptions: bool = Field(
        default=False,
        description="Exceptions and grants are not in force while an author or editor is at risk.",
    )
    event_hub: EventHub = EventHub()
    security_events: SecurityEvents = SecurityEvents()
    behaviour: BehaviourSection = BehaviourSection()
    look_back: LookBack = LookBack()


def require_tenant(section: IdentitySection) -> None:
    """Demand what every process needs where risk decides.

    Raises:
        SettingsError: the tenant is not named.
    """
    if section.enabled and not section.tenant:
        name = name_setting("identity.tenant")
        raise SettingsError(f"{name}: missing; give the tenant's id, or leave identity.enabled off")


def require_sources(section: IdentitySection, environment_token: Path | None) -> None:
    """Demand what `control` needs to learn of risk; `environment_token` may stand in for a file.

    Raises:
        SettingsError: naming each setting that is missing or contradicts another, and what to do.
    """
    require_tenant(section)
    if section.enabled and (
        problems := [*_signing_in(section, environment_token), *_pushed(section)]
    ):
        raise SettingsError("; ".join(problems))


def _signing_in(section: IdentitySection, environment_token: Path | None) -> Iterator[str]:
    if not section.client_id and section.credential != "managed-identity":
        yield _missing("client_id", "the application that has the permissions at Graph")
    files = {
        "federated": ("token_file", section.token_file or environment_token),
        "certificate": ("certificate", section.certificate),
        "secret": ("secret_file", section.secret_file),
    }
    name, file = files.get(section.credential, ("", None))
    if name and file is None:
        yield _missing(name, f"identity.credential is {section.credential}")
    for credential, (each, given) in files.items():
        configured = section.token_file if credential == "federated" else given
        if configured is not None and credential != section.credential:
            name = name_setting(f"identity.{each}")
            yield f"{name}: not used while identity.credential is {section.credential}; drop one"
    if section.credential == "secret" and not section.allow_secret:
        yield _refused("credential", "a secret", "federated, or set identity.allow_secret")


def _pushed(section: IdentitySection) -> Iterator[str]:
    hub, events = section.event_hub, section.security_events
    if hub.servers and not hub.topics:
        yield _missing("event_hub.topics", "identity.event_hub.servers are given")
    if hub.topics and not hub.servers:
        yield _missing("event_hub.servers", "identity.event_hub.topics are given")
    if hub.auth == "connection-string":
        if hub.connection_string_file is None:
            yield _missing("event_hub.connection_string_file", "event_hub.auth asks for it")
        if not hub.allow_connection_string:
            fix = "federated, or set identity.event_hub.allow_connection_string"
            yield _refused("event_hub.auth", "a connection string", fix)
    elif hub.connection_string_file is not None:
        name = name_setting("identity.event_hub.connection_string_file")
        yield f"{name}: not used while identity.event_hub.auth is federated; drop one"
    needed = {
        "cert": events.cert,
        "key": events.key,
        "audience": events.audience,
        "keys_url": events.keys_url,
    }
    for name, value in needed.items():
        if events.issuer and not value:
            yield _missing(f"security_events.{name}", "identity.security_events.issuer is given")
        elif value and not events.issuer:
            yield _missing("security_events.issuer", f"identity.security_events.{name} is given")


def _missing(name: str, why: str) -> str:
    return f"{name_setting(f'identity.{name}')}: missing: {why}"


def _refused(name: str, what: str, fix: str) -> str:
    return f"{name_setting(f'identity.{name}')}: {what} is a long-lived key; use {fix}"
