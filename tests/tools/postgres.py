"""Provide a PostgreSQL server that Sallyport is tested with.

    python tests/tools/postgres.py

prints the folder of its programs. It is taken from SALLYPORT_POSTGRES (such a folder), else
from PATH or where Debian installs it, else from Debian's package, unpacked into the cache
beside the other tools: nothing is installed on the machine.
"""

import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).parents[2]))

from tests.tools.provide import CannotProvideError, cache_folder, locked

PACKAGE: Final = "postgresql-15"
OLDEST: Final = 13
PROGRAMS: Final = ("initdb", "postgres")
DEBIAN: Final = Path("/usr/lib/postgresql")
ENVIRONMENT: Final = "SALLYPORT_POSTGRES"

_NOT_NEEDED: Final = re.compile(r"libllvm\d+|libc6")
"""LLVM is for JIT, which the tests turn off; the C library is this machine's."""


@dataclass(frozen=True)
class PostgresPrograms:
    """The folder that holds `initdb` and `postgres`."""

    folder: Path
    root: Path | None = None
    """Where the package was unpacked; None for one that is installed."""

    @property
    def environment(self) -> dict[str, str]:
        """What to add to the environment to run them."""
        libraries = _library_path(self.root) if self.root else ""
        return {"LD_LIBRARY_PATH": libraries} if libraries else {}


def provide_postgres() -> PostgresPrograms:
    """Return the programs, unpacking Debian's package if need be.

    Raises:
        CannotProvideError: the environment names a folder that will not do, or there is no
            package to be had.
    """
    named = os.environ.get(ENVIRONMENT)
    if named:
        folder = Path(named).absolute()
        if not _suits(folder):
            raise CannotProvideError(
                f"{ENVIRONMENT}={named}: no initdb and postgres {OLDEST} or newer in it: "
                "correct it, or unset it and Debian's package is used"
            )
        return PostgresPrograms(folder)
    installed = next(filter(_suits, _installed()), None)
    return PostgresPrograms(installed) if installed else _unpacked()


def _installed() -> Iterator[Path]:
    found = shutil.which("postgres")
    if found:
        yield Path(found).resolve().parent
    yield from sorted(DEBIAN.glob("*/bin"), reverse=True)


def _suits(folder: Path) -> bool:
    if not all((folder / program).is_file() for program in PROGRAMS):
        return False
    try:
        said = _run([folder / "postgres", "--version"])
    except CannotProvideError:
        return False
    match = re.search(r"\(PostgreSQL\) (\d+)", said)
    return match is not None and int(match[1]) >= OLDEST


def _unpacked() -> PostgresPrograms:
    cache = cache_folder() / PACKAGE
    root = cache / "root"
    if not root.exists():
        if not all(map(shutil.which, ("apt-get", "apt-cache", "dpkg"))):
            raise CannotProvideError(
                f"a PostgreSQL server is needed: install it ({OLDEST} or newer), or set "
                f"{ENVIRONMENT} to the folder of its programs; only on Debian and its kin can "
                "it be fetched"
            )
        cache.mkdir(parents=True, exist_ok=True)
        with locked(cache / "lock"):
            if not root.exists():
                _fetch_into(cache, root)
    return PostgresPrograms(root / "usr" / "lib" / "postgresql" / PACKAGE[-2:] / "bin", root)


def _fetch_into(cache: Path, root: Path) -> None:
    """Unpack the package, and those of libraries that this machine lacks, in one step."""
    _say(f"fetching {PACKAGE} from Debian, once, 17 MB")
    with tempfile.TemporaryDirectory(dir=cache) as work:
        made = Path(work) / "root"
        options = _fetch_first(Path(work), made)
        had = {PACKAGE}
        while missing := _missing(made):
            wanted = _libraries(had, options) - had
            if not wanted:
                raise CannotProvideError(
                    f"{PACKAGE} lacks libraries on this machine, and they were not found: "
                    f"{', '.join(sorted(missing))}: install PostgreSQL, or set {ENVIRONMENT}"
                )
            _download(wanted, options, Path(work), made)
            had |= wanted
        made.rename(root)


def _fetch_first(work: Path, root: Path) -> list[str]:
    """Unpack the package itself; return the options that apt needs to find more."""
    try:
        _download({PACKAGE}, [], work, root)
    except CannotProvideError:  # There are no lists of packages, or they are old.
        lists = work / "lists"
        (lists / "partial").mkdir(parents=True)
        options = ["-o", f"Dir::State::lists={lists}", "-o", f"Dir::Cache={lists}"]
        _run(["apt-get", *options, "update"])
        _download({PACKAGE}, options, work, root)
        return options
    return []


def _download(packages: Iterable[str], options: Sequence[str], work: Path, root: Path) -> None:
    folder = Path(tempfile.mkdtemp(dir=work))
    _run(["apt-get", *options, "download", *sorted(packages)], folder)
    for package in folder.glob("*.deb"):
        _run(["dpkg", "-x", package, root])


def _libraries(packages: Iterable[str], options: Sequence[str]) -> set[str]:
    said = _run(["apt-cache", *options, "depends", *sorted(packages)])
    named = set(re.findall(r"^ *\|?Depends: (lib[^\s<>:]+)$", said, re.MULTILINE))
    return {name for name in named if not _NOT_NEEDED.fullmatch(name)}


def _missing(root: Path) -> set[str]:
    programs = [next(root.glob(f"usr/lib/postgresql/*/bin/{name}")) for name in PROGRAMS]
    said = _run(["ldd", *programs], environment={"LD_LIBRARY_PATH": _library_path(root)})
    return set(re.findall(r"^\s*(\S+) => not found", said, re.MULTILINE))


def _library_path(root: Path) -> str:
    folders = [*root.glob("usr/lib/*-linux-gnu*"), *root.glob("lib/*-linux-gnu*")]
    return ":".join(map(str, folders))


def _run(
    command: Sequence[str | Path],
    folder: Path | None = None,
    environment: dict[str, str] | None = None,
) -> str:
    done = subprocess.run(
        command,
        cwd=folder,
        env={**os.environ, "LC_ALL": "C", **(environment or {})},
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode != 0:
        raise CannotProvideError(
            f"{' '.join(map(str, command[:2]))} failed: {(done.stderr or done.stdout).strip()}"
        )
    return done.stdout


def _say(message: str) -> None:
    print(message, file=sys.stderr, flush=True)


def main() -> int:
    """Print the folder."""
    try:
        print(provide_postgres().folder)
    except CannotProvideError as error:
        _say(f"postgres.py: {error}")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
