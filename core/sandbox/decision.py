"""The sandbox of an object: its mode, signals of risk, unsupported features, the decision.

The rules of signals and features are Rego (`policies/rego/sandbox/`); the room `sandbox/` weighs
them.
"""

import enum
from collections.abc import Collection
from typing import Final, NamedTuple

import msgspec

from core.base.document_part import DocumentPart
from core.sandbox.capacity import Toleration

REQUIRED: Final = "sandbox/required"
"""The rule by which something must run in a sandbox: the one that a PolicyException may name."""
INCOMPATIBLE: Final = "sandbox/incompatible"
"""The rule for what uses something that the sandbox cannot run."""
RUNTIME: Final = "sandbox/runtime"
"""The rule for a RuntimeClass that is missing, or whose handler is no sandbox."""
ENTERED: Final = "sandbox/entered"
"""The rule for a connection into a Pod that must run in a sandbox and does not."""

NAMESPACE: Final = "namespace"
"""The label of the namespace set the mode."""

PROFILE: Final = "profile"
"""The profile that the object is admitted under set it."""

NOTED_PROFILE: Final = "noted-profile"
"""The profile noted on the Pod, or on the workload that it comes from, set it."""

_DECIDING: Final = {"never": "", "by-risk": "risk", "required": "required"}


class SandboxMode(enum.Enum):
    """When the Pods of a profile, or of a namespace, run in a sandbox. The stricter one counts."""

    NEVER = "never"
    """Only where their author asks for it."""
    BY_RISK = "by-risk"
    """Where the signals add up to the threshold."""
    REQUIRED = "required"
    """Always."""

    @property
    def strictness(self) -> int:
        """Return a number that is greater for a stricter mode."""
        return _STRICTNESS[self.value]


_STRICTNESS: Final = {mode.value: number for number, mode in enumerate(SandboxMode)}


class ModeSource(DocumentPart, frozen=True):
    """Who set the mode that counts; as recorded."""

    kind: str
    """NAMESPACE, PROFILE or NOTED_PROFILE: the first of these where several set the same mode."""
    name: str
    """Of the namespace or the profile."""


class EffectiveMode(NamedTuple):
    """The strictest mode that anybody set, and who did."""

    mode: SandboxMode
    by: ModeSource | None = None
    """None for NEVER, which nobody needs to set."""


def mode_of_label(value: str | None) -> SandboxMode:
    """Return the mode that a namespace's label asks for: REQUIRED for a word unknown."""
    if value is None:
        return SandboxMode.NEVER
    return SandboxMode.BY_RISK if value == SandboxMode.BY_RISK.value else SandboxMode.REQUIRED


def lacks_sandbox(rules: Collection[str], demanded: str, runtime: str) -> bool:
    """Return whether a Pod that runs should be in a sandbox and is not.

    `rules` are those that refuse it, `demanded` the RuntimeClass that it must have, `runtime` its
    own. One that its sandbox cannot run is in it nevertheless, if that is its class.
    """
    if REQUIRED in rules or RUNTIME in rules:
        return True
    return INCOMPATIBLE in rules and runtime != demanded


class Signal(msgspec.Struct, frozen=True, gc=False):
    """Something about an object that makes it riskier, and where."""

    rule: str
    """Rule id: `sandbox/code/notebook`. Points, reason and source are in its METADATA."""
    path: str
    """From the object's root; empty for what no field says."""
    value: str = ""
    """What the rule's message speaks of."""
    container: str | None = None


class Feature(msgspec.Struct, frozen=True, gc=False):
    """Something that an object uses and that some sandbox cannot run: a key of its table."""

    name: str
    """`host-network`, `block-volume`, `rdma` …"""
    path: str
    container: str | None = None


class WeighedSignal(msgspec.Struct, frozen=True, gc=False):
    """A signal that counted, with its points and its reason; as recorded."""

    rule: str
    points: int
    path: str
    reason: str


class SandboxDecision(msgspec.Struct, frozen=True, gc=False, kw_only=True):
    """What was decided about the sandbox of one object, and why."""

    mode: SandboxMode = SandboxMode.NEVER
    mode_by: ModeSource | None = None
    """Who set the mode; None for NEVER, and in records of releases that did not say."""
    asked: bool = False
    """Whether its author asked for the sandbox."""
    score: int = 0
    threshold: int = 0
    signals: tuple[WeighedSignal, ...] = ()
    runtime: str = ""
    """The RuntimeClass that it must run with; empty where any will do."""
    excused: bool = False
    """Whether a PolicyException takes away what the modes demand."""
    identity: bool = False
    """Whether the risk of an identity demands it, and nothing else does."""

    @property
    def decided_by(self) -> str:
        """What decides: `asked`, `identity`, `required`, `risk`; empty where nothing may."""
        if self.asked:
            return "asked"
        if self.identity:
            return "identity"
        return _DECIDING[self.mode.value]

    @property
    def reason(self) -> str:
        """The same where it must run in a sandbox; empty where it need not."""
        return self.decided_by if self.runtime else ""


class RuntimeClass(msgspec.Struct, frozen=True):
    """What is read of a RuntimeClass (node.k8s.io/v1)."""

    name: str
    handler: str
    node_selector: dict[str, str] = {}
    tolerations: tuple[Toleration, ...] = ()
    overhead: dict[str, int] = {}
    """What each of its Pods takes besides its own requests: `core.kubernetes.quantities.Amounts`.
    """
