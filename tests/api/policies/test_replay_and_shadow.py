"""A candidate beside a real gate: it rides along, and what was recorded is replayed with it."""

import asyncio
import json
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import pytest

from tests.harness.load.reviews import post
from tests.harness.programs.recorded_gate import PROGRAM, Recorded
from tests.harness.worlds.recorded_reviews import reviews
from tests.harness.worlds.replay_bundles import make_bundles
from tests.harness.worlds.replayed_reviews import cluster_of

COUNT: Final = 60
SECONDS: Final = 60.0
"""For each start of the command."""

STARTS: Final = 60


@pytest.fixture
def recorded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Recorded]:
    """A gate with a bundle in force and a candidate, and its auditor."""
    base, candidate = make_bundles(tmp_path)
    cluster_of(tmp_path)
    monkeypatch.setenv("SALLYPORT_BUNDLE", str(base))
    monkeypatch.setenv("SALLYPORT_SHADOW__BUNDLE", str(candidate))
    monkeypatch.setenv("SALLYPORT_SHADOW__BUDGET", "1")
    both = Recorded(tmp_path, tmp_path / "cluster")
    both.start_auditor()
    both.start_gate()
    yield both
    both.stop()


def command(*arguments: str) -> tuple[int, dict[str, Any]]:
    """Run `sallyport policy`, and give its exit code and what it answers."""
    whole: list[str | Path] = [PROGRAM, "policy", *arguments, "-o", "json"]
    done = subprocess.run(whole, capture_output=True, text=True, check=False, timeout=SECONDS)
    assert done.stdout, done.stderr
    return done.returncode, json.loads(done.stdout)


def test_both_say_what_the_candidate_would_refuse(recorded: Recorded, tmp_path: Path) -> None:
    """The gate's metrics and the auditor's ledger lead to the same numbers, and change nothing."""
    ca = recorded.certificates.ca.read_bytes()
    asked = list(reviews(COUNT))

    async def send() -> list[bool]:
        answers = [await post(recorded.url, each, ca) for each in asked]
        return [answer["response"]["allowed"] for _, answer in answers]

    allowed = asyncio.run(send())
    metrics = recorded.metrics_url("gate")
    found: dict[str, Any] = {"compared": 0}
    for _ in range(STARTS):
        shadow_code, found = command("shadow", "status", "--metrics", metrics)
        if found["compared"] + found["beside"] >= COUNT:
            break
        time.sleep(0.5)
    assert found["compared"] + found["beside"] >= COUNT
    end = time.monotonic() + SECONDS
    while len(recorded.stored()) < COUNT:
        assert time.monotonic() < end
        time.sleep(0.1)
    ledger = f"sqlite:///{recorded.database}"
    code, replayed = command(
        "replay", "--bundle", str(tmp_path / "candidate.tar.gz"), "--ledger", ledger, "--jobs", "1"
    )
    rides = {e["effect"]: e["reviews"] for e in found["changes"] if not e["rule"]}
    said = {each["effect"]: each["reviews"] for each in replayed["changes"]}
    assert (shadow_code, code) == (1, 1)
    assert replayed["reviews"] == COUNT
    assert rides["newlyRefused"] == said["newlyRefused"] > 0
    assert rides.get("newlyAdmitted") == said.get("newlyAdmitted")
    assert 0 < sum(allowed) < COUNT
