"""A cluster in which nothing changes: no event, no bookmark, and yet the gate stays ready."""

import asyncio
import time

import pytest

from kube.client.settings import LiveSettings
from tests.harness.evidence import record
from tests.harness.programs.guarded_apiserver import Installation
from tests.harness.sizes import PROOF, size


def test_a_silent_watch_is_ended_before_it_is_taken_for_lost() -> None:
    """kube-apiserver sends no bookmark for a kind that never changed: its end must come first."""
    settings = LiveSettings()
    assert settings.watch_max_s + 10 <= settings.max_silence_s


@pytest.mark.proof
async def test_an_idle_gate_stays_ready(installation: Installation) -> None:
    """Asked again and again over several lives of a watch, it never says that it is not ready."""
    seconds = size(ci=5, proof=200)
    asked = 0
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        status, text = await asyncio.to_thread(installation.gate.status, "/readyz")
        assert status == 200, text
        asked += 1
        await asyncio.sleep(0.05)
    if PROOF:
        record("idle", [f"- Ready at each of {asked} looks over {seconds} s without any change"])
