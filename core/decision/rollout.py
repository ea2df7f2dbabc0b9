"""Staged rollout: the mode of a namespace now and later, and what enforcing would refuse. Pure.

A namespace's own label decides; without it the installation does, which can tell namespaces that
are new from those that were there before it. The installation's least mode holds whatever a label
says. Nothing here has an upper bound: what lowers a whole cluster is a BreakGlass (docs/adr/0047).
What would be refused is read from recorded decisions.
"""

import datetime as dt
import enum
from typing import Final

import msgspec

from core.base import names
from core.decision.decision import Verdict
from core.decision.document import DecisionDocument
from core.decision.namespaces import Mode, Namespace


class Outlook(enum.Enum):
    """What enforcing would make of what was decided."""

    ADMITTED = "admitted"
    REFUSED = "refused"
    UNJUDGED = "unjudged"
    """Nobody could judge it: it would be refused as an error."""


def enforcement_outlook(document: DecisionDocument) -> Outlook:
    """Return what enforcing would make of a decision.

    A warning that says neither, of an earlier release, counts as a refusal. What was refused though
    its namespace did not enforce is refused in every mode: enforcing changes nothing for it.
    """
    enforced = document.mode == Mode.ENFORCE.value
    if document.verdict is Verdict.ERROR:
        return Outlook.UNJUDGED
    if document.verdict is Verdict.DENY:
        return Outlook.REFUSED if enforced else Outlook.ADMITTED
    if enforced or document.if_enforced:
        return Outlook.REFUSED if document.if_enforced == "refused" else Outlook.ADMITTED
    return Outlook.REFUSED if document.verdict is Verdict.WARN else Outlook.ADMITTED


def document_workload(document: DecisionDocument) -> str:
    """Name what a decision was about by what people submit: `Deployment/web`, `Pod/notebook exec`.

    Pods that a controller made count as their root, those that run as what they say made them.
    """
    asked = document.request
    if document.running is not None and document.running.workload:
        return document.running.workload
    if document.root is not None:
        return f"{document.root.kind}/{document.root.name}"
    tail = f" {asked.subresource}" if asked.subresource else ""
    return f"{asked.kind}/{asked.name or '(unnamed)'}{tail}"


def document_requester(document: DecisionDocument) -> str:
    """Name who asked: of what a controller made, who asked for its root, where that is noted.

    Of what runs nothing says it: empty.
    """
    if document.source == "sweep":
        return ""
    return (document.root.requester if document.root else "") or document.requester


STRICTNESS: Final = {Mode.AUDIT: 0, Mode.WARN: 1, Mode.ENFORCE: 2}
"""Greater is stricter."""


def stricter_mode(first: Mode, second: Mode) -> Mode:
    """Return the stricter of two modes."""
    return max(first, second, key=STRICTNESS.__getitem__)


class Modes(msgspec.Struct, frozen=True, kw_only=True):
    """What an installation says of modes."""

    default: Mode = Mode.ENFORCE
    """Of namespaces without the label."""
    least: Mode = Mode.AUDIT
    """The mildest that any namespace has, whatever its label says."""
    new: Mode | None = None
    """Of namespaces without the label that were made at or after `new_since`; None: `default`."""
    new_since: dt.datetime | None = None
    """With its zone."""

    @property
    def elsewhere(self) -> Mode:
        """The mode of what lies in no namespace."""
        return stricter_mode(self.default, self.least)

    def of(self, namespace: Namespace) -> Mode:
        """Return the mode that holds in a namespace."""
        return stricter_mode(namespace.mode(self._unlabelled(namespace)), self.least)

    def why(self, namespace: Namespace) -> str:
        """Say what decides it: `label`, `least`, `new` or `default`."""
        labelled = names.MODE_LABEL in namespace.labels
        if self.of(namespace) is not namespace.mode(self._unlabelled(namespace)):
            return "least"
        return "label" if labelled else "new" if self._is_new(namespace) else "default"

    def _unlabelled(self, namespace: Namespace) -> Mode:
        return self.new if self.new is not None and self._is_new(namespace) else self.default

    def _is_new(self, namespace: Namespace) -> bool:
        """Return whether it is; one whose age is not known is taken for the stricter of the two."""
        if self.new is None or self.new_since is None:
            return False
        created = parse_moment(namespace.created)
        if created is None:
            return stricter_mode(self.new, self.default) is self.new
        return created >= self.new_since


ORDINARY_MODES: Final = Modes()
"""Namespaces without the label enforce."""


def parse_moment(text: str) -> dt.datetime | None:
    """Read a day (`2026-12-01`, which begins in UTC) or an RFC 3339 time; None where it is none."""
    try:
        read = dt.datetime.fromisoformat(text)
    except ValueError:
        return None
    is_day = len(text) == len("2026-12-01")
    if read.tzinfo is None and not is_day:
        return None
    return read if read.tzinfo is not None else read.replace(tzinfo=dt.UTC)


def enforce_from(namespace: Namespace) -> str:
    """Return from when a namespace is to enforce, as it is announced; empty where it is not.

    What is no day and no time is not shown to anybody.
    """
    text = namespace.annotations.get(names.ENFORCE_FROM_ANNOTATION, "")
    return text if parse_moment(text) is not None else ""
