"""Tries a bundle out in a process with little priority and limited resources.

To compile and to evaluate takes CPU time and memory that reviews need, and a bundle that means harm
takes all there is. What passes comes back as machine code, which is loaded in milliseconds, with
what the bundle says of the latest inputs, which is remembered. Both are taken at their word:
wasmtime and `policies.engine.wasm` are what keeps a policy from changing the process that makes
them.
"""

import re
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Final

import msgspec

from core.base.errors import BundleRefusedError, EngineAwayError
from policies.bundle.format import Bundle
from policies.engine.cache import CachedSample
from policies.engine.embedded_engine import EvaluationLimits
from policies.trial.evaluation import MakeEngine, TrialResult
from policies.trial.wire import ENCODER, OUTCOMES, TrialOutcome, TrialTask, encode_samples

CPU_S: Final = 30
"""CPU time for all of it: the built-in bundle takes about one second."""

LONGEST_S: Final = 120.0
"""Wall time: what takes longer, within its CPU time, is on a machine that is too busy."""

ROOM_BYTES: Final = 192 * 1024 * 1024
"""Memory beside that of one evaluation: the built-in bundle takes less than a third."""

_MODULE: Final = "policies.trial.child"
_LONGEST_SAID: Final = 300
_NOT_WANTED: Final = "nobody waits for it any more"
_NO_MEMORY: Final = re.compile(
    r"MemoryError|memory allocation of \d+ bytes failed|Cannot allocate memory \(os error 12\)"
)
"""In Python's, Rust's and wasmtime's words."""


@dataclass
class ProcessTrial:
    """Tries bundles out for the embedded engine, one at a time."""

    limits: EvaluationLimits = field(default_factory=EvaluationLimits)
    """Of an evaluation; of CPU time there."""
    cpu_s: int = CPU_S
    room_bytes: int = ROOM_BYTES
    longest_s: float = LONGEST_S
    _child: subprocess.Popen[bytes] | None = field(default=None, init=False)
    _stopped: bool = field(default=False, init=False)
    _one: threading.Lock = field(default_factory=threading.Lock, init=False)

    def try_out(
        self, bundle: Bundle, make: MakeEngine, samples: Sequence[CachedSample], built_in: Bundle
    ) -> TrialResult:
        """See `policies.trial.evaluation.try_out`. For a thread.

        Raises:
            BundleRefusedError: it may not be put in force; the message says why.
            EngineAwayError: the process could not be started, or hardly ran: to be tried again.
        """
        began = time.perf_counter()
        self._stopped = False
        outcome = self._asked(self._task(bundle, samples, built_in))
        if outcome.refused:
            lacks = _NO_MEMORY.search(outcome.refused)
            why = f"{self._out_of_memory}: {outcome.refused}" if lacks else outcome.refused
            raise BundleRefusedError(why)
        engine = make(replace(bundle, machine=outcome.machine))
        engine.recall([each.sample() for each in outcome.seen])
        return TrialResult(
            bundle,
            engine,
            outcome.compared,
            outcome.differing,
            outcome.differing_rules,
            outcome.foreign,
            time.perf_counter() - began,
        )

    def stop(self) -> None:
        """End what is tried now, if anything is: nobody waits for it any more."""
        with self._one:
            self._stopped = True
            if self._child is not None:
                self._child.kill()

    def _task(self, bundle: Bundle, samples: Sequence[CachedSample], built_in: Bundle) -> bytes:
        task = TrialTask(
            replace(bundle, cases=()),
            msgspec.json.encode(bundle.cases),
            dict(built_in.rules),
            dict(built_in.sources),
            encode_samples(samples),
            self.limits,
            self.cpu_s,
            self._memory_bytes,
        )
        return ENCODER.encode(task)

    @property
    def _memory_bytes(self) -> int:
        return self.room_bytes + self.limits.memory_bytes

    @property
    def _memory(self) -> str:
        return f"{self._memory_bytes >> 20} MiB of memory"

    @property
    def _out_of_memory(self) -> str:
        return f"trying it out took more than {self._memory}"

    def _asked(self, task: bytes) -> TrialOutcome:
        try:
            child = self._start()
        except OSError as error:
            message = f"no process can be started to try the bundle out: {error}"
            raise EngineAwayError(message) from error
        with child:
            try:
                answer, said = child.communicate(task, self.longest_s)
            except subprocess.TimeoutExpired:
                child.kill()
                message = (
                    f"trying the bundle out did not end in {self.longest_s:g} s: this machine is "
                    "too busy"
                )
                raise EngineAwayError(message) from None
            finally:
                self._child = None
        if child.returncode:
            raise self._failure(child.returncode, said)
        try:
            return OUTCOMES.decode(answer)
        except msgspec.DecodeError as error:
            raise BundleRefusedError(f"trying it out gave no answer: {error}") from error

    def _start(self) -> subprocess.Popen[bytes]:
        # As this one was started: -I where that was, else without the folder that it stands in.
        flags = ["-I", "-B"] if sys.flags.isolated else ["-P", "-B"]
        with self._one:
            if self._stopped:
                raise EngineAwayError(_NOT_WANTED)
            self._child = subprocess.Popen(
                [sys.executable, *flags, "-m", _MODULE],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
            )
            return self._child

    def _failure(self, code: int, said: bytes) -> BundleRefusedError | EngineAwayError:
        if self._stopped:
            return EngineAwayError(_NOT_WANTED)
        if code == -signal.SIGXCPU:
            return BundleRefusedError(f"trying it out took more than {self.cpu_s} s of CPU time")
        text = said.decode(errors="replace").strip()
        if _NO_MEMORY.search(text):
            return BundleRefusedError(self._out_of_memory)
        how = f"by {signal.Signals(-code).name}" if code < 0 else f"with {code}"
        return BundleRefusedError(
            f"trying it out, with {self.cpu_s} s of CPU time and {self._memory}, ended {how}: "
            f"{text.rpartition(chr(10))[2][:_LONGEST_SAID]}"
        )
