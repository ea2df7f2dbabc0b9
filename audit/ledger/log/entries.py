"""What is read of the log: its entries and its state, and documents by their time."""

from dataclasses import dataclass

from audit.ledger.log.leaves import Leaf
from audit.ledger.log.merkle import Frontier
from audit.ledger.records.frames import FrameKind

DocumentKey = tuple[bytes, str]
"""Id and cluster: the order of documents of one kind, which begins with the time."""


@dataclass(frozen=True, slots=True)
class LogEntry:
    """One entry of the log."""

    position: int
    """From 0, without holes, in the order of being stored."""
    kind: int
    """A FrameKind; of what is `aside`, what the frame said."""
    cluster: str
    id: bytes
    digest: bytes
    """SHA-256 of the payload."""
    payload: bytes | None
    """As it was stored; None where it is not there, which a retention record must explain."""
    aside: bool = False
    """Whether it is in quarantine: a frame that cannot be read."""

    @property
    def record_kind(self) -> int:
        """What the payload is: that of a refusal is a decision."""
        return FrameKind.DECISION if self.kind == FrameKind.REFUSAL else self.kind

    @property
    def leaf(self) -> Leaf:
        """What the tree has of it."""
        return Leaf(self.kind, self.cluster, self.id, self.digest)


@dataclass(frozen=True, slots=True)
class Document:
    """A document of a kind."""

    cluster: str
    id: bytes
    """UUIDv7, 16 bytes: its time is the document's."""
    payload: bytes
    """JSON: `core` has its type and its decoder."""
    position: int | None
    """In the log; None until what an earlier release stored is taken into it."""

    @property
    def key(self) -> DocumentKey:
        """After which the next page begins."""
        return self.id, self.cluster


@dataclass(frozen=True, slots=True)
class LogState:
    """How far the log has come, and what of it is still there leaf by leaf."""

    id: str
    """32 hex digits, drawn when the log was begun."""
    tree: Frontier
    """Of all leaves."""
    prefix: Frontier
    """Of those that retention took away whole; empty while it took none."""
