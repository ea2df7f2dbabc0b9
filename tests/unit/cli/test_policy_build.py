"""`sallyport policy build`: the compiler is found, or the message helps to find it."""

from pathlib import Path

import pytest

from tests.unit.cli.conftest import Run


def test_a_folder_is_wrong_use(run: Run) -> None:
    """Bundles of sites are for a later release."""
    done = run("policy", "build", "nofolder")
    assert (done.code, done.out) == (64, "")
    assert "nofolder" in done.err


def test_without_opa_a_working_command_is_named(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Which the sources have."""
    monkeypatch.setenv("PATH", str(tmp_path))
    done = run("policy", "build")
    assert (done.code, done.out) == (64, "")
    assert "there is no opa on PATH" in done.err
    assert '--opa "$(python3 tests/tools/provide.py opa)"' in done.err


def test_opa_that_is_no_program_is_named(run: Run, tmp_path: Path) -> None:
    """A folder is none either."""
    done = run("policy", "build", "--opa", tmp_path)
    assert done.code == 64
    assert f"{tmp_path} is no program" in done.err


def test_help_names_no_path_of_this_machine(run: Run) -> None:
    """The default is where the installation has its bundle."""
    text = run("policy", "build", "--help").out
    assert "the built-in bundle" in text
    assert str(Path.cwd())[:12] not in text
