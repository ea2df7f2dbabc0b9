"""WeightStores: where model weights lie, and who can reach them, as operators write it. Pure."""

import re
from typing import Annotated, Final, Literal

import msgspec

from core.base.errors import InvalidObjectError
from core.base.networks import Network, parse_network
from core.base.sallyport_objects import (
    Metadata,
    UntypedObject,
    convert_spec,
    read_object,
    require_match,
)
from core.kubernetes.names import SUBDOMAIN_CHARACTERS
from core.kubernetes.quantities import LARGEST, parse_amount

KIND: Final = "WeightStore"

AZURE_SUFFIX: Final = "core.windows.net"
"""Of the endpoints of Azure's public cloud: `ACCOUNT.blob.core.windows.net`."""

Right = Literal["read", "write", "delete"]
"""What somebody may do; listing is reading."""

_ACCOUNT: Final = re.compile(r"[a-z0-9]{3,24}")
_CONTAINER: Final = re.compile(r"[a-z0-9$]([a-z0-9-]{1,61}[a-z0-9])?")
_RESOURCE: Final = re.compile(
    r"/subscriptions/[0-9a-fA-F-]{36}/resourceGroups/[^/]{1,90}"
    r"/providers/Microsoft\.Storage/storageAccounts/[a-z0-9]{3,24}"
)
_ID: Final = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")
_QUANTITY: Final = re.compile(r"[1-9][0-9]{0,18}([kMGTPE]|[KMGTPE]i)?")

_OPTIONAL: Final = frozenset(
    {"resourceId", "endpointSuffix", "prefixes", "privateEndpoints", "identities", "objectId"}
    | {"clientId", "note", "checkpointSize"}
)

_Prefix = Annotated[str, msgspec.Meta(min_length=1, max_length=1024)]


class WeightContainer(msgspec.Struct, frozen=True, rename="camel", forbid_unknown_fields=True):
    """A container that holds weights, all of it or under prefixes."""

    name: Annotated[str, msgspec.Meta(min_length=1, max_length=63)]
    prefixes: Annotated[list[_Prefix], msgspec.Meta(min_length=1, max_length=64)] | None = None

    def holds(self, container: str, blob: str) -> bool:
        """Return whether a blob lies in it; an empty `blob` is the container itself."""
        if container != self.name:
            return False
        return not self.prefixes or not blob or any(map(blob.startswith, self.prefixes))


class StoreIdentity(msgspec.Struct, frozen=True, rename="camel", forbid_unknown_fields=True):
    """An identity of Entra ID that can open the store, as its operators know."""

    rights: Annotated[list[Right], msgspec.Meta(min_length=1, max_length=3)]
    client_id: str | None = None
    """Of an application or managed identity: service accounts name it."""
    object_id: str | None = None
    """Of its service principal, or of a person or group."""
    note: Annotated[str, msgspec.Meta(max_length=253)] = ""


class StoreSpec(msgspec.Struct, frozen=True, rename="camel", forbid_unknown_fields=True):
    """`spec` of a WeightStore; the CRD says what each field means."""

    account: str
    containers: Annotated[list[WeightContainer], msgspec.Meta(min_length=1, max_length=64)]
    owner: Annotated[str, msgspec.Meta(min_length=1, max_length=253)]
    resource_id: str | None = None
    endpoint_suffix: Annotated[str, msgspec.Meta(max_length=253)] = AZURE_SUFFIX
    private_endpoints: Annotated[list[str], msgspec.Meta(min_length=1, max_length=32)] | None = None
    identities: (
        Annotated[list[StoreIdentity], msgspec.Meta(min_length=1, max_length=256)] | None
    ) = None
    checkpoint_size: str | None = None


class WeightStore(msgspec.Struct, frozen=True):
    """A WeightStore as it is stored, checked."""

    meta: Metadata
    spec: StoreSpec
    digest: str
    endpoints: tuple[Network, ...] = ()
    """Addresses of its private endpoints."""
    checkpoint_bytes: int = 0
    """Of one full checkpoint; 0 where nobody said."""

    @property
    def name(self) -> str:
        """Its name."""
        return self.meta.name

    @property
    def client_ids(self) -> frozenset[str]:
        """Client ids that can open it."""
        return frozenset(one.client_id for one in self.spec.identities or () if one.client_id)

    @property
    def host(self) -> str:
        """The name of its blob endpoint, public and private."""
        return f"{self.spec.account}.blob.{self.spec.endpoint_suffix}"

    def holds(self, account: str, container: str, blob: str = "") -> bool:
        """Return whether weights of it lie there; an empty `container` is the account itself."""
        if account != self.spec.account:
            return False
        return not container or any(one.holds(container, blob) for one in self.spec.containers)


def parse_store(raw: bytes | msgspec.Raw) -> WeightStore:
    """Read a WeightStore from its JSON.

    Raises:
        InvalidObjectError: with the field's path and what it must be. The CRD's schema and CEL
            rules refuse the same objects, but for what only code can say (a test names it).
    """
    return store_of(read_object(raw, KIND))


def store_of(written: UntypedObject) -> WeightStore:
    """Return the WeightStore that was written.

    Raises:
        InvalidObjectError: as `parse_store`.
    """
    spec = convert_spec(written, KIND, StoreSpec, _OPTIONAL)
    what = f"{KIND} {written.meta.name}"
    require_match(_ACCOUNT, spec.account, "spec.account", what, "the name of a storage account")
    require_match(
        SUBDOMAIN_CHARACTERS,
        spec.endpoint_suffix,
        "spec.endpointSuffix",
        what,
        "such as core.windows.net",
    )
    if spec.resource_id is not None:
        require_match(
            _RESOURCE, spec.resource_id, "spec.resourceId", what, "a storage account's id"
        )
        if not spec.resource_id.endswith(f"/{spec.account}"):
            raise InvalidObjectError(what, "spec.resourceId", f"must be of {spec.account}")
    for index, held in enumerate(spec.containers):
        require_match(
            _CONTAINER, held.name, f"spec.containers[{index}].name", what, "a container's name"
        )
    for index, one in enumerate(spec.identities or ()):
        _check_identity(one, f"spec.identities[{index}]", what)
    size = 0
    if spec.checkpoint_size is not None:
        wanted = "bytes of a full checkpoint, such as 1400Gi"
        require_match(_QUANTITY, spec.checkpoint_size, "spec.checkpointSize", what, wanted)
        size = parse_amount("memory", spec.checkpoint_size)
        if size >= LARGEST:
            raise InvalidObjectError(what, "spec.checkpointSize", "is more than there can be")
    endpoints = tuple(
        parse_network(text, field=f"spec.privateEndpoints[{index}]", what=what)
        for index, text in enumerate(spec.private_endpoints or ())
    )
    return WeightStore(written.meta, spec, written.digest, endpoints, size)


def _check_identity(one: StoreIdentity, path: str, what: str) -> None:
    if one.client_id is None and one.object_id is None:
        raise InvalidObjectError(what, path, "give clientId, objectId, or both")
    for field, value in (("clientId", one.client_id), ("objectId", one.object_id)):
        if value is not None:
            require_match(_ID, value, f"{path}.{field}", what, "an id of Entra's, in lower case")
