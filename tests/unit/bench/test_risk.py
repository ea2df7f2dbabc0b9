"""The measurement of the risk snapshot runs; at full size all that it demands holds."""

import asyncio
import subprocess
import sys

import pytest

from bench.risk import measure
from tests.harness.evidence import ROOT
from tests.harness.sizes import PROOF, size

PEOPLE = size(2_000, 100_000)


def test_what_it_takes_grows_with_the_people() -> None:
    """Stored and in memory: no more for each than 100,000 may have, but for the heads and names."""
    found = asyncio.run(measure(2_000))
    share = 2_000 / 100_000
    assert found["stored_mib"] < 8 * share + 0.02
    assert found["held_mib"] < 10 * share + 0.2
    assert found["swap_traced_mib"] < 12 * share + 1.0
    assert found["largest_kib"] < 1024


@pytest.mark.proof
def test_the_measurement_says_whether_it_holds() -> None:
    """In a process of its own; times are judged where the machine is known, by `make proof`."""
    command = [sys.executable, "-m", "bench", "risk", "--people", str(PEOPLE)]
    if PROOF:
        command.append("--record")
    done = subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True)
    assert f"- {PEOPLE} identities" in done.stdout
    assert done.stdout.count("at most 8 MiB: holds") == 1
    if PROOF:
        assert "DOES NOT HOLD" not in done.stdout
