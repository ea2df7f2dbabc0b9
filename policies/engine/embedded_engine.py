"""The default engine: OPA's own compiler to WebAssembly, evaluated in-process.

A policy's code runs in a memory of its own, with a deadline and a memory cap for each evaluation.
That it stays there rests on wasmtime, and on the checks in `policies.engine.wasm` of each
address that it names; what the functions do that the gate supplies it with counts towards the
deadline, and is not interrupted. Why this engine: `docs/adr/0004-embedded-engine.md`.
"""

import asyncio
import os
import queue
import sys
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from typing import Final

from core.base.errors import BundleRefusedError, EvaluationError, PolicyError
from policies.builtins.denylist import hint
from policies.builtins.registry import SUPPLIED
from policies.bundle.format import JUDGE, NEEDS, Bundle
from policies.engine.entry_points import (
    CANARY,
    CANARY_CONTEXT,
    find_problem,
    judge_input,
    read_answer,
    read_judgement,
)
from policies.engine.forbidden_calls import place_of
from policies.engine.interface import A_POD, Judgement, PolicyAnswer, ShownFields
from policies.engine.wasm import Code, Instance
from policies.site.fields import DeclaredFields

_INLINE_BYTES: Final = 8 * 1024
_INLINE_SECONDS: Final = 0.01
"""Inputs up to this size are evaluated in the event loop, for at most this long: a hop to a
thread costs more than the evaluation (docs/adr/0005-evaluate-inline.md). A Pod's is 2 to 5 KB and
takes 0.1 to 0.3 ms; the dearest of 8 KB, 5 ms."""

_NICE: Final = 10
"""Of the threads that evaluate what is large: the event loop, and with it every other review, goes
before them where there is no core for both."""

_QUICK_SECONDS: Final = 0.002
"""What an evaluation may take in a thread for others of its size to be evaluated inline again."""


class Instances:
    """A fixed number of instances; one that failed is replaced by a new one."""

    def __init__(self, code: Code, make: Callable[[Code], Instance], count: int) -> None:
        """Start `count` instances.

        Raises:
            PolicyError: the policy cannot be started.
        """
        self._code = code
        self._make = make
        self._idle: queue.SimpleQueue[Instance | None] = queue.SimpleQueue()
        for _ in range(count):
            self._idle.put(make(code))

    def evaluate(self, entrypoint: int, document: bytes, seconds: float, wait_s: float) -> bytes:
        """Evaluate on an instance that is idle, or will be within `wait_s` seconds.

        Raises:
            PolicyError: none is, or the evaluation failed.
        """
        try:
            instance = self._idle.get(timeout=wait_s)
        except queue.Empty:
            raise PolicyError("too many are evaluated at once") from None
        try:
            if instance is None:
                instance = self._make(self._code)
            answer = instance.evaluate(entrypoint, document, seconds)
        except BaseException as error:
            if instance is not None:
                instance.close()
            self._idle.put(None)
            if isinstance(error, PolicyError) or not isinstance(error, Exception):
                raise
            raise PolicyError(f"an instance failed: {type(error).__name__}") from error
        self._idle.put(instance)
        return answer

    def close(self) -> None:
        """Free those that are idle."""
        while True:
            try:
                instance = self._idle.get_nowait()
            except queue.Empty:
                return
            if instance is not None:
                instance.close()


@dataclass(frozen=True)
class EvaluationLimits:
    """What one evaluation may take."""

    seconds: float = 0.5
    """Wall time, unless of_cpu."""
    memory_bytes: int = 64 * 1024 * 1024
    input_bytes: int = 2 * 1024 * 1024
    concurrent: int = 2
    """Evaluations in threads at once."""
    of_cpu: bool = False
    """Whether the seconds are of this process's CPU time, for one that gives way to others."""


class EmbeddedEngine:
    """Evaluates a compiled bundle with wasmtime."""

    def __init__(
        self,
        bundle: Bundle,
        limits: EvaluationLimits = EvaluationLimits(),
        observe: Callable[[float], None] = lambda _: None,
    ) -> None:
        self.revision = bundle.revision
        self.rules = bundle.rules
        self.reads = DeclaredFields(bundle.rules.values())
        self._observe = observe
        self._limits = limits
        self._quick_s = min(limits.seconds, _INLINE_SECONDS)
        self._inline_bytes = _INLINE_BYTES
        """Falls below the size of what took too long: a site's rule may be slow with any Pod."""
        self._whole = bundle.has_site_rules
        self._code, self._entrypoints = _load(bundle, limits)
        make = partial(make_instance, limits=limits)
        self._quick = Instances(self._code, make, 1)
        self._others = Instances(self._code, make, limits.concurrent)
        self._threads = ThreadPoolExecutor(
            limits.concurrent, thread_name_prefix="evaluate", initializer=_give_way
        )
        try:
            self._prove()
        except BaseException:
            self.close()
            raise

    async def ask(self, projection: bytes) -> PolicyAnswer:
        """See Engine.ask. What is large, or takes long, is evaluated in another thread."""
        return read_answer(await self._run(NEEDS, projection))

    def evaluate(self, projection: bytes) -> PolicyAnswer:
        """Do the same in the caller's thread."""
        return read_answer(self._evaluate(self._others, NEEDS, projection, self._limits.seconds))

    async def judge(
        self, projection: bytes, answer: PolicyAnswer, context: bytes, shown: ShownFields = A_POD
    ) -> Judgement:
        """See Engine.judge. The object goes along only where a site's Rego may read it."""
        document = self._input(projection, answer, context, shown)
        return read_judgement(await self._run(JUDGE, document))

    def _input(
        self, projection: bytes, answer: PolicyAnswer, context: bytes, shown: ShownFields = A_POD
    ) -> bytes:
        return judge_input(projection, answer, context, shown, whole=self._whole)

    async def _run(self, entrypoint: str, document: bytes) -> bytes:
        size = len(document)
        if size <= self._inline_bytes:
            began = time.thread_time()
            try:
                return self._evaluate(self._quick, entrypoint, document, self._quick_s)
            except EvaluationError:
                if time.thread_time() - began > _QUICK_SECONDS:  # Else it had no core.
                    self._inline_bytes = size - 1
        evaluate = partial(self._evaluate, self._others, entrypoint, document, self._limits.seconds)
        start = time.perf_counter()
        answer = await asyncio.get_running_loop().run_in_executor(self._threads, evaluate)
        if self._inline_bytes < size and time.perf_counter() - start < _QUICK_SECONDS:
            self._inline_bytes = min(size, _INLINE_BYTES)
        return answer

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

    def machine(self) -> bytes:
        """Return the machine code that the bundle was compiled to, for `Bundle.machine`."""
        return bytes(self._code.module.serialize())

    def close(self) -> None:
        """End what still runs, then the threads, and free the instances."""
        self._code.close()
        # An instance that is lent is given back by its thread: to free it here is to free it once.
        self._threads.shutdown(wait=True, cancel_futures=True)
        self._quick.close()
        self._others.close()

    def _prove(self) -> None:
        """Refuse a bundle that finds nothing where there is something: it would let all in.

        It is asked again where it fails: a machine that was busy is no fault of the bundle's.
        """
        with suppress(EvaluationError):
            return self._prove_once()
        try:
            return self._prove_once()
        except EvaluationError as error:
            message = f"judging a Pod with the bundle fails: {error}"
            raise BundleRefusedError(message) from error

    def _prove_once(self) -> None:
        answer = self.evaluate(CANARY)
        problem = find_problem(answer)
        if not problem:
            document = self._input(CANARY, answer, CANARY_CONTEXT)
            judged = self._evaluate(self._others, JUDGE, document, self._limits.seconds)
            problem = find_problem(answer, read_judgement(judged))
        if problem:
            raise BundleRefusedError(problem)


def _give_way() -> None:
    """Let this thread's evaluations go behind the rest of the process, where the system can.

    To Linux a thread is a process of its own (setpriority(2), "C library/kernel differences").
    """
    if sys.platform == "linux":
        with suppress(OSError):
            thread = threading.get_native_id()
            own = os.getpriority(os.PRIO_PROCESS, thread)
            os.setpriority(os.PRIO_PROCESS, thread, max(own, _NICE))


def _load(bundle: Bundle, limits: EvaluationLimits) -> tuple[Code, dict[str, int]]:
    """Compile the bundle and find its entry points.

    Raises:
        BundleRefusedError: it cannot be put in force.
    """
    try:
        clock = time.process_time if limits.of_cpu else time.monotonic
        code = Code(bundle.wasm, bundle.machine, clock)
        first = make_instance(code, limits)
    except PolicyError as error:
        message = f"the bundle's policy.wasm cannot be loaded: {error}"
        raise BundleRefusedError(message) from error
    required, entrypoints = first.required, first.entrypoints
    first.close()
    problem = ""
    if absent := [each for each in (NEEDS, JUDGE) if each not in entrypoints]:
        problem = f"the bundle has no entry point {absent[0]}"
    elif lacking := sorted(required.keys() - SUPPLIED.keys()):
        places = "; ".join(f"{name} ({place_of(bundle, name)}{hint(name)})" for name in lacking)
        problem = (
            f"the bundle calls what policies may not call here: {places}. "
            "See docs/reference/builtins.md for what they may"
        )
    if problem:
        code.close()
        raise BundleRefusedError(problem)
    return code, entrypoints


def make_instance(code: Code, limits: EvaluationLimits) -> Instance:
    """Return an instance with the functions that the engine supplies.

    Raises:
        PolicyError: the policy cannot be started.
    """
    return Instance(code, limits.memory_bytes, SUPPLIED)
