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
    """Frames that cannot be read, or that their sender does not record: kept with the reason."""


@dataclass(frozen=True)
class QuarantinedFrame:
    """A frame that is kept apart from the records, with the reason."""

    frame: Frame
    reason: str
    """For a person."""


class Destination(Protocol):
    """Takes frames and keeps them, each once, however often it comes."""

    async def deliver(self, cluster: str, frames: Sequence[Frame]) -> Receipt:
        """Keep frames of a cluster: when this returns, all of them survive a crash.

        Raises:
            LedgerError: they are not (all) kept; send them again later.
        """


class RecordKeeper(Protocol):
    """A destination that also keeps what cannot be what it says: the auditor's ledger."""

    async def deliver(
        self,
        cluster: str,
        frames: Sequence[Frame],
        quarantined: Sequence[QuarantinedFrame] = (),
    ) -> Receipt:
        """Keep frames of a cluster, and put those apart that came in its name and are no records.

        Raises:
            LedgerError: nothing of it is kept; send it again later.
        """
