"""Follows the ledger's log: what others recorded becomes memory, what detections see is shown."""

from collections.abc import AsyncIterator, Callable, Sequence
from typing import Final

from audit.access.ingest.memory import KINDS
from audit.access.ingest.past_memories import Past
from audit.access.ingest.projections import PAGE, Projections, Reading
from audit.access.ingest.state import State
from audit.access.model.detection import Event
from audit.ledger.log.entries import Entry
from audit.ledger.records.frames import FrameKind
from core.weights.access import decode_access
from core.weights.events import Finding, decode_activity, decode_gap

MOST_PROBLEMS: Final = 100
"""Unreadable documents that are told one by one."""

_DECODERS: Final[dict[int, Callable[[bytes], Event]]] = {
    FrameKind.ACCESS: decode_access,
    FrameKind.ACTIVITY: decode_activity,
    FrameKind.LOG_GAP: decode_gap,
}


class Following:
    """One look at what is new."""

    def __init__(self, ledger: Reading, cluster: str, state: State, past: Past) -> None:
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

    async def _take(self, page: Sequence[Entry], *, accesses: bool) -> list[Finding]:
        state, watch = self._state, self._state.watch
        found: list[Finding] = []
        for entry in page:
            if entry.cluster == self._cluster and entry.payload is not None:
                if entry.kind in KINDS and entry.position >= state.memory_at:
                    at_ms = int.from_bytes(entry.id[:6])
                    await self._past.note(state.memory, entry.position, at_ms)
                    self._remember(entry)
                if event := self._event(entry):
                    found += watch.show([event])
            self._come_to(entry.position + 1, accesses=accesses)
        return found

    def _remember(self, entry: Entry) -> None:
        projection = self._projections.known(entry)
        try:
            self._state.memory.take(entry.kind, entry.payload or b"", projection)
        except ValueError as error:
            self._problem(entry, error)

    def _event(self, entry: Entry) -> Event | None:
        watch = self._state.watch
        seen = watch.accesses if entry.kind == FrameKind.ACCESS else watch.events
        decode = _DECODERS.get(entry.kind)
        if decode is None or entry.position < seen:
            return None
        try:
            return decode(entry.payload or b"")
        except ValueError as error:
            self._problem(entry, error)
            return None

    def _problem(self, entry: Entry, error: ValueError) -> None:
        if len(self.problems) < MOST_PROBLEMS:
            self.problems.append(f"entry {entry.position} of the ledger cannot be read: {error}")
