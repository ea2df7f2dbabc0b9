"""The model of identity risk: levels, states, standings, effects and entries. Pure.

Levels and states are Microsoft Graph's (`riskyUser`, `riskyServicePrincipal`, v1.0). A *standing*
is what they come to for a decision: the row of the table (`identity.risk.standings`). Entra ID,
snapshots, tables and decisions share it.
"""

import enum
import hashlib
import uuid
from typing import Final

import msgspec

from core.people.subject import Subject


class RiskLevel(enum.Enum):
    """`riskLevel`."""

    NONE = "none"
    LOW = "low"
    MEDIUM = "medium"
    HIGH = "high"
    HIDDEN = "hidden"
    """There is no licence to see it: unknown, never clean."""
    UNKNOWN = "unknownFutureValue"


class RiskState(enum.Enum):
    """`riskState`."""

    NONE = "none"
    CONFIRMED_SAFE = "confirmedSafe"
    REMEDIATED = "remediated"
    DISMISSED = "dismissed"
    AT_RISK = "atRisk"
    CONFIRMED_COMPROMISED = "confirmedCompromised"
    UNKNOWN = "unknownFutureValue"


class RiskSource(enum.IntEnum):
    """Whose word it is. Each has at most one entry of an identity; the worse one counts."""

    ENTRA = 0
    """Graph and Event Hubs."""
    CAEP = 1
    """A transmitter of OpenID security events."""


class PrincipalKind(enum.Enum):
    """What sort of identity an entry is about."""

    USER = "user"
    SERVICE_PRINCIPAL = "service-principal"


class ApplicationKind(enum.Enum):
    """What Entra says that a client id is."""

    APPLICATION = "application"
    """Of an app registration of this tenant: its risk is assessed."""
    MANAGED_IDENTITY = "managed-identity"
    """It never has a risk, whatever becomes of it."""
    FOREIGN = "foreign"
    """Its app registration is another tenant's, and so is its risk."""
    MISSING = "missing"
    """The tenant has no service principal for it."""


class Standing(enum.Enum):
    """What is known of an identity, as one row of the table."""

    CLEAN = "clean"
    """Its risk is assessed, and there is none."""
    LOW = "low"
    MEDIUM = "medium"
    HIGH = "high"
    COMPROMISED = "confirmed-compromised"
    HIDDEN = "hidden"
    """It is at risk, or may be: the tenant has no licence to see its level."""
    UNKNOWN = "unknown"
    """It has a level or a state that this release does not know."""
    CONFIRMED_SAFE = "confirmed-safe"
    REMEDIATED = "remediated"
    DISMISSED = "dismissed"
    DELETED = "deleted"
    REVOKED = "session-revoked"
    """Its sessions were revoked a while ago: a token from before may still be in use."""
    MANAGED_IDENTITY = "managed-identity"
    GUEST = "guest"
    FOREIGN = "foreign-tenant"
    OUTSIDE = "outside"
    """No identity of Entra's: of a certificate, or of another issuer."""
    UNIDENTIFIED = "unidentified"
    """An application that nobody has told apart from a managed identity yet, or that hides."""
    STALE = "stale"
    """What is known is too old, or nothing is known: its namespace's choice decides."""


AT_RISK: Final = frozenset({Standing.LOW, Standing.MEDIUM, Standing.HIGH, Standing.COMPROMISED})
"""Who is at risk now. Such a person approves nothing (`core.people.two_person`)."""


LATEST_DETECTION_S: Final = 48 * 3600
"""So long after what it is about a detection may come (Entra ID Protection, offline ones)."""


class Effect(enum.Enum):
    """What a row of the table does to a request."""

    ALLOW = "allow"
    WARN = "warn"
    SANDBOX = "sandbox"
    """The workload must run in a sandbox; only what does may be entered."""
    DENY = "deny"

    @property
    def severity(self) -> int:
        """Return a number that is greater for a stricter effect."""
        return _SEVERITY[self.value]


_SEVERITY: Final = {each.value: number for number, each in enumerate(Effect)}


class OperationClass(enum.Enum):
    """What is done, as the table tells it apart."""

    CREATE_WORKLOAD = "create-workload"
    EXEC = "exec"
    """Whatever enters what runs: exec, attach, port-forward, proxies, ephemeral containers."""
    MAKE_CREDENTIALS = "make-credentials"
    """Tokens of service accounts, certificates, binding Pods to nodes."""
    CHANGE_RIGHTS = "change-rights"
    """Roles and bindings, profiles, marks of namespaces."""
    ASK = "ask"
    """Objects that excuse or open something once others have approved: exceptions, allowlists."""
    APPROVE = "approve"
    BREAK_GLASS = "break-glass"
    """Writing or activating a BreakGlass."""
    READ_WEIGHTS = "read-weights"
    """Grants to read or write model weights."""


class Role(enum.Enum):
    """Why an identity counts for a request."""

    REQUESTER = "requester"
    """Who sent it."""
    AUTHOR = "author"
    """Who submitted the workload that a controller makes it for: the requester note."""
    WORKLOAD = "workload"
    """The Entra identity that the Pod can sign in as."""


class Behaviour(enum.IntFlag):
    """What an identity does that it did not do before, as the auditor learnt it."""

    NEW_NAMESPACE = 1
    NEW_CLUSTER = 2
    NEW_PROFILE = 4
    UNUSUAL_HOUR = 8
    CREATE_BURST = 16
    EXEC_BURST = 32
    DENIALS = 64
    """Many denials in a row."""

    @property
    def words(self) -> tuple[str, ...]:
        """Return the names of what is set, `new-namespace` and so on, in a fixed order."""
        return tuple(each.name.lower().replace("_", "-") for each in Behaviour if each in self)  # type: ignore[union-attr]


class RiskEntry(msgspec.Struct, frozen=True, gc=False, kw_only=True):
    """What one source says of one identity. Times are Unix seconds; 0 is not known."""

    kind: PrincipalKind = PrincipalKind.USER
    level: RiskLevel = RiskLevel.NONE
    state: RiskState = RiskState.NONE
    deleted: bool = False
    updated: int
    """When its source last changed it: what is older never overwrites what is newer."""
    since: int = 0
    """When it came to be at risk, in one go until now; 0 where it is not."""
    active: int = 0
    """When what made it risky happened (`activityDateTime`): up to 48 hours before `since`."""
    revoked: int = 0
    """When its sessions were revoked."""
    event_id: str = ""
    """Of the detection or event that it rests on."""
    event_type: str = ""
    """`riskEventType`, which is open, or the last part of an OpenID event's URI."""


class Application(msgspec.Struct, frozen=True, gc=False):
    """What a client id stands for."""

    kind: ApplicationKind
    object_id: str = ""
    """Of its service principal, lower case; empty where it is missing."""


class BehaviourEntry(msgspec.Struct, frozen=True, gc=False):
    """What an identity does that is unusual."""

    behaviour: Behaviour
    until: int
    """Unix seconds, from which it counts no more."""


class AssessedIdentity(msgspec.Struct, frozen=True, gc=False, kw_only=True):
    """What the table says of one identity of a request, and what that rests on."""

    role: Role
    who: str
    """`Subject.label`; of a workload `client:<client id>`."""
    standing: Standing
    effect: Effect
    row: str
    """The row of the table that decided."""
    events: tuple[str, ...] = ()
    """Ids of the detections or events that it rests on; one of each source."""
    event_types: tuple[str, ...] = ()
    age_s: float | None = None
    """Seconds since what is known of such identities was complete; None where it never was."""
    since: int = 0
    """Of the risk, Unix seconds; 0 where it is not at risk."""


def identity_key(label: str) -> bytes:
    """Return the 16 bytes by which snapshots know a `Subject.label` or an Entra object id.

    An object id (`oid:…`, or bare) is its own 16 bytes; any other label the first 16 of its
    SHA-256.
    """
    text = label.removeprefix("oid:")
    try:
        return uuid.UUID(text).bytes
    except ValueError:
        return hashlib.sha256(label.encode()).digest()[:16]


def subject_key(subject: Subject) -> bytes:
    """Return the same of a subject."""
    return identity_key(subject.label)
