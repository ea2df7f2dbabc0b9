"""The judge in force, which can be replaced while reviews are judged.

A judge has one engine for its life, and a review one judge from its first step to its last: so a
decision rests on exactly one revision of the policies, and a swap neither waits for reviews nor
they for it. What a judge costs here, for each review, is in docs/adr/0054-bundles-are-swapped.md.
"""

import asyncio
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from admission.judge import Judge
from core.decision.decision import Decision
from core.decision.request import Request
from policies.engine.cache import RememberingEngine

MakeJudge = Callable[[RememberingEngine], Judge]
"""Joins an engine with the rest of what judges need.

Raises SettingsError where the settings do not fit the engine's rules.
"""


@dataclass(slots=True)
class _Pinned:
    judge: Judge
    engine: RememberingEngine
    running: int = 0
    replaced: bool = False


class InForce:
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

    def put(self, engine: RememberingEngine, judge: Judge) -> None:
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
