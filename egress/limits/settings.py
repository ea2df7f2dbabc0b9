"""The settings by which the gate judges allowlists and policies as they are written."""

from dataclasses import dataclass, field
from typing import Final

from core.base.networks import Network
from core.egress.enrolment import Enrolment
from egress.limits.breadth import Limits
from egress.model.facts import NO_TAGS, TagSource


@dataclass(frozen=True)
class IntentSettings:
    """Settings, and the operator's file of service tags."""

    limits: Limits = field(default_factory=Limits)
    """What is broader needs approval."""
    tags: TagSource = NO_TAGS
    ranges: tuple[Network, ...] = ()
    """The cluster's own: of Pods, Services and nodes."""
    knows_names: bool = False
    """Whether the engine knows DNS names, and so patterns of them."""
    enrolment: Enrolment = field(default_factory=Enrolment)
    """Which namespaces are enrolled: their Pods connect only where allowlists say."""
    compares: bool = True
    """Whether what generated policies open can be compared: those of Cilium are not read."""
    control: str = ""
    """The user name of Sallyport's own controller, which alone writes generated policies."""


DEFAULT_INTENT_SETTINGS: Final = IntentSettings()
"""That of an installation that says nothing."""
