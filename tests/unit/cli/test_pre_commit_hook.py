"""The hook of .pre-commit-hooks.yaml, run by pre-commit itself in a repository of manifests."""

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.unit.cli.manifests import BAD, GOOD, write

BIN = Path(sys.executable).parent
HOOKS = Path(__file__).parents[3] / ".pre-commit-hooks.yaml"


def run(folder: Path, *command: str) -> subprocess.CompletedProcess[str]:
    """Run a program in a folder, with `sallyport` in PATH and nothing of ours in its settings."""
    kept = {key: value for key, value in os.environ.items() if not key.startswith("GIT_")}
    name = {
        f"GIT_{who}_{what}": "n" for who in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")
    }
    return subprocess.run(
        command,
        cwd=folder,
        env={
            **kept,
            **name,
            "PATH": f"{BIN}:{os.environ['PATH']}",
            "GIT_CONFIG_GLOBAL": os.devnull,
        },
        capture_output=True,
        text=True,
        check=False,
    )


def commit(folder: Path) -> str:
    """Make the folder a repository with all that lies in it; give the commit."""
    for command in (["init", "-q"], ["add", "."], ["commit", "-q", "-m", "one"]):
        assert run(folder, "git", *command).returncode == 0
    return run(folder, "git", "rev-parse", "HEAD").stdout.strip()


@pytest.fixture
def manifests(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A repository that uses the hook of ours."""
    monkeypatch.setenv("PRE_COMMIT_HOME", str(tmp_path / "cache"))
    ours = tmp_path / "ours"
    ours.mkdir()
    (ours / HOOKS.name).write_text(HOOKS.read_text())
    revision = commit(ours)
    use: dict[str, Any] = {"repo": str(ours), "rev": revision}
    use["hooks"] = [{"id": "sallyport-review", "files": r"^deploy/.*\.ya?ml$"}]
    folder = tmp_path / "manifests"
    write(folder / ".pre-commit-config.yaml", yaml.safe_dump({"repos": [use]}))
    write(folder / "deploy" / "a b.yaml", GOOD)
    write(folder / "values.yaml", "no: manifest")
    commit(folder)
    return folder


def test_definition_is_valid() -> None:
    """By pre-commit's own check; it begins with files of YAML, and needs no build."""
    assert run(HOOKS.parent, "pre-commit", "validate-manifest", str(HOOKS)).returncode == 0
    (hook,) = yaml.safe_load(HOOKS.read_text())
    assert (hook["id"], hook["files"]) == ("sallyport-review", r"\.ya?ml$")


def test_admitted_manifests_pass(manifests: Path) -> None:
    """Only the files that the repository names are reviewed."""
    done = run(manifests, "pre-commit", "run", "--all-files")
    assert (done.returncode, done.stderr) == (0, "")
    assert "sallyport review" in done.stdout
    assert "Passed" in done.stdout


def test_refused_manifest_stops_the_commit(manifests: Path) -> None:
    """And says why."""
    write(manifests / "deploy" / "bad.yml", BAD)
    run(manifests, "git", "add", ".")
    done = run(manifests, "pre-commit", "run")
    assert done.returncode == 1
    assert "deploy/bad.yml" in done.stdout
    assert "spec.hostNetwork" in done.stdout
    assert "a b.yaml" not in done.stdout
