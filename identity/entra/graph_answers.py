"""Graph's answers: pages of objects, and refusals with what to mend. Pure.

Of each object only what is asked for is read, never a name; Graph's own texts are looked at, never
quoted.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass
from http import HTTPStatus
from typing import Final

import msgspec

from core.base.errors import EntraError
from core.risk.model import Application, ApplicationKind, PrincipalKind, RiskEntry, identity_key
from identity.entra.application_ids import BY_CLIENT
from identity.entra.graph_requests import Resource
from identity.entra.values import (
    event_type_of,
    kept_event_id,
    level_of,
    object_id_of,
    seconds_of,
    state_of,
)
from identity.risk.entry_merge import Detection

_UNLICENSED: Final = (
    "not licensed",
    "premium license",
    "requestfromnonpremiumtenant",
    "aadpremiumlicenserequired",
)
"""In code or message of a 403: "Your tenant is not licensed for this feature." and the like."""

_CODE: Final = re.compile(r"[A-Za-z][A-Za-z_]{0,79}")


class _Error(msgspec.Struct):
    code: str = ""
    message: str = ""


class _Refusal(msgspec.Struct):
    error: _Error


RESTING: Final = frozenset({"permission", "licence", "rejected", "foreign-link", "too-large"})
"""Kinds that waiting does not mend: the resource rests, and the others go on."""


def graph_error(
    status: int, body: bytes, resource: Resource, retry_after_s: float = 0.0
) -> EntraError:
    """Return the error for an answer that is not 200; its `kind` says of what sort it is."""
    code, told = _read_error(body)
    named = f" ({code})" if code else ""
    asked = f"Graph, {resource.value}"
    if status == HTTPStatus.TOO_MANY_REQUESTS:
        text = "too many requests: other applications of the tenant may ask as well"
        return EntraError(f"{asked}: {text}", "throttled", retry_after_s)
    if status >= HTTPStatus.INTERNAL_SERVER_ERROR:
        return EntraError(f"{asked}: HTTP {status}{named}", "server-error", retry_after_s)
    if status == HTTPStatus.UNAUTHORIZED:
        text = f"the token is not accepted{named}; check identity.graph and identity.tenant"
        return EntraError(f"{asked}: {text}", "unauthorized")
    if status == HTTPStatus.FORBIDDEN:
        return _forbidden(asked, told, named, resource)
    if HTTPStatus.MULTIPLE_CHOICES <= status < HTTPStatus.BAD_REQUEST:
        text = f"HTTP {status} to another address, which is not followed; check identity.graph"
        return EntraError(f"{asked}: {text}", "redirected")
    return EntraError(f"{asked}: HTTP {status}{named}", "rejected")


def _forbidden(asked: str, told: str, named: str, resource: Resource) -> EntraError:
    if resource.licence and any(each in told for each in _UNLICENSED):
        text = f"the tenant lacks the licence {resource.licence}"
        return EntraError(f"{asked}: {text}: nobody is assessed", "licence")
    text = f"the application lacks the permission {resource.permission}{named}"
    return EntraError(f"{asked}: {text}; grant it, with an admin's consent", "permission")


def _read_error(body: bytes) -> tuple[str, str]:
    """Return the code, where it is a word, and all that was told, in lower case, to look into."""
    try:
        error = msgspec.json.decode(body, type=_Refusal).error
    except (msgspec.MsgspecError, UnicodeDecodeError):
        return "", ""
    code = error.code if _CODE.fullmatch(error.code) else ""
    return code, f"{error.code} {error.message}".lower()


@dataclass(frozen=True, slots=True)
class RiskyPrincipal:
    """A riskyUser or riskyServicePrincipal."""

    key: bytes
    entry: RiskEntry
    """Its `updated` is 0 where Graph's time cannot be read."""
    written: str
    """`riskLastUpdatedDateTime`, as Graph wrote it."""
    object_id: str
    client_id: str = ""
    """`appId` of a service principal."""


@dataclass(frozen=True, slots=True)
class RiskDetection:
    """A riskDetection or servicePrincipalRiskDetection."""

    key: bytes
    detection: Detection
    written: str
    """`detectedDateTime`, as Graph wrote it."""


@dataclass(frozen=True, slots=True)
class ServicePrincipal:
    """A servicePrincipal: what its client id and its object id stand for."""

    client_id: str
    application: Application

    def named(self, field: str) -> str:
        """Return the id by which it was asked for, `appId` or `id`."""
        return self.client_id if field == BY_CLIENT else self.application.object_id


@dataclass(frozen=True, slots=True)
class GuestUser:
    """A user of another tenant."""

    key: bytes


GraphItem = RiskyPrincipal | RiskDetection | ServicePrincipal | GuestUser


@dataclass(frozen=True, slots=True)
class GraphPage:
    """One page of a resource."""

    items: tuple[GraphItem, ...]
    next_link: str = ""
    """Where the next page is; empty on the last one. Not looked at yet."""
    unreadable: int = 0
    """Objects that lack what they must have, an id above all."""


class _Page(msgspec.Struct):
    value: list[msgspec.Raw]
    next_link: str | None = msgspec.field(name="@odata.nextLink", default=None)


class _RiskyPrincipal(msgspec.Struct, rename="camel"):
    id: str
    risk_level: str | None = None
    risk_state: str | None = None
    updated: str | None = msgspec.field(name="riskLastUpdatedDateTime", default=None)
    is_deleted: bool | None = None
    app_id: str | None = None


class _RiskDetection(msgspec.Struct, rename="camel"):
    id: str
    user_id: str | None = None
    service_principal_id: str | None = None
    risk_event_type: str | None = None
    risk_state: str | None = None
    activity: str | None = msgspec.field(name="activityDateTime", default=None)
    detected: str | None = msgspec.field(name="detectedDateTime", default=None)


class _ServicePrincipal(msgspec.Struct, rename="camel"):
    id: str
    app_id: str
    service_principal_type: str | None = None
    app_owner_organization_id: str | None = None


class _Guest(msgspec.Struct):
    id: str


def read_page(body: bytes, resource: Resource, tenant: str) -> GraphPage | None:
    """Read a page; None for what is none: not JSON, cut short, or of another shape.

    Args:
        body: JSON of Graph.
        resource: what was asked for.
        tenant: the tenant's id, in lower case: whose app registrations are its own.
    """
    try:
        page = msgspec.json.decode(body, type=_Page)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        return None
    items, unreadable = [], 0
    for raw in page.value:
        item = _read(raw, resource, tenant)
        if item is None:
            unreadable += 1
        else:
            items.append(item)
    return GraphPage(tuple(items), page.next_link or "", unreadable)


def _read(raw: msgspec.Raw, resource: Resource, tenant: str) -> GraphItem | None:
    try:
        return _READERS[resource](raw, tenant)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        return None


def _read_risky(raw: msgspec.Raw, kind: PrincipalKind) -> RiskyPrincipal | None:
    found = msgspec.json.decode(raw, type=_RiskyPrincipal)
    object_id = object_id_of(found.id)
    if object_id is None:
        return None
    entry = RiskEntry(
        kind=kind,
        level=level_of(found.risk_level),
        state=state_of(found.risk_state),
        deleted=bool(found.is_deleted),
        updated=seconds_of(found.updated) or 0,
    )
    client_id = object_id_of(found.app_id) or ""
    return RiskyPrincipal(identity_key(object_id), entry, found.updated or "", object_id, client_id)


def _read_detected(raw: msgspec.Raw, kind: PrincipalKind) -> RiskDetection | None:
    found = msgspec.json.decode(raw, type=_RiskDetection)
    whose = found.user_id if kind is PrincipalKind.USER else found.service_principal_id
    object_id, active = object_id_of(whose), seconds_of(found.activity)
    active = active or seconds_of(found.detected)
    if object_id is None or active is None or not found.id:
        return None
    detection = Detection(
        kept_event_id(found.id),
        event_type_of(found.risk_event_type or ""),
        active,
        state_of(found.risk_state),
        kind,
    )
    return RiskDetection(identity_key(object_id), detection, found.detected or "")


def _read_known(raw: msgspec.Raw, tenant: str) -> ServicePrincipal | None:
    found = msgspec.json.decode(raw, type=_ServicePrincipal)
    object_id, client_id = object_id_of(found.id), object_id_of(found.app_id)
    kind = _kind_of(found, tenant)
    if object_id is None or client_id is None or kind is None:
        return None
    return ServicePrincipal(client_id, Application(kind, object_id))


def _kind_of(found: _ServicePrincipal, tenant: str) -> ApplicationKind | None:
    """Tell an app registration from what only looks like one.

    None for a type that this release does not know and that no tenant owns: it stays unidentified.
    """
    owner = object_id_of(found.app_owner_organization_id)
    if (found.service_principal_type or "").casefold() == "managedidentity":
        return ApplicationKind.MANAGED_IDENTITY
    if owner is None:
        return None
    return ApplicationKind.APPLICATION if owner == tenant else ApplicationKind.FOREIGN


def _read_guest(raw: msgspec.Raw, _: str) -> GuestUser | None:
    object_id = object_id_of(msgspec.json.decode(raw, type=_Guest).id)
    return GuestUser(identity_key(object_id)) if object_id else None


_READERS: Final[dict[Resource, Callable[[msgspec.Raw, str], GraphItem | None]]] = {
    Resource.USERS: lambda raw, _: _read_risky(raw, PrincipalKind.USER),
    Resource.SERVICE_PRINCIPALS: lambda raw, _: _read_risky(raw, PrincipalKind.SERVICE_PRINCIPAL),
    Resource.USER_EVENTS: lambda raw, _: _read_detected(raw, PrincipalKind.USER),
    Resource.SERVICE_PRINCIPAL_EVENTS: lambda raw, _: _read_detected(
        raw, PrincipalKind.SERVICE_PRINCIPAL
    ),
    Resource.APPLICATIONS: _read_known,
    Resource.GUESTS: _read_guest,
}
