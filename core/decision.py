"""What a review ends in: needs, findings, and the decision made of them."""

import enum

import msgspec


class Need(msgspec.Struct, frozen=True):
    """One privilege that an object needs, and the field that makes it so."""

    rule: str
    """Rule id: the Rego package path without its first part, `privileges/host/network`."""
    privilege: str
    path: str
    """From the submitted object's root: `spec.containers[0].securityContext.privileged`."""
    container: str | None = None


class Action(enum.Enum):
    """What a finding does to the request."""

    DENY = "deny"
    WARN = "warn"


class Verdict(enum.Enum):
    """How a review ends. ERROR is a refusal because nobody could judge, never a denial."""

    ALLOW = "allow"
    WARN = "warn"
    DENY = "deny"
    ERROR = "error"


class Finding(msgspec.Struct, frozen=True, rename="camel"):
    """One thing that is wrong, where, and how to put it right."""

    rule: str
    action: Action
    path: str
    message: str
    remedy: str
    privilege: str | None = None
    container: str | None = None
    covered_by: list[str] = []


class Decision(msgspec.Struct, frozen=True, kw_only=True):
    """The outcome of one review, complete: nothing else is consulted to answer it."""

    id: str
    """UUIDv7, in the message, the audit annotation and the log."""
    verdict: Verdict
    allowed: bool
    """What the caller is told. A DENY or ERROR is allowed only in a namespace that says so."""
    message: str = ""
    """For the person who asked; empty when there is nothing to say."""
    warnings: list[str] = []
    findings: list[Finding] = []
    profile: str | None = None
    """The profile it was admitted under, or was judged by."""
    mode: str = "enforce"
    error_kind: str | None = None
    reason: str = ""
    """With Verdict.ERROR: why nobody could judge."""
    field: str = ""
    """With Verdict.ERROR: the field of the object that is at fault, if one is."""
    policy_revision: str = ""
    profiles_revision: str = ""
    subjects: list[str] = []
    """Whose rights were asked, as `Subject.label`."""
    note_profile: bool = False
    """Whether the mutating webhook should note `profile` on the object."""
