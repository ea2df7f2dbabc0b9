"""What an ingest holds in memory, from where in the ledger it has it, and how it comes back."""

import zlib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

import msgspec

from audit.access.attribution.rules import ORDINARY, AttributionRules
from audit.access.detections.engine import DetectionEngine
from audit.access.ingest.detection_feed import DetectionFeed, MemorySurroundings
from audit.access.ingest.event_order import MOST_HELD, EventOrder
from audit.access.ingest.memory import IngestMemory
from audit.access.model.defaults import DELAY_S, MOST_PODS, PATIENCE_S

MEMORY: Final = "weights/memory"
"""Checkpoint of the memory."""

DETECTIONS: Final = "weights/detections"
"""Checkpoint of what detections remember."""

_FAST: Final = 1


@dataclass(frozen=True)
class IngestOptions:
    """What an operator says of an ingest."""

    rules: AttributionRules = ORDINARY
    patience_s: float = PATIENCE_S
    delay_s: float = DELAY_S
    most_held: int = MOST_HELD
    most_pods: int = MOST_PODS
    checkpoint_every: int = 100_000
    """Accesses: so many are shown to the detections again after a crash, at most."""
    tenants: frozenset[str] = frozenset()
    subscriptions: frozenset[str] = frozenset()


class IngestState:
    """Memory and detections of one ingest. `memory_at` is a position of the ledger's log."""

    def __init__(self, cluster: str, options: IngestOptions, engine: DetectionEngine) -> None:
        """Begin with nothing known."""
        self._most_pods = options.most_pods
        self.memory = IngestMemory(options.most_pods)
        self.memory_at = 0
        around = MemorySurroundings(
            cluster,
            self.memory,
            EventOrder(options.delay_s, options.most_held),
            options.tenants,
            options.subscriptions,
        )
        self.problems: list[str] = []
        self.watch = DetectionFeed(engine, around, self.problems.append)

    def restore_memory(self, content: bytes) -> bool:
        """Take back a memory; what cannot be used changes nothing, and `problems` says so."""
        memory = IngestMemory(self._most_pods)
        try:
            self.memory_at = restore_memory(memory, content)
        except (ValueError, KeyError, TypeError, zlib.error) as error:
            self.problems.append(f"a checkpoint of Pods cannot be read: {error}")
            return False
        self.memory = self.watch.around.memory = memory
        return True

    def restore_detections(self, content: bytes) -> bool:
        """Take back what detections remember; say whether it can be used, as `problems` does."""
        try:
            return self.watch.restore(zlib.decompress(content))
        except zlib.error as error:
            self.problems.append(f"the checkpoint of detections cannot be read: {error}")
            return False

    def begin_at(self, position: int) -> None:
        """Let detections begin anew with what stands at a position of the log."""
        self.watch.events = self.watch.accesses = position

    def saved(self) -> Mapping[str, bytes]:
        """Return the checkpoint of the detections as of now."""
        return {DETECTIONS: zlib.compress(self.watch.saved(), _FAST)}

    def saved_memory(self) -> bytes:
        """Return the checkpoint of the memory as of now."""
        return save_memory(self.memory, self.memory_at)


class _Saved(msgspec.Struct, array_like=True):
    position: int
    memory: bytes


def save_memory(memory: IngestMemory, position: int) -> bytes:
    """Return a memory, and up to where in the log it was read."""
    content = msgspec.msgpack.encode(_Saved(position, memory.saved()))
    return zlib.compress(content, _FAST)


def restore_memory(memory: IngestMemory, content: bytes) -> int:
    """Take back what `save_memory` gave; give up to where in the log it was read.

    Raises:
        ValueError: it is none, or of another format.
    """
    saved = msgspec.msgpack.decode(zlib.decompress(content), type=_Saved)
    memory.restore(saved.memory)
    return saved.position
