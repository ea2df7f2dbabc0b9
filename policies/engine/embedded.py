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

from core.errors import BundleRefusedError, EvaluationError, PolicyError
from core.pod import SecurityContext
from policies.bundle import JUDGE, NEEDS, Bundle
from policies.context import Context, encode_context
from policies.engine import Answer, Judgement
from policies.engine.answers import read_answer, read_judgement
from policies.engine.builtins import SUPPLIED
from policies.engine.instances import Instances
from policies.engine.wasm import Code, Instance
from policies.projecting.containers import Container
from policies.projection import Projection, encode

_INLINE_BYTES: Final = 32 * 1024
_INLINE_SECONDS: Final = 0.05
"""Inputs up to this size are evaluated in the event loop, for at most this long: a hop to a
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

_ENTERED: Final = encode_context(Context("CONNECT", "exec"))
_ENTERING: Final = "sandbox/actor/entered"

_NEEDS: Final = msgspec.json.Encoder()


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
        self._whole = bundle.has_site_rules
        self._code, self._entrypoints = _load(bundle, limits)
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
        return read_answer(await self._run(NEEDS, projection))

    def evaluate(self, projection: bytes) -> Answer:
        """Do the same in the caller's thread."""
        return read_answer(self._evaluate(self._others, NEEDS, projection, self._limits.seconds))

    async def judge(self, projection: bytes, answer: Answer, context: bytes) -> Judgement:
        """See Engine.judge. The object goes along only where a site's signals may read it."""
        return read_judgement(await self._run(JUDGE, self._input(projection, answer, context)))

    def _input(self, projection: bytes, answer: Answer, context: bytes) -> bytes:
        if not self._whole:
            return b'{"context":%b}' % context
        needs = _NEEDS.encode(answer.needs)
        return b'{"context":%b,"needs":%b,"projection":%b}' % (context, needs, projection)

    async def _run(self, entrypoint: str, document: bytes) -> bytes:
        if len(document) <= _INLINE_BYTES:
            with suppress(EvaluationError):
                return self._evaluate(self._quick, entrypoint, document, self._quick_s)
        evaluate = partial(self._evaluate, self._others, entrypoint, document, self._limits.seconds)
        return await asyncio.get_running_loop().run_in_executor(self._threads, evaluate)

    def _evaluate(
        self, instances: Instances, entrypoint: str, document: bytes, seconds: float
    ) -> bytes:
        if len(document) > self._limits.input_bytes:
            message = f"the object takes more than {self._limits.input_bytes} bytes to judge"
            raise EvaluationError(message)
        start = time.perf_counter()
        try:
            wait_s = self._limits.seconds * 4
            number = self._entrypoints[entrypoint]
            return instances.evaluate(number, document, seconds, wait_s)
        except PolicyError as error:
            raise EvaluationError(f"the policies could not be evaluated: {error}") from error
        finally:
            self._observe(time.perf_counter() - start)

    def close(self) -> None:
        """Free the instances and end the threads."""
        self._code.close()
        self._quick.close()
        self._others.close()
        self._threads.shutdown(wait=False, cancel_futures=True)

    def _prove(self) -> None:
        """Refuse a bundle that finds nothing where there is something: it would let all in."""
        answer = self.evaluate(_CANARY)
        found = "nothing wrong with a privileged container"
        if any(need.privilege == "container/privileged" for need in answer.needs):
            document = self._input(_CANARY, answer, _ENTERED)
            judged = self._evaluate(self._others, JUDGE, document, self._limits.seconds)
            if any(each.rule == _ENTERING for each in read_judgement(judged).signals):
                return
            found = "no signal where somebody enters a Pod"
        raise BundleRefusedError(
            f"the bundle finds {found}: the built-in rules are missing from it or do not work"
        )


def _load(bundle: Bundle, limits: Limits) -> tuple[Code, dict[str, int]]:
    """Compile the bundle and find its entry points.

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
    if absent := [each for each in (NEEDS, JUDGE) if each not in entrypoints]:
        problem = f"the bundle has no entry point {absent[0]}"
    elif lacking := sorted(required.keys() - SUPPLIED.keys()):
        places = "; ".join(f"{name} ({_place(bundle, name)})" for name in lacking)
        problem = (
            f"the bundle calls what policies may not call here: {places}. "
            "See docs/reference/builtins.md for what they may"
        )
    if problem:
        code.close()
        raise BundleRefusedError(problem)
    return code, entrypoints


def _instance(code: Code, limits: Limits) -> Instance:
    return Instance(code, limits.memory_bytes, SUPPLIED)


def _place(bundle: Bundle, builtin: str) -> str:
    call = re.compile(rf"(?<![\w.]){re.escape(builtin)}\(")
    for path, text in sorted(bundle.sources.items()):
        for number, line in enumerate(text.splitlines(), 1):
            if call.search(line.split("#")[0]):
                return f"{path}:{number}"
    return "place unknown: the bundle holds no source"
