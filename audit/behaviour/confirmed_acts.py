"""Reads from the ledger what confirms decisions, and the decisions that it confirms.

The order is this and not the other: a decision is looked up when kube-apiserver has said something
of it. So whoever makes up decisions fills no memory here, and pushes out nothing.
"""

import asyncio
import uuid
from collections import Counter
from collections.abc import AsyncIterator, Iterable, Sequence
from operator import attrgetter
from typing import Final, Protocol

import msgspec

from audit.access.attribution.creation_times import AFTER_CREATION_S, BEFORE_CREATION_S
from audit.behaviour.acts import Act, DecidedAct, decided_act_of
from audit.behaviour.confirmation import (
    KINDS,
    Seen,
    SeenObject,
    SeenRequest,
    seen_in,
    why_not_confirmed,
)
from audit.ledger.log.entries import Document, DocumentKey, LogEntry, LogState
from audit.ledger.records.frames import FrameKind
from audit.ledger.store.decisions import DecisionQuery
from core.base.times import DAY_MS

PAGE: Final = 1000
"""Records that are read at once."""

MOST_WAITING: Final = 50_000
"""Requests and objects whose decisions the ledger has not yet. Those of dry runs never come."""

WAITING_S: Final = 6 * 3600.0
"""How long a decision is waited for: a gate ships late after the auditor was away."""

RESULTS: Final = ("audit", "object", "differs", "unrecorded")
"""What comes of requests and objects that were seen."""

_FIRST_WAIT_S: Final = 2.0
_LONGEST_WAIT_S: Final = 600.0

_MOST_OF_ONE_UID: Final = 8
"""Decisions of one UID that are looked at, the earliest first."""

_BETWEEN_BREATHS: Final = 200
"""Done at once; then the event loop has a turn."""

_BY_TIME: Final = attrgetter("at")
_VERSION: Final = 7


class ConfirmingLedger(Protocol):
    """Answers of the ledger (`audit.ledger.store.queries.LedgerQueries`).

    Each raises LedgerError where the database fails.
    """

    async def log_state(self) -> LogState:
        """Return how far the log has come."""

    async def entries(
        self, after: int = -1, kinds: frozenset[FrameKind] | None = None, limit: int = 1000
    ) -> list[LogEntry]:
        """Return entries of the log after a position, in its order."""

    async def documents(  # noqa: PLR0913  As the ledger has it.
        self,
        kind: FrameKind,
        begin_ms: int,
        end_ms: int,
        *,
        cluster: str | None = None,
        after: DocumentKey | None = None,
        limit: int = 1000,
    ) -> list[Document]:
        """Return documents of a kind from a time to before another, the oldest first."""

    async def decisions(self, cluster: str, ids: Sequence[bytes]) -> dict[bytes, bytes]:
        """Return the documents of decisions by their ids."""

    async def find(self, query: DecisionQuery) -> list[bytes]:
        """Return the documents of the decisions that a query means, in its order."""


class _Waiting(msgspec.Struct, gc=False):
    """What waits for its decision."""

    seen: Seen
    since: float
    wait_s: float = _FIRST_WAIT_S
    due: float = 0.0


class ConfirmedActs:
    """What people and machines did, as kube-apiserver says: each act as it is confirmed."""

    def __init__(self, ledger: ConfirmingLedger) -> None:
        self.position = 0
        """All records before it in the log were read."""
        self.results: Counter[str] = Counter()
        """Since this process began: `audit` and `object` (acts that these confirmed), `differs`
        (requests of the audit log, and objects, that contradict their decision), `unrecorded`
        (those whose decision never came)."""
        self.audited: dict[str, float] = {}
        """By cluster, the Unix seconds of the last event of the audit log that names a decision."""
        self._ledger = ledger
        self._waiting: dict[tuple[str, ...], _Waiting] = {}

    async def past(self, since_ms: int, until_ms: int) -> AsyncIterator[list[Act]]:
        """Yield the acts of a time, day by day, each day's in their order.

        Raises:
            LedgerError: the ledger does not answer.
        """
        for begin in range(since_ms, until_ms, DAY_MS):
            end, acts = min(begin + DAY_MS, until_ms), list[Act]()
            for kind in sorted(KINDS):
                async for some in self._documents(kind, begin, end):
                    acts += await self._confirm(some, until_ms / 1000)
            yield sorted(acts, key=_BY_TIME)

    async def new(self, now: float) -> AsyncIterator[list[Act]]:
        """Yield the acts that the ledger's new records confirm, page by page, up to its end.

        Raises:
            LedgerError: the ledger does not answer; what was read is not read again.
        """
        size = (await self._ledger.log_state()).tree.size
        while page := await self._ledger.entries(self.position - 1, KINDS, PAGE):
            seen = await _seen((each.kind, each.payload) for each in page)
            acts = await self._confirm(seen, now)
            self.position = page[-1].position + 1
            yield sorted(acts, key=_BY_TIME)
        self.position = max(self.position, size)
        yield sorted(await self._try_again(now), key=_BY_TIME)

    async def _documents(self, kind: FrameKind, begin: int, end: int) -> AsyncIterator[list[Seen]]:
        after: DocumentKey | None = None
        while page := await self._ledger.documents(kind, begin, end, after=after, limit=PAGE):
            yield await _seen((kind, each.payload) for each in page)
            after = page[-1].key

    async def _confirm(self, seen: Iterable[Seen], now: float) -> list[Act]:
        """Return the acts that are confirmed; what has no decision yet waits for it."""
        fresh = {_key_of(each): _Waiting(each, now) for each in seen}
        for each in fresh.values():
            if isinstance(each.seen, SeenRequest):
                cluster = each.seen.cluster
                self.audited[cluster] = max(self.audited.get(cluster, 0.0), each.seen.at)
        acts, unknown = await self._look_up(fresh)
        for key in unknown:
            self._wait(key, fresh[key], now)
        return acts

    async def _try_again(self, now: float) -> list[Act]:
        """Look once more for the decisions of what waits, and give up on what waited for long."""
        for key in [key for key, each in self._waiting.items() if each.since < now - WAITING_S]:
            del self._waiting[key]
            self.results["unrecorded"] += 1
        due = {key: each for key, each in self._waiting.items() if each.due <= now}
        acts, unknown = await self._look_up(due)
        for key, each in due.items():
            if key in unknown:
                self._wait(key, each, now)
            else:
                del self._waiting[key]
        return acts

    def _wait(self, key: tuple[str, ...], each: _Waiting, now: float) -> None:
        each.due = now + each.wait_s
        each.wait_s = min(2 * each.wait_s, _LONGEST_WAIT_S)
        self._waiting[key] = each
        if len(self._waiting) > MOST_WAITING:
            del self._waiting[next(iter(self._waiting))]
            self.results["unrecorded"] += 1

    async def _look_up(
        self, asked: dict[tuple[str, ...], _Waiting]
    ) -> tuple[list[Act], set[tuple[str, ...]]]:
        """Return the acts that are confirmed, and the keys whose decisions are not there."""
        acts, unknown = list[Act](), set[tuple[str, ...]]()
        documents = await self._decisions([each.seen for each in asked.values()])
        for number, (key, each) in enumerate(asked.items(), 1):
            if isinstance(each.seen, SeenObject):
                found = await self._of_object(each.seen)
                whole = bool(found)
            else:
                ids = [(each.seen.cluster, one) for one in each.seen.decisions]
                found = [documents[one] for one in ids if one in documents]
                whole = len(found) == len(ids)
            decided_acts = [decided for content in found if (decided := decided_act_of(content))]
            act = self._act_of(decided_acts, each.seen)
            if act is not None:
                acts.append(act)
            elif not whole:
                unknown.add(key)
            if number % _BETWEEN_BREATHS == 0:
                await asyncio.sleep(0)
        return acts, unknown

    def _act_of(self, decided_acts: list[DecidedAct], seen: Seen) -> Act | None:
        """Return the act of the first decision that agrees with what was seen."""
        for decided in decided_acts:
            if not why_not_confirmed(decided, seen):
                self.results["object" if isinstance(seen, SeenObject) else "audit"] += 1
                return decided.act
        self.results["differs"] += bool(decided_acts)
        return None

    async def _decisions(self, seen: Iterable[Seen]) -> dict[tuple[str, str], bytes]:
        """Return the documents that the audit log names, by cluster and id."""
        wanted: dict[str, dict[str, bytes]] = {}
        for each in seen:
            if isinstance(each, SeenRequest):
                ids = {one: read for one in each.decisions if (read := _id_of(one))}
                wanted.setdefault(each.cluster, {}).update(ids)
        found: dict[tuple[str, str], bytes] = {}
        for cluster, ids in wanted.items():
            there = await self._ledger.decisions(cluster, list(ids.values())) if ids else {}
            found |= {(cluster, one): there[read] for one, read in ids.items() if read in there}
        return found

    async def _of_object(self, seen: SeenObject) -> list[bytes]:
        """Return the first decisions on an object's creation: a copy of its UID comes later."""
        return await self._ledger.find(
            DecisionQuery(
                cluster=seen.cluster,
                object_uid=seen.uid,
                source="validate",
                since_ms=int((seen.made - BEFORE_CREATION_S) * 1000),
                until_ms=int((seen.made + AFTER_CREATION_S) * 1000),
                oldest_first=True,
                limit=_MOST_OF_ONE_UID,
            )
        )


async def _seen(records: Iterable[tuple[int, bytes | None]]) -> list[Seen]:
    found: list[Seen] = []
    for number, (kind, content) in enumerate(records, 1):
        if content is not None and (seen := seen_in(kind, content)):
            found.append(seen)
        if number % _BETWEEN_BREATHS == 0:
            await asyncio.sleep(0)
    return found


def _key_of(seen: Seen) -> tuple[str, ...]:
    if isinstance(seen, SeenObject):
        return seen.cluster, "object", seen.uid
    return (seen.cluster, *seen.decisions)


def _id_of(decision: str) -> bytes | None:
    """Return the 16 bytes of a decision's id; None where it is none, whoever annotated it."""
    try:
        read = uuid.UUID(decision)
    except ValueError:
        return None
    return read.bytes if read.version == _VERSION else None
