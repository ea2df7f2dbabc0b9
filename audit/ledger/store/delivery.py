"""What is kept at once: accesses, frames, the places that sources go on from, checkpoints.

All of a delivery is stored in one transaction, or none of it is.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from audit.ledger.records.destination import QuarantinedFrame
from audit.ledger.records.frames import Frame, FrameKind
from core.weights.documents.access import Access


@dataclass(frozen=True)
class Delivery:
    """What a cluster's sources brought, and where they go on when it is stored."""

    accesses: Sequence[Access] = ()
    """Encoded by the store, which takes their columns from the values: nothing is decoded again."""
    frames: Sequence[Frame] = ()
    """Of any kind; each with its document encoded."""
    quarantined: Sequence[QuarantinedFrame] = ()
    """What is kept in the quarantine alone."""
    places: Mapping[str, bytes] = field(default_factory=dict)
    """By source."""
    checkpoints: Mapping[str, bytes] = field(default_factory=dict)
    """By name."""


@dataclass(frozen=True)
class StoredDelivery:
    """What was not there before, while its transaction is still open."""

    accesses: tuple[Access, ...]
    """Those that are new, in the order of their ids."""
    known: int
    """Accesses and frames that were there before, or came twice in the delivery."""
    stored: int
    """Accesses and frames that were not."""
    quarantined: int
    """Accesses and frames that cannot be kept where they belong: kept aside with the reason."""
    log_size: int
    """Leaves of the log after them."""
    ids: Mapping[FrameKind, Sequence[bytes]] = field(default_factory=dict)
    """Of the records that were not there, by their kinds."""


FollowUp = Callable[[StoredDelivery], Delivery]
"""Called once in the transaction, on the store's thread, with what is new; what it gives is
stored in the same transaction: findings, the intake's count, a checkpoint. When the transaction
fails afterwards nothing is kept, and LedgerError is raised: whatever it changed in memory must be
loaded again from the last checkpoint."""
