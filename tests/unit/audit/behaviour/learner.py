"""A ledger in memory, a clock, and what learns from them, for tests."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec

from audit.behaviour.learner import BehaviourLearner
from audit.behaviour.protocol import BehaviourAnswer
from audit.ledger.records.destination import Aside, Receipt
from audit.ledger.records.frames import Frame, FrameKind, decision_frame_id
from audit.ledger.server.service import Question
from audit.ledger.store.decisions import DecisionQuery
from audit.ledger.store.store import Store
from core.base.background import in_background
from core.base.errors import LedgerError
from tests.unit.audit.behaviour.acts_of_people import AFTER, DAY, HOUR, MONDAY, WHO, document
from tests.unit.audit.loopback_auditor import Memory
from webhooks.log import get_logger

MORNING = AFTER + 10 * HOUR
OTHER = "user:0123456789abcdef"


def frame(made: dict[str, Any]) -> Frame:
    """Return the frame of a document."""
    return Frame(FrameKind.DECISION, decision_frame_id(made["id"]), msgspec.json.encode(made))


def ordinary(label: str = WHO) -> list[Frame]:
    """Return six ordinary weeks."""
    return [
        frame(document(MONDAY + day * DAY + hour * HOUR, requester=label))
        for day in range(42)
        if day % 7 < 5
        for hour in range(9, 18)
    ]


def elsewhere(at: float, **changes: Any) -> Frame:
    """Return something in a new namespace."""
    return frame(document(at, request={"namespace": "team-b"}, **changes))


@dataclass
class Clock:
    """A clock that is set."""

    now: float = MORNING

    def __call__(self) -> float:
        """Return Unix seconds."""
        return self.now


@dataclass
class Ledger:
    """A ledger in memory, which may fail."""

    memory: Memory
    problem: str = ""

    async def deliver(self, cluster: str, frames: Sequence[Frame]) -> Receipt:
        """Keep frames."""
        return await self.memory.deliver(cluster, frames)

    async def set_aside(self, cluster: str, asides: Sequence[Aside]) -> None:
        """Keep what is no record."""
        await self.memory.set_aside(cluster, asides)

    async def find(self, query: DecisionQuery) -> list[bytes]:
        """Return what is kept after the query's id."""
        if self.problem:
            raise LedgerError(self.problem)
        found = sorted((each.id.hex(), each.payload) for each in self.memory.kept.values())
        after = (query.after or "").replace("-", "")
        return [payload for number, payload in found if number > after][: query.limit]


@asynccontextmanager
async def learning_from(
    ledger: Ledger | Store, clock: Clock, path: Path | None = None
) -> AsyncIterator[BehaviourLearner]:
    """Yield what has taken up what was there before."""
    learning = BehaviourLearner(ledger, ledger.find, get_logger(), path, clock)
    async with in_background(learning.keep_learnt()):
        async with asyncio.timeout(20):
            while not learning.is_ready:  # noqa: ASYNC110
                await asyncio.sleep(0.01)
        yield learning


async def ask(
    learning: BehaviourLearner, since: str = "", cluster: str = "prod-1"
) -> BehaviourAnswer:
    """Ask who acts unusually."""
    content = await learning.answer(Question(cluster, {"since": since} if since else {}))
    return msgspec.json.decode(content, type=BehaviourAnswer)


def words(answer: BehaviourAnswer) -> dict[str, set[str]]:
    """Return the words by key."""
    return {each.key: set(each.until) for each in answer.unusual}
