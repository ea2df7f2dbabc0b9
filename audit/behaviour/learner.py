"""Learns from what the ledger keeps, keeps what was learnt, and answers who acts unusually.

A process that has nothing saved learns anew from the ledger's last days.
"""

import asyncio
import secrets
import time
from collections import deque
from collections.abc import AsyncIterator, Callable, Sequence
from pathlib import Path
from typing import Final

import msgspec
from structlog.typing import FilteringBoundLogger

from audit.behaviour.acts import Act, act_of, act_of_document
from audit.behaviour.cluster_habits import WARM_S, ClusterHabits, RememberedHabits
from audit.behaviour.protocol import (
    FORMAT,
    MOST_ACTING,
    SINCE,
    BehaviourAnswer,
    UnusualIdentity,
    make_cursor,
    read_cursor,
)
from audit.behaviour.state_file import (
    Record,
    StoredCluster,
    decode_state,
    encode_state,
    store_habits,
    write_state,
)
from audit.ledger.records.destination import Aside, Receipt, RecordKeeper
from audit.ledger.records.frames import Frame
from audit.ledger.server.service import BadQuestionError, Question
from audit.ledger.store.decisions import DecisionQuery, FindDecisions
from core.base.errors import LedgerError
from core.base.times import DAY_MS, second_text

DAYS: Final = 30
"""The longest that a mean remembers is thirty days with acts (`audit.behaviour.rates`)."""

AGAIN_S: Final = 2.0

SAVE_EVERY_S: Final = 60.0
"""How often what was learnt is written: kill -9 costs as much."""

MOST_CLUSTERS: Final = 32
"""Of one auditor: each takes some 40 MB when 20,000 identities act in it."""

_PAGE: Final = 1000

_MOST_WAITING: Final = 100_000
"""Acts that wait while what is in the ledger is learnt."""

_BETWEEN_BREATHS: Final = 200
"""Done at once; then the event loop has a turn."""

_SALT_BYTES: Final = 16


class _Identified(msgspec.Struct, frozen=True, gc=False):
    id: str


_DECODER: Final = msgspec.json.Decoder(_Identified)


async def read_last_days(
    find: FindDecisions, now: float, on_problem: Callable[[LedgerError], None]
) -> AsyncIterator[list[bytes]]:
    """Yield the documents of the last days until `now`, page by page, the oldest first.

    Where the ledger does not answer, it is asked again until it does; `on_problem` hears of it.
    """
    now_ms = int(now * 1000)
    query = DecisionQuery(
        source="validate",
        since_ms=now_ms - DAYS * DAY_MS,
        until_ms=now_ms,
        oldest_first=True,
        limit=_PAGE,
    )
    while True:
        try:
            page = await find(query)
        except LedgerError as error:
            on_problem(error)
            await asyncio.sleep(AGAIN_S)
            continue
        if not page:
            return
        yield page
        query = msgspec.structs.replace(query, after=_DECODER.decode(page[-1]).id)


class BehaviourLearner:
    """What is learnt of all clusters, behind where frames are kept (a `Destination`)."""

    def __init__(
        self,
        destination: RecordKeeper,
        find: FindDecisions,
        logger: FilteringBoundLogger,
        path: Path | None,
        clock: Callable[[], float] = time.time,
    ) -> None:
        """Learn from what `destination` keeps; `find` reads the ledger, where nothing was saved.

        Without a `path` nothing is saved, and every process begins with the ledger's last days.
        """
        self.clusters: dict[str, ClusterHabits] = {}
        self.is_ready = False
        """Whether what was known before was learnt."""
        self._destination = destination
        self._find = find
        self._logger = logger
        self._path = path
        self._clock = clock
        self._epoch = secrets.token_hex(8)
        self._waiting: deque[Act] = deque(maxlen=_MOST_WAITING)
        self._saved = 0
        self._problem = ""

    async def deliver(self, cluster: str, frames: Sequence[Frame]) -> Receipt:
        """Keep frames of a cluster, and then learn from them.

        Raises:
            LedgerError: they are not kept; nothing is learnt from them.
        """
        receipt = await self._destination.deliver(cluster, frames)
        if receipt.stored:
            for number, frame in enumerate(frames, 1):
                act = act_of(frame)
                if act is not None and act.cluster == cluster:
                    self._take(act)
                if number % _BETWEEN_BREATHS == 0:
                    await asyncio.sleep(0)
        return receipt

    async def set_aside(self, cluster: str, asides: Sequence[Aside]) -> None:
        """Keep what is no record: nothing is learnt from it.

        Raises:
            LedgerError: it is not kept.
        """
        await self._destination.set_aside(cluster, asides)

    async def keep_learnt(self) -> None:
        """Take up what was learnt before, then save what is learnt, until cancelled."""
        await self._begin()
        try:
            while True:
                await self.save()
                await asyncio.sleep(SAVE_EVERY_S)
        finally:
            await self.save()

    async def answer(self, question: Question) -> bytes:
        """Answer `GET /v1/behaviour` (`audit.behaviour.protocol`).

        Raises:
            BadQuestionError: the cursor is none of this endpoint's, or a parameter is unknown.
        """
        cursor = question.parameters.get(SINCE, "")
        if set(question.parameters) - {SINCE}:
            raise BadQuestionError(f"only the parameter {SINCE} is known: leave out the others")
        read = read_cursor(cursor)
        if cursor and read is None:
            raise BadQuestionError(f"{SINCE}: must be the cursor of an answer, or be left out")
        number = read[1] if read and read[0] == self._epoch else 0
        return msgspec.json.encode(self._answer(question.cluster, number, self._clock()))

    async def save(self) -> None:
        """Write what was learnt, if anything was since it was last written."""
        learnt = sum(each.learnt for each in self.clusters.values())
        if self._path is None or learnt == self._saved:
            return
        stored = await self._collect()
        writing = asyncio.ensure_future(asyncio.to_thread(self._write, stored))
        try:
            written = await asyncio.shield(writing)
        except asyncio.CancelledError:
            await writing  # Its thread goes on, and would write the same file as the next save.
            raise
        if written:
            self._saved = learnt

    def _take(self, act: Act) -> None:
        if not self.is_ready:
            self._waiting.append(act)
            return
        habits = self._habits_of(act.cluster)
        if habits is not None:
            habits.learn(act, self._clock())

    def _habits_of(self, cluster: str) -> ClusterHabits | None:
        habits = self.clusters.get(cluster)
        if habits is None and len(self.clusters) < MOST_CLUSTERS:
            habits = self.clusters[cluster] = ClusterHabits(secrets.token_bytes(_SALT_BYTES))
        return habits

    def _answer(self, cluster: str, number: int, now: float) -> BehaviourAnswer:
        habits = self.clusters.get(cluster)
        if habits is not None:
            habits.acting.forget_over(now)
        found = habits.acting.since(number, MOST_ACTING + 1, now) if habits else []
        given = found[:MOST_ACTING]
        last = given[-1][1].number if given else number
        return BehaviourAnswer(
            format=FORMAT,
            cursor=make_cursor(self._epoch, last),
            learning=self._why_not(habits, now),
            more=len(found) > MOST_ACTING,
            unusual=[
                UnusualIdentity(
                    who.hex(),
                    {each.words[0]: at for each, at in signals.until.items() if at > now},
                )
                for who, signals in given
            ],
        )

    def _why_not(self, habits: ClusterHabits | None, now: float) -> str:
        if not self.is_ready:
            return "what the ledger holds is being learnt"
        if habits is None or habits.began is None:
            return "nobody has done anything yet"
        if not habits.is_warm(now):
            return f"nothing is unusual before {second_text(int(habits.began + WARM_S))}"
        return ""

    async def _begin(self) -> None:
        began = time.monotonic()
        if not await asyncio.to_thread(self._load):
            await self._relearn()
        self.is_ready = True
        while self._waiting:
            self._take(self._waiting.popleft())
        known = sum(len(each.people) + len(each.machines) for each in self.clusters.values())
        took = round(time.monotonic() - began, 1)
        self._logger.info("behaviour: learnt before", identities=known, seconds=took)

    def _load(self) -> bool:
        """Read what was saved; say whether there was something."""
        if self._path is None or not self._path.exists():
            return False
        try:
            self.clusters = decode_state(self._path.read_bytes())
        except (LedgerError, OSError) as error:
            problem = str(error) if isinstance(error, LedgerError) else type(error).__name__
            self._logger.warning("behaviour: what was saved is not used", problem=problem)
            return False
        return True

    async def _relearn(self) -> None:
        """Learn from the ledger's last days."""
        async for page in read_last_days(self._find, self._clock(), self._note_problem):
            for number, content in enumerate(page, 1):
                act = _read(content)
                habits = self._habits_of(act.cluster) if act else None
                if act and habits:
                    habits.learn(act, act.at)
                if number % _BETWEEN_BREATHS == 0:
                    await asyncio.sleep(0)

    def _note_problem(self, error: LedgerError) -> None:
        problem, self._problem = self._problem, str(error)
        if problem != self._problem:
            self._logger.warning("behaviour: the ledger cannot be learnt from", problem=str(error))

    async def _collect(self) -> list[StoredCluster]:
        """Return all that is stored; each identity as it is at one moment."""
        stored = []
        for name, habits in list(self.clusters.items()):
            habits.acting.forget_over(self._clock())
            stored.append(
                StoredCluster(
                    name,
                    habits.salt,
                    habits.began,
                    await _records(habits.people),
                    await _records(habits.machines),
                    [
                        {bit.value: norm for bit, norm in habits.norms[which].items()}
                        for which in (False, True)
                    ],
                    [
                        (who, {bit.value: at for bit, at in each.until.items()})
                        for who, each in habits.acting
                    ],
                )
            )
        return stored

    def _write(self, stored: list[StoredCluster]) -> bool:
        if self._path is None:
            return False
        try:
            write_state(self._path, encode_state(stored))
        except OSError as error:
            problem = type(error).__name__
            self._logger.warning("behaviour: what was learnt is not saved", problem=problem)
            return False
        return True


async def _records(remembered: RememberedHabits) -> list[Record]:
    records: list[Record] = []
    for number, (who, habits) in enumerate(remembered, 1):
        records.append(store_habits(who, habits))
        if number % _BETWEEN_BREATHS == 0:
            await asyncio.sleep(0)
    return records


def _read(content: bytes) -> Act | None:
    try:
        return act_of_document(content)
    except (ValueError, RecursionError):
        return None  # Of a release too new.
