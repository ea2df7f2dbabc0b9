"""How an ingest comes back to what it knew, also where what was kept of it cannot be read."""

from typing import Final

from audit.access.ingest.past_memories import Past
from audit.access.ingest.projections import Reading
from audit.access.ingest.state import DETECTIONS, MEMORY, State
from audit.access.parsers.reader import Reader

BEGUN: Final = "weights/begun"
"""Checkpoint of operations of Azure's that have begun, as of the last stretch that is stored."""

LEARNED_DAYS: Final = 45
"""Of so many days accesses are shown again where the checkpoint of detections cannot be read: most
of them look back no longer; slow exfiltration and new callers may, and have less history then."""


class Resuming:
    """Takes up what was kept."""

    def __init__(self, ledger: Reading, cluster: str, past: Past, reader: Reader) -> None:
        self._ledger = ledger
        self._cluster = cluster
        self._past = past
        self._reader = reader

    async def resume(self, state: State) -> None:
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

    async def _from_days(self, state: State) -> None:
        """Begin with the last day that was kept, and where none can be read with the whole log."""
        async for content in self._past.newest():
            if state.restore_memory(content):
                return
        await self._past.begin_anew()

    async def _load(self, name: str) -> bytes | None:
        found = await self._ledger.load_checkpoint(self._cluster, name)
        return found[1] if found else None


_NONE: Final = b"\x90"
"""An empty list as MessagePack."""
