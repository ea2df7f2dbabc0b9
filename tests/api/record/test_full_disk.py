"""The spool's disk is full: the stated rule, said aloud, and over by itself."""

import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.api.record.load import Answered, Load, loaded, wait_until_shipped
from tests.harness.evidence import ROOT
from tests.harness.programs.recorded_gate import Recorded

DISK_BYTES = 2 * 1024 * 1024
WAIT_S = 60.0
ADMITTING = """---
apiVersion: v1
kind: Namespace
metadata:
  name: platform
  labels: {sallyport.dev/when-unrecorded: admit}
"""


@pytest.fixture
def target(tmp_path: Path) -> Iterator[Recorded]:
    """A gate whose spool has a small disk of its own, and no auditor yet."""
    cluster = tmp_path / "cluster"
    cluster.mkdir()
    example = (ROOT / "examples" / "cluster" / "cluster.yaml").read_text()
    (cluster / "cluster.yaml").write_text(example + ADMITTING)
    made = Recorded(tmp_path, cluster)
    made.spool.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", f"size={DISK_BYTES}", "none", str(made.spool)]
    if subprocess.run(mount, check=False, capture_output=True).returncode:
        pytest.skip("NOT TESTED: only root may mount a small file system")
    try:
        yield made
    finally:
        made.stop()
        subprocess.run(["umount", str(made.spool)], check=True)  # noqa: S607  From PATH, as root.


def test_a_full_disk_refuses_aloud_and_recovers(target: Recorded) -> None:
    """Refused as an error, admitted where the namespace says so, recorded again once it is free."""
    target.start_gate()
    with loaded(target, 400) as load, loaded(target, 50, "platform") as platform:
        _wait(lambda: target.metric("gate", "sallyport_spool_full") == 1.0)
        full = time.monotonic()
        _wait(lambda: _last(load).code == 500)
        _wait(lambda: _unrecorded(target, "refused") > 0)
        _wait(lambda: _unrecorded(target, "admitted") > 0)
        assert not _last(load).allowed
        assert _last(platform).allowed
        _wait(lambda: _said(target, "decisions cannot be recorded"))
        target.start_auditor()
        _wait(lambda: _last(load).allowed)
        recovered = time.monotonic()
    wait_until_shipped(target, WAIT_S)
    _wait(lambda: _said(target, "decisions are recorded again"))
    target.stop()
    stored = target.stored()
    admitted = {decision for decision, answer in load.answers.items() if answer.allowed}
    assert admitted <= stored, "something was admitted that is not on record"
    assert any(
        full < answer.at < recovered and answer.code == 500 for answer in load.answers.values()
    )


def _said(target: Recorded, what: str) -> bool:
    """Return whether the gate's log says it: its lines are written a moment later."""
    return what in target.processes["gate"].log.read_text()


def _unrecorded(target: Recorded, outcome: str) -> float:
    name = f'sallyport_unrecorded_decisions_total{{outcome="{outcome}"}}'
    return target.metric("gate", name)


def _last(load: Load) -> Answered:
    return list(load.answers.values())[-1]


def _wait(until: Callable[[], bool]) -> None:
    deadline = time.monotonic() + WAIT_S
    while not until():
        assert time.monotonic() < deadline
        time.sleep(0.1)
