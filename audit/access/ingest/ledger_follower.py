"""Follows the ledger's log: what is recorded becomes memory, what detections see is shown.

At start it resumes from what was kept, also where that cannot be read.
"""

from collections.abc import AsyncIterator, Callable, Sequence
from typing import Final

from audit.access.ingest.memory import KINDS
from audit.access.ingest.past_memories import PastMemories
from audit.access.ingest.projections import PAGE, Projections
from audit.access.ingest.state import DETECTIONS, MEMORY, IngestState
from audit.access.model.detection import Event
from audit.access.parsers.reader import RecordReader
from audit.ledger.log.entries import LogEntry
from audit.ledger.records.frames import FrameKind
from audit.ledger.store.store import Store
from core.weights.documents.access import decode_access
from core.weights.documents.events import Finding, decode_activity, decode_gap

BEGUN: Final = "weights/begun"
"""Checkpoint of operations of Azure's that have begun, as of the last stretch that is stored."""

LEARNED_DAYS: Final = 45
"""Of so many days accesses are shown again where the checkpoint of detections cannot be read: most
of them look back no longer; slow exfiltration and new callers may, and have less history then."""

MOST_PROBLEMS: Final = 100
"""Unreadable documents that are told one by one."""

_NONE: Final = b"\x90"
"""An empty list as MessagePack."""

_DECODERS: Final[dict[int, Callable[[bytes], Event]]] = {
    FrameKind.ACCESS: decode_access,
    FrameKind.ACTIVITY: decode_activity,
    FrameKind.LOG_GAP: decode_gap,
}


class IngestResumption:
    """Takes up what was kept."""

    def __init__(
        self, ledger: Store, cluster: str, past: PastMemories, reader: RecordReader
    ) -> None:
        self._ledger = ledger
        self._cluster = cluster
        self._past = past
        self._reader = reader

    async def resume(self, state: IngestState) -> None:
        """Bring a state and the reader to where the last ones were. The log has the rest.

        Raises:
            LedgerError: the database fails.
        """
        memory = await self._load(MEMORY)
        if memory is not None and not state.restore_memory(memory):
            await self._from_days(state)
        detections = await self._load(DETECTIONS)
        if detections is not None and not state.restore_detections(detections):
            position = await self._past.position_before(LEARNED_DAYS)
            state.begin_at(position)
            state.problems.append(
                f"detections begin anew with the last {LEARNED_DAYS} days, entry {position} on"
            )
        begun = await self._load(BEGUN)
        try:
            self._reader.restore(begun or _NONE)
        except ValueError as error:
            self._reader.restore(_NONE)
            state.problems.append(f"the checkpoint of what has begun cannot be read: {error}")

    async def _from_days(self, state: IngestState) -> None:
        """Begin with the last day that was kept, and where none can be read with the whole log."""
        async for content in self._past.newest():
            if state.restore_memory(content):
                return
        await self._past.begin_anew()

    async def _load(self, name: str) -> bytes | None:
        found = await self._ledger.load_checkpoint(self._cluster, name)
        return found[1] if found else None


class LedgerFollower:
    """One look at what is new."""

    def __init__(self, ledger: Store, cluster: str, state: IngestState, past: PastMemories) -> None:
        self.problems: list[str] = []
        """Documents that could not be read."""
        self._ledger = ledger
        self._cluster = cluster
        self._state = state
        self._past = past
        self._projections = Projections(ledger, cluster)

    async def events(self, *, accesses: bool) -> AsyncIterator[list[Finding]]:
        """Take in what is new, page by page; give what the detections found in it.

        With `accesses`, those that were stored and are not in the checkpoint are shown again.

        Raises:
            LedgerError: the database fails.
        """
        state, watch = self._state, self._state.watch
        kinds = KINDS | {FrameKind.ACTIVITY} | ({FrameKind.ACCESS} if accesses else set())
        first = min(state.memory_at, watch.events, *([watch.accesses] if accesses else []))
        size = (await self._ledger.log_state()).tree.size
        while page := await self._ledger.entries(first - 1, frozenset(kinds), PAGE):
            await self._projections.fetch(page)
            found = await self._take(page, accesses=accesses)
            await self._past.keep()
            self._state.memory.forget(self._state.memory.forgotten_s)  # Some came late.
            yield found
            first = page[-1].position + 1
        self._come_to(size, accesses=accesses)

    def _come_to(self, position: int, *, accesses: bool) -> None:
        """Note that all before a position was read: else it would be gone through each time."""
        state, watch = self._state, self._state.watch
        state.memory_at = max(state.memory_at, position)
        watch.events = max(watch.events, position)
        if accesses:
            watch.accesses = max(watch.accesses, position)

    async def _take(self, page: Sequence[LogEntry], *, accesses: bool) -> list[Finding]:
        state, watch = self._state, self._state.watch
        found: list[Finding] = []
        for entry in page:
            if entry.cluster == self._cluster and entry.payload is not None:
                if entry.record_kind in KINDS and entry.position >= state.memory_at:
                    at_ms = int.from_bytes(entry.id[:6])
                    await self._past.note(state.memory, entry.position, at_ms)
                    self._remember(entry)
                if event := self._event(entry):
                    found += watch.show([event])
            self._come_to(entry.position + 1, accesses=accesses)
        return found

    def _remember(self, entry: LogEntry) -> None:
        projection = self._projections.known(entry)
        try:
            self._state.memory.take(entry.record_kind, entry.payload or b"", projection)
        except ValueError as error:
            self._problem(entry, error)

    def _event(self, entry: LogEntry) -> Event | None:
        watch = self._state.watch
        seen = watch.accesses if entry.record_kind == FrameKind.ACCESS else watch.events
        decode = _DECODERS.get(entry.record_kind)
        if decode is None or entry.position < seen:
            return None
        try:
            return decode(entry.payload or b"")
        except ValueError as error:
            self._problem(entry, error)
            return None

    def _problem(self, entry: LogEntry, error: ValueError) -> None:
        if len(self.problems) < MOST_PROBLEMS:
            self.problems.append(f"entry {entry.position} of the ledger cannot be read: {error}")
