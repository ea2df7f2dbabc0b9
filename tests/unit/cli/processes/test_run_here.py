"""`sallyport run`: where it keeps its certificate, and what it needs before it serves."""

import io
import json
import stat
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from app.processes.run import process
from app.processes.run.process import LocalGate
from app.records.state_folder import state_folder
from app.settings.root import Settings
from cli.processes.showcase import Showcase
from tests.unit.cli.conftest import Run


@pytest.fixture
def served(monkeypatch: pytest.MonkeyPatch) -> list[Settings]:
    """Note with what would be served, and end there."""
    noted: list[Settings] = []

    async def serve(settings: Settings, _: object) -> int:
        noted.append(settings)
        return 0

    monkeypatch.setattr(process, "serve_until_signal", serve)
    return noted


def test_state_is_private_and_not_in_the_current_folder(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, served: list[Settings]
) -> None:
    """The folder is this user's alone, also when it was there and was not; so is the key."""
    folder = tmp_path / "state" / "sallyport" / "run"
    folder.mkdir(parents=True, mode=0o755)
    work = tmp_path / "work"
    work.mkdir()
    monkeypatch.chdir(work)
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    done = run("run", "--quiet")
    assert (done.code, done.err, len(served)) == (0, "", 1)
    modes = {path.name: stat.S_IMODE(path.stat().st_mode) for path in folder.iterdir()}
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    assert (modes["tls.key"], modes["gate.log"]) == (0o600, 0o600)
    assert list(work.iterdir()) == []


@pytest.mark.parametrize("given", ["", "relative"])
def test_home_is_where_state_is_by_default(monkeypatch: pytest.MonkeyPatch, given: str) -> None:
    """The XDG Base Directory Specification; a relative path is to be ignored."""
    monkeypatch.setenv("XDG_STATE_HOME", given)
    monkeypatch.setenv("HOME", "/home/a")
    assert state_folder() == Path("/home/a/.local/state/sallyport/run")


def test_folder_that_cannot_be_made_is_a_clear_line(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It says what to set."""
    file = tmp_path / "file"
    file.touch()
    monkeypatch.setenv("XDG_STATE_HOME", str(file))
    done = run("run")
    assert (done.code, done.out) == (64, "")
    assert done.err == (
        f"sallyport: {file}/sallyport/run: Not a directory: "
        "set XDG_STATE_HOME to a folder that you can write to\n"
    )


def test_without_examples_a_cluster_must_be_given(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As when it is installed from a wheel."""
    monkeypatch.setattr(process, "_EXAMPLES", tmp_path / "none")
    done = run("run")
    assert (done.code, done.out) == (64, "")
    assert "give --cluster DIR" in done.err


def test_kubeconfig_stands_for_the_example_cluster(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, served: list[Settings]
) -> None:
    """Scripts rely on it: `run` takes either."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    assert run("run", "--quiet", "--kubeconfig", "k").code == 0
    assert (served[0].cluster, served[0].kubeconfig) == (None, Path("k"))


def test_showcase_prints_no_escapes_or_markup(tmp_path: Path) -> None:
    """Reviews may come from others too."""
    printed = io.StringIO()
    console = Console(file=printed, highlight=False, soft_wrap=True)
    shown = Showcase(LocalGate(None, tmp_path, tmp_path, "FILE"), console)
    evil = "e[red]\x1b[2J[bold]\u202e"
    asked: dict[str, Any] = {"userInfo": {"username": evil}, "namespace": evil, "name": evil}
    answer = {"allowed": False, "status": {"message": f"{evil}\nsecond"}}
    shown._print(Path(f"{evil}.json"), json.loads(json.dumps(asked)), answer)  # noqa: SLF001
    text = printed.getvalue()
    assert text.count("e[red]\\x1b[2J[bold]\\u202e") == 5
    assert all(char.isprintable() or char == "\n" for char in text)
