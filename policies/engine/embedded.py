"""The default engine: OPA's own compiler to WebAssembly, evaluated in-process.

Policies and their inputs can neither crash, hang nor read the gate: each evaluation has a
deadline and a memory cap. Why this engine: `docs/adr/0004-embedded-engine.md`.
"""

import asyncio
import re
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from typing import Final

import msgspec

from core.decision import Denial, Need
from core.errors import BundleRefusedError, EvaluationError, PolicyError
from core.pod import SecurityContext
from core.sandbox import Feature, Signal
from policies.bundle import ENTRYPOINT, Bundle
from policies.engine import Answer
from policies.engine.builtins import SUPPLIED
from policies.engine.instances import Instances
from policies.engine.wasm import Code, Instance
from policies.projecting.containers import Container
from policies.projection import Projection, encode

_INLINE_BYTES: Final = 32 * 1024
_INLINE_SECONDS: Final = 0.05
"""Projections up to this size are evaluated in the event loop, for at most this long: a hop to a
thread costs more than the evaluation (docs/adr/0005-evaluate-inline.md). A Pod's is 2 to 5 KB."""

_CANARY: Final = encode(
    Projection(
        containers=[
            Container(
                "spec.containers[0]",
                "canary",
                "container",
                security_context=SecurityContext(privileged=True),
            )
        ]
    )
)


@dataclass(frozen=True)
class Limits:
    """What one evaluation may take."""

    seconds: float = 0.5
    """Wall time."""
    memory_bytes: int = 64 * 1024 * 1024
    input_bytes: int = 2 * 1024 * 1024
    concurrent: int = 2
    """Evaluations in threads at once."""


class EmbeddedEngine:
    """Evaluates a compiled bundle with wasmtime."""

    def __init__(
        self,
        bundle: Bundle,
        limits: Limits = Limits(),
        observe: Callable[[float], None] = lambda _: None,
    ) -> None:
        self.revision = bundle.revision
        self.rules = bundle.rules
        self._observe = observe
        self._limits = limits
        self._quick_s = min(limits.seconds, _INLINE_SECONDS)
        self._code, self._entrypoint = _load(bundle, limits)
        make = partial(_instance, limits=limits)
        self._quick = Instances(self._code, make, 1)
        self._others = Instances(self._code, make, limits.concurrent)
        self._threads = ThreadPoolExecutor(limits.concurrent, thread_name_prefix="evaluate")
        try:
            self._prove()
        except BaseException:
            self.close()
            raise

    async def ask(self, projection: bytes) -> Answer:
        """See Engine.ask. What is large, or takes long, is evaluated in another thread."""
        if len(projection) <= _INLINE_BYTES:
            with suppress(EvaluationError):
                return self._evaluate(self._quick, projection, self._quick_s)
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(self._threads, self.evaluate, projection)

    def evaluate(self, projection: bytes) -> Answer:
        """Do the same in the caller's thread."""
        return self._evaluate(self._others, projection, self._limits.seconds)

    def _evaluate(self, instances: Instances, projection: bytes, seconds: float) -> Answer:
        if len(projection) > self._limits.input_bytes:
            message = f"the object takes more than {self._limits.input_bytes} bytes to judge"
            raise EvaluationError(message)
        start = time.perf_counter()
        try:
            wait_s = self._limits.seconds * 4
            answer = instances.evaluate(self._entrypoint, projection, seconds, wait_s)
        except PolicyError as error:
            raise EvaluationError(f"the policies could not be evaluated: {error}") from error
        finally:
            self._observe(time.perf_counter() - start)
        return _read(answer)

    def close(self) -> None:
        """Free the instances and end the threads."""
        self._code.close()
        self._quick.close()
        self._others.close()
        self._threads.shutdown(wait=False, cancel_futures=True)

    def _prove(self) -> None:
        """Refuse a bundle that finds nothing in a privileged container: it would let all in."""
        needs = self.evaluate(_CANARY).needs
        if not any(need.privilege == "container/privileged" for need in needs):
            raise BundleRefusedError(
                "the bundle finds nothing wrong with a privileged container: "
                "the built-in rules are missing from it or do not work"
            )


def _load(bundle: Bundle, limits: Limits) -> tuple[Code, int]:
    """Compile the bundle and find its entry point.

    Raises:
        BundleRefusedError: it cannot be put in force.
    """
    try:
        code = Code(bundle.wasm)
        first = _instance(code, limits)
    except PolicyError as error:
        message = f"the bundle's policy.wasm cannot be loaded: {error}"
        raise BundleRefusedError(message) from error
    required, entrypoints = first.required, first.entrypoints
    first.close()
    problem = ""
    if ENTRYPOINT not in entrypoints:
        problem = f"the bundle has no entry point {ENTRYPOINT}"
    elif lacking := sorted(required.keys() - SUPPLIED.keys()):
        places = "; ".join(f"{name} ({_place(bundle, name)})" for name in lacking)
        problem = (
            f"the bundle calls what policies may not call here: {places}. "
            "See docs/reference/builtins.md for what they may"
        )
    if problem:
        code.close()
        raise BundleRefusedError(problem)
    return code, entrypoints[ENTRYPOINT]


def _instance(code: Code, limits: Limits) -> Instance:
    return Instance(code, limits.memory_bytes, SUPPLIED)


def _place(bundle: Bundle, builtin: str) -> str:
    call = re.compile(rf"(?<![\w.]){re.escape(builtin)}\(")
    for path, text in sorted(bundle.sources.items()):
        for number, line in enumerate(text.splitlines(), 1):
            if call.search(line.split("#")[0]):
                return f"{path}:{number}"
    return "place unknown: the bundle holds no source"


class _Entry(msgspec.Struct):
    privilege: str
    path: str
    container: str | None = None


class _Denied(msgspec.Struct):
    path: str
    value: str


class _Signalled(msgspec.Struct):
    path: str
    value: str
    container: str | None = None


class _Answer(msgspec.Struct):
    containers: int
    needs: dict[str, list[_Entry]]
    denials: dict[str, list[_Denied]]
    signals: dict[str, list[_Signalled]]
    features: list[Feature]


class _Result(msgspec.Struct):
    result: _Answer


_RESULTS = msgspec.json.Decoder(tuple[_Result])


def _read(answer: bytes) -> Answer:
    """Turn the entry point's answer into ours; anything but its stated shape is an error.

    The one result that there must be is missing where the answer is undefined.
    """
    try:
        read = _RESULTS.decode(answer)[0].result
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        message = f"the policies answered in a shape that {ENTRYPOINT} does not have: {error}"
        raise EvaluationError(message) from error
    needs = [
        Need(f"privileges/{rule}", entry.privilege, entry.path, entry.container)
        for rule, entries in read.needs.items()
        for entry in entries
    ]
    needs.sort(key=lambda need: (need.path, need.rule, need.privilege))
    denials = [
        Denial(f"rules/{rule}", entry.path, entry.value)
        for rule, entries in read.denials.items()
        for entry in entries
    ]
    denials.sort(key=lambda denial: (denial.path, denial.rule, denial.value))
    signals = [
        Signal(f"sandbox/{rule}", entry.path, entry.value, entry.container)
        for rule, entries in read.signals.items()
        for entry in entries
    ]
    signals.sort(key=lambda signal: (signal.path, signal.rule, signal.value))
    features = sorted(read.features, key=lambda feature: (feature.path, feature.name))
    return Answer(tuple(needs), tuple(denials), tuple(signals), tuple(features))
