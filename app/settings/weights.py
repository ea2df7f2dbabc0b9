"""The section `weights` of the settings: where logs of storage come from, and how Pods call it."""

from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Final, Literal

from pydantic import Field

from app.settings.azure_roles import AzureRoles
from app.settings.messages import name_setting
from app.settings.section import Section
from audit.access.model.defaults import DELAY_S, MOST_PODS, PATIENCE_S, POLL_S, TOKEN_LIFETIME_S
from core.base.errors import InvalidObjectError, SettingsError
from core.base.networks import Network, parse_network

_GUID: Final = r"^[0-9A-Fa-f]{8}-([0-9A-Fa-f]{4}-){3}[0-9A-Fa-f]{12}$"
_SITE: Final = r"^(https://[A-Za-z0-9.-]+(:[0-9]{1,5})?)?$"
_SERVER: Final = r"^[A-Za-z0-9.-]+:[0-9]{1,5}$"
_TOPIC: Final = r"^[A-Za-z0-9]([A-Za-z0-9._-]*[A-Za-z0-9])?$"

_Id = Annotated[str, Field(pattern=_GUID)]


class WeightsContainer(Section):
    """Containers of a storage account to which diagnostic settings export logs."""

    site: str = Field(
        "",
        pattern=_SITE,
        description="`https://ACCOUNT.blob.core.windows.net`; empty: none is read.",
    )
    containers: list[str] = Field(
        default_factory=lambda: [
            "insights-logs-storageread",
            "insights-logs-storagewrite",
            "insights-logs-storagedelete",
        ],
        description="Containers that are read.",
    )
    trust: Path | None = Field(None, description="CA (PEM) of it; without it the public ones.")


class WeightsEventHub(Section):
    """Event hubs to which diagnostic settings send logs."""

    servers: list[Annotated[str, Field(pattern=_SERVER, max_length=300)]] = Field(
        default_factory=list,
        description="`NAMESPACE.servicebus.windows.net:9093`; without any, nothing is read there.",
    )
    topics: list[Annotated[str, Field(pattern=_TOPIC, max_length=256)]] = Field(
        default_factory=list, description="The event hubs."
    )
    connection_string_file: Path | None = Field(
        None, description="A file that holds a connection string, a long-lived key."
    )
    allow_connection_string: bool = Field(
        default=False, description="Whether a connection string may be used at all."
    )
    trust: Path | None = Field(None, description="CA (PEM) of it; without it the public ones.")


class WeightsNetworks(Section):
    """Where addresses lie that call storage; networks in CIDR notation."""

    pods: list[str] = Field(
        default_factory=list, description="Of Pods; with CNI Overlay none: they call as nodes."
    )
    nodes: list[str] = Field(default_factory=list, description="Of nodes.")
    others: list[str] = Field(default_factory=list, description="Other virtual networks.")
    shared: list[str] = Field(
        default_factory=list,
        description="NAT gateways, firewalls and proxies: an address there tells of nobody.",
    )
    leaves_as: Literal["either", "pod", "node"] = Field(
        "either",
        description="Which address storage sees of a Pod: `pod` with a flat CNI, `node` with an "
        "overlay; `either` where both happen.",
    )


class GrantsSection(Section):
    """What becomes of AccessGrants that end."""

    when_ended: Literal["report", "evict"] = Field(
        "report", description="What is done with Pods that still run under one that has ended."
    )


class WeightsSection(Section):
    """Who accessed the model weights: logs of storage, and what they are attributed by."""

    folder: Path | None = Field(
        None, description="A folder, or a mounted container, of exported logs that still grow."
    )
    container: WeightsContainer = WeightsContainer()
    event_hub: WeightsEventHub = WeightsEventHub()
    networks: WeightsNetworks = WeightsNetworks()
    azure: AzureRoles = AzureRoles()
    grants: GrantsSection = GrantsSection()
    patience: float = Field(
        PATIENCE_S,
        ge=0,
        le=3600,
        description="Seconds that a fresh record waits for what `control` records of Pods.",
    )
    token_hours: float = Field(
        TOKEN_LIFETIME_S / 3600.0,
        ge=1,
        le=72,
        description="How long a token of a workload's identity may live.",
    )
    delay: float = Field(
        DELAY_S, ge=0, le=3600, description="Seconds by which records may come out of order."
    )
    poll_every: float = Field(
        POLL_S,
        ge=1,
        le=3600,
        description="Seconds between two looks at what grows in the folder or container.",
    )
    most_pods: int = Field(
        MOST_PODS,
        ge=1000,
        le=2_000_000,
        description="Pods that are remembered: about 750 bytes each.",
    )
    node_identities: list[_Id] = Field(
        default_factory=list,
        description="Client ids and object ids of kubelets, as which CSI drivers mount.",
    )
    tenants: list[_Id] = Field(default_factory=list, description="Tenants of your own.")
    subscriptions: list[_Id] = Field(default_factory=list, description="Subscriptions of your own.")
    tuning: dict[str, float] = Field(
        default_factory=dict, description="Numbers of detections by name; docs/detections has all."
    )
    expected: dict[str, list[str]] = Field(
        default_factory=dict,
        description="By detection: who (`oid:…`, `client:…`) is your own automation. What is found "
        "of them is counted and not raised.",
    )

    @property
    def follows(self) -> bool:
        """Whether the auditor has anything to read."""
        return bool(self.folder or self.container.site or self.event_hub.servers)


def networks_of(name: str, texts: list[str]) -> tuple[Network, ...]:
    """Return networks of `weights.networks`.

    Raises:
        SettingsError: naming what is none, and how it must be written.
    """
    field = name_setting(f"weights.networks.{name}")
    try:
        return tuple(parse_network(text, field=field, what="weights") for text in texts)
    except InvalidObjectError as error:
        raise SettingsError(f"{field}: {error.problem}") from error


def require_whole(section: WeightsSection) -> None:
    """Demand that nothing is missing or contradicts something else.

    Raises:
        SettingsError: naming each setting at fault, and what to do.
    """
    if problems := list(_problems(section)):
        raise SettingsError("; ".join(problems))


def _problems(section: WeightsSection) -> Iterator[str]:
    hub = section.event_hub
    if bool(hub.servers) != bool(hub.topics):
        missing = "topics" if hub.servers else "servers"
        yield f"{name_setting(f'weights.event_hub.{missing}')}: missing; give both or neither"
    if hub.connection_string_file and not hub.allow_connection_string:
        name = name_setting("weights.event_hub.connection_string_file")
        yield (
            f"{name}: is a long-lived key; sign in without one, or set "
            "weights.event_hub.allow_connection_string"
        )
