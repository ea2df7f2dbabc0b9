"""A release refuses a policy bundle of a later format in words, and keeps what it has.

After a rollback of the release gates meet bundles that a newer one has built.
"""

import subprocess
import sys
from pathlib import Path

import pytest

from policies import BUILT_IN_BUNDLE
from policies.bundle.format import FORMAT, Manifest, read_bundle, with_manifest
from tests.compat.releases import BEFORE, code_of, environment
from tests.harness.programs.gate import PROGRAM
from tests.harness.programs.pki import Authority
from tests.harness.programs.ports import free_ports
from tests.harness.programs.process import ServerFailedError, ServerProcess
from tests.harness.programs.status import is_ready
from tests.unit.admission.world import Folder

START_S = 120.0
READ = (
    "import sys; from pathlib import Path; from policies.bundle import read_bundle; "
    "read_bundle(Path(sys.argv[1]))"
)


def started(folder: Path, bundle: Path, settings: dict[str, str]) -> str:
    """Start a gate with a bundle that it must refuse; give how it ended."""
    Folder(folder / "cluster").namespace("train").cluster()
    pair = Authority(folder).issue_loopback_server("gate")
    port, status_port = free_ports(2)
    flags: list[str | Path] = [
        "--cluster",
        folder / "cluster",
        "--bundle",
        bundle,
        "--port",
        str(port),
    ]
    flags += ["--cert", pair.certificate, "--key", pair.key]
    settings = {"SALLYPORT_STATUS__PORT": str(status_port), **settings}
    process = ServerProcess("gate", [PROGRAM, "gate", *flags], folder / "gate.log", settings)
    try:
        with pytest.raises(ServerFailedError) as ended:
            process.wait_until(lambda: is_ready(status_port), START_S)
    finally:
        process.stop()
    return str(ended.value)


def test_the_release_before_refuses_a_bundle_of_now(tmp_path: Path) -> None:
    """It says which format it reads and what to do, and does not start with it."""
    code = code_of(BEFORE, tmp_path / "before")
    done = subprocess.run(
        [sys.executable, "-c", READ, BUILT_IN_BUNDLE],
        env=environment(code),
        cwd=code,
        capture_output=True,
        text=True,
        check=False,
    )
    said = f"format {FORMAT}; this release reads {FORMAT - 1}: make it again"
    assert "BundleRefusedError" in done.stderr
    assert said in done.stderr
    ended = started(tmp_path, BUILT_IN_BUNDLE, environment(code))
    assert "ended with exit code" in ended
    assert said in " ".join(ended.split())


def test_this_release_does_not_start_with_a_bundle_of_the_next_format(tmp_path: Path) -> None:
    """As the one before does with one of now."""
    rules = list(read_bundle(BUILT_IN_BUNDLE).rules.values())
    newer = tmp_path / "newer.tar.gz"
    newer.write_bytes(with_manifest(BUILT_IN_BUNDLE.read_bytes(), Manifest(FORMAT + 1, rules), {}))
    ended = started(tmp_path, newer, {})
    assert "ended with exit code" in ended
    assert f"format {FORMAT + 1}; this release reads {FORMAT - 1} and {FORMAT}" in " ".join(
        ended.split()
    )
