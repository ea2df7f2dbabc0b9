"""A candidate bundle that rides along on live reviews: what it would change is counted.

It runs in a thread of its own, within a share of a core, after each answer is made: it delays no
answer and changes none. What does not fit into its queue is not looked at, and counted.
"""

import asyncio
import threading
import time
from collections import Counter, deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Final, Protocol

import structlog

from admission.replay.evaluation import (
    BundleAsker,
    find_group_names,
)
from admission.replay.live_inputs import live_document, live_inputs, recorded_answer
from admission.replay.outcomes import (
    Effect,
    ReplayBase,
    UnknownReason,
    compare_outcomes,
    replay_decision,
)
from core.base.errors import NotSyncedError, SallyportError
from core.decision.decision import Decision
from core.decision.request import Request
from core.profiles.container_profiles import ProfileSet
from policies.bundle.format import Bundle, Rule
from policies.engine.interface import Engine

MOST_WAITING: Final = 1000
MOST_BYTES: Final = 16 * 1024 * 1024
"""Of the reviews that wait."""

_BURST_S: Final = 0.25
"""CPU time that may be saved up."""

_PATIENCE_S: Final = 0.05
_LINES_A_SECOND: Final = 10

_log = structlog.get_logger(__name__)


@dataclass
class ShadowCounts:
    """What the candidate was asked, and what it would change, beside one bundle in force."""

    against: str = ""
    """Revision of the bundle in force; empty before the first review."""
    compared: int = 0
    dropped: int = 0
    """Not looked at: the budget was used up."""
    beside: int = 0
    """About what no policy is asked."""
    stale: int = 0
    """Not looked at: decided by a bundle that is no more in force."""
    unknown: Counter[str] = field(default_factory=Counter)
    """Of which nobody can say what the candidate would do, by reason."""
    unread: Counter[str] = field(default_factory=Counter)
    """Of which one rule could not be asked, by rule: what the others say counts."""
    changes: Counter[tuple[str, str]] = field(default_factory=Counter)
    """Reviews by effect and rule; with an empty rule, by effect alone."""
    cpu_s: float = 0.0


class ActiveBundle(Protocol):
    """What is read of the bundle in force: its engine has it."""

    @property
    def revision(self) -> str:
        """Its revision."""

    @property
    def rules(self) -> Mapping[str, Rule]:
        """Its rules, by id."""


@dataclass(frozen=True)
class _Waiting:
    request: Request
    decision: Decision
    size: int


@dataclass
class Shadow:
    """Judges again what has been answered, with another bundle."""

    load: Callable[[], tuple[Bundle, Engine]]
    """Reads and compiles the candidate, in the thread; raises BundleRefusedError."""
    profiles: Callable[[], ProfileSet]
    """Those in force; raises NotSyncedError."""
    in_force: Callable[[], ActiveBundle]
    """The bundle in force: with another, counts begin anew."""
    budget: float
    """Share of a core, above 0 and at most 1."""
    points: Mapping[str, int] = field(default_factory=dict)
    """The site's own points of signals."""
    counts: ShadowCounts = field(default_factory=ShadowCounts)
    revision: str = ""
    """Of the candidate, once it is loaded."""
    problem: str = ""
    """Why it is not, or no more: then nothing is compared."""
    _evaluated_s: float = 0.0
    _queue: deque[_Waiting] = field(default_factory=deque)
    _put: int = 0
    """Bytes, counted by who offers."""
    _taken: int = 0
    """The same, counted by the thread."""
    _wake: threading.Event = field(default_factory=threading.Event)
    _stopping: bool = False
    _names: Mapping[str, str] = field(default_factory=dict)
    _lines: tuple[int, int] = (0, 0)
    _failed: set[type[BaseException]] = field(default_factory=set)
    """What failed unexpectedly: each is logged once."""

    def start(self) -> None:
        """Start the thread; the candidate is loaded there."""
        self._thread = threading.Thread(target=self._run, name="shadow", daemon=True)
        self._thread.start()

    def stop(self, seconds: float = 2.0) -> None:
        """End it; what waits is not looked at."""
        self._stopping = True
        self._wake.set()
        self._thread.join(seconds)

    def observe(self, seconds: float) -> None:
        """Take what an evaluation of the candidate took, in whatever thread: the budget pays."""
        self._evaluated_s += seconds

    def offer(self, request: Request, decision: Decision, size: int) -> None:
        """Take a review that has been answered, if there is room; returns at once.

        `size` is that of its body, in bytes, which the request may hold on to.
        """
        full = len(self._queue) >= MOST_WAITING or self._put - self._taken + size > MOST_BYTES
        if self.problem or full:
            self.counts.dropped += 1
            return
        self._put += size
        self._queue.append(_Waiting(request, decision, size))
        if not self._wake.is_set():
            self._wake.set()

    def _run(self) -> None:
        try:
            self._ride()
        except SallyportError as error:
            self._end(str(error))
            _log.error("shadow bundle refused: nothing is compared", problem=self.problem)
        except Exception as error:  # noqa: BLE001  Nobody waits for this thread: it says so itself.
            self._end(f"{type(error).__name__}: {error}")
            _log.error("shadow ended", problem=self.problem, exc_info=error)

    def _end(self, problem: str) -> None:
        self.problem, self.revision = problem, ""
        self._queue.clear()

    def _ride(self) -> None:
        bundle, engine = self.load()
        try:
            self._names = find_group_names(bundle.sources.values())
            self.revision = bundle.revision
            _log.info("shadow bundle rides along", revision=self.revision)
            with asyncio.Runner() as runner:
                self._follow(runner, engine)
        finally:
            engine.close()

    def _follow(self, runner: asyncio.Runner, engine: Engine) -> None:
        asker = BundleAsker(engine, self.points)
        allowed, before = _BURST_S, time.monotonic()
        while not self._stopping:
            now = time.monotonic()
            allowed, before = min(allowed + (now - before) * self.budget, _BURST_S), now
            if allowed <= 0:
                time.sleep(_PATIENCE_S)
                continue
            if not self._queue:
                self._wake.wait()
                self._wake.clear()
                continue
            waiting = self._queue.popleft()
            self._taken += waiting.size
            began, evaluated = time.thread_time(), self._evaluated_s
            self._compare(runner, asker, engine, waiting)
            # What is slow is evaluated anew in the engine's own threads.
            spent = max(time.thread_time() - began, self._evaluated_s - evaluated)
            allowed -= spent
            self.counts.cpu_s += spent

    def _compare(
        self, runner: asyncio.Runner, asker: BundleAsker, engine: Engine, waiting: _Waiting
    ) -> None:
        try:
            runner.run(self._compared(asker, engine, waiting))
        except (SallyportError, ValueError) as error:
            self.counts.unknown[type(error).__name__] += 1
        except (Exception, asyncio.CancelledError) as error:  # noqa: BLE001  It ends nothing.
            self.counts.unknown["unexpected"] += 1
            if type(error) not in self._failed:
                self._failed.add(type(error))
                _log.error("shadow failed", exc_info=error, decision=waiting.decision.id)

    async def _compared(self, asker: BundleAsker, engine: Engine, waiting: _Waiting) -> None:
        request, decision = waiting.request, waiting.decision
        now = self.in_force()
        if self.counts.against not in {"", now.revision}:
            self.counts = ShadowCounts(cpu_s=self.counts.cpu_s)
        self.counts.against = now.revision
        if decision.policy_revision not in {"", now.revision}:
            self.counts.stale += 1
            return
        inputs = live_inputs(request, decision, engine.reads, self._names)
        if not (inputs.projections or inputs.contexts):
            self._leave(inputs.unread(engine.rules.values()))
            return
        document = live_document(request, decision)
        said = await asker.ask(inputs)
        self.counts.unread.update(said.unread)
        if said.error and not decision.error_kind:
            self._note(decision, request, {Effect.FAILED: frozenset()})
            return
        reference = recorded_answer(document, now.rules)
        base = ReplayBase(self._profiles(), "")
        was = replay_decision(document, reference, reference, base)
        becomes = replay_decision(document, said, reference, base)
        for each in (was, becomes):
            if isinstance(each, UnknownReason):
                self.counts.unknown[each.name.lower().replace("_", "-")] += 1
                return
        self._note(decision, request, compare_outcomes(was, becomes))  # type: ignore[arg-type]

    def _profiles(self) -> ProfileSet:
        try:
            return self.profiles()
        except NotSyncedError:
            return ProfileSet("", (), ())

    def _leave(self, unread: frozenset[str]) -> None:
        """Count what the policies in force were not asked about."""
        self.counts.unread.update(unread)
        if unread:
            self.counts.unknown["not-asked-about"] += 1
        else:
            self.counts.beside += 1

    def _note(
        self, decision: Decision, request: Request, changes: Mapping[Effect, frozenset[str]]
    ) -> None:
        self.counts.compared += 1
        for effect, rules in changes.items():
            self.counts.changes[effect.value, ""] += 1
            for rule in rules:
                self.counts.changes[effect.value, rule] += 1
        if changes:
            self._tell(
                _log.info,
                "shadow differs",
                decision=decision.id,
                candidate=self.revision,
                kind=request.kind.kind,
                namespace=request.namespace,
                effects=sorted(changes),
                rules=sorted({rule for rules in changes.values() for rule in rules}),
            )

    def _tell(self, write: Callable[..., object], text: str, **details: object) -> None:
        """Write a line, unless there have been many in this second."""
        second, count = self._lines
        now = int(time.monotonic())
        count = count + 1 if now == second else 1
        self._lines = now, count
        if count <= _LINES_A_SECOND:
            write(text, **details)
