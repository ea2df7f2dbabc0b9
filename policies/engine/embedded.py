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
from typing import Any, Final

import msgspec
import opapywasm

from core.decision import Need
from core.errors import BundleRefusedError, EvaluationError
from core.pod import SecurityContext
from policies.bundle import ENTRYPOINT, Bundle
from policies.engine.builtins import SUPPLIED
from policies.engine.function_types import remember_function_types
from policies.projection import Container, Projection, encode

_PAGE: Final = 64 * 1024
_INLINE_BYTES: Final = 32 * 1024
_INLINE_SECONDS: Final = 0.05
"""Projections up to this size are evaluated in the event loop, for at most this long: a hop to a
thread costs more than the evaluation (docs/adr/0005-evaluate-inline.md). A Pod's is 2 to 5 KB."""

_CANARY: Final = encode(
    Projection(
        containers=[
            Container(
                "spec.containers[0]", "canary", "container", "", SecurityContext(privileged=True)
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
        self._quick = _load(bundle, limits, min(limits.seconds, _INLINE_SECONDS), 1)
        self._policy = _load(bundle, limits, limits.seconds, limits.concurrent)
        self._threads = ThreadPoolExecutor(limits.concurrent, thread_name_prefix="evaluate")
        try:
            self._supply_builtins(bundle)
            self._prove()
        except BaseException:
            self.close()
            raise

    async def needs(self, projection: bytes) -> list[Need]:
        """See Engine.needs. What is large, or takes long, is evaluated in another thread."""
        if len(projection) <= _INLINE_BYTES:
            with suppress(EvaluationError):
                return self._evaluate(self._quick, projection)
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(self._threads, self.evaluate, projection)

    def evaluate(self, projection: bytes) -> list[Need]:
        """Give what the object of the projection needs, in the caller's thread."""
        return self._evaluate(self._policy, projection)

    def _evaluate(self, policy: opapywasm.OpaWasmPolicy, projection: bytes) -> list[Need]:
        start = time.perf_counter()
        try:
            answer = policy.evaluate(projection, ENTRYPOINT)
        except opapywasm.OpaWasmError as error:
            raise EvaluationError(f"the policies could not be evaluated: {error}") from error
        finally:
            self._observe(time.perf_counter() - start)
        return _read_needs(answer)

    def close(self) -> None:
        """Free the instances and end the threads."""
        self._quick.close()
        self._policy.close()
        self._threads.shutdown(wait=False, cancel_futures=True)

    def _supply_builtins(self, bundle: Bundle) -> None:
        if ENTRYPOINT not in self._policy.entrypoints:
            raise BundleRefusedError(f"the bundle has no entry point {ENTRYPOINT}")
        required = set(self._policy.builtins)
        if lacking := sorted(required - set(SUPPLIED)):
            places = "; ".join(f"{name} ({_place(bundle, name)})" for name in lacking)
            raise BundleRefusedError(
                f"the bundle calls what policies may not call here: {places}. "
                "See docs/reference/builtins.md for what they may"
            )
        for name in required:
            self._quick.register_builtin(name, SUPPLIED[name])
            self._policy.register_builtin(name, SUPPLIED[name])

    def _prove(self) -> None:
        """Refuse a bundle that finds nothing in a privileged container: it would let all in."""
        if not any(need.privilege == "container/privileged" for need in self.evaluate(_CANARY)):
            raise BundleRefusedError(
                "the bundle finds nothing wrong with a privileged container: "
                "the built-in rules are missing from it or do not work"
            )


def _load(
    bundle: Bundle, limits: Limits, seconds: float, instances: int
) -> opapywasm.OpaWasmPolicy:
    remember_function_types()
    try:
        return opapywasm.OpaWasmPolicy(
            bundle.wasm,
            opapywasm.PolicyConfig(
                pool_size=instances,
                parse_raw_json_input=False,
                max_memory_pages=limits.memory_bytes // _PAGE,
                max_input_bytes=limits.input_bytes,
                eval_timeout_seconds=seconds,
                borrow_timeout_seconds=limits.seconds * 4,
            ),
        )
    except opapywasm.OpaWasmError as error:
        message = f"the bundle's policy.wasm cannot be loaded: {error}"
        raise BundleRefusedError(message) from error


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


class _Answer(msgspec.Struct):
    containers: int
    needs: dict[str, list[_Entry]]


def _read_needs(answer: Any) -> list[Need]:
    """Turn the entry point's answer into needs; anything but its stated shape is an error."""
    try:
        entries_by_rule = msgspec.convert(answer, _Answer).needs
    except msgspec.ValidationError as error:
        message = f"the policies answered in a shape that {ENTRYPOINT} does not have: {error}"
        raise EvaluationError(message) from error
    needs = [
        Need(f"privileges/{rule}", entry.privilege, entry.path, entry.container)
        for rule, entries in entries_by_rule.items()
        for entry in entries
    ]
    needs.sort(key=lambda need: (need.path, need.rule, need.privilege))
    return needs
