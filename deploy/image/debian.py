"""Debian's packages of the image: which, of which version, and with which digest."""

import hashlib
import re
import tempfile
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final
from urllib.parse import quote

from tests.tools.debian import run
from tests.tools.provide import CannotProvideError, cache_folder, locked

LOCK: Final = Path(__file__).with_name("debian.lock")
RELEASE: Final = "debian-12"

_COMMENT: Final = (
    "# Name, version, architecture, SHA-256 of the package. Made by `make image-lock`.\n"
)


@dataclass(frozen=True, slots=True)
class Package:
    """One package as it is pinned."""

    name: str
    version: str
    architecture: str
    sha256: str

    @property
    def file(self) -> str:
        """The name that `apt-get download` gives it."""
        return f"{self.name}_{quote(self.version, safe='~+')}_{self.architecture}.deb"

    def __str__(self) -> str:
        return f"{self.name} {self.version} {self.architecture} {self.sha256}"


def read_lock(path: Path = LOCK) -> list[Package]:
    """Read the packages that are pinned.

    Raises:
        CannotProvideError: a line is no package.
    """
    found = []
    for number, line in enumerate(path.read_text().splitlines(), 1):
        if line.startswith("#"):
            continue
        words = line.split()
        if len(words) != 4 or not re.fullmatch("[0-9a-f]{64}", words[3]):  # noqa: PLR2004
            raise CannotProvideError(
                f"{path.name}, line {number}: not a name, a version, an architecture and a "
                "SHA-256; run `make image-lock`"
            )
        found.append(Package(*words))
    return found


def fetch(packages: Sequence[Package]) -> list[Path]:
    """Return the packages' files, in their order, each downloaded once and always checked.

    Raises:
        CannotProvideError: one cannot be had, or is not what was pinned.
    """
    cache = _cache()
    cache.mkdir(parents=True, exist_ok=True)
    with locked(cache / "lock"):
        missing = [each for each in packages if not is_cached(each)]
        if missing:
            _download([f"{each.name}={each.version}" for each in missing], cache)
    for each in packages:
        _check(each, cache / each.file)
    return [cache / each.file for each in packages]


def is_cached(package: Package) -> bool:
    """Return whether a package was downloaded; `fetch` checks it."""
    return (_cache() / package.file).exists()


def _cache() -> Path:
    return cache_folder() / "image-packages"


def _check(package: Package, file: Path) -> None:
    found = _sha256(file)
    if found != package.sha256:
        raise CannotProvideError(
            f"{package.name} {package.version}: its SHA-256 is {found}, and {LOCK.name} says "
            f"{package.sha256}: remove {file}; if it stays so, somebody changed the package"
        )


def _download(wanted: Sequence[str], folder: Path) -> None:
    """Download packages; with lists of our own where the machine's do not know them.

    An archive keeps only a package's newest version: older ones are at snapshot.debian.org.
    """
    with tempfile.TemporaryDirectory(dir=folder) as work:
        there = Path(work)
        there.chmod(0o755)  # apt downloads as a user of its own.
        try:
            run(["apt-get", "download", *wanted], there)
        except CannotProvideError:
            lists = there / "lists"
            (lists / "partial").mkdir(parents=True)
            options = ["-o", f"Dir::State::lists={lists}", "-o", f"Dir::Cache={lists}"]
            run(["apt-get", *options, "update"])
            run(["apt-get", *options, "download", *wanted], there)
        for file in there.glob("*.deb"):
            file.rename(folder / file.name.replace("%3a", "%3A"))


def lock(names: Iterable[str]) -> str:
    """Pin the newest versions that apt finds; return the lock's text."""
    lines = []
    with tempfile.TemporaryDirectory() as work:
        _download(sorted(names), Path(work))
        for file in sorted(Path(work).glob("*.deb")):
            fields = "${Package} ${Version} ${Architecture}"
            said = run(["dpkg-deb", "--show", f"--showformat={fields}", file])
            lines.append(f"{said} {_sha256(file)}\n")
    return _COMMENT + "".join(sorted(lines))


def _sha256(file: Path) -> str:
    return hashlib.sha256(file.read_bytes()).hexdigest()
