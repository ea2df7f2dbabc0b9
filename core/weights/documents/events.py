"""Documents of events around the weights: changes to storage, entries into Pods, gaps, findings.

Together with accesses they are the events that detections look at. Nothing here names a person.
"""

from typing import Any, Final, TypeVar

import msgspec

from core.base.document_part import DocumentPart, require_format
from core.base.identity_enum import IdentityEnum
from core.base.ids import stable_id

FORMAT: Final = 1
"""Version of both documents. Readers of release N read FORMAT - 1 and FORMAT + 1 as well."""


class Log(IdentityEnum):
    """Which log an activity stands in."""

    AZURE = "azure-activity"
    KUBERNETES = "kubernetes-audit"


class Topic(IdentityEnum):
    """What an activity is about."""

    KEYS_LISTED = "keys-listed"
    KEY_REGENERATED = "key-regenerated"
    SAS_ISSUED = "sas-issued"
    """listAccountSas, listServiceSas: signed by Azure Resource Manager with the account's key."""
    DELEGATION_KEY_ISSUED = "delegation-key-issued"
    PUBLIC_ACCESS = "public-access"
    """allowBlobPublicAccess, or a container's publicAccess, was set."""
    NETWORK_RULES = "network-rules"
    """Firewall, bypass, publicNetworkAccess."""
    DIAGNOSTICS = "diagnostic-settings"
    """Changed or deleted: the log itself."""
    FEDERATED_CREDENTIAL = "federated-credential"
    ROLE_ASSIGNMENT = "role-assignment"
    PRIVATE_ENDPOINT = "private-endpoint"
    """A connection was approved."""
    REPLICATION = "object-replication"
    SFTP_OR_LOCAL_USERS = "sftp-or-local-users"
    PROTECTION = "protection"
    """Immutability, versioning, soft delete, locks."""
    LIFECYCLE = "lifecycle"
    """The policy of lifecycle management was written or deleted."""
    ENCRYPTION = "encryption-key"
    """Whose key encrypts was set, of an account or an encryption scope."""
    OTHER_TENANT = "other-tenant"
    """Cross-tenant replication, copy scope, or a resource access rule of the firewall was set."""
    TRANSPORT = "transport"
    """HTTPS alone, or the least version of TLS, was set."""
    ROLE_DEFINITION = "role-definition"
    """A custom role was written or deleted."""
    ELEVATED_ACCESS = "elevated-access"
    """A Global Administrator took the right to give roles everywhere."""
    LOG_TARGET = "log-target"
    """An Event Hub or a workspace was deleted, or purged: what logs may go to."""
    CLUSTER_CREDENTIAL = "cluster-credential"
    """The administrator's credential of an AKS cluster was listed, or a command run in one."""
    SHARED_KEY = "shared-key-access"
    """allowSharedKeyAccess was set."""
    DELETION = "deletion"
    """A container, an account or a resource group, deleted by Azure Resource Manager."""
    EXEC = "exec"
    """exec, attach, port-forward, proxy into a Pod."""
    SECRET_READ = "secret-read"  # noqa: S105 (a topic)
    DECISION_SEEN = "decision-seen"
    """The apiserver's own record of a decision, by the audit annotation of it."""
    OTHER = "other"


class Activity(DocumentPart, frozen=True, kw_only=True):
    """One entry of Azure's activity log, or of kube-apiserver's audit log, that matters here."""

    format: int
    id: str
    """UUIDv7 of the entry's time; the same entry always has the same."""
    time: str
    """RFC 3339, UTC, milliseconds."""
    cluster: str
    log: Log
    topic: Topic
    operation: str
    """As logged: `Microsoft.Storage/storageAccounts/listKeys/action`; of Kubernetes the verb and
    resource, `create pods/exec`."""
    succeeded: bool = True
    resource: str = ""
    """Azure's resource id, lower case; of Kubernetes `namespace/name`."""
    account: str = ""
    """The storage account, where it is about one."""
    container: str = ""
    store: str = ""
    """The WeightStore that it is about; empty where it is about none, or about a Pod."""
    principal: str = ""
    """Object id of the caller, lower case; of Kubernetes `Subject.label`."""
    application: str = ""
    address: str = ""
    facts: dict[str, Any] = {}
    """What detections read, by the topic: see `audit.access.parsers.activity_log`."""
    extra: dict[str, Any] = {}
    source: str = ""

    @property
    def who(self) -> str:
        """By what cases and reports tell principals apart, as `Access.who`."""
        if self.principal:
            return self.principal if ":" in self.principal else f"oid:{self.principal}"
        return f"client:{self.application}" if self.application else ""


class LogGap(DocumentPart, frozen=True, kw_only=True):
    """A stretch of time of which a log may say nothing, though something happened."""

    format: int
    id: str
    """UUIDv7 of its end; the same gap always has the same."""
    cluster: str
    log: str
    """`storage`, `azure-activity`, `kubernetes-audit`, `pods`, `identities`."""
    subject: str
    """Account and category, or the kind that is watched."""
    begin: str
    """RFC 3339."""
    end: str
    why: str
    """What shows it: an hour's blob is missing, a watch was away, an offset was lost …"""


def gap_id(cluster: str, log: str, subject: str, begin_ms: int, end_ms: int) -> str:
    """Return the id of a gap that `control` records; times in milliseconds of Unix time."""
    return stable_id(end_ms, "gap", cluster, log, subject, str(begin_ms))


class Severity(IdentityEnum):
    """How grave a finding is, as SARIF, OCSF and Defender name it."""

    LOW = "low"
    MEDIUM = "medium"
    HIGH = "high"
    CRITICAL = "critical"


class Finding(DocumentPart, frozen=True, kw_only=True):
    """What a detection found, once for one thing: the same events give the same id."""

    format: int
    id: str
    """UUIDv7 of `time`; its other bits are the digest of what makes it one thing."""
    detection: str
    """Id of the detection: `key-or-anonymous-read` …"""
    aspect: str = ""
    """Which of its kinds of findings it is, where the detection has several: `deleted` …"""
    time: str
    """RFC 3339: of the event that completed it."""
    first: str
    """RFC 3339: of the first event that it rests on."""
    cluster: str
    severity: Severity
    store: str = ""
    account: str = ""
    container: str = ""
    folder: str = ""
    """In the container, where it is about one; without a slash at its end."""
    who: str = ""
    """`Access.who` of whom it is about; empty where it is about nobody."""
    title: str
    """One line, under 120 characters."""
    detail: str
    """What was seen against what was expected, with numbers."""
    remedy: str
    techniques: list[str] = []
    """MITRE ids: `AML.T0025`, `T1537`."""
    evidence: list[str] = []
    """Ids of accesses and activities, the first MOST_EVIDENCE."""
    events: int = 1
    bytes: int = 0
    addresses: list[str] = []
    pods: list[str] = []
    requesters: list[str] = []
    """`Subject.label` of the humans behind it, where an attribution says so."""
    late: bool = False
    """Whether the event came after the watermark had passed it: it was judged by what was left."""


MOST_EVIDENCE: Final = 20

T = TypeVar("T", Activity, LogGap, Finding)

_ENCODER = msgspec.json.Encoder()


def encode_event(event: Activity | LogGap | Finding) -> bytes:
    """Return the document as JSON."""
    return _ENCODER.encode(event)


_ACTIVITY = msgspec.json.Decoder(Activity)
_GAP = msgspec.json.Decoder(LogGap)
_FINDING = msgspec.json.Decoder(Finding)


def decode_activity(content: bytes) -> Activity:
    """Read an activity of this format, the one before or the one after.

    Raises:
        ValueError: it is none; the message names the field.
    """
    return _readable(_ACTIVITY.decode(content))


def decode_gap(content: bytes) -> LogGap:
    """Read a gap.

    Raises:
        ValueError: as `decode_activity`.
    """
    return _readable(_GAP.decode(content))


def decode_finding(content: bytes) -> Finding:
    """Read a finding.

    Raises:
        ValueError: as `decode_activity`.
    """
    return _readable(_FINDING.decode(content))


def _readable(document: T) -> T:
    require_format(document.format, FORMAT)
    return document
