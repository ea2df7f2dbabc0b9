"""What is asked of Microsoft Graph v1.0, and what one needs for it. Pure.

Never more than ids, levels, states, times and event types: no name, address or mail is asked for.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Final
from urllib.parse import quote, urlsplit

VERSION: Final = "/v1.0"

PAGE: Final = 500
"""The largest page of the risk resources."""

MOST_IN_FILTER: Final = 15
"""Values that an `in` of a filter takes."""

_LONGEST_LINK: Final = 16 * 1024


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


_RISK: Final = "riskLevel,riskState"
_EVENT: Final = "id,riskEventType,riskState,activityDateTime,detectedDateTime"
_P2: Final = "Microsoft Entra ID P2"
_WORKLOAD: Final = "Microsoft Entra Workload ID Premium"
_PROTECTION: Final = "/identityProtection"

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


def all_of(site: str, resource: Resource) -> str:
    """Give the address of the first page of all."""
    return _address(site, resource, "userType eq 'Guest'" if resource is Resource.GUESTS else "")


def changed_since(site: str, resource: Resource, since: str) -> str:
    """Give the first page of what changed at `since`, as Graph takes times, or later."""
    return _address(site, resource, f"{resource.changed} ge {since}")


def applications_named(site: str, ids: Sequence[str], field: str) -> str:
    """Give the address of service principals by `appId` or `id`: GUIDs, MOST_IN_FILTER at most."""
    listed = ",".join(f"'{each}'" for each in ids)
    return _address(site, Resource.APPLICATIONS, f"{field} in ({listed})")


def _address(site: str, resource: Resource, filtered: str) -> str:
    top = f"&$top={PAGE}"
    where = f"&$filter={quote(filtered, safe='')}" if filtered else ""
    select = quote(_ENDPOINTS[resource].select, safe=",")
    return f"{site.rstrip('/')}{resource.path}?$select={select}{top}{where}"


def is_ours(link: str, site: str, resource: Resource) -> bool:
    """Say whether a next page lies where the first one does: the token goes nowhere else."""
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
