"""Puts what the auditor finds unusual into the risk snapshot, and takes out what is over."""

import math
import time
from collections.abc import Callable, Mapping
from typing import Final, Protocol

import msgspec
from prometheus_client import CollectorRegistry, Gauge

from audit.behaviour.protocol import BehaviourAnswer
from control.loop import Loop
from core.base.errors import LedgerError
from core.risk.model import Behaviour, BehaviourEntry
from core.risk.snapshot import RiskSnapshot, SnapshotDraft
from kube.leader.lease import Leadership

INTERVAL_S: Final = 10.0

MOST: Final = 5000
"""Identities that are taken; the auditor remembers as many that act unusually."""

_MOST_ANSWERS: Final = 8
"""Of one run."""

_FRESH_S: Final = 600.0
"""So old `asOf` may grow while nothing else changes: each write of the snapshot reaches all
gates."""

_LONGEST_S: Final = 2 * 86_400
"""Nothing counts longer, whatever an auditor says whose clock is wrong."""

_KEY_BYTES: Final = 16
_WORDS: Final = {each.words[0]: each for each in Behaviour}


class BehaviourSource(Protocol):
    """Asks who does something unusual (`audit.clients.behaviour.BehaviourClient`)."""

    async def ask(self, cursor: str) -> BehaviourAnswer:
        """Return what changed since a cursor.

        Raises:
            LedgerError: there is no answer.
        """


class RiskSnapshots(Protocol):
    """Writes the risk snapshot (`kube.risk.store.RiskStore`)."""

    async def update(
        self, change: Callable[[SnapshotDraft], None], leadership: Leadership | None = None
    ) -> RiskSnapshot:
        """Write what `change` puts into a draft of what is stored."""


class Behaviours:
    """Each run asks the auditor once, and writes what is new. `loop` is its loop."""

    def __init__(
        self,
        auditor: BehaviourSource,
        store: RiskSnapshots,
        registry: CollectorRegistry,
        interval_s: float = INTERVAL_S,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self._auditor = auditor
        self._store = store
        self._clock = clock
        self._cursor = ""
        self._unusual: dict[bytes, dict[Behaviour, int]] = {}
        """By identity and behaviour, until when it counts."""
        self._gauge = Gauge(
            "sallyport_risk_behaviours",
            "Identities that do something unusual, by behaviour; NaN where another replica leads.",
            ["behaviour"],
            registry=registry,
        )
        self._forget()
        self.loop = Loop("behaviour", interval_s, self.run, forget=self._forget)

    async def run(self, leadership: Leadership) -> None:
        """Ask once, and write what changed and what is over.

        Raises:
            LedgerError: the auditor does not answer; the snapshot says so, and what is known
                counts until it is over.
            ClusterError: the snapshot cannot be written.
            NotLeaderError: leadership was lost on the way.
        """
        leadership.require()
        problem: LedgerError | None = None
        try:
            learning = await self._ask()
        except LedgerError as error:
            problem, learning = error, ""
        now = self._clock()
        self._end(now)
        wanted = {who: acting_of(until) for who, until in self._unusual.items()}

        def change(draft: SnapshotDraft) -> None:
            put_behaviours(draft, wanted, now)
            put_coverage(draft, str(problem) if problem else learning, now)

        await self._store.update(change, leadership)
        for word, each in _WORDS.items():
            count = sum(each in until for until in self._unusual.values())
            self._gauge.labels(word).set(count)
        if problem is not None:
            raise problem

    async def _ask(self) -> str:
        """Take what changed; give why nothing can be told yet, or nothing."""
        for _ in range(_MOST_ANSWERS):
            answer = await self._auditor.ask(self._cursor)
            take_answer(self._unusual, answer, self._clock())
            self._cursor = answer.cursor
            if not answer.more:
                break
        return answer.learning

    def _end(self, now: float) -> None:
        """Forget what counts no more."""
        for who, until in list(self._unusual.items()):
            left = {each: at for each, at in until.items() if at > now}
            if left:
                self._unusual[who] = left
            else:
                del self._unusual[who]

    def _forget(self) -> None:
        self._cursor, self._unusual = "", {}
        for word in _WORDS:
            self._gauge.labels(word).set(math.nan)


def take_answer(
    unusual: dict[bytes, dict[Behaviour, int]], answer: BehaviourAnswer, now: float
) -> None:
    """Take an answer into what is known; what this release does not know of it is left out.

    Several auditors each know a part: what one says is added to what another said.
    """
    latest = int(now + _LONGEST_S)
    for each in answer.unusual:
        try:
            who = bytes.fromhex(each.key)
        except ValueError:
            continue
        known = {_WORDS[word]: at for word, at in each.until.items() if word in _WORDS}
        if len(who) != _KEY_BYTES or not known or (who not in unusual and len(unusual) >= MOST):
            continue
        mine = unusual.setdefault(who, {})
        for behaviour, at in known.items():
            mine[behaviour] = max(mine.get(behaviour, 0), min(at, latest))


def acting_of(until: Mapping[Behaviour, int]) -> BehaviourEntry:
    """Return what the snapshot says of an identity.

    A snapshot has one end for all of it: the last. Each is taken out at its own end while there is
    somebody to do it; where there is not, it stays a little longer.
    """
    behaviour = Behaviour(0)
    for each in until:
        behaviour |= each
    return BehaviourEntry(behaviour, max(until.values()))


def put_behaviours(
    draft: SnapshotDraft, wanted: Mapping[bytes, BehaviourEntry], now: float
) -> None:
    """Put into a draft what is wanted, and take out what is over and not wanted."""
    for who, before in draft.before.behaviours():
        if before.until <= now and who not in wanted:
            draft.put_behaviour(who, None)
    for who, acting in wanted.items():
        draft.put_behaviour(who, acting)


def put_coverage(draft: SnapshotDraft, problem: str, now: float) -> None:
    """Say in a draft as of when behaviour is known, or why it is not."""
    before = draft.head.behaviour
    is_old = before.as_of is None or not before.as_of <= now < before.as_of + _FRESH_S
    if problem:
        coverage = msgspec.structs.replace(before, problem=problem)
    elif is_old or before.problem or draft.changed:
        coverage = msgspec.structs.replace(before, problem="", as_of=now)
    else:
        coverage = before
    if coverage != before:
        draft.head = msgspec.structs.replace(draft.head, behaviour=coverage)
