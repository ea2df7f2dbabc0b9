"""What a Pod can sign in to Entra ID as, and where that is seen. Pure.

Source: Azure/azure-workload-identity 1.6.0, pkg/webhook/webhook.go. Its webhook takes Pods with the
label `azure.workload.identity/use: "true"` (its object selector: letter for letter), and gives each
container a token and the service account's client id, unless the container names another in its
own environment. A Pod can do all of that itself as well.

What no field shows is not seen: a program may send any client id to Entra that is federated with
its service account, and a federated credential may name an audience of its own.
"""

from collections.abc import Sequence
from operator import attrgetter
from typing import Final

import msgspec

from core.base.json_errors import DECODE_ERRORS
from core.base.short_text_cache import cache_short_text, cache_short_texts
from core.kubernetes.pod import Container, EnvVar, Pod
from identity.risk.principals import GUID

MOST_CLIENT_IDS: Final = 16
"""Different ones that are told apart; what else a Pod names counts as hidden."""

_USE: Final = "azure.workload.identity/use"
_CLIENT: Final = "AZURE_CLIENT_ID"
_TENANT: Final = "AZURE_TENANT_ID"
_MOST_REMEMBERED: Final = 256
_LONGEST_REMEMBERED: Final = 1024
"""Bytes of a projected volume that is remembered: what every Pod is given has some 400."""

_VARIABLES: Final = frozenset({_CLIENT, _TENANT})
_ACCOUNT: Final = "spec.serviceAccountName"

_AUDIENCES: Final = ("api://azureadtokenexchange", "api://aksidentitybinding")
"""How audiences of Entra's begin, in lower case: other clouds have `…ExchangeUSGov`, `…China`; the
second is that of AKS' identity bindings. Entra compares letter for letter; here more counts."""


class ClientId(msgspec.Struct, frozen=True, gc=False):
    """One application, or managed identity, that a Pod can sign in as."""

    client_id: str
    """A GUID in lower case; empty where the Pod hides which, or names too many."""
    tenant: str
    """In which it signs in, in lower case; empty for the installation's."""
    path: str
    """The field that shows it, from the Pod's root."""


class _Token(msgspec.Struct, frozen=True):
    audience: str | None = None


class _Source(msgspec.Struct, frozen=True, rename="camel"):
    service_account_token: _Token | None = None


class _Projected(msgspec.Struct, frozen=True):
    sources: list[_Source] | None = None


_name: Final = attrgetter("name")
_DECODER: Final = msgspec.json.Decoder(_Projected)


def is_for_entra(audience: str) -> bool:
    """Return whether a service account's token for this audience signs in to Entra."""
    return audience.lower().startswith(_AUDIENCES)


def signs_in(pod: Pod) -> bool:
    """Return whether a Pod may sign in as anything: then its service account matters."""
    return bool(_token_path(pod)) or _says_itself(pod)


def client_ids_of(pod: Pod, annotated: str, tenant: str) -> tuple[ClientId, ...]:
    """Return all that a Pod can sign in as; `annotated` and `tenant` are its service account's.

    They are the values of the annotations `azure.workload.identity/client-id` and `…/tenant-id`
    of the service account, empty without one. Each client id comes once for a tenant, that of the
    service account first; no more than MOST_CLIENT_IDS, and then one that is empty.
    """
    token = _token_path(pod)
    if not _says_itself(pod):
        return _of_account(annotated, tenant, token) if token else ()
    found = _ClientIds(tenant.lower())
    if token and annotated:
        found.add(annotated, _ACCOUNT)
    beside = annotated if token else None
    spec = pod.spec
    for place, containers in (
        ("spec.containers", spec.containers),
        ("spec.initContainers", spec.init_containers),
        ("spec.ephemeralContainers", spec.ephemeral_containers),
    ):
        for index, container in enumerate(containers or ()):
            if container.env:
                _read_environment(container, f"{place}[{index}]", beside, found)
    if token and not found.by_identity:
        found.add("", token)
    return tuple(found.by_identity.values())


@cache_short_texts(_MOST_REMEMBERED, _LONGEST_REMEMBERED)
def _of_account(annotated: str, tenant: str, token: str) -> tuple[ClientId, ...]:
    """Return what a Pod signs in as whose containers say nothing themselves."""
    found = _ClientIds(tenant.lower())
    found.add(annotated, _ACCOUNT if annotated else token)
    return tuple(found.by_identity.values())


class _ClientIds:
    """What has been found so far, once each."""

    def __init__(self, tenant: str) -> None:
        self.tenant = tenant
        self.by_identity: dict[tuple[str, str], ClientId] = {}

    def add(self, client_id: str, path: str, tenant: str | None = None) -> None:
        """Add what a field shows; anything but a GUID hides which it is."""
        known = client_id.lower() if GUID.fullmatch(client_id) else ""
        where = self.tenant if tenant is None else tenant.lower()
        key = (known, where)
        if key in self.by_identity:
            return
        if len(self.by_identity) >= MOST_CLIENT_IDS:
            key = known, where = "", self.tenant
        self.by_identity.setdefault(key, ClientId(known, where, path))


def _read_environment(
    container: Container, place: str, annotated: str | None, found: _ClientIds
) -> None:
    """Add what a container's own environment says; `annotated` is what a token is for besides.

    It is None without a token; empty where the service account names no client id.
    """
    clients = _named(container.env or (), _CLIENT, place)
    tenants = _named(container.env or (), _TENANT, place)
    for client, path in clients.items():
        found.add(client, path)
    if not clients and annotated is None:
        return  # A tenant alone signs nobody in.
    for tenant, path in tenants.items():
        if not tenant:
            found.add("", path)
            continue
        for client in clients or (annotated or "",):
            found.add(client, path, tenant)


def _named(env: Sequence[EnvVar], name: str, place: str) -> dict[str, str]:
    """Return the values of the variables of a name, and where each is first; empty for hidden.

    They are one more than are told apart at most: it counts as hidden, and so do the rest.
    """
    values: dict[str, str] = {}
    for index, variable in enumerate(env):
        if variable.name != name or len(values) > MOST_CLIENT_IDS:
            continue
        if variable.value_from is not None:
            values.setdefault("", f"{place}.env[{index}].valueFrom")
        elif variable.value:
            # kubelet puts other variables in the place of $(NAME).
            literal = "" if "$(" in variable.value else variable.value
            values.setdefault(literal, f"{place}.env[{index}].value")
    return values


def _token_path(pod: Pod) -> str:
    """Return the field by which a Pod has a token for Entra; empty where it has none."""
    if (pod.metadata.labels or {}).get(_USE) == "true":
        return f"metadata.labels[{_USE}]"
    for index, volume in enumerate(pod.spec.volumes or ()):
        raw = volume.get("projected")
        if raw is not None:
            field = _own_token(bytes(raw))
            if field is not None:
                return f"spec.volumes[{index}].projected{field}"
    return ""


@cache_short_text(_MOST_REMEMBERED, _LONGEST_REMEMBERED)
def _own_token(projected: bytes) -> str | None:
    """Return the audience's field.

    Empty where it cannot be read, which others refuse; else None.
    """
    try:
        sources = _DECODER.decode(projected).sources or ()
    except DECODE_ERRORS:
        return ""
    for index, source in enumerate(sources):
        token = source.service_account_token
        if token and token.audience and is_for_entra(token.audience):
            return f".sources[{index}].serviceAccountToken.audience"
    return None


def _says_itself(pod: Pod) -> bool:
    """Return whether a container names what it signs in as, or in which tenant."""
    spec = pod.spec
    for containers in (spec.containers, spec.init_containers, spec.ephemeral_containers):
        for container in containers or ():
            if container.env and not _VARIABLES.isdisjoint(map(_name, container.env)):
                return True
    return False
