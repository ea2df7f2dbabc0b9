"""AccessGrants: who may do what with weights until when, as people write and approve it. Pure."""

import re
from typing import Annotated, Final

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
from core.kubernetes.names import SUBDOMAIN
from core.people.two_person import Approvable, approvable_of
from core.weights.stores import Right

KIND: Final = "AccessGrant"

MAX_DAYS: Final = 90
"""A grant that is made or changed ends within so many days."""

_PERSON: Final = re.compile(r"oid:[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}|user:[0-9a-f]{16}")
_OPTIONAL: Final = frozenset(
    {"container", "prefixes", "serviceAccounts", "people", "groups", "notBefore", "owner"}
)

_Text = Annotated[str, msgspec.Meta(min_length=1, max_length=253)]
_Names = Annotated[list[_Text], msgspec.Meta(min_length=1, max_length=32)]
_Prefix = Annotated[str, msgspec.Meta(min_length=1, max_length=1024)]


class GrantSpec(msgspec.Struct, frozen=True, rename="camel", forbid_unknown_fields=True):
    """`spec` of an AccessGrant; the CRD says what each field means."""

    store: _Text
    """The WeightStore's name."""
    rights: Annotated[list[Right], msgspec.Meta(min_length=1, max_length=3)]
    reason: Annotated[str, msgspec.Meta(min_length=1, max_length=1024)]
    expires_at: str
    owner: Annotated[str, msgspec.Meta(max_length=253)] = ""
    """Whom to warn before it ends; its author where nobody is named."""
    not_before: str | None = None
    container: Annotated[str, msgspec.Meta(min_length=1, max_length=63)] | None = None
    prefixes: Annotated[list[_Prefix], msgspec.Meta(min_length=1, max_length=64)] | None = None
    service_accounts: _Names | None = None
    """Of its namespace: as whom Pods may reach the store. Without one, no Pod may by it."""
    people: Annotated[list[str], msgspec.Meta(min_length=1, max_length=64)] | None = None
    """`oid:` and an object id, or `user:` and a digest of a user name."""
    groups: _Names | None = None
    """As kube-apiserver names them: on AKS, object ids."""


class AccessGrant(msgspec.Struct, frozen=True):
    """An AccessGrant as it is stored, checked. Times are Unix seconds."""

    meta: Metadata
    spec: GrantSpec
    begins: float
    """0 where it names no time."""
    expires: float
    approvable: Approvable

    @property
    def id(self) -> str:
        """Name it as decisions and accesses do: `namespace/name@uid`."""
        return f"{self.meta.namespace}/{self.meta.name}@{self.meta.uid}"

    def covers_place(self, container: str, blob: str) -> bool:
        """Return whether it covers a blob; an empty `blob` is the container, `container` the store.

        Listing a container is covered by a grant of some of its prefixes: names are no weights,
        and no tool reads a prefix without it.
        """
        if self.spec.container is not None and container not in {"", self.spec.container}:
            return False
        return not (self.spec.prefixes and blob) or any(map(blob.startswith, self.spec.prefixes))


def parse_grant(raw: bytes | msgspec.Raw, namespace: str = "") -> AccessGrant:
    """Read an AccessGrant from its JSON; `namespace` is the request's, if there is one.

    Raises:
        InvalidObjectError: with the field's path and what it must be. The CRD's schema and CEL
            rules refuse the same objects, but for what only code can say (a test names it).
    """
    return grant_of(read_object(raw, KIND, namespace))


def grant_of(written: UntypedObject) -> AccessGrant:
    """Return the AccessGrant that was written.

    Raises:
        InvalidObjectError: as `parse_grant`.
    """
    spec = convert_spec(written, KIND, GrantSpec, _OPTIONAL)
    what = f"{KIND} {written.meta.name}"
    require_match(SUBDOMAIN, spec.store, "spec.store", what, "the whole name of a WeightStore")
    for index, name in enumerate(spec.service_accounts or ()):
        path = f"spec.serviceAccounts[{index}]"
        require_match(SUBDOMAIN, name, path, what, "the whole name of a ServiceAccount")
    for index, person in enumerate(spec.people or ()):
        wanted = "oid: and an object id in lower case, or user: and 16 hex digits"
        require_match(_PERSON, person, f"spec.people[{index}]", what, wanted)
    if not (spec.people or spec.groups):
        raise InvalidObjectError(what, "spec.people", "name people, groups, or both")
    if spec.prefixes and spec.container is None:
        raise InvalidObjectError(what, "spec.container", "is missing: prefixes are of one")
    expires = parse_time(spec.expires_at, field="spec.expiresAt", what=what)
    begins = 0.0
    if spec.not_before is not None:
        begins = parse_time(spec.not_before, field="spec.notBefore", what=what)
        if begins >= expires:
            raise InvalidObjectError(what, "spec.notBefore", "must be before spec.expiresAt")
    return AccessGrant(written.meta, spec, begins, expires, approvable_of(written))
