"""The requests to Microsoft Graph v1.0: what is asked, how often, and what one needs for it. Pure.

Never more than ids, levels, states, times and event types: no name, address or mail is asked for.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Final
from urllib.parse import quote, urlsplit

from core.base.errors import SettingsError

VERSION: Final = "/v1.0"

PAGE: Final = 500
"""The largest page of the risk resources."""

MOST_IN_FILTER: Final = 15
"""Values that an `in` of a filter takes."""

_LONGEST_LINK: Final = 16 * 1024
_RISK: Final = "riskLevel,riskState"
_EVENT: Final = "id,riskEventType,riskState,activityDateTime,detectedDateTime"
_P2: Final = "Microsoft Entra ID P2"
_WORKLOAD: Final = "Microsoft Entra Workload ID Premium"
_PROTECTION: Final = "/identityProtection"


@dataclass(frozen=True, slots=True)
class PollIntervals:
    """Seconds. Whatever they say, Graph is asked once a second at most.

    See `identity.clients.microsoft_http.RequestPace`.
    """

    every_s: float = 8.0
    """From one look at what changed to the next, for users and service principals."""
    events_s: float = 60.0
    """The same for detections."""
    full_s: float = 86_400.0
    """From one pass over everybody to the next."""
    confirm_s: float = 600.0
    """To the next such pass, where one did not list somebody who is at risk."""
    applications_s: float = 6 * 3600.0
    """After which it is asked again what a client id stands for."""
    missing_s: float = 600.0
    """The same of one that the tenant did not have."""
    guests_s: float = 3600.0
    overlap_s: float = 900.0
    """So far before the latest that was seen a look at what changed begins: what Graph shows late,
    and what it dates up to 300 seconds ahead (`identity.risk.entry_merge`), is still seen."""
    events_overlap_s: float = 3600.0
    """The same for detections, which come 5 to 10 minutes late when they come at once."""
    heartbeat_s: float = 60.0
    """How often it is written that nothing changed."""
    rest_s: float = 60.0
    """How long a resource rests that Graph refuses: a permission or a licence is missing."""

    def __post_init__(self) -> None:
        """Refuse times by which Graph would be asked all the time.

        Raises:
            SettingsError: naming the setting and the fix.
        """
        if self.every_s < 2:  # noqa: PLR2004  Two resources, one request a second.
            raise SettingsError("identity.poll_every: must be 2 seconds or more")
        if self.full_s < self.every_s:
            raise SettingsError("identity.full_every: must not be below identity.poll_every")


@dataclass(frozen=True, slots=True)
class _Endpoint:
    path: str
    select: str
    permission: str
    """Least privileged, of an application."""
    licence: str = ""
    changed: str = ""
    """The time by which it is asked for what is new."""


class Resource(Enum):
    """A resource of Graph; the value is the label of metrics."""

    USERS = "users"
    SERVICE_PRINCIPALS = "service-principals"
    USER_EVENTS = "user-events"
    SERVICE_PRINCIPAL_EVENTS = "service-principal-events"
    APPLICATIONS = "applications"
    GUESTS = "guests"

    @property
    def field(self) -> str:
        """The field of `core.risk.snapshot.Head` that says how far it is known."""
        return self.value.replace("-", "_")

    @property
    def path(self) -> str:
        """Below the site."""
        return VERSION + _ENDPOINTS[self].path

    @property
    def permission(self) -> str:
        """What Graph demands of the application."""
        return _ENDPOINTS[self].permission

    @property
    def licence(self) -> str:
        """What the tenant must have; empty where it needs none."""
        return _ENDPOINTS[self].licence

    @property
    def changed(self) -> str:
        """The field with the time of the last change."""
        return _ENDPOINTS[self].changed


_ENDPOINTS: Final = {
    Resource.USERS: _Endpoint(
        f"{_PROTECTION}/riskyUsers",
        f"id,isDeleted,{_RISK},riskLastUpdatedDateTime",
        "IdentityRiskyUser.Read.All",
        _P2,
        "riskLastUpdatedDateTime",
    ),
    Resource.SERVICE_PRINCIPALS: _Endpoint(
        f"{_PROTECTION}/riskyServicePrincipals",
        f"id,appId,{_RISK},riskLastUpdatedDateTime",
        "IdentityRiskyServicePrincipal.Read.All",
        _WORKLOAD,
        "riskLastUpdatedDateTime",
    ),
    Resource.USER_EVENTS: _Endpoint(
        f"{_PROTECTION}/riskDetections",
        f"{_EVENT},userId",
        "IdentityRiskEvent.Read.All",
        _P2,
        "detectedDateTime",
    ),
    Resource.SERVICE_PRINCIPAL_EVENTS: _Endpoint(
        f"{_PROTECTION}/servicePrincipalRiskDetections",
        f"{_EVENT},servicePrincipalId",
        "IdentityRiskEvent.Read.All",
        _WORKLOAD,
        "detectedDateTime",
    ),
    Resource.APPLICATIONS: _Endpoint(
        "/servicePrincipals",
        "id,appId,servicePrincipalType,appOwnerOrganizationId",
        "Application.Read.All",
    ),
    Resource.GUESTS: _Endpoint("/users", "id", "User.Read.All"),
}
"""Microsoft Graph v1.0 reference, each resource's page `list`."""


def url_of_all(site: str, resource: Resource) -> str:
    """Return the address of the first page of all."""
    return _address(site, resource, "userType eq 'Guest'" if resource is Resource.GUESTS else "")


def url_of_changes(site: str, resource: Resource, since: str) -> str:
    """Return the first page of what changed at `since`, as Graph takes times, or later."""
    return _address(site, resource, f"{resource.changed} ge {since}")


def url_of_applications(site: str, ids: Sequence[str], field: str) -> str:
    """Return the address of service principals by `appId` or `id`.

    GUIDs, MOST_IN_FILTER at most.
    """
    listed = ",".join(f"'{each}'" for each in ids)
    return _address(site, Resource.APPLICATIONS, f"{field} in ({listed})")


def _address(site: str, resource: Resource, filtered: str) -> str:
    top = f"&$top={PAGE}"
    where = f"&$filter={quote(filtered, safe='')}" if filtered else ""
    select = quote(_ENDPOINTS[resource].select, safe=",")
    return f"{site.rstrip('/')}{resource.path}?$select={select}{top}{where}"


def is_ours(link: str, site: str, resource: Resource) -> bool:
    """Return whether a next page lies where the first one does: the token goes nowhere else."""
    if len(link) > _LONGEST_LINK or not link.isascii() or not link.isprintable() or "\\" in link:
        return False
    try:
        there, here = urlsplit(link), urlsplit(site)
        same_port = there.port == here.port
    except ValueError:
        return False
    return (
        there.scheme == "https"
        and same_port
        and there.username is None
        and there.password is None
        and there.hostname == here.hostname
        and not there.fragment
        and there.path.rstrip("/").casefold() == resource.path.casefold()
    )
