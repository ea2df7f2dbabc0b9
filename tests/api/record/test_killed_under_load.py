"""Gate and auditor are killed at random moments: nothing acknowledged is lost, nothing is twice."""

import random
import statistics
import time
from pathlib import Path

import pytest

from tests.api.record.load import loaded, wait_until_shipped
from tests.harness.evidence import record
from tests.harness.programs.recorded_gate import Recorded
from tests.harness.sizes import PROOF, size

SLACK_S = 0.5 if PROOF else 2.0
"""The window is 10 ms and a sync; a machine with two busy cores may not run the thread in time."""


@pytest.mark.proof
def test_kills_lose_only_the_stated_window(tmp_path: Path) -> None:
    """Every decision that was answered is stored once, but those just before the gate died."""
    kills = size(ci=2, proof=50)
    target, gate_kills = Recorded(tmp_path), []
    target.start_auditor()
    target.start_gate()
    dice = random.Random(4)  # noqa: S311  Moments, not secrets.
    try:
        with loaded(target, 200) as load:
            for number in range(kills):
                time.sleep(dice.uniform(0.2, 2.0))
                name = "gate" if number % 2 == 0 else "auditor"
                target.kill(name)
                if name == "gate":
                    gate_kills.append(time.monotonic())
                    target.start_gate()
                else:
                    target.start_auditor()
            time.sleep(1.0)
        wait_until_shipped(target, 60)
    finally:
        target.stop()
    stored = target.stored()
    lost = [answer.at for decision, answer in load.answers.items() if decision not in stored]
    ages = [min(kill - at for kill in gate_kills if kill >= at) for at in lost]
    assert len(load.answers) > kills * 50
    assert max(ages, default=0.0) < SLACK_S, f"lost {max(ages):.3f} s before a kill of the gate"
    if PROOF:
        record("killed-while-recording", _lines(kills, len(load.answers), len(stored), ages))


def _lines(kills: int, answered: int, stored: int, ages: list[float]) -> list[str]:
    milliseconds = sorted(1000 * age for age in ages)
    window = (
        f"oldest {milliseconds[-1]:.1f} ms before the kill, median "
        f"{statistics.median(milliseconds):.1f} ms (the client's clock, so with the answer's way)"
        if milliseconds
        else "none at all"
    )
    return [
        f"- {kills} times SIGKILL at a random moment, gate and auditor in turn, at 200 reviews/s",
        f"- {answered} decisions answered, {stored} stored, each once (some were stored whose "
        "answer no longer reached the client)",
        f"- Answered and not stored: {len(ages)}, all of them right before the gate died: {window}",
        "- Lost by a kill of the auditor: 0",
    ]
