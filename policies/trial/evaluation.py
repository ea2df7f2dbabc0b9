"""Tries a bundle out before it may be put in force; what is wrong with it is said here.

To be loaded is no proof that a bundle judges: it is evaluated on inputs that were asked about a
moment ago, and on the cases that it carries itself. To differ from what is in force is no fault, it
is what a new bundle is for; to fail, or to take longer or more than an evaluation may, is one.
"""

import asyncio
import contextlib
import re
import time
from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Final, Protocol, TypeVar

import msgspec

from core.base.errors import BundleRefusedError, EngineAwayError, EvaluationError
from core.base.json_errors import DECODE_ERRORS
from policies.bundle.format import Bundle, BundleCase, Rule, wording_refusals
from policies.engine.cache import CachedSample, RememberingEngine
from policies.engine.entry_points import CANARY, CANARY_CONTEXT
from policies.engine.interface import Judgement, PolicyAnswer, ShownFields
from policies.projection.model import NO_POD

MOST_SAMPLES: Final = 200
"""Inputs that a bundle is compared on: about 0.1 s of evaluation."""

_OF_SITES: Final = ("rego/site/", "rego/library/")
_GENERATED: Final = frozenset({"rego/site.rego", "rego/parameters.rego"})
_PACKAGE: Final = re.compile(r"^[ \t]*package[ \t]+([^\s#]+)", re.MULTILINE)
_PLAIN: Final = re.compile(r"\w+(\.\w+)*")
_PARTS: Final = 4
_COMPARED: Final = ("denials", "warnings", "needs", "signals")
"""Fields of a case: what must be found in its input."""
_FIX: Final = "make the bundle with 'sallyport policy build', which says what it may be called"

_NULL: Final = b"null"

_Said = TypeVar("_Said")

MakeEngine = Callable[[Bundle], RememberingEngine]
"""Loads a bundle into an engine; raises BundleRefusedError, also of what shows at load."""


class Trial(Protocol):
    """Where bundles are tried out."""

    def try_out(
        self, bundle: Bundle, make: MakeEngine, samples: Sequence[CachedSample], built_in: Bundle
    ) -> "TrialResult":
        """See `try_out` of this module."""

    def stop(self) -> None:
        """End what is tried now, where that can be: nobody waits for it any more."""


class LocalTrial:
    """In this process: for an engine that evaluates elsewhere (`policies.trial.process` else)."""

    def try_out(
        self, bundle: Bundle, make: MakeEngine, samples: Sequence[CachedSample], built_in: Bundle
    ) -> "TrialResult":
        """See `try_out` of this module."""
        return try_out(bundle, make, samples, built_in)

    def stop(self) -> None:
        """Do nothing: what runs in a thread ends by itself."""


@dataclass(frozen=True)
class TrialResult:
    """A bundle that may be put in force."""

    bundle: Bundle
    engine: RememberingEngine
    compared: int = 0
    """Inputs seen lately, and judged anew."""
    differing: int = 0
    """Of these, how many are judged otherwise."""
    differing_rules: tuple[str, ...] = ()
    """Whose findings came or went."""
    foreign: tuple[str, ...] = ()
    """Paths of built-in policies in it that are not this release's, or are missing from it."""
    seconds: float = 0.0
    """That it took to load and to try."""


def try_out(
    bundle: Bundle,
    make: MakeEngine,
    samples: Sequence[CachedSample],
    built_in: Bundle,
) -> TrialResult:
    """Load a bundle, run its own cases, and judge what was asked lately anew. Takes about 1 s.

    For a thread: it runs an event loop of its own. `built_in` is this release's own bundle. One
    that another release built has other built-in policies: to refuse it would keep a cluster from
    being upgraded, so that is said (`TrialResult.foreign`).

    Raises:
        BundleRefusedError: it may not be put in force; the message says why.
        EngineAwayError: what evaluates it is away, so that it is not known: to be tried again.
    """
    began = time.perf_counter()
    with wording_refusals():
        _refuse_shadowing(bundle, built_in.rules)
        return _tried(bundle, make, samples, built_in, began)


def _tried(
    bundle: Bundle,
    make: MakeEngine,
    samples: Sequence[CachedSample],
    built_in: Bundle,
    began: float,
) -> TrialResult:
    engine = make(bundle)
    try:
        compared, differing, rules = asyncio.run(_judge(engine, bundle, samples))
    except BaseException:
        engine.close()
        raise
    seconds = time.perf_counter() - began
    foreign = find_foreign(bundle, built_in)
    return TrialResult(bundle, engine, compared, differing, tuple(sorted(rules)), foreign, seconds)


def find_foreign(bundle: Bundle, built_in: Bundle) -> tuple[str, ...]:
    """Name what of the built-in policies is not as this release has it.

    By the sources: what is compiled of them is its builder's word.
    """
    there = {
        path: text
        for path, text in bundle.sources.items()
        if path not in _GENERATED and not path.startswith(_OF_SITES)
    }
    own = {path: text for path, text in built_in.sources.items() if path not in _GENERATED}
    return tuple(
        sorted(path for path in there.keys() | own.keys() if there.get(path) != own.get(path))
    )


def _refuse_shadowing(bundle: Bundle, built_in: Mapping[str, Rule]) -> None:
    """Refuse a site's rule that stands in a built-in one's place.

    The builder refuses it too (policies/build/site_rego.py); a bundle need not come from it.
    """
    own = {rule.id for rule in built_in.values() if not rule.site}
    for rule in bundle.rules.values():
        if rule.site and rule.id in own:
            raise BundleRefusedError(f"the bundle replaces the built-in rule {rule.id}: {_FIX}")
    for path, text in sorted(bundle.sources.items()):
        if not path.startswith(_OF_SITES):
            continue
        found = _PACKAGE.search(text)
        if found is None or not _may_be(found[1], own):
            line = text.count("\n", 0, found.start(1)) + 1 if found else 1
            called = f"package {found[1]}" if found else "its package"
            raise BundleRefusedError(
                f"the bundle's {path}:{line}: {called} is Sallyport's own: {_FIX}"
            )


def _may_be(package: str, own: Collection[str]) -> bool:
    if not _PLAIN.fullmatch(package):
        return False
    parts = package.split(".")
    return parts[0] == "site" or (
        parts[:1] == ["sallyport"]
        and len(parts) == _PARTS
        and parts[1] in {"rules", "sandbox"}
        and "/".join(parts[1:]) not in own
    )


async def _judge(
    engine: RememberingEngine, bundle: Bundle, samples: Sequence[CachedSample]
) -> tuple[int, int, set[str]]:
    """Run the cases, then the samples; give how many of these differ, and by which rules."""
    await _demand(engine)
    for case in bundle.cases:
        await _run_case(engine, case)
    compared, rules, differing = 0, set[str](), 0
    projections = [sample.projection for sample in samples if sample.projection is not None]
    for sample in reversed(samples):  # The latest last: so it is remembered longest.
        projection = sample.projection
        if projection is None:  # What it judges need not have an object, where this one needs one.
            projection = projections[0] if projections else NO_POD
        ask = partial(_ask, engine, sample, projection)
        said = await _twice(ask, "judging what was asked lately")
        compared += 1
        if said != sample.said:
            differing += 1
            rules |= _rules(said) ^ _rules(sample.said)
        await asyncio.sleep(0)
    return compared, differing, rules


async def _demand(engine: RememberingEngine) -> None:
    """Demand that what evaluates is there, and judges what every bundle must judge.

    Raises:
        BundleRefusedError: it is there, and evaluating fails.
        EngineAwayError: it is not, or says that it lacks something.
    """
    if not engine.missing():
        return
    try:
        answer = await engine.ask(CANARY)
        await engine.judge(CANARY, answer, CANARY_CONTEXT)
    except EngineAwayError:
        raise
    except EvaluationError as error:
        raise BundleRefusedError(f"judging a privileged container fails: {error}") from error
    if missing := engine.missing():
        raise EngineAwayError("; ".join(missing))


async def _twice(ask: Callable[[], Awaitable[_Said]], what: str) -> _Said:
    """Ask again where it fails: a machine that was busy is no fault of the bundle's."""
    with contextlib.suppress(EvaluationError):
        return await ask()
    try:
        return await ask()
    except EngineAwayError:
        raise
    except EvaluationError as error:
        raise BundleRefusedError(f"{what} fails: {error}") from error


async def _ask(
    engine: RememberingEngine, sample: CachedSample, projection: bytes
) -> PolicyAnswer | Judgement:
    answer = await engine.ask(projection)
    if isinstance(sample.said, PolicyAnswer):
        return answer
    return await engine.judge(projection, answer, sample.context, sample.shown)


async def _answers(engine: RememberingEngine, case: BundleCase) -> tuple[PolicyAnswer, Judgement]:
    projection, context = _object(case, case.projection), _object(case, case.context)
    answer = await engine.ask(projection)
    if context == _NULL:
        return answer, Judgement()
    shown = ShownFields(case.kind, _object(case, case.fields))
    return answer, await engine.judge(projection, answer, context, shown)


def _object(case: BundleCase, raw: msgspec.Raw) -> bytes:
    """Return a JSON object, or null, as the engine is given it.

    Raises:
        BundleRefusedError: it is neither.
    """
    try:
        return msgspec.json.encode(msgspec.json.decode(raw, type=dict[str, Any] | None))
    except DECODE_ERRORS as error:
        raise BundleRefusedError(f"{_case(case)} cannot be read: {error}") from error


async def _run_case(engine: RememberingEngine, case: BundleCase) -> None:
    what = _case(case)
    found = with_findings(case, *await _twice(partial(_answers, engine, case), what))
    for field in _COMPARED:
        got, expected = getattr(found, field), getattr(case, field)
        if expected is not None and got != sorted(expected):
            raise BundleRefusedError(f"{what} fails: {field} {got}, not {sorted(expected)}")


def _case(case: BundleCase) -> str:
    return f"the bundle's own case {case.name!r}"


def with_findings(case: BundleCase, answer: PolicyAnswer, judged: Judgement) -> BundleCase:
    """Return a case with what was found in its input in place of what must be."""
    return msgspec.structs.replace(
        case,
        needs=sorted({need.privilege for need in answer.needs}),
        denials=sorted({each.rule for each in judged.denials}),
        warnings=sorted({each.rule for each in judged.warnings}),
        signals=sorted({each.rule for each in (*answer.signals, *judged.signals)}),
    )


def _rules(said: PolicyAnswer | Judgement) -> set[str]:
    found = {signal.rule for signal in said.signals} | {each.rule for each in said.denials}
    if isinstance(said, PolicyAnswer):
        return found | {need.rule for need in said.needs}
    return found | {each.rule for each in said.warnings}
