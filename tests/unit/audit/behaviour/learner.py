"""A ledger, a clock, kube-apiserver's own record, and what learns from them, for tests."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec

from audit.access.parsers.caller_networks import CallerLocator, CallerNetworks
from audit.access.parsers.kubernetes_audit import parse_kubernetes
from audit.behaviour.learner import BehaviourLearner
from audit.behaviour.protocol import BehaviourAnswer
from audit.ledger.log.entries import LogState
from audit.ledger.records.frames import Frame, FrameKind, decision_frame_id
from audit.ledger.server.service import Question
from audit.ledger.store.store import Store
from core.base.background import in_background
from core.base.errors import LedgerError
from core.base.ids import uuid7_unix_ms
from core.base.times import milli_text
from core.weights.documents.events import Activity, encode_event
from tests.unit.audit.access.parsers.activity_records import kubernetes
from tests.unit.audit.behaviour.acts_of_people import AFTER, DAY, HOUR, MONDAY, WHO, document
from webhooks.log import get_logger

MORNING = AFTER + 10 * HOUR
OTHER = "user:0123456789abcdef"

_CALLERS = CallerLocator(CallerNetworks((), (), ()))
_VERBS = {"CREATE": "create", "UPDATE": "update", "CONNECT": "create", "DELETE": "delete"}


def frame(made: dict[str, Any]) -> Frame:
    """Return the frame of a decision's document."""
    return Frame(FrameKind.DECISION, decision_frame_id(made["id"]), msgspec.json.encode(made))


def event(made: dict[str, Any], **changes: Any) -> Activity:
    """Return what kube-apiserver's audit log says of the request of a decision."""
    asked = made["request"]
    record = kubernetes(
        _VERBS[asked["operation"]],
        "pods" if asked["operation"] == "CONNECT" else "jobs",
        asked.get("subresource", ""),
        username="grace",
        annotations={"validate.sallyport.dev/decision": made["id"]},
        auditID=f"audit-{made['id']}",
        responseStatus={"code": 201 if made["allowed"] else 403},
        requestReceivedTimestamp=milli_text(uuid7_unix_ms(made["id"])),
    )
    record["objectRef"]["namespace"] = asked["namespace"]
    record["user"]["extra"] = {"oid": [made["requester"].removeprefix("oid:")]}
    found = parse_kubernetes(msgspec.json.encode(record), made["cluster"], "hub", _CALLERS)
    assert found is not None
    changes = {"principal": made["requester"], **changes}
    return msgspec.structs.replace(found, **changes)


def event_frame(seen: Activity) -> Frame:
    """Return the frame of an activity."""
    return Frame(FrameKind.ACTIVITY, decision_frame_id(seen.id), encode_event(seen))


def confirmed(made: dict[str, Any]) -> list[Frame]:
    """Return a decision, and kube-apiserver's own record of it."""
    return [frame(made), event_frame(event(made))]


def ordinary(label: str = WHO, *, seen: bool = True) -> list[Frame]:
    """Return six ordinary weeks; with `seen`, as kube-apiserver saw them."""
    return [
        each
        for day in range(42)
        if day % 7 < 5
        for hour in range(9, 18)
        for each in (confirmed if seen else lambda made: [frame(made)])(
            document(MONDAY + day * DAY + hour * HOUR, requester=label)
        )
    ]


LEARNT = sum(
    MONDAY + day * DAY + hour * HOUR >= MORNING - 30 * DAY
    for day in range(42)
    if day % 7 < 5
    for hour in range(9, 18)
)
"""Acts of `ordinary` within the last 30 days: the ledger's last days teach."""


def elsewhere(at: float, **changes: Any) -> list[Frame]:
    """Return something in a new namespace, as kube-apiserver saw it."""
    return confirmed(document(at, request={"namespace": "team-b"}, **changes))


@dataclass
class Clock:
    """A clock that is set."""

    now: float = MORNING

    def __call__(self) -> float:
        """Return Unix seconds."""
        return self.now


class Ledger(Store):
    """A ledger that may fail."""

    problem = ""

    async def log_state(self) -> LogState:
        """Return how far it has come, or fail."""
        if self.problem:
            raise LedgerError(self.problem)
        return await super().log_state()


def ledger_in(folder: Path, clock: Clock) -> Ledger:
    """Return a ledger that is opened by `async with`."""
    return Ledger(f"sqlite:///{folder / 'ledger.db'}", clock)


@asynccontextmanager
async def learning_from(
    ledger: Store, clock: Clock, path: Path | None = None
) -> AsyncIterator[BehaviourLearner]:
    """Yield what has taken up what was there before."""
    learning = BehaviourLearner(ledger, get_logger(), path, clock)
    async with in_background(learning.keep_learnt()):
        async with asyncio.timeout(20):
            while not learning.is_ready:  # noqa: ASYNC110
                await asyncio.sleep(0.01)
        yield learning


async def tell(ledger: Store, learning: BehaviourLearner, *frames: Frame) -> None:
    """Have the ledger keep frames, and the learner read them."""
    await ledger.deliver("prod-1", frames)
    await learning.follow()


async def ask(
    learning: BehaviourLearner, since: str = "", cluster: str = "prod-1"
) -> BehaviourAnswer:
    """Ask who acts unusually."""
    content = await learning.answer(Question(cluster, {"since": since} if since else {}))
    return msgspec.json.decode(content, type=BehaviourAnswer)


def words(answer: BehaviourAnswer) -> dict[str, set[str]]:
    """Return the words by key."""
    return {each.key: set(each.until) for each in answer.unusual}
