"""A Namespace's settings for judging its objects, the marks that need the verb `exempt`, its mode.

Staged rollout: a namespace's own label decides its mode; without it the installation does, which
can tell namespaces that are new from those that were there before it. The installation's least mode
holds whatever a label says. Nothing here has an upper bound: what lowers a whole cluster is a
BreakGlass (docs/adr/0047).
"""

import datetime as dt
import enum
from collections.abc import Mapping
from typing import Final

import msgspec

from core.base import names
from core.decision.decision import WhenUnrecorded
from core.decision.id_ranges import IdRanges, parse_id_ranges
from core.risk.model import Effect
from core.sandbox.decision import SandboxMode, mode_of_label

_GUARDED_LABELS: Final = frozenset(
    {
        names.MODE_LABEL,
        names.UNRECORDED_LABEL,
        names.UNNOTED_LABEL,
        names.UNKNOWN_FIELD_LABEL,
        names.SANDBOX_LABEL,
        names.EGRESS_LABEL,
        names.RISK_CLASS_LABEL,
        names.WHEN_RISK_STALE_LABEL,
        names.AKS_EXEMPTION_LABEL,
    }
)


_GUARDED_ANNOTATIONS: Final = (
    names.EGRESS_WORKLOADS_ANNOTATION,
    names.CEILING_ANNOTATION,
    names.ENFORCE_FROM_ANNOTATION,
    names.UID_RANGE_ANNOTATION,
    names.SUPPLEMENTAL_GROUPS_ANNOTATION,
)


class Mode(enum.Enum):
    """What becomes of a refusal. The verdict itself is the same in all three."""

    ENFORCE = "enforce"
    """The request is refused."""
    WARN = "warn"
    """It is admitted, and its author is warned."""
    AUDIT = "audit"
    """It is admitted, and the decision is recorded."""


class WhenUnnoted(enum.Enum):
    """What decides for Pods of a workload that has no requester note."""

    SERVICE_ACCOUNT = "service-account"
    """The service account's right alone; the decision and a metric say so."""
    REFUSE = "refuse"


class WhenFieldUnknown(enum.Enum):
    """What becomes of an object with a field that the gate does not know."""

    WARN = "warn"
    """It is admitted; its author is warned, and operators hear of it."""
    REFUSE = "refuse"


class Namespace(msgspec.Struct, frozen=True):
    """What is read of a Namespace."""

    name: str
    labels: dict[str, str] = {}
    annotations: dict[str, str] = {}
    uid: str = ""
    created: str = ""
    """RFC 3339, by kube-apiserver's clock; empty where it is not known."""

    def mode(self, default: Mode) -> Mode:
        """Return the mode: the label's; `default` without one; ENFORCE for a word unknown."""
        label = self.labels.get(names.MODE_LABEL)
        if label is None:
            return default
        try:
            return Mode(label)
        except ValueError:
            return Mode.ENFORCE

    def when_unrecorded(self, default: WhenUnrecorded) -> WhenUnrecorded:
        """Return the rule: the label's; `default` without one; REFUSE for a word unknown."""
        label = self.labels.get(names.UNRECORDED_LABEL)
        if label is None:
            return default
        return (
            WhenUnrecorded.ADMIT if label == WhenUnrecorded.ADMIT.value else WhenUnrecorded.REFUSE
        )

    @property
    def when_unnoted(self) -> WhenUnnoted:
        """The choice: the label's; SERVICE_ACCOUNT without one; REFUSE for a word unknown."""
        label = self.labels.get(names.UNNOTED_LABEL, WhenUnnoted.SERVICE_ACCOUNT.value)
        known = label == WhenUnnoted.SERVICE_ACCOUNT.value
        return WhenUnnoted.SERVICE_ACCOUNT if known else WhenUnnoted.REFUSE

    def when_field_unknown(self, default: WhenFieldUnknown) -> WhenFieldUnknown:
        """Return the rule: the label's; `default` without one; REFUSE for a word unknown."""
        label = self.labels.get(names.UNKNOWN_FIELD_LABEL)
        if label is None:
            return default
        warns = label == WhenFieldUnknown.WARN.value
        return WhenFieldUnknown.WARN if warns else WhenFieldUnknown.REFUSE

    @property
    def risk_class(self) -> str:
        """The word that rows of the risk table match; empty without the label."""
        return self.labels.get(names.RISK_CLASS_LABEL, "")

    @property
    def when_risk_stale(self) -> Effect | None:
        """The choice: the label's; None without one; DENY for a word unknown."""
        label = self.labels.get(names.WHEN_RISK_STALE_LABEL)
        if label is None:
            return None
        try:
            return Effect(label)
        except ValueError:
            return Effect.DENY

    @property
    def sandbox(self) -> SandboxMode:
        """The mode: the label's; NEVER without one; REQUIRED for a word unknown."""
        return mode_of_label(self.labels.get(names.SANDBOX_LABEL))

    @property
    def ceiling(self) -> frozenset[str] | None:
        """The profiles that no right exceeds here; None where no ceiling is set."""
        value = self.annotations.get(names.CEILING_ANNOTATION)
        if value is None:
            return None
        return frozenset(name.strip() for name in value.split(",") if name.strip())

    @property
    def id_ranges(self) -> IdRanges | None:
        """The IDs that Pods may have on shared file systems; None where it gives none.

        Raises:
            NamespaceMarkError: the annotation is no range.
        """
        return parse_id_ranges(self.name, self.annotations)

    @property
    def profile(self) -> str | None:
        """The profile that the namespace names for everything in it, if it does."""
        return self.annotations.get(names.PROFILE_ANNOTATION)


def guarded_settings(labels: Mapping[str, str], annotations: Mapping[str, str]) -> dict[str, str]:
    """Return the marks on a Namespace that only holders of the verb `exempt` may change.

    Keys are field paths (`metadata.labels[sallyport.dev/mode]`). The manifest of the
    ValidatingAdmissionPolicy `deploy/namespace-guard.yaml` says the same in CEL.
    """
    marks = {
        f"metadata.labels[{key}]": value
        for key, value in labels.items()
        if key in _GUARDED_LABELS or key.startswith(names.AKS_LABEL_PREFIX)
    }
    return marks | {
        f"metadata.annotations[{key}]": annotations[key]
        for key in _GUARDED_ANNOTATIONS
        if key in annotations
    }


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
