"""Provide a PostgreSQL server that Sallyport is tested with.

    python tests/tools/postgres.py

prints the folder of its programs. It is taken from SALLYPORT_POSTGRES (such a folder), else
from PATH or where Debian installs it, else from Debian's package, unpacked into the cache
beside the other tools: nothing is installed on the machine.
"""

import os
import re
import shutil
import sys
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).parents[2]))

from tests.tools.debian import fetch, fetch_first, run, say
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


def is_cached() -> bool:
    """Return whether a server is installed or unpacked and the environment names no other."""
    if os.environ.get(ENVIRONMENT):
        return False
    return _root().exists() or any(map(_suits, _installed()))


def _root() -> Path:
    """Return the folder into which the package is unpacked, or will be."""
    return cache_folder() / PACKAGE / "root"


def _installed() -> Iterator[Path]:
    found = shutil.which("postgres")
    if found:
        yield Path(found).resolve().parent
    yield from sorted(DEBIAN.glob("*/bin"), reverse=True)


def _suits(folder: Path) -> bool:
    if not all((folder / program).is_file() for program in PROGRAMS):
        return False
    try:
        said = run([folder / "postgres", "--version"])
    except CannotProvideError:
        return False
    match = re.search(r"\(PostgreSQL\) (\d+)", said)
    return match is not None and int(match[1]) >= OLDEST


def _unpacked() -> PostgresPrograms:
    root = _root()
    cache = root.parent
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
    say(f"fetching {PACKAGE} from Debian, once, 17 MB")
    with tempfile.TemporaryDirectory(dir=cache) as work:
        made = Path(work) / "root"
        options = fetch_first({PACKAGE}, Path(work), made)
        had = {PACKAGE}
        while missing := _missing(made):
            wanted = _libraries(had, options) - had
            if not wanted:
                raise CannotProvideError(
                    f"{PACKAGE} lacks libraries on this machine, and they were not found: "
                    f"{', '.join(sorted(missing))}: install PostgreSQL, or set {ENVIRONMENT}"
                )
            fetch(wanted, options, Path(work), made)
            had |= wanted
        made.rename(root)


def _libraries(packages: Iterable[str], options: Sequence[str]) -> set[str]:
    said = run(["apt-cache", *options, "depends", *sorted(packages)])
    named = set(re.findall(r"^ *\|?Depends: (lib[^\s<>:]+)$", said, re.MULTILINE))
    return {name for name in named if not _NOT_NEEDED.fullmatch(name)}


def _missing(root: Path) -> set[str]:
    programs = [next(root.glob(f"usr/lib/postgresql/*/bin/{name}")) for name in PROGRAMS]
    said = run(["ldd", *programs], environment={"LD_LIBRARY_PATH": _library_path(root)})
    return set(re.findall(r"^\s*(\S+) => not found", said, re.MULTILINE))


def _library_path(root: Path) -> str:
    folders = [*root.glob("usr/lib/*-linux-gnu*"), *root.glob("lib/*-linux-gnu*")]
    return ":".join(map(str, folders))


def main() -> int:
    """Print the folder."""
    try:
        print(provide_postgres().folder)
    except CannotProvideError as error:
        say(f"postgres.py: {error}")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
