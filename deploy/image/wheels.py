"""The wheels of the image: those that are locked, and Sallyport's own."""

import hashlib
import re
import stat
import sys
import tempfile
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass
from email.message import Message
from email.parser import HeaderParser
from pathlib import Path, PurePosixPath
from typing import Final

from tests.tools.debian import run
from tests.tools.provide import CannotProvideError, cache_folder, locked

SITE: Final = "usr/local/lib/python3.11/dist-packages"
"""Where Debian's Python looks for what is not Debian's."""

_GLIBC: Final = range(36, 16, -1)
"""Debian 12 has glibc 2.36; wheels for older ones will do."""
_TARGET: Final = (
    ["--python-version=3.11", "--implementation=cp", "--abi=cp311", "--abi=abi3", "--abi=none"]
    + [f"--platform=manylinux_2_{minor}_x86_64" for minor in _GLIBC]
    + ["--platform=manylinux2014_x86_64"]
)
_EPOCH: Final = "315532800"
"""The first second that a zip file can say: 1980-01-01."""


@dataclass(frozen=True, slots=True)
class Wheel:
    """A wheel, and what it says of itself."""

    file: Path
    metadata: Message

    @property
    def name(self) -> str:
        """The name as PyPI writes it (PEP 503)."""
        return re.sub(r"[-_.]+", "-", str(self.metadata["Name"])).lower()

    @property
    def version(self) -> str:
        """The version."""
        return str(self.metadata["Version"])

    @property
    def sha256(self) -> str:
        """The digest of the file."""
        return hashlib.sha256(self.file.read_bytes()).hexdigest()


def wheels_folder(requirements: Path) -> Path:
    """Return the folder of the cache that has the wheels of a file of requirements, or will."""
    key = hashlib.sha256(requirements.read_bytes() + repr(_TARGET).encode()).hexdigest()[:12]
    return cache_folder() / f"image-wheels-{key}"


def locked_wheels(requirements: Path) -> list[Wheel]:
    """Return the wheels that a file of requirements with hashes names, downloaded once.

    Raises:
        CannotProvideError: pip cannot have one, or it is not what was pinned.
    """
    folder = wheels_folder(requirements)
    folder.parent.mkdir(parents=True, exist_ok=True)
    with locked(folder.with_suffix(".lock")):
        if not folder.exists():
            with tempfile.TemporaryDirectory(dir=folder.parent) as work:
                made = Path(work) / "wheels"
                _download(requirements, made)
                made.rename(folder)
    return sorted((read(file) for file in folder.glob("*.whl")), key=lambda wheel: wheel.name)


def _download(requirements: Path, folder: Path) -> None:
    flags = ["--quiet", "--require-hashes", "--no-deps", "--only-binary=:all:"]
    pip = [sys.executable, "-m", "pip", "--disable-pip-version-check", "download"]
    where: list[str | Path] = ["--requirement", requirements, "--dest", folder]
    run([*pip, *flags, *_TARGET, *where])


def own_wheel(source: Path, folder: Path) -> Wheel:
    """Make the wheel of Sallyport's rooms, the compiled policies among them.

    Raises:
        CannotProvideError: there are no compiled policies, or it cannot be made.
    """
    if not (source / "policies" / "compiled" / "builtin.tar.gz").exists():
        raise CannotProvideError("policies/compiled/builtin.tar.gz is missing: run `make setup`")
    command: list[str | Path] = [
        sys.executable,
        "-m",
        "hatchling",
        "build",
        "-t",
        "wheel",
        "-d",
        folder,
    ]
    run(command, source, {"SOURCE_DATE_EPOCH": _EPOCH})
    (file,) = folder.glob("*.whl")
    return read(file)


def read(file: Path) -> Wheel:
    """Read what a wheel says of itself."""
    with zipfile.ZipFile(file) as archive:
        (name,) = (
            name
            for name in archive.namelist()
            if name.endswith(".dist-info/METADATA") and name.count("/") == 1
        )
        return Wheel(file, HeaderParser().parsestr(archive.read(name).decode()))


def unpack(wheel: Wheel, root: Path) -> None:
    """Put a wheel's files where Python finds them; its programs and headers are left out.

    The layout: packaging.python.org, binary distribution format.

    Raises:
        CannotProvideError: it has files for a place that is not known.
    """
    with zipfile.ZipFile(wheel.file) as archive:
        for entry, place in _placed(wheel, archive):
            path = root / place
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(archive.read(entry))
            path.chmod(0o755 if entry.external_attr >> 16 & stat.S_IXUSR else 0o644)


def _placed(wheel: Wheel, archive: zipfile.ZipFile) -> Iterator[tuple[zipfile.ZipInfo, str]]:
    for entry in archive.infolist():
        name = PurePosixPath(entry.filename)
        if entry.is_dir():
            continue
        if name.is_absolute() or ".." in name.parts:
            raise CannotProvideError(f"{wheel.file.name}: {name} leaves the folder")
        if not name.parts[0].endswith(".data"):
            yield entry, f"{SITE}/{name}"
            continue
        kind, rest = name.parts[1], "/".join(name.parts[2:])
        if kind in {"purelib", "platlib"}:
            yield entry, f"{SITE}/{rest}"
        elif kind == "data":
            yield entry, f"usr/local/{rest}"
        elif kind not in {"scripts", "headers"}:
            raise CannotProvideError(f"{wheel.file.name}: {name} is of an unknown kind")
