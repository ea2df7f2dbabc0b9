"""A Namespace's settings for judging its objects, and the marks that need the verb `exempt`."""

import enum
from collections.abc import Mapping
from typing import Final

import msgspec

from core.base import names
from core.decision.decision import WhenUnrecorded
from core.risk.model import Effect
from core.sandbox.decision import SandboxMode, mode_of_label


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
    def profile(self) -> str | None:
        """The profile that the namespace names for everything in it, if it does."""
        return self.annotations.get(names.PROFILE_ANNOTATION)


_OPEN: Final = "open"
"""The word of the label that leaves a namespace out of egress."""

_GUARDED_LABELS: Final = frozenset(
    {
        names.MODE_LABEL,
        names.UNRECORDED_LABEL,
        names.UNNOTED_LABEL,
        names.SANDBOX_LABEL,
        names.EGRESS_LABEL,
        names.RISK_CLASS_LABEL,
        names.WHEN_RISK_STALE_LABEL,
        names.AKS_EXEMPTION_LABEL,
    }
)


def guarded_marks(labels: Mapping[str, str], annotations: Mapping[str, str]) -> dict[str, str]:
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
        for key in (names.CEILING_ANNOTATION, names.ENFORCE_FROM_ANNOTATION)
        if key in annotations
    }


class Enrolment(msgspec.Struct, frozen=True):
    """Which namespaces are enrolled: their Pods connect only where EgressAllowlists say."""

    default: bool = False
    """Whether those without the label are."""
    excluded: frozenset[str] = frozenset()
    """Names that `default` does not count for: those of the cluster itself."""

    def enrols(self, namespace: Namespace) -> bool:
        """Return whether a namespace is: by its label, any word but `open` counting as `deny`."""
        label = namespace.labels.get(names.EGRESS_LABEL)
        if label is not None:
            return label != _OPEN
        return self.default and namespace.name not in self.excluded
