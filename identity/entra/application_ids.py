"""Which ids of applications Entra is asked about, and when again. Pure."""

import heapq
import zlib
from collections.abc import Collection, Iterable
from dataclasses import dataclass, field
from typing import Final

from identity.entra.graph_requests import MOST_IN_FILTER, PollIntervals
from identity.entra.values import object_id_of

MOST_IDS: Final = 20_000
"""Ids that are asked about. Whoever writes service accounts can make up any number of them."""

BY_CLIENT: Final = "appId"
BY_OBJECT: Final = "id"


@dataclass(frozen=True, slots=True)
class IdQuery:
    """Ids that one request is about."""

    field: str
    """BY_CLIENT or BY_OBJECT."""
    ids: tuple[str, ...]


@dataclass
class _WaitingId:
    due: float
    field: str = BY_CLIENT


@dataclass
class IdQueue:
    """The ids in use, and when each is due.

    Nobody says which are client ids (of workloads) and which object ids (of pipelines): each is
    asked about as the one, and where there is none, as the other.
    """

    times: PollIntervals
    left_out: int = 0
    """How many are beyond MOST_IDS."""
    _waits: dict[str, _WaitingId] = field(default_factory=dict)

    def use(self, ids: Iterable[str], known: Collection[str], now: float) -> None:
        """Take in what is in use. What is new is due at once; what is known already, in its turn.

        Whatever is no GUID is not asked about: it would get into a filter as it is.
        """
        wanted = sorted({guid for each in ids if (guid := object_id_of(each)) is not None})
        self.left_out = max(0, len(wanted) - MOST_IDS)
        self._waits = {
            each: self._waits.get(each)
            or _WaitingId(now + (self._turn(each) if each in known else 0))
            for each in wanted[:MOST_IDS]
        }

    def uses(self, guid: str) -> bool:
        """Return whether an id is in use."""
        return guid in self._waits

    @property
    def due_at(self) -> float:
        """When the next one is due."""
        return min((each.due for each in self._waits.values()), default=float("inf"))

    def next(self, now: float) -> IdQuery | None:
        """Return what to ask now, the longest due first; None while none is due."""
        due = ((each.due, guid) for guid, each in self._waits.items() if each.due <= now)
        first = heapq.nsmallest(2 * MOST_IN_FILTER, due)
        if not first:
            return None
        name = self._waits[first[0][1]].field
        ids = [guid for _, guid in first if self._waits[guid].field == name]
        return IdQuery(name, tuple(ids[:MOST_IN_FILTER]))

    def answered(self, asking: IdQuery, found: Collection[str], now: float) -> None:
        """Take in for which ids there was an answer: the others are asked about again."""
        for guid in asking.ids:
            if guid not in self._waits:
                continue
            if guid in found:
                self._waits[guid] = _WaitingId(now + self.times.applications_s, asking.field)
            elif asking.field == BY_CLIENT:
                self._waits[guid] = _WaitingId(now, BY_OBJECT)
            else:
                self._waits[guid] = _WaitingId(now + self.times.missing_s)

    def _turn(self, guid: str) -> float:
        """Return a time of each id's own, so that a new leader does not ask about all at once."""
        return self.times.applications_s * zlib.crc32(guid.encode()) / 2**32
