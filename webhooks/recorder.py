"""Who hears of decisions: the record, before each is answered, and a candidate bundle, after."""

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

from core.decision.decision import Decision
from core.decision.document import DecisionSource
from core.decision.request import Request


class Recorder(Protocol):
    """Keeps decisions. Implemented by `audit.ledger.recorder`."""

    def record(
        self,
        source: DecisionSource,
        request: Request,
        decision: Decision,
        patches: Sequence[Mapping[str, Any]],
        seconds: float,
    ) -> None:
        """Take one decision to be kept; returns at once.

        Raises:
            NotRecordedError: it cannot be kept, or too much waits already.
        """


class Shadow(Protocol):
    """Judges again what has been answered. Implemented by `admission.shadowing`."""

    def offer(self, request: Request, decision: Decision, size: int) -> None:
        """Take a review of so many bytes, if there is room; returns at once, and never fails."""
