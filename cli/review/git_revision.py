"""Manifests as they were at a git revision, read from its objects: no file is written."""

import os
import shutil
import subprocess
from collections.abc import Iterator, Sequence
from io import BytesIO
from pathlib import Path
from typing import Final

from cli.output import STANDARD_INPUT
from cli.shared.manifests import unreadable
from cli.shared.results import Result
from core.base.errors import InvalidObjectError, SettingsError
from kube.manifests.reader import SUFFIXES, Manifest, read_stream

REVISION: Final = "git:"
"""What marks a revision in `--diff git:origin/main`."""

_SECONDS: Final = 120.0
_FOR_HOOKS: Final = frozenset({"GIT_DIR", "GIT_WORK_TREE", "GIT_PREFIX", "GIT_INDEX_FILE"})
"""Set by git for its hooks, relative to another folder than the files'."""

_QUIET: Final = {"GIT_TERMINAL_PROMPT": "0", "GIT_NO_LAZY_FETCH": "1", "LC_ALL": "C"}

_REGULAR: Final = b"100"
"""How the modes of regular files begin; links are 120000, submodules 160000."""


def read_revision(revision: str, paths: Sequence[str]) -> Iterator[Manifest | Result]:
    """Yield the objects that the files and folders had at a revision; what is none, a Result.

    In folders the same names count as today. Symbolic links and submodules are not followed.

    Raises:
        SettingsError: git is missing or fails, or there is no such revision.
    """
    if not revision or revision.startswith("-"):
        raise SettingsError(f"--diff {REVISION}{revision}: name a revision, as in git:main")
    if STANDARD_INPUT in paths:
        raise SettingsError(f"--diff {REVISION}{revision}: standard input has none: name files")
    for path in map(Path, paths):
        yield from _read(_Repository(path, revision))


def _read(repository: "_Repository") -> Iterator[Manifest | Result]:
    for file, content in repository.files():
        try:
            yield from read_stream(BytesIO(content), file)
        except InvalidObjectError as error:
            yield unreadable(file, error)


class _Repository:
    """The repository that a path lies in, at one revision."""

    def __init__(self, path: Path, revision: str) -> None:
        self._option = f"--diff {REVISION}{revision}"
        self._program = shutil.which("git")
        if self._program is None:
            raise SettingsError(f"{self._option}: git is not installed, or not in PATH")
        self._path = path
        self._revision = revision
        self._folder = path if path.is_dir() else path.parent
        self._top = self._top_level()
        tree = self._git("rev-parse", "--verify", "--quiet", f"{revision}^{{tree}}")
        self._tree = tree.decode().strip()

    def files(self) -> Iterator[tuple[str, bytes]]:
        """Yield the name, as messages say it, and the content of each manifest."""
        blobs = list(self._blobs())
        asked = "".join(f"{blob}\n" for _, blob in blobs).encode()
        answer = BytesIO(self._git("cat-file", "--batch", given=asked))
        for name, _ in blobs:
            size = int(answer.readline().split()[2])
            content = answer.read(size)
            answer.readline()
            file = self._folder / name if self._path.is_dir() else self._path
            yield f"{REVISION}{self._revision}:{file}", content

    def _blobs(self) -> Iterator[tuple[str, str]]:
        """Yield the name and the object of each manifest (git-ls-tree, OUTPUT FORMAT)."""
        whole = self._path == self._folder
        wanted = "." if whole else self._path.name
        for entry in self._git("ls-tree", "-r", "-z", self._tree, "--", wanted).split(b"\0"):
            attributes, _, file = entry.partition(b"\t")
            name = os.fsdecode(file)
            if attributes.startswith(_REGULAR) and (not whole or _is_manifest(name)):
                yield name, attributes.split()[2].decode()

    def _top_level(self) -> Path:
        """Find the nearest folder above with a `.git`, which no commit can bring along.

        Git itself would also take a folder that has the files of a repository for one: then a
        pull request could bring its own past, and settings that run commands.
        """
        folder = self._folder.resolve()
        for above in (folder, *folder.parents):
            if (above / ".git").exists():
                return above
        raise SettingsError(f"{self._option}: {self._path} does not lie in a git repository")

    def _git(self, *arguments: str, given: bytes = b"") -> bytes:
        kept = {key: value for key, value in os.environ.items() if key not in _FOR_HOOKS}
        place = [f"--git-dir={self._top / '.git'}", f"--work-tree={self._top}"]
        never = ["-c", "protocol.allow=never", "--literal-pathspecs"]
        command = [str(self._program), "-C", str(self._folder), *place, *never, *arguments]
        try:
            done = subprocess.run(
                command,
                input=given,
                capture_output=True,
                env=kept | _QUIET,
                timeout=_SECONDS,
                check=False,
            )
        except subprocess.TimeoutExpired as error:
            raise SettingsError(f"{self._option}: git took over {_SECONDS:.0f} s") from error
        if done.returncode:
            said = done.stderr.decode(errors="replace").strip()
            missing = "there is no such revision here: fetch it, or mend the name"
            raise SettingsError(f"{self._option}: {said.removeprefix('fatal: ') or missing}")
        return done.stdout


def _is_manifest(name: str) -> bool:
    """Return whether a folder's reader would take the file (`kube.manifests.reader.find_files`)."""
    path = Path(name)
    return path.suffix.lower() in SUFFIXES and not any(p.startswith(".") for p in path.parts)
