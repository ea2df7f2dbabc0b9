"""The bundles that this process has loaded, the one in force, and those that it refused."""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final

import structlog

from admission.bundles.in_force import InForce
from admission.judge import Judge
from core.base.errors import BundleRefusedError, EngineAwayError, SettingsError
from core.policy_bundles import BASE, LONGEST_PROBLEM
from core.safe_text import traceback_places
from policies.bundle.format import Bundle
from policies.trial.evaluation import MOST_SAMPLES, LocalTrial, MakeEngine, Trial, TrialResult

_log = structlog.get_logger(__name__)

_MOST_TOLD: Final = 10
"""Rules in a line of the log."""

Read = Callable[[], Bundle]
"""Reads a bundle, in a thread; raises BundleRefusedError."""


@dataclass(frozen=True)
class _Ready:
    tried: TrialResult
    judge: Judge


@dataclass
class Counts:
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
class Bundles:
    """Loads bundles beside the one in force, under names, and swaps. Used in one event loop.

    A bundle that is refused changes nothing: what was in force stays so.
    """

    in_force: InForce
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
    counts: Counts = field(default_factory=Counts)
    _ready: dict[str, _Ready] = field(default_factory=dict)
    _one: asyncio.Lock = field(default_factory=asyncio.Lock)

    @property
    def loaded(self) -> tuple[str, ...]:
        """Name what could be put in force at once, and what is."""
        return tuple(sorted({self.name, *self._ready}))

    async def load(self, name: str, read: Read) -> bool:
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
        self.in_force.put(ready.tried.engine, ready.judge)
        self.name = name
        self.foreign = len(ready.tried.foreign)
        self.counts.swapped += 1
        self.counts.compared += ready.tried.compared
        self.counts.differing += ready.tried.differing
        revision = ready.tried.bundle.revision
        _log.info("policy bundle in force", bundle=name, revision=revision, before=before)

    async def keep(self, *names: str) -> None:
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
        await self.keep()
        await self.in_force.settle()
        self.in_force.engine.close()

    async def _try(self, read: Read) -> _Ready:
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
