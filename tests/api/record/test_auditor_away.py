"""The auditor is away: reviews are answered as before, and everything is shipped afterwards."""

import statistics
import time
from pathlib import Path

import pytest

from tests.api.record.load import Answered, loaded, wait_until_shipped
from tests.harness.evidence import record
from tests.harness.programs.recorded_gate import Recorded
from tests.harness.sizes import PROOF, size

PER_SECOND = 200
_BESIDE_S = 30.0
"""The longest that the auditor is watched before and after."""
_NOISE_S = 0.0 if PROOF else 0.2
"""What something else on the machine may add to an answer; one that waits takes seconds."""


@pytest.mark.proof
def test_answers_do_not_depend_on_the_auditor(tmp_path: Path) -> None:
    """The median answer takes as long as with it; nothing is lost and nothing twice."""
    away = size(ci=8, proof=600)
    beside = min(away, _BESIDE_S)
    target = Recorded(tmp_path)
    target.start_auditor()
    target.start_gate()
    try:
        with loaded(target, PER_SECOND) as load:
            time.sleep(2.0)
            start = time.monotonic()
            time.sleep(beside)
            gone = time.monotonic()
            target.kill("auditor")
            time.sleep(away)
            back = time.monotonic()
            waiting = target.metric("gate", "sallyport_spool_bytes")
            target.start_auditor()
            wait_until_shipped(target, 120, oldest_s=1.0)
            shipped = time.monotonic()
            time.sleep(beside)
            end = time.monotonic()
        wait_until_shipped(target, 60)
    finally:
        target.stop()
    assert set(load.answers) <= target.stored()
    assert all(answer.allowed for answer in load.answers.values())
    spans = {
        "before": load.between(start, gone),
        "away": load.between(gone, back),
        "after": load.between(shipped, end),
    }
    medians = {name: statistics.median(a.seconds for a in span) for name, span in spans.items()}
    rates = {"away": len(spans["away"]) / away, "before": len(spans["before"]) / beside}
    assert rates["away"] > rates["before"] * 0.5
    assert medians["away"] < 2 * max(medians["before"], medians["after"]) + _NOISE_S
    if PROOF:
        lines = [_line(name, span) for name, span in spans.items()]
        shape = f"{waiting / 2**20:.0f} MiB waited; shipped {shipped - back:.1f} s after its return"
        count = f"{len(load.answers)} decisions answered, all stored, each once"
        head = f"- The auditor killed for {away} s under {PER_SECOND} reviews/s; {shape}; {count}"
        record("auditor-away", [head, *lines])


def _line(name: str, answers: list[Answered]) -> str:
    ordered = sorted(1000 * answer.seconds for answer in answers)
    p50, p99 = ordered[len(ordered) // 2], ordered[len(ordered) * 99 // 100]
    return f"- {name}: {len(ordered)} answers, p50 {p50:.2f} ms, p99 {p99:.2f} ms"
