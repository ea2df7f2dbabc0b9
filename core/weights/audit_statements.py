"""AuditStatements: what one person says of a finding, or of a report. Pure.

An act, and no setting: it never changes, it stays in the ledger when it is deleted, and what a
finding's statements come to is computed where findings are read (`audit.access.progress`).
"""

import re
from enum import Enum
from typing import Annotated, Final

import msgspec

from core.base.errors import InvalidObjectError
from core.base.sallyport_objects import (
    DIGEST,
    Metadata,
    convert_spec,
    parse_time,
    read_object,
    require_match,
)

KIND: Final = "AuditStatement"

MAX_DAYS: Final = 365
"""A finding is accepted for at most so long."""

SELF: Final = "self"
"""As an owner: whoever makes the statement."""

_FINDING: Final = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")
_OWNER: Final = re.compile(r"self|oid:[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}|user:[0-9a-f]{16}")
_OPTIONAL: Final = frozenset({"finding", "report", "state", "acceptedUntil", "owner", "note"})


class FindingState(Enum):
    """How far people are with a finding."""

    NEW = "new"
    INVESTIGATING = "investigating"
    CONTAINED = "contained"
    FALSE_ALARM = "falseAlarm"
    ACCEPTED = "accepted"
    """Until a time."""


CLOSING: Final = frozenset({FindingState.FALSE_ALARM, FindingState.ACCEPTED})
"""After which nobody looks at a finding any more: not for its subject to say."""


class StatementSpec(msgspec.Struct, frozen=True, rename="camel", forbid_unknown_fields=True):
    """`spec` of an AuditStatement; the CRD says what each field means."""

    finding: str | None = None
    report: str | None = None
    state: FindingState | None = None
    accepted_until: str | None = None
    owner: str | None = None
    note: Annotated[str, msgspec.Meta(max_length=1024)] | None = None

    @property
    def closes(self) -> bool:
        """Whether it says that nobody need look at the finding any more."""
        return self.state in CLOSING


class AuditStatement(msgspec.Struct, frozen=True):
    """An AuditStatement as it is stored, checked."""

    meta: Metadata
    spec: StatementSpec
    accepted_until: float
    """Unix seconds; 0 where it accepts nothing."""
    digest: str


def parse_statement(raw: bytes | msgspec.Raw) -> AuditStatement:
    """Read an AuditStatement from its JSON.

    Raises:
        InvalidObjectError: with the field's path and what it must be. The CRD's schema and CEL
            rules refuse the same objects (a test proves it).
    """
    written = read_object(raw, KIND)
    spec = convert_spec(written, KIND, StatementSpec, _OPTIONAL)
    what = f"{KIND} {written.meta.name}"
    if (spec.finding is None) == (spec.report is None):
        raise InvalidObjectError(what, "spec", "name a finding, or else a report")
    if spec.finding is not None:
        _check_about_finding(spec, what)
    else:
        _check_about_report(spec, what)
    until = 0.0
    if spec.accepted_until is not None:
        until = parse_time(spec.accepted_until, field="spec.acceptedUntil", what=what)
    return AuditStatement(written.meta, spec, until, written.digest)


def _check_about_finding(spec: StatementSpec, what: str) -> None:
    require_match(_FINDING, spec.finding or "", "spec.finding", what, "the whole id of a finding")
    if spec.state is None and spec.owner is None and not spec.note:
        raise InvalidObjectError(what, "spec.state", "give a state, an owner or a note")
    if spec.owner is not None:
        wanted = "self, oid: and an object id in lower case, or user: and 16 hex digits"
        require_match(_OWNER, spec.owner, "spec.owner", what, wanted)
    accepts = spec.state is FindingState.ACCEPTED
    if accepts != (spec.accepted_until is not None):
        message = "is missing: say until when" if accepts else "goes with the state accepted alone"
        raise InvalidObjectError(what, "spec.acceptedUntil", message)
    if spec.closes and not spec.note:
        message = "is missing: say why nobody need look at the finding any more"
        raise InvalidObjectError(what, "spec.note", message)


def _check_about_report(spec: StatementSpec, what: str) -> None:
    if not DIGEST.fullmatch(spec.report or ""):
        message = f"{spec.report!r} must be sha256: and 64 hex digits"
        raise InvalidObjectError(what, "spec.report", message)
    others = {
        "state": spec.state,
        "acceptedUntil": spec.accepted_until,
        "owner": spec.owner,
    }
    for field, value in others.items():
        if value is not None:
            message = "is of findings alone: a report is signed off, or not"
            raise InvalidObjectError(what, f"spec.{field}", message)
