"""The document of one access to storage that holds model weights. Pure.

Fields are those of Azure Storage's resource logs (StorageBlobLogs, categories StorageRead,
StorageWrite and StorageDelete), named once for all their spellings. Nothing here names a person:
`upn`, `userName` and `uniqueName` of a record are left behind where it is read.
"""

from typing import Any, Final

import msgspec

from core.base.document_part import DocumentPart, require_format
from core.base.identity_enum import IdentityEnum
from core.base.ids import stable_id

FORMAT: Final = 1
"""Version of the document. Readers of release N read FORMAT - 1 and FORMAT + 1 as well."""


class SignedBy(IdentityEnum):
    """With what an access proved its right."""

    OAUTH = "oauth"
    ACCOUNT_KEY = "account-key"
    SAS = "sas"
    """Signed with an account's key."""
    DELEGATION_SAS = "delegation-sas"
    """Signed with a key that Entra ID gave a principal, who is `delegator`."""
    ANONYMOUS = "anonymous"
    KERBEROS = "kerberos"
    UNKNOWN = "unknown"
    """A type that no release knew; `extra` has the word."""


class Act(IdentityEnum):
    """What an operation does to weights."""

    READ = "read"
    LIST = "list"
    """Names, properties, tags, metadata: what there is."""
    WRITE = "write"
    DELETE = "delete"
    COPY = "copy"
    """Out of this account or container, or into it."""
    POLICY = "policy"
    """Access-control lists, permissions, policies, user delegation keys: who may."""
    OTHER = "other"


class Caller(IdentityEnum):
    """Where an address lies, by the operator's lists of networks.

    No field of a record names a private endpoint, and a private address does not prove one.
    """

    POD = "pod"
    NODE = "node"
    NETWORK = "network"
    """Another virtual network that the operator named."""
    PRIVATE = "unknown-private"
    PUBLIC = "public"
    NONE = "none"
    """The record has no address, or none that can be read."""


class Confidence(IdentityEnum):
    """How sure it is from which Pod an access came."""

    EXACT = "exact"
    """One Pod is all that it can have been."""
    ONE_OF = "one-of"
    """One of `among` Pods."""
    NODE = "node"
    """A CSI driver reads with the node's identity and from its address: the Pods that mounted."""
    UNATTRIBUTED = "unattributed"


class AccessedBy(DocumentPart, frozen=True, kw_only=True):
    """A Pod that may have made an access, and who answers for it."""

    pod: str
    """`namespace/name`."""
    uid: str
    service_account: str = ""
    """`namespace/name`."""
    node: str = ""
    decision: str = ""
    """Id of the decision that admitted it; empty where the ledger has none, or several and
    nothing shows which is true: then each field below says only what all of them say."""
    images: list[str] = []
    """By digest, where the decision has them."""
    profile: str = ""
    sandbox: str = ""
    requester: str = ""
    """`Subject.label` of the human behind it."""


class Attribution(DocumentPart, frozen=True, kw_only=True):
    """From which Pods an access can have come."""

    confidence: Confidence
    why: str
    """For a reviewer: what was known, and what narrowed it or did not."""
    among: int = 0
    """How many Pods it can have been."""
    pods: list[AccessedBy] = []
    """The first MOST_PODS of them."""
    gaps: bool = False
    """Whether the record of Pods or identities had a gap there: it may have been another."""


MOST_PODS: Final = 8

UNATTRIBUTED: Final = Attribution(confidence=Confidence.UNATTRIBUTED, why="not looked at")


class Access(DocumentPart, frozen=True, kw_only=True):
    """One request to storage, as its resource log tells of it, and where it came from."""

    format: int
    id: str
    """UUIDv7 of the record's time; the same record always has the same (`access_id`)."""
    time: str
    """RFC 3339, UTC, milliseconds: when the request began, by storage's clock."""
    cluster: str
    account: str
    container: str
    """Empty where the request is about the account."""
    blob: str = ""
    """The path in the container, decoded; empty where the request is about the container."""
    store: str = ""
    """The WeightStore whose account, containers and prefixes hold it; empty: no weights."""
    operation: str
    """`operationName` as logged: GetBlob, ListBlobs …"""
    act: Act
    status: int = 0
    """HTTP; 0 where the record says `Unknown`."""
    status_text: str = ""
    signed_by: SignedBy
    principal: str = ""
    """Object id of the requester, lower case."""
    application: str = ""
    """`appId` of the requester (its client id), lower case."""
    tenant: str = ""
    delegator: str = ""
    """Object id of who had the user delegation key issued."""
    token: str = ""
    """`tokenHash`, or the first of it: tells tokens, keys and SAS apart; opens nothing."""
    grants: list[str] = []
    """Role assignment ids that let it through, lower case."""
    address: str = ""
    """The caller's, without its port."""
    caller: Caller = Caller.NONE
    user_agent: str = ""
    bytes_out: int = 0
    """`responseBodySize`: what left."""
    bytes_in: int = 0
    """`requestBodySize`."""
    size: int = 0
    """`contentLengthHeader`."""
    correlation: str = ""
    operation_count: int = 0
    """0, 1, 2 of the records that one CopyBlob makes."""
    copy_source: str = ""
    """`account/container/blob` that a copy reads, where the record says it."""
    client_request: str = ""
    """`clientRequestId`: chosen by the caller, so a hint and no proof."""
    object_key: str = ""
    service: str = "blob"
    region: str = ""
    tls: str = ""
    extra: dict[str, Any] = {}
    """Fields that this release does not know, as they came; large ones cut."""
    attribution: Attribution = UNATTRIBUTED
    grant: str = ""
    """`namespace/name@uid` of the AccessGrant that covered it; empty: none did, or no weights."""
    ungranted: str = ""
    """Why no grant covered it, where it is of weights."""
    source: str = ""
    """Which source brought it; empty of its place in there: the same record may come twice."""

    @property
    def succeeded(self) -> bool:
        """Whether storage did what was asked, as far as the record says."""
        return 200 <= self.status < 400 or self.status == 0  # noqa: PLR2004  HTTP

    @property
    def who(self) -> str:
        """By what baselines, cases and reports tell principals apart.

        The object id with `oid:`; without one the application, and what signed it without either.
        """
        if self.principal:
            return f"oid:{self.principal}"
        if self.application:
            return f"client:{self.application}"
        if self.delegator:
            return f"oid:{self.delegator}"
        return f"{self.signed_by.value}:{self.token[:16]}" if self.token else self.signed_by.value


def access_id(unix_ms: int, resource: str, correlation: str, operation_count: int) -> str:
    """Return the id of a record: the same for the same record, whichever way it comes.

    A record's identity is its correlationId and operationCount (facts of Azure Storage: CopyBlob
    has three records of one correlationId); `resource` is `account/service/category`.
    """
    return stable_id(unix_ms, "access", resource, correlation, str(operation_count))


def contradicts(one: Access, other: Access) -> bool:
    """Return whether two that have one id cannot be of one record.

    Compared is what no export of a record leaves out: who, with what, from where, did what to
    what. What is found out here, and what exports spell in ways of their own, may differ.
    """
    return _claimed(one) != _claimed(other)


def _claimed(access: Access) -> tuple[object, ...]:
    return (
        *(access.account, access.container, access.blob, access.operation),
        *(access.signed_by, access.principal, access.application, access.delegator),
        *(access.address, access.status, access.bytes_out),
    )


_ENCODER = msgspec.json.Encoder()
_DECODER = msgspec.json.Decoder(Access)


def encode_access(access: Access) -> bytes:
    """Return the document as JSON."""
    return _ENCODER.encode(access)


def decode_access(content: bytes) -> Access:
    """Read a document of this format, the one before or the one after.

    Raises:
        ValueError: it is none; the message names the field.
    """
    access = _DECODER.decode(content)
    require_format(access.format, FORMAT)
    return access
