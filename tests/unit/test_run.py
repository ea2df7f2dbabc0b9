"""`make test` fails if a test or a check does, says which, and keeps what each test took."""

import os
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

from tests import run as make_test
from tests.conftest import LONGEST
from tests.run import RESULTS, run, slowest

PASSES = "def test_passes(): pass"
FAILS = "def test_fails(): assert False"
ONCE = """
from pathlib import Path
def test_fails_once():
    tried = Path("tried")
    tried.touch() if (first := not tried.exists()) else None
    assert not first
"""
GOOD = (sys.executable, "-c", "print('check types ok')")
BAD = (sys.executable, "-c", "print('check types FAILED\\nsome.py:1: wrong'); raise SystemExit(1)")


@pytest.fixture(autouse=True)
def _light(monkeypatch: pytest.MonkeyPatch) -> None:
    """Run pytest without plugins but the one it needs, and with one worker: it starts ten times."""
    monkeypatch.delenv("PYTEST_ADDOPTS", raising=False)
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")
    monkeypatch.setenv("PYTEST_PLUGINS", "xdist.plugin")
    monkeypatch.setenv("PYTEST_XDIST_AUTO_NUM_WORKERS", "1")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Return a project with one test that passes."""
    (tmp_path / "tests" / "unit").mkdir(parents=True)
    (tmp_path / "tests" / "unit" / "test_a.py").write_text(PASSES)
    return tmp_path


@pytest.mark.parametrize(
    ("test", "checks", "last"),
    [
        (PASSES, GOOD, "make test: tests and checks pass"),
        (FAILS, GOOD, "make test: FAILED: tests"),
        (ONCE, GOOD, "make test: FAILED: tests"),
        ("import nothing_of_the_kind", GOOD, "make test: FAILED: tests"),
        (PASSES, BAD, "make test: FAILED: checks"),
        (FAILS, BAD, "make test: FAILED: tests, checks"),
    ],
    ids=["all-pass", "test-fails", "fails-once", "not-collected", "check-fails", "both-fail"],
)
def test_any_failure_fails_the_run(
    test: str, checks: Sequence[str], last: str, folder: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    """A test has one try; a check that fails beside passing tests fails the run."""
    (folder / "tests" / "unit" / "test_b.py").write_text(test)
    code = run(folder, checks)
    printed = capfd.readouterr().out
    assert code == ("FAILED" in last)
    assert printed.splitlines()[-1] == last
    assert "1 passed" in printed or "2 passed" in printed or "error" in printed


def test_what_a_check_says_is_in_one_piece(folder: Path, capfd: pytest.CaptureFixture[str]) -> None:
    """All its lines, whatever pytest prints meanwhile."""
    run(folder, BAD)
    assert "\ncheck types FAILED\nsome.py:1: wrong\n" in capfd.readouterr().out


def test_only_the_chosen_files_run(folder: Path, capfd: pytest.CaptureFixture[str]) -> None:
    """And all the checks."""
    (folder / "tests" / "unit" / "test_b.py").write_text(FAILS)
    assert run(folder, GOOD, ["tests/unit/test_a.py"]) == 0
    printed = capfd.readouterr().out
    assert "1 passed" in printed
    assert "check types ok" in printed


@pytest.mark.parametrize(("checks", "code"), [(GOOD, 0), (BAD, 1)])
def test_no_test_chosen_runs_the_checks(
    checks: Sequence[str], code: int, folder: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    """A change of a comment in a page reaches no test, and may break a check."""
    assert run(folder, checks, []) == code
    printed = capfd.readouterr().out
    assert "check types" in printed
    assert "passed" not in printed


def test_slowest_folders_are_told(folder: Path, capfd: pytest.CaptureFixture[str]) -> None:
    """By the sum of their tests; the file with each test stays."""
    slow = "import time\ndef test_sleeps(): time.sleep(0.3)\nclass TestA:\n def test_b(self): pass"
    (folder / "tests" / "api").mkdir()
    (folder / "tests" / "api" / "test_slow.py").write_text(slow)
    run(folder, GOOD)
    found = slowest(folder / RESULTS)
    assert [name for name, _ in found] == ["tests/api", "tests/unit"]
    assert found[0][1] >= 0.3
    assert "slowest folders" in capfd.readouterr().out


@pytest.mark.parametrize(("ci", "code"), [("true", 1), ("", 0)])
def test_a_missing_program_fails_in_ci_alone(
    ci: str, code: int, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Elsewhere its tests are skipped, and say so."""
    monkeypatch.setenv("CI", ci)
    monkeypatch.setattr(make_test, "provide_all", lambda _: ["opa: Go is missing"])
    monkeypatch.setattr(make_test, "run", lambda *_: 0)
    assert make_test.main([]) == code
    assert "make test: MISSING opa: Go is missing\n" in capsys.readouterr().out


def test_an_unknown_revision_runs_nothing(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    """Git says what is wrong with it."""
    monkeypatch.setattr(make_test, "run", lambda *_: os.abort())
    assert make_test.main(["--since", "nowhere"]) == 2
    assert "nowhere" in capfd.readouterr().err


def test_folders_that_begin_first_are_there() -> None:
    """A folder that is called otherwise would begin last, and all workers would wait for it."""
    root = Path(__file__).parents[2]
    assert [folder for folder in LONGEST if not (root / folder).is_dir()] == []
