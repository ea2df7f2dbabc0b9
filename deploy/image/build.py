"""An image out of what it is made of."""

import datetime as dt
import hashlib
import os
import shutil
import tempfile
import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import msgspec

from deploy.image import debian, root, sbom, wheels
from deploy.image.archive import Layer, Written, write_archive
from tests.tools.debian import run
from tests.tools.provide import locked

HERE: Final = Path(__file__).resolve()
NAME: Final = "localhost/sallyport"
"""The repository under which containerd imports it."""
VERIFIER: Final = Path("examples", "ledger", "verify_export.py")
"""Of the source: what those verify exports with who have no Sallyport."""


@dataclass(frozen=True, slots=True)
class Inputs:
    """What an image is made of. All of it is in the digest."""

    source: Path
    """The folder with the rooms, `pyproject.toml`, `requirements/runtime.txt` and VERIFIER."""
    revision: str
    """The commit."""
    epoch: int
    """When that was made, in Unix seconds."""

    @property
    def version(self) -> str:
        """Sallyport's version."""
        project = tomllib.loads((self.source / "pyproject.toml").read_text())
        return str(project["project"]["version"])

    @property
    def created(self) -> str:
        """The time as RFC 3339 writes it."""
        return dt.datetime.fromtimestamp(self.epoch, dt.UTC).strftime("%Y-%m-%dT%H:%M:%SZ")

    @property
    def labels(self) -> dict[str, str]:
        """Those of image-spec's annotations.md."""
        said = {
            "title": "sallyport",
            "description": "Admission webhooks for clusters in which AI models are trained",
            "version": self.version,
            "revision": self.revision,
            "created": self.created,
            "licenses": "Apache-2.0",
        }
        return {f"org.opencontainers.image.{key}": value for key, value in said.items()}


def make(inputs: Inputs, output: Path, name: str = NAME, kept: Path | None = None) -> Written:
    """Write the archive, its bill of materials and VERIFIER into `output`.

    `kept` is a folder for the layers that change only with what is locked; without it each is made.

    Raises:
        CannotProvideError: something that it is made of cannot be had.
    """
    output.mkdir(parents=True, exist_ok=True)
    packages = debian.read_lock()
    files = debian.fetch(packages)
    locked = wheels.locked_wheels(inputs.source / "requirements" / "runtime.txt")
    with tempfile.TemporaryDirectory() as folder:
        work = Path(folder)
        own = wheels.own_wheel(inputs.source, work / "wheel")
        base, others, rooms = (work / each for each in ("base", "others", "rooms"))
        root.unpack_debian(packages, files, base)
        for wheel in locked:
            wheels.unpack(wheel, others)
        wheels.unpack(own, rooms)
        root.write_programs(rooms)
        key = _key(inputs.source)
        layers = [
            (*_kept(base, base, work, kept, key), "Debian's packages"),
            (*_kept(base, others, work, kept, key), "locked wheels"),
            (*_packed(base, rooms, work / "rooms.tar.gz"), "Sallyport"),
        ]
        path = output / f"sallyport-{inputs.version}.oci.tar"
        reference = f"{name}:{inputs.version}"
        written = write_archive(path, layers, inputs.labels, inputs.created, reference)
        image = {"version": inputs.version, "digest": written.digest, "created": inputs.created}
        (output / "sbom.json").write_text(sbom.bill(packages, [*locked, own], base, image))
        shutil.copy(inputs.source / VERIFIER, output)
    return written


def _key(source: Path) -> str:
    """Return a digest of what the layers below Sallyport's own are made of, and by."""
    digest = hashlib.sha256((source / "requirements" / "runtime.txt").read_bytes())
    for name in ("debian.lock", "debian.py", "pack.py", "root.py", "wheels.py"):
        digest.update(HERE.with_name(name).read_bytes())
    return digest.hexdigest()[:16]


def _kept(base: Path, tree: Path, work: Path, kept: Path | None, key: str) -> tuple[Layer, Path]:
    """Pack a tree, or take the layer that was made of the same before."""
    if kept is None:
        return _packed(base, tree, work / f"{tree.name}.tar.gz")
    kept.mkdir(parents=True, exist_ok=True)
    file, said = kept / f"{tree.name}-{key}.tar.gz", kept / f"{tree.name}-{key}.json"
    with locked(kept / "lock"):
        if not said.exists():
            layer, made = _packed(base, tree, work / f"{tree.name}.tar.gz")
            shutil.move(made, file)
            said.write_bytes(msgspec.json.encode(layer))
    return msgspec.json.decode(said.read_bytes(), type=Layer), file


def _packed(base: Path, tree: Path, file: Path) -> tuple[Layer, Path]:
    said = root.run_with(root.python_of(base), HERE.with_name("pack.py"), tree, file)
    return msgspec.json.decode(said, type=Layer), file


def inputs_of(source: Path) -> Inputs:
    """Read the revision and its time from git, or SOURCE_DATE_EPOCH."""
    revision = run(["git", "rev-parse", "HEAD"], source).strip()
    changed = run(["git", "status", "--porcelain", "--untracked-files=no"], source).strip()
    made = os.environ.get("SOURCE_DATE_EPOCH") or run(["git", "log", "-1", "--format=%ct"], source)
    return Inputs(source, f"{revision}-changed" if changed else revision, int(made))
