"""One small image for this folder: all of Debian's packages, few wheels, the rooms."""

import hashlib
import json
import re
import shutil
import tarfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from deploy.image import debian
from deploy.image.build import VERIFIER, Inputs, make
from deploy.image.root import unpack_debian
from tests.harness.evidence import ROOT
from tests.harness.programs.availability import skip_or_fail
from tests.harness.sizes import PROOF
from tests.tools.provide import CannotProvideError
from tests.unit.test_house import ROOMS

FEW = ("msgspec", "pyyaml")
"""The wheels of the small image; with SALLYPORT_PROOF=1 it has all."""


def source_in(folder: Path) -> Path:
    """Copy what an image is made of: others may change the checkout meanwhile."""
    folder.mkdir()
    unwanted = shutil.ignore_patterns("__pycache__")
    for room in sorted(ROOMS):
        shutil.copytree(ROOT / room, folder / room, ignore=unwanted)
    for name in ("pyproject.toml", "README.md", "LICENSE", ".gitignore"):
        shutil.copyfile(ROOT / name, folder / name)
    (folder / VERIFIER).parent.mkdir(parents=True)
    shutil.copy(ROOT / VERIFIER, folder / VERIFIER)
    locked = (ROOT / "requirements" / "runtime.txt").read_text()
    entries = re.split(r"\n(?=[a-z])", locked)
    kept = [each for each in entries if PROOF or each.partition("==")[0] in FEW]
    (folder / "requirements").mkdir()
    (folder / "requirements" / "runtime.txt").write_text("\n".join(kept) + "\n")
    return folder


@dataclass(frozen=True)
class Made:
    """An image that was made, read back."""

    source: Path
    archive: Path
    bill: dict[str, Any]
    files: dict[str, bytes]
    """The archive's, by name."""

    def blob(self, digest: str) -> bytes:
        """Return a blob, which must be what its digest says."""
        content = self.files[f"blobs/sha256/{digest.removeprefix('sha256:')}"]
        assert f"sha256:{hashlib.sha256(content).hexdigest()}" == digest
        return content

    def document(self, digest: str) -> dict[str, Any]:
        """Return a blob that is JSON."""
        found: dict[str, Any] = json.loads(self.blob(digest))
        return found

    @property
    def manifest(self) -> dict[str, Any]:
        """The manifest of the one image that the index names."""
        (entry,) = json.loads(self.files["index.json"])["manifests"]
        return self.document(entry["digest"])


def make_from(source: Path, output: Path) -> Made:
    """Make an image and read it back."""
    make(Inputs(source, "0" * 40, 1_700_000_000), output)
    (archive,) = output.glob("*.tar")
    with tarfile.open(archive) as tar:
        files = {
            member.name: held.read()
            for member in tar
            if (held := tar.extractfile(member)) is not None
        }
    return Made(source, archive, json.loads((output / "sbom.json").read_text()), files)


@pytest.fixture(scope="package")
def made(tmp_path_factory: pytest.TempPathFactory) -> Made:
    """The image."""
    folder = tmp_path_factory.mktemp("made")
    try:
        return make_from(source_in(folder / "source"), folder / "dist")
    except CannotProvideError as error:
        skip_or_fail(error)


@pytest.fixture(scope="package")
def base(tmp_path_factory: pytest.TempPathFactory, made: Made) -> Iterator[Path]:
    """The folder of Debian's part."""
    folder = tmp_path_factory.mktemp("base") / "root"
    packages = debian.read_lock()
    unpack_debian(packages, debian.fetch(packages), folder)
    yield folder
    shutil.rmtree(folder)
