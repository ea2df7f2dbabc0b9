"""What the webhooks ask of the record: to keep each decision before it is answered."""

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

from core.decision import Decision
from core.document import Source
from core.request import Request


class Recorder(Protocol):
    """Keeps decisions. Implemented by `audit.ledger.recorder`."""

    def record(
        self,
        source: Source,
        request: Request,
        decision: Decision,
        patches: Sequence[Mapping[str, Any]],
        seconds: float,
    ) -> None:
        """Take one decision to be kept; returns at once.

        Raises:
            NotRecordedError: it cannot be kept, or too much waits already.
        """
