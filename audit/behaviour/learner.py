"""Learns from what the ledger keeps and kube-apiserver confirms, and answers who acts unusually.

A process that has nothing saved learns anew from the ledger's last days.
"""

import asyncio
import secrets
import time
from collections.abc import Callable
from pathlib import Path
from typing import Final

import msgspec
from structlog.typing import FilteringBoundLogger

from audit.behaviour.cluster_habits import MOST_AHEAD_S, WARM_S, ClusterHabits, RememberedHabits
from audit.behaviour.confirmed_acts import ConfirmedActs, ConfirmingLedger
from audit.behaviour.protocol import (
    FORMAT,
    MOST_ACTING,
    SINCE,
    BehaviourAnswer,
    UnusualIdentity,
    make_cursor,
    read_cursor,
)
from audit.behaviour.state_file import FORMAT as STATE_FORMAT
from audit.behaviour.state_file import (
    Record,
    StoredCluster,
    StoredState,
    decode_state,
    encode_state,
    store_habits,
    write_state,
)
from audit.ledger.server.service import BadQuestionError, Question
from core.base.errors import LedgerError
from core.base.times import DAY_MS, DAY_S, second_text

DAYS: Final = 30
"""The longest that a mean remembers is thirty days with acts (`audit.behaviour.rates`)."""

AGAIN_S: Final = 2.0

FOLLOW_S: Final = 1.0
"""How often the ledger is asked what is new."""

SAVE_EVERY_S: Final = 60.0
"""How often what was learnt is written; after kill -9 what came since is read again."""

MOST_CLUSTERS: Final = 32
"""Of one auditor: each takes some 40 MB when 20,000 identities act in it."""

SILENT_S: Final = 3 * DAY_S
"""So long an audit log may name no decision: over a long weekend."""

NO_AUDIT: Final = "off: no audit source: "
"""Begins what is said where no event of kube-apiserver's audit log comes."""

_BETWEEN_BREATHS: Final = 200
"""Done at once; then the event loop has a turn."""

_SALT_BYTES: Final = 16


class BehaviourLearner:
    """What is learnt of all clusters of a ledger, from acts that kube-apiserver confirms."""

    def __init__(
        self,
        ledger: ConfirmingLedger,
        logger: FilteringBoundLogger,
        path: Path | None,
        clock: Callable[[], float] = time.time,
    ) -> None:
        """Learn from what `ledger` keeps.

        Without a `path` nothing is saved, and every process begins with the ledger's last days.
        """
        self.clusters: dict[str, ClusterHabits] = {}
        self.confirmed = ConfirmedActs(ledger)
        self.is_ready = False
        """Whether what was known before was learnt."""
        self._ledger = ledger
        self._logger = logger
        self._path = path
        self._clock = clock
        self._epoch = secrets.token_hex(8)
        self._log = ""
        """Id of the log that positions are of."""
        self._saved = 0
        self._problem = ""
        self._following = asyncio.Lock()

    async def keep_learnt(self) -> None:
        """Take up what was learnt before, then learn what is new and save it, until cancelled."""
        await self._begin()
        save_at = time.monotonic()
        try:
            while True:
                try:
                    await self.follow()
                except LedgerError as error:
                    self._note_problem(error)
                if time.monotonic() >= save_at:
                    await self.save()
                    save_at = time.monotonic() + SAVE_EVERY_S
                await asyncio.sleep(FOLLOW_S)
        finally:
            await self.save()

    async def follow(self) -> None:
        """Learn from all that the ledger has and that was not read yet; one call at a time.

        Raises:
            LedgerError: it does not answer.
        """
        async with self._following:  # Two would read the same records, and count them twice.
            async for acts in self.confirmed.new(self._clock()):
                for act in acts:
                    habits = self._habits_of(act.cluster)
                    if habits is not None:
                        habits.learn(act, self._clock())
        self._problem = ""

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
            learning=self._why_not(cluster, habits, now),
            more=len(found) > MOST_ACTING,
            unusual=[
                UnusualIdentity(
                    who.hex(),
                    {each.words[0]: at for each, at in signals.until.items() if at > now},
                )
                for who, signals in given
            ],
        )

    def _why_not(self, cluster: str, habits: ClusterHabits | None, now: float) -> str:
        if not self.is_ready:
            return "what the ledger holds is being learnt"
        if habits is None or habits.began is None:
            return self._why_no_audit(cluster, now) or "nobody has done anything yet"
        if not habits.is_warm(now):
            warm = f"nothing is unusual before {second_text(int(habits.began + WARM_S))}"
            return "; ".join(filter(None, (self._why_no_audit(cluster, now), warm)))
        return self._why_no_audit(cluster, now)

    def _why_no_audit(self, cluster: str, now: float) -> str:
        """Say that kube-apiserver's audit log confirms nothing; empty where it does."""
        last = self.confirmed.audited.get(cluster)
        if last is not None and last >= now - SILENT_S:
            return ""
        since = f" since {second_text(int(last))}" if last is not None else ""
        return (
            f"{NO_AUDIT}no event of kube-apiserver's audit log has named a decision{since}; "
            "without it refusals and entering Pods teach nothing, nor do workloads: give the "
            "auditor the log (weights.folder, weights.container or weights.event_hub)"
        )

    async def _begin(self) -> None:
        began = time.monotonic()
        saved = await asyncio.to_thread(self._load)
        while True:
            try:
                await self._relearn(saved=saved)
                break
            except LedgerError as error:
                self._note_problem(error)
                await asyncio.sleep(AGAIN_S)
        self.is_ready = True
        known = sum(len(each.people) + len(each.machines) for each in self.clusters.values())
        took = round(time.monotonic() - began, 1)
        self._logger.info("behaviour: learnt before", identities=known, seconds=took)

    def _load(self) -> bool:
        """Read what was saved; say whether there was something."""
        if self._path is None or not self._path.exists():
            return False
        try:
            state = decode_state(self._path.read_bytes())
        except (LedgerError, OSError) as error:
            problem = str(error) if isinstance(error, LedgerError) else type(error).__name__
            self._logger.warning("behaviour: what was saved is not used", problem=problem)
            return False
        self.clusters, self._log = state.clusters, state.log
        self.confirmed.position = state.position
        self.confirmed.audited.update(state.audited)
        return True

    async def _relearn(self, *, saved: bool) -> None:
        """Go on where what was saved ends; learn from the ledger's last days where nothing was.

        Raises:
            LedgerError: the ledger does not answer.
        """
        state = await self._ledger.log_state()
        if saved and state.id == self._log and self.confirmed.position <= state.tree.size:
            return
        self.clusters.clear()
        self.confirmed.audited.clear()
        now_ms = int(self._clock() * 1000)
        until_ms = now_ms + int(MOST_AHEAD_S * 1000)
        async for acts in self.confirmed.past(now_ms - DAYS * DAY_MS, until_ms):
            for number, act in enumerate(acts, 1):
                habits = self._habits_of(act.cluster)
                if habits is not None:
                    habits.learn(act, act.at)
                if number % _BETWEEN_BREATHS == 0:
                    await asyncio.sleep(0)
        self._log, self.confirmed.position = state.id, state.tree.size

    def _note_problem(self, error: LedgerError) -> None:
        problem, self._problem = self._problem, str(error)
        if problem != self._problem:
            self._logger.warning("behaviour: the ledger cannot be learnt from", problem=str(error))

    async def _collect(self) -> StoredState:
        """Return all that is stored; each identity as it is at one moment."""
        stored = []
        position, audited = self.confirmed.position, dict(self.confirmed.audited)
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
        return StoredState(STATE_FORMAT, stored, position, self._log, audited)

    def _write(self, stored: StoredState) -> bool:
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
