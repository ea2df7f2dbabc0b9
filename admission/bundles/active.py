"""The policy bundles that this process has loaded, and the judge in force.

A judge has one engine for its life, and a review one judge from its first step to its last: so a
decision rests on exactly one revision of the policies, and a swap neither waits for reviews nor
they for it. What that costs each review is in docs/adr/0054-bundles-are-swapped.md.
"""

import asyncio
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Final

import structlog

from admission.judge import Judge
from core.base.errors import BundleRefusedError, EngineAwayError, SettingsError
from core.base.safe_text import LONGEST_PROBLEM, traceback_places
from core.decision.decision import Decision
from core.decision.request import Request
from core.policy_bundles import BASE
from policies.bundle.format import Bundle
from policies.engine.cache import RememberingEngine
from policies.trial.evaluation import MOST_SAMPLES, LocalTrial, MakeEngine, Trial, TrialResult

MakeJudge = Callable[[RememberingEngine], Judge]
"""Joins an engine with the rest of what judges need.

Raises SettingsError where the settings do not fit the engine's rules.
"""

_log = structlog.get_logger(__name__)

_MOST_TOLD: Final = 10
"""Rules in a line of the log."""

ReadBundle = Callable[[], Bundle]
"""Reads a bundle, in a thread; raises BundleRefusedError."""


@dataclass(slots=True)
class _Pinned:
    judge: Judge
    engine: RememberingEngine
    running: int = 0
    replaced: bool = False


class ActiveJudge:
    """Judges by what is in force when a request comes. Used in one event loop.

    The engine that it begins with is its maker's to close, as is the last one: `engine`.
    """

    def __init__(self, engine: RememberingEngine, make: MakeJudge) -> None:
        """Begin with an engine.

        Raises:
            SettingsError: as `make`.
        """
        self._make = make
        self._now = _Pinned(make(engine), engine)
        self._closing: set[asyncio.Task[None]] = set()
        self._before = {"remembered": 0, "evaluated": 0}
        self.waits_for: Callable[[], list[str]] | None = None
        """Says what keeps the first engine from being the right one; None once it is known."""

    @property
    def engine(self) -> RememberingEngine:
        """The engine in force."""
        return self._now.engine

    def evaluations(self) -> Mapping[str, int]:
        """Count projections, by all engines so far: `remembered`, `evaluated`."""
        engine = self._now.engine
        return {
            "remembered": self._before["remembered"] + engine.hits,
            "evaluated": self._before["evaluated"] + engine.misses,
        }

    def missing(self) -> list[str]:
        """Name what is not loaded yet, for a person; empty when reviews can be judged."""
        found = self._now.judge.missing()
        return found if self.waits_for is None else [*self.waits_for(), *found]

    async def validate(self, request: Request, *, budget: float) -> Decision:
        """See Judge.validate."""
        pinned = self._pin()
        try:
            return await pinned.judge.validate(request, budget=budget)
        finally:
            self._unpin(pinned)

    async def mutate(self, request: Request, *, budget: float) -> Decision:
        """See Judge.mutate."""
        pinned = self._pin()
        try:
            return await pinned.judge.mutate(request, budget=budget)
        finally:
            self._unpin(pinned)

    def _pin(self) -> _Pinned:
        pinned = self._now
        pinned.running += 1
        return pinned

    def _unpin(self, pinned: _Pinned) -> None:
        pinned.running -= 1
        if pinned.replaced:
            self._let_go(pinned)

    def make(self, engine: RememberingEngine) -> Judge:
        """Make a judge of an engine, not yet in force.

        Raises:
            SettingsError: the settings do not fit the engine's rules.
        """
        return self._make(engine)

    def activate_engine(self, engine: RememberingEngine, judge: Judge) -> None:
        """Put an engine in force, with the judge that `make` gave for it.

        The one before is closed, in a thread, once the last review that it began is answered.
        """
        before = self._now
        self._before = dict(self.evaluations())
        engine.hits = engine.misses = 0  # Of trying it out.
        self._now = _Pinned(judge, engine)
        before.replaced = True
        self._let_go(before)

    async def settle(self) -> None:
        """Wait until engines that are no more in force are closed; for the process's end."""
        await asyncio.gather(*self._closing, return_exceptions=True)

    def _let_go(self, pinned: _Pinned) -> None:
        if pinned.running == 0 and pinned.engine is not self._now.engine:
            task = asyncio.create_task(asyncio.to_thread(pinned.engine.close))
            self._closing.add(task)
            task.add_done_callback(self._closing.discard)


@dataclass(frozen=True)
class _Ready:
    tried: TrialResult
    judge: Judge


@dataclass
class BundleCounts:
    """What has happened to bundles since the process began."""

    swapped: int = 0
    refused: int = 0
    compared: int = 0
    """Inputs seen lately that new bundles judged before they were put in force."""
    differing: int = 0
    """Of these, how many they judged otherwise."""
    restarts: int = 0
    """How often a defect ended the following of bundles, and it began again."""


@dataclass
class BundleLoader:
    """Loads bundles beside the one in force, under names, and swaps. Used in one event loop.

    A bundle that is refused changes nothing: what was in force stays so.
    """

    in_force: ActiveJudge
    make: MakeEngine
    built_in: Bundle
    """Of this release: no bundle may replace its rules, and one with others is told of."""
    trial: Trial = field(default_factory=LocalTrial)
    """Where bundles are tried out."""
    name: str = BASE
    """Of what is in force."""
    foreign: int = 0
    """Files of built-in policies in what is in force that are not this release's."""
    refused: dict[str, str] = field(default_factory=dict)
    """Why, by name."""
    counts: BundleCounts = field(default_factory=BundleCounts)
    _ready: dict[str, _Ready] = field(default_factory=dict)
    _one: asyncio.Lock = field(default_factory=asyncio.Lock)

    @property
    def loaded(self) -> tuple[str, ...]:
        """Name what could be put in force at once, and what is."""
        return tuple(sorted({self.name, *self._ready}))

    async def load(self, name: str, read: ReadBundle) -> bool:
        """Read a bundle, try it out and keep it ready; say whether it may be put in force.

        Reviews go on meanwhile. What is wrong with one that is refused is in `refused`, and in the
        log; whatever fails here is such a refusal, a defect of ours too.

        Raises:
            EngineAwayError: what evaluates is away: nothing is known of the bundle yet.
        """
        async with self._one:
            try:
                ready = await self._try(read)
            except EngineAwayError:
                raise
            except (BundleRefusedError, SettingsError) as error:
                self.refuse(name, str(error))
                return False
            except Exception as error:  # noqa: BLE001 -- it must not end who follows bundles
                _log.error("policy bundle: defect", bundle=name, at=traceback_places(error))
                why = f"loading it failed ({type(error).__name__}: {error}): 'sallyport policy "
                self.refuse(name, f"{why}activate' tries it again")
                return False
            self.refused.pop(name, None)
            await self.drop(name)
            self._ready[name] = ready
            tried = ready.tried
            _log.info(
                "policy bundle loaded",
                bundle=name,
                revision=tried.bundle.revision,
                signed_by=tried.bundle.signed_by,
                seconds=round(tried.seconds, 3),
                compared=tried.compared,
                judged_otherwise=tried.differing,
                by_rules=tried.differing_rules[:_MOST_TOLD],
            )
            if tried.foreign:
                _log.warning(
                    "policy bundle has other built-in policies than this release: build it again",
                    bundle=name,
                    revision=tried.bundle.revision,
                    files=len(tried.foreign),
                    some=tried.foreign[:_MOST_TOLD],
                )
            return True

    def refuse(self, name: str, why: str) -> None:
        """Note that a bundle is refused, and why: a part of it may be the bundle's own text."""
        why = why[:LONGEST_PROBLEM]
        self.refused[name] = why
        self.counts.refused += 1
        _log.error(
            "policy bundle refused: what was in force stays so",
            bundle=name,
            problem=why,
            in_force=self.in_force.engine.revision,
        )

    def activate(self, name: str) -> None:
        """Put a bundle in force that `load` has made ready; the next review is judged by it."""
        ready = self._ready.pop(name)
        before = self.in_force.engine.revision
        self.in_force.activate_engine(ready.tried.engine, ready.judge)
        self.name = name
        self.foreign = len(ready.tried.foreign)
        self.counts.swapped += 1
        self.counts.compared += ready.tried.compared
        self.counts.differing += ready.tried.differing
        revision = ready.tried.bundle.revision
        _log.info("policy bundle in force", bundle=name, revision=revision, before=before)

    async def drop_all_but(self, *names: str) -> None:
        """Let go of all that is ready and not named, and forget why others were refused."""
        for name in self._ready.keys() - set(names):
            await self.drop(name)
        for name in self.refused.keys() - set(names):
            del self.refused[name]

    async def drop(self, name: str) -> None:
        """Let go of a bundle that is ready, if there is one of this name."""
        ready = self._ready.pop(name, None)
        if ready is not None:
            await asyncio.to_thread(ready.tried.engine.close)

    async def close(self) -> None:
        """Free all, also what is in force."""
        await self.drop_all_but()
        await self.in_force.settle()
        self.in_force.engine.close()

    async def _try(self, read: ReadBundle) -> _Ready:
        samples = self.in_force.engine.recent(MOST_SAMPLES)

        def work() -> TrialResult:
            return self.trial.try_out(read(), self.make, samples, self.built_in)

        try:
            tried = await asyncio.to_thread(work)
        except asyncio.CancelledError:
            self.trial.stop()
            raise
        try:
            return _Ready(tried, self.in_force.make(tried.engine))
        except BaseException:
            await asyncio.to_thread(tried.engine.close)
            raise
