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
class Aside:
    """A frame that is kept apart from the records, in the quarantine."""

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


class RecordKeeper(Destination, Protocol):
    """A destination that also keeps what is no record: the auditor's ledger."""

    async def set_aside(self, cluster: str, asides: Sequence[Aside]) -> None:
        """Keep what came in the name of a cluster and cannot be what it says, as `deliver` does.

        Raises:
            LedgerError: it is not (all) kept.
        """
