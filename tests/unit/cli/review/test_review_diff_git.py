"""`--diff git:REV`: the files as they were at a revision, without touching the working tree."""

import json
import os
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.unit.cli.conftest import Run
from tests.unit.cli.manifests import BAD, GOOD, pod, write

NEWER = pod("bad", hostNetwork=True, hostPID=True)


def git(*arguments: str) -> str:
    """Run git in the working directory, as nobody in particular."""
    name = ["-c", "user.name=n", "-c", "user.email=e@example.invalid"]
    done = subprocess.run(
        ["git", *name, *arguments],  # noqa: S607 (the person's git)
        check=True,
        capture_output=True,
        text=True,
    )
    return done.stdout


@pytest.fixture(autouse=True)
def repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A repository with one commit, whose folder `deploy` is the same in the working tree."""
    for name in [name for name in os.environ if name.startswith("GIT_")]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("GIT_CEILING_DIRECTORIES", str(tmp_path.parent))
    monkeypatch.chdir(tmp_path)
    git("init", "--quiet")
    write(tmp_path / "deploy" / "a.yaml", BAD)
    write(tmp_path / "deploy" / "sub" / "odd [name]\n.yml", GOOD)
    write(tmp_path / "deploy" / ".hidden.yaml", pod("hidden"))
    write(tmp_path / "deploy" / "notes.txt", "no manifest")
    write(tmp_path / "elsewhere.yaml", pod("elsewhere"))
    git("add", ".")
    git("commit", "--quiet", "--message", "one")
    return tmp_path


def test_what_the_working_tree_newly_needs(run: Run, repository: Path) -> None:
    """Only the files that are reviewed are read, those that a folder's reader would take."""
    write(repository / "deploy" / "a.yaml", NEWER)
    (repository / "deploy" / "sub" / "odd [name]\n.yml").unlink()
    before = git("status", "--porcelain")
    done = run("review", "-o", "json", "--diff", "git:HEAD", "deploy")
    made = json.loads(done.out)
    assert (done.code, done.err) == (1, "")
    assert [each["gained"] for each in made["objects"]] == [["host/pid"]]
    assert [(each["name"], each["file"]) for each in made["gone"]] == [
        ("good", "git:HEAD:deploy/sub/odd [name]\n.yml")
    ]
    assert git("status", "--porcelain") == before


@pytest.mark.parametrize("path", [".", "a.yaml", "../deploy", "./a.yaml"])
def test_from_a_folder_below(
    run: Run, repository: Path, monkeypatch: pytest.MonkeyPatch, path: str
) -> None:
    """Paths are those of the working directory, as for the review itself."""
    monkeypatch.chdir(repository / "deploy")
    write(Path("a.yaml"), NEWER)
    done = run("review", "-o", "json", "--diff", "git:HEAD", path)
    made = json.loads(done.out)
    gained = {each["name"]: each["gained"] for each in made["objects"]}
    assert (done.code, gained["bad"], made["gone"]) == (1, ["host/pid"], [])
    assert not any(each["new"] for each in made["objects"])


def test_file_that_was_not_there_is_new(run: Run, repository: Path) -> None:
    """Also in a folder that was not there."""
    write(repository / "later" / "b.yaml", BAD)
    for path in ("later", "later/b.yaml"):
        done = run("review", "-o", "json", "--diff", "git:HEAD", path)
        made = json.loads(done.out)
        assert (done.code, [each["new"] for each in made["objects"]]) == (1, [True])


def test_staged_and_unstaged_do_not_count(run: Run, repository: Path) -> None:
    """The old state is the revision's, whatever the index holds."""
    write(repository / "deploy" / "a.yaml", NEWER)
    git("add", ".")
    assert run("review", "--diff", "git:HEAD", "deploy").code == 1
    git("commit", "--quiet", "--message", "two")
    assert run("review", "--diff", "git:HEAD", "deploy").code == 0
    assert run("review", "--diff", "git:HEAD~1", "deploy").code == 1


def test_within_a_hook(run: Run, repository: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Git sets its variables for hooks, relative to the root of the repository."""
    monkeypatch.setenv("GIT_DIR", ".git")
    monkeypatch.setenv("GIT_INDEX_FILE", ".git/index")
    assert run("review", "--diff", "git:HEAD", "deploy/a.yaml").code == 0


def test_links_are_not_followed(run: Run, repository: Path) -> None:
    """What a link led to then cannot be known from the link alone."""
    (repository / "deploy" / "link.yaml").symlink_to("../elsewhere.yaml")
    git("add", ".")
    git("commit", "--quiet", "--message", "two")
    made = json.loads(run("review", "-o", "json", "--diff", "git:HEAD", "deploy").out)
    assert [each["name"] for each in made["objects"] if each["new"]] == ["elsewhere"]


@pytest.mark.parametrize(
    ("old", "message"),
    [
        ("git:nowhere", "--diff git:nowhere: there is no such revision here: fetch it, or mend"),
        ("git:", "--diff git:: name a revision, as in git:main"),
        ("git:--output=x", "--diff git:--output=x: name a revision, as in git:main"),
    ],
)
def test_wrong_revision_is_wrong_use(run: Run, old: str, message: str) -> None:
    """One line that says what to do; no option reaches git."""
    done = run("review", "--diff", old, "deploy")
    assert (done.code, done.out) == (64, "")
    assert done.err.startswith(f"sallyport: {message}")


def test_standard_input_has_no_revision(run: Run) -> None:
    """There is nothing to compare it with."""
    done = run("review", "--diff", "git:HEAD", "-", stdin=json.dumps(GOOD).encode())
    assert done.code == 64
    assert "standard input has none: name files" in done.err


def test_no_repository(run: Run, repository: Path) -> None:
    """A folder that has the files of a repository is none: a commit could bring it along."""
    done_folder = repository / ".git"
    done_folder.rename(repository / "not-git")
    done = run("review", "--diff", "git:HEAD", "deploy")
    assert done.code == 64
    assert done.err == "sallyport: --diff git:HEAD: deploy does not lie in a git repository\n"


def test_a_repository_within_is_not_asked(
    run: Run, repository: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    """A pull request that brings a bare repository among its files brings no past of its own."""
    forged = tmp_path_factory.mktemp("pull-request") / "forged"
    shutil.copytree(repository, forged)
    write(forged / "deploy" / "a.yaml", NEWER)
    git("-C", str(forged), "add", "--all")
    git("-C", str(forged), "commit", "--quiet", "--message", "as if it had always been so")
    shutil.copytree(forged / ".git", repository / "deploy", dirs_exist_ok=True)
    write(repository / "deploy" / "a.yaml", NEWER)
    done = run("review", "-o", "json", "--diff", "git:HEAD", "deploy/a.yaml")
    assert done.code == 1
    assert [each["gained"] for each in json.loads(done.out)["objects"]] == [["host/pid"]]


def test_no_git(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    """A clear line, and no traceback."""
    monkeypatch.setenv("PATH", "")
    done = run("review", "--diff", "git:HEAD", "deploy")
    assert (done.code, done.err) == (
        64,
        "sallyport: --diff git:HEAD: git is not installed, or not in PATH\n",
    )
