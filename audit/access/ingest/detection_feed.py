"""Shows events to the detections in the order of time; its state outlives a crash."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Final

import msgspec

from audit.access.detections.engine import DetectionEngine
from audit.access.ingest.event_order import EventOrder, event_seconds
from audit.access.ingest.memory import IngestMemory
from audit.access.model.detection import Event
from core.weights.documents.events import Finding
from core.weights.stores import WeightStore

FORMAT: Final = 1
"""Of what `saved` gives."""


@dataclass
class MemorySurroundings:
    """What detections may know besides events (`DetectionSurroundings`)."""

    cluster: str
    memory: IngestMemory
    ordering: EventOrder
    tenants: frozenset[str] = frozenset()
    subscriptions: frozenset[str] = frozenset()

    @property
    def stores(self) -> Mapping[str, WeightStore]:
        """The WeightStores by name."""
        return self.memory.stores

    @property
    def watermark(self) -> float:
        """Unix seconds: events of before are late."""
        return self.ordering.watermark

    def at_risk(self, who: str, unix_s: float) -> str:
        """Say how an identity stood then; empty where it was not at risk."""
        return self.memory.standings.at(who, unix_s)


class _Saved(msgspec.Struct):
    format: int
    events: int
    accesses: int
    ordering: dict[str, object]
    engine: bytes


@dataclass
class DetectionFeed:
    """Events on their way to the detections. Positions are of the ledger's log."""

    engine: DetectionEngine
    around: MemorySurroundings
    on_problem: Callable[[str], None]
    """Is told what of a checkpoint could not be used."""
    events: int = 0
    """Up to where activities and gaps were shown."""
    accesses: int = 0
    """Up to where accesses were shown."""
    late: int = field(default=0, init=False)
    """Accesses and others that came after the watermark."""

    def show(self, events: Iterable[Event]) -> list[Finding]:
        """Show events in the order of the log; give what was found."""
        found: list[Finding] = []
        ordering, see, around = self.around.ordering, self.engine.see, self.around
        for event in events:
            at = event_seconds(event)
            if at < ordering.watermark:
                self.late += 1
            for one in ordering.put(event, at):
                found += see(one, around)
        return found

    def flush(self, until_s: float) -> list[Finding]:
        """Show what was held back from before a time."""
        found: list[Finding] = []
        for event in self.around.ordering.flush(until_s):
            found += self.engine.see(event, self.around)
        return found

    def saved(self) -> bytes:
        """Return all of it as MessagePack, as of now."""
        ordering = self.around.ordering.saved()
        saved = _Saved(FORMAT, self.events, self.accesses, ordering, self.engine.snapshot())
        return msgspec.msgpack.encode(saved)

    def restore(self, content: bytes) -> bool:
        """Take back what `saved` gave; what cannot be used begins anew, and `on_problem` hears.

        Give whether anything could be.
        """
        try:
            saved = msgspec.msgpack.decode(content, type=_Saved)
        except ValueError as error:
            self.on_problem(f"the checkpoint of detections cannot be read: {error}")
            return False
        if saved.format != FORMAT:
            self.on_problem(f"a checkpoint of format {saved.format}: this release reads {FORMAT}")
            return False
        self.events, self.accesses = saved.events, saved.accesses
        self.around.ordering.restore(saved.ordering)
        for problem in self.engine.restore(saved.engine):
            self.on_problem(problem)
        return True
