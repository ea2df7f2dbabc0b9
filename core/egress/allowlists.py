"""EgressAllowlists and EgressDestinations: who may connect where, as people write it. Pure."""

from typing import Annotated, Final, Literal

import msgspec

from core.base.errors import InvalidObjectError
from core.base.sallyport_objects import (
    Metadata,
    UntypedObject,
    convert_spec,
    parse_time,
    read_object,
    require_match,
)
from core.egress.destinations import (
    MAX_ENTRIES,
    OPTIONAL,
    Destination,
    check_destinations,
    check_distinct,
)
from core.kubernetes.label_selectors import LabelSelector, requirements_of
from core.kubernetes.names import KIND as KIND_NAME
from core.kubernetes.names import SUBDOMAIN
from core.people.two_person import Approvable, approvable_of

KIND: Final = "EgressAllowlist"
SET_KIND: Final = "EgressDestinations"

MAX_SETS: Final = 16
"""An allowlist refers to so many sets: for each, the rights of its service accounts are asked."""

MAX_DAYS: Final = 366
"""An allowlist ends within so many days after it is made or changed."""

ENDS_DAYS: Final = (14, 3, 1)
"""So many days before the end of an allowlist, or of a set, people are told."""

_OPTIONAL: Final = OPTIONAL | {"workloads", "podSelector", "whenExpired", "expiresAt"}

_Text = Annotated[str, msgspec.Meta(min_length=1, max_length=253)]
_Words = Annotated[str, msgspec.Meta(min_length=1, max_length=1024)]
_To = Annotated[list[Destination], msgspec.Meta(min_length=1, max_length=MAX_ENTRIES)]


class NamedWorkload(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The workload that Pods come from, as the gate traces it."""

    kind: Annotated[str, msgspec.Meta(max_length=63)]
    name: _Text


class AllowlistSpec(msgspec.Struct, frozen=True, rename="camel", forbid_unknown_fields=True):
    """`spec` of an EgressAllowlist; the CRD says what each field means."""

    service_accounts: Annotated[list[_Text], msgspec.Meta(min_length=1, max_length=16)]
    to: _To
    owner: _Text
    reason: _Words
    expires_at: str
    workloads: Annotated[list[NamedWorkload], msgspec.Meta(min_length=1, max_length=16)] | None = (
        None
    )
    pod_selector: LabelSelector | None = None
    when_expired: Literal["Close", "Evict"] = "Close"

    @property
    def sets(self) -> dict[str, int]:
        """The sets that it refers to, each with the place of the entry in `to`."""
        named = ((each.destinations, index) for index, each in enumerate(self.to))
        return {found.name: index for found, index in named if found is not None}


class SetSpec(msgspec.Struct, frozen=True, rename="camel", forbid_unknown_fields=True):
    """`spec` of an EgressDestinations; the CRD says what each field means."""

    to: _To
    owner: _Text
    reason: _Words
    expires_at: str | None = None


class EgressAllowlist(msgspec.Struct, frozen=True):
    """An EgressAllowlist as it is stored, checked."""

    meta: Metadata
    spec: AllowlistSpec
    expires: float
    """Unix seconds: from then on it opens nothing."""
    approvable: Approvable

    @property
    def key(self) -> str:
        """`namespace/name`."""
        return f"{self.meta.namespace}/{self.meta.name}"

    def in_time(self, now: float) -> bool:
        """Return whether it has neither expired nor is being deleted."""
        return now < self.expires and self.meta.deletion_timestamp is None


class EgressDestinations(msgspec.Struct, frozen=True):
    """An EgressDestinations as it is stored, checked."""

    meta: Metadata
    spec: SetSpec
    expires: float | None
    approvable: Approvable

    def in_time(self, now: float) -> bool:
        """Return whether it has neither expired nor is being deleted."""
        over = self.expires is not None and now >= self.expires
        return not over and self.meta.deletion_timestamp is None


def parse_allowlist(raw: bytes | msgspec.Raw, namespace: str = "") -> EgressAllowlist:
    """Read an EgressAllowlist from its JSON; `namespace` is the request's, if there is one.

    Raises:
        InvalidObjectError: with the field's path and what it must be. The CRD's schema and CEL
            rules refuse the same objects, but for what only code can say (a test names it).
    """
    written = read_intent(raw, KIND, namespace)
    spec = convert_spec(written, KIND, AllowlistSpec, _OPTIONAL)
    what = f"{KIND} {written.meta.name}"
    for index, name in enumerate(spec.service_accounts):
        path = f"spec.serviceAccounts[{index}]"
        require_match(SUBDOMAIN, name, path, what, "the whole name of a ServiceAccount")
    check_distinct(spec.service_accounts, "spec.serviceAccounts", what)
    for index, workload in enumerate(spec.workloads or ()):
        path = f"spec.workloads[{index}]"
        require_match(KIND_NAME, workload.kind, f"{path}.kind", what, "a kind such as Job")
        require_match(
            SUBDOMAIN, workload.name, f"{path}.name", what, "the whole name of one workload"
        )
    requirements_of(spec.pod_selector, field="spec.podSelector", what=what)
    check_destinations(spec.to, "spec.to", what, shared=False)
    if len(spec.sets) > MAX_SETS:
        message = f"refers to {len(spec.sets)} sets: at most {MAX_SETS} can be"
        raise InvalidObjectError(what, "spec.to", message)
    expires = parse_time(spec.expires_at, field="spec.expiresAt", what=what)
    return EgressAllowlist(written.meta, spec, expires, approvable_of(written))


def parse_destinations(raw: bytes | msgspec.Raw, namespace: str = "") -> EgressDestinations:
    """Read an EgressDestinations from its JSON; it has no namespace.

    Raises:
        InvalidObjectError: as `parse_allowlist`.
    """
    written = read_intent(raw, SET_KIND, namespace)
    spec = convert_spec(written, SET_KIND, SetSpec, _OPTIONAL)
    what = f"{SET_KIND} {written.meta.name}"
    check_destinations(spec.to, "spec.to", what, shared=True)
    expires = None
    if spec.expires_at is not None:
        expires = parse_time(spec.expires_at, field="spec.expiresAt", what=what)
    return EgressDestinations(written.meta, spec, expires, approvable_of(written))


def read_intent(raw: bytes | msgspec.Raw, kind: str, namespace: str = "") -> UntypedObject:
    """Read one of either kind, but for its `spec`; `status` is the controller's alone.

    Raises:
        InvalidObjectError: with the field's path and what it must be.
    """
    return read_object(raw, kind, namespace)
