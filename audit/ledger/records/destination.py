"""Where recorded frames go: to the auditor over HTTP, or into a store of the same process."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from audit.ledger.records.frames import Frame


@dataclass(frozen=True)
class Receipt:
    """What became of frames that were sent."""

    stored: int
    """Frames that were not there before."""
    known: int
    """Frames that were: sent again after an acknowledgement was lost. They are known by their
    ids: where one comes again with other bytes, the first stays."""
    quarantined: int
    """Frames that cannot be read; they are kept aside with the reason."""


class Destination(Protocol):
    """Takes frames and keeps them, each once, however often it comes."""

    async def deliver(self, cluster: str, frames: Sequence[Frame]) -> Receipt:
        """Keep frames of a cluster: when this returns, all of them survive a crash.

        Raises:
            LedgerError: they are not (all) kept; send them again later.
        """
