"""What one Pod of a gang weighs, kept for the others (docs/adr/0028)."""

from collections import OrderedDict
from collections.abc import Hashable
from typing import Final, NamedTuple

from admission.model.facts import Isolated, SandboxPart
from core.decision.namespaces import Namespace
from policies.engine.interface import PolicyAnswer
from sandbox.risk_score import RiskScore

MOST_KEPT: Final = 512
"""Gangs that are created at a time."""

MOST_BYTES: Final = 8 * 1024
"""Of a projection whose answer is kept, which takes some twenty times that: of hostile ones,
MOST_KEPT would be gigabytes."""


class Kept(NamedTuple):
    """What one Pod weighs, and what that was worked out from."""

    answer: PolicyAnswer
    """Told by its identity, as the namespace is: kept, so that nothing else gets that."""
    namespace: Namespace | None
    part: SandboxPart
    weighed: RiskScore
    decided: tuple[Isolated, ...] = ()
    """What that comes to where it need not run in a sandbox; empty where it must."""


class Gangs:
    """The last few of what controllers made, by all that decides how much it weighs."""

    def __init__(self) -> None:
        self._kept: OrderedDict[Hashable, Kept] = OrderedDict()

    def find(self, key: Hashable) -> Kept | None:
        """Give what is kept under a key."""
        return self._kept.get(key)

    def keep(self, key: Hashable, kept: Kept) -> None:
        """Keep it, and forget the oldest where there are too many."""
        self._kept[key] = kept
        if len(self._kept) > MOST_KEPT:
            self._kept.popitem(last=False)
