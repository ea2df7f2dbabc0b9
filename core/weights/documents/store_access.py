"""Who can open a WeightStore by Azure's own rules, and how that differs from what is written. Pure.

Azure RBAC: `Microsoft.Authorization/roleAssignments`, `roleDefinitions` and `denyAssignments`
(2022-04-01). Data actions open blobs; some actions of the control plane give the account's keys,
which open everything and are nobody's. Ids only: nothing here names a person.
"""

import enum
from typing import Final

import msgspec

from core.base.document_part import DocumentPart, require_format

FORMAT: Final = 1


class Ability(enum.Enum):
    """What somebody can do to a store. The gravest last."""

    LIST = "list"
    READ = "read"
    WRITE = "write"
    DELETE = "delete"
    DELEGATE = "delegate"
    """Issue user delegation keys: SAS in the principal's own name."""
    CONFIGURE = "configure"
    """Change the account: shared keys, public access, network rules, SFTP, replication, logs."""
    KEYS = "keys"
    """List or regenerate account keys, or have SAS signed with them: everything, by nobody."""
    ASSIGN = "assign"
    """Give roles: everything, to anybody."""


DATA: Final = frozenset({Ability.READ, Ability.WRITE, Ability.DELETE})
"""The rights of a WeightStore's identities and of grants."""

ROUNDABOUT: Final = frozenset({Ability.KEYS, Ability.ASSIGN, Ability.CONFIGURE})
"""Ways to the weights that no grant is about."""


class Holder(DocumentPart, frozen=True, kw_only=True):
    """A principal that one role assignment gives abilities to a store."""

    principal: str
    """Object id, lower case."""
    kind: str
    """`User`, `Group`, `ServicePrincipal`, `ForeignGroup`, `Device`; empty where not said."""
    client_id: str = ""
    """Of a service principal, where Graph or the WeightStore says it."""
    abilities: list[Ability]
    role: str
    """Name of the role; its definition's id where it cannot be read."""
    assignment: str
    scope: str
    """Lower case: the account's, one above it, or a container's."""
    container: str = ""
    """Where the assignment is of one container only."""
    conditional: bool = False
    """It has an ABAC condition: it opens less than it seems, and nobody evaluated how much."""
    denied: bool = False
    """A deny assignment takes some of it away."""


class DifferenceKind(enum.Enum):
    """How what Azure allows differs from what people wrote."""

    UNLISTED = "unlisted"
    """Can open the store, and the WeightStore does not list it."""
    WIDER = "wider"
    """Is listed, and can do more."""
    ABSENT = "absent"
    """Is listed, and Azure gives it nothing."""
    UNGRANTED = "ungranted"
    """Can open the store now, while no AccessGrant lives that is about it."""
    ROUNDABOUT = "roundabout"
    """Can get at the keys, give itself a role, or change the account."""
    SHARED_KEY = "shared-key"
    """The account accepts its keys: whoever has one is nobody."""
    PUBLIC_NETWORK = "public-network"
    ANONYMOUS = "anonymous"
    """Containers may be public."""
    NO_PRIVATE_ENDPOINT = "no-private-endpoint"
    UNLOGGED = "unlogged"
    """No diagnostic setting sends reads, writes and deletes anywhere: nothing would be seen."""
    LOG_IN_REACH = "log-in-reach"
    """The logs go to the account that they are about: who opens the one rewrites the other."""


class AccessDifference(DocumentPart, frozen=True, kw_only=True):
    """One difference, for a person."""

    difference: DifferenceKind
    principal: str = ""
    abilities: list[Ability] = []
    detail: str
    remedy: str


class StoreAccess(DocumentPart, frozen=True, kw_only=True):
    """Who could open a store at one time, as far as it could be read."""

    format: int
    store: str
    resource: str
    at: str
    """RFC 3339."""
    holders: list[Holder] = []
    differing: list[AccessDifference] = []
    gaps: list[str] = []
    """What could not be read, and why: never taken as `nothing is there`."""

    @property
    def complete(self) -> bool:
        """Whether everything could be read."""
        return not self.gaps


_DECODER = msgspec.json.Decoder(StoreAccess)


def decode_store_access(content: bytes) -> StoreAccess:
    """Read one of this format, the one before or the one after.

    Raises:
        ValueError: it is none; the message names the field.
    """
    access = _DECODER.decode(content)
    require_format(access.format, FORMAT)
    return access
