"""`python -m policies.trial.child`: try one bundle out, read from standard input.

What is asked and answered is in `policies.trial.wire`. This process gives way to others, and may
take no more CPU time and memory than it is told.
"""

import os
import resource
import sys
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Final

from core.base.errors import BundleRefusedError
from policies.bundle.format import Bundle
from policies.engine.cache import RememberingEngine
from policies.engine.embedded_engine import EmbeddedEngine
from policies.engine.wasm import start_compiler
from policies.trial.evaluation import MOST_SAMPLES, try_out
from policies.trial.wire import CASES, ENCODER, TASKS, TrialOutcome, TrialTask, encode_samples

NICE: Final = 5
"""About a quarter of a core where something else is as busy; all of it where nothing is."""


OOM_SCORE: Final = Path("/proc/self/oom_score_adj")


def main() -> None:
    """Try out what comes; answer on standard output."""
    os.nice(NICE)
    _end_first()
    start_compiler()
    task = TASKS.decode(sys.stdin.buffer.read())
    resource.setrlimit(resource.RLIMIT_CPU, (task.cpu_s, task.cpu_s + 1))
    resource.setrlimit(resource.RLIMIT_DATA, (task.memory_bytes, task.memory_bytes))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    sys.stdout.buffer.write(ENCODER.encode(run_task(task)))


def _end_first() -> None:
    """Have the kernel end this process before any other where a machine or a Pod lacks memory."""
    with suppress(OSError):  # Where nothing may be written there, nothing is known to be better.
        OOM_SCORE.write_text("1000")


def run_task(task: TrialTask) -> TrialOutcome:
    """Return the outcome of a bundle's trial."""
    # At a low priority wall time says nothing of the bundle.
    limits = replace(task.limits, of_cpu=True)
    built_in = Bundle(b"", task.built_in_rules, task.built_in_sources, "")
    engines: list[EmbeddedEngine] = []

    def make(bundle: Bundle) -> RememberingEngine:
        engines.append(EmbeddedEngine(bundle, limits))
        return RememberingEngine(engines[0])

    samples = [each.sample() for each in task.seen]
    try:
        bundle = replace(task.bundle, cases=CASES.decode(task.cases))
        found = try_out(bundle, make, samples, built_in)
    except BundleRefusedError as error:
        return TrialOutcome(refused=str(error))
    return TrialOutcome(
        machine=engines[0].machine(),
        compared=found.compared,
        differing=found.differing,
        differing_rules=found.differing_rules,
        foreign=found.foreign,
        seen=encode_samples(found.engine.recent(2 * MOST_SAMPLES)),
    )


if __name__ == "__main__":
    main()
