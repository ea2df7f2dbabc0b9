"""A release out of the checkout: what it has, in one folder."""

import tempfile
from dataclasses import dataclass
from pathlib import Path

from deploy.image import build as image
from deploy.image import wheels
from deploy.image.build import Inputs
from deploy.release.charts import package_charts
from deploy.release.notes import notes_of
from deploy.release.provenance import envelope, sha256, statement
from deploy.release.signatures import Key, public_pem, sign
from deploy.release.wheelhouse import write_wheelhouse
from tests.tools.provide import CannotProvideError

SUMS = "SHA256SUMS"
PROVENANCE = "provenance.intoto.json"


@dataclass(frozen=True)
class Release:
    """What was made."""

    folder: Path
    digest: str
    """The image's."""
    files: tuple[str, ...]
    signed: bool


def make_release(
    inputs: Inputs, output: Path, key: Key | None = None, kept: Path | None = None
) -> Release:
    """Make everything into `output`/VERSION, which is empty or not there.

    `kept` is as for the image. Without a key nothing is signed.

    Raises:
        CannotProvideError: something that it is made of cannot be had.
    """
    folder = output / inputs.version
    folder.mkdir(parents=True, exist_ok=True)
    if any(folder.iterdir()):
        raise CannotProvideError(f"{folder} is not empty: remove what is in it")
    written = image.make(inputs, folder, kept=kept)
    package_charts(inputs.source / "helm", folder, written.digest, inputs.epoch)
    locked = wheels.locked_wheels(inputs.source / "requirements" / "runtime.txt")
    with tempfile.TemporaryDirectory() as work:
        own = wheels.own_wheel(inputs.source, Path(work))
        write_wheelhouse(folder, own, locked, inputs.epoch)
    changelog = (inputs.source / "CHANGELOG.md").read_text()
    (folder / "RELEASE_NOTES.md").write_text(notes_of(changelog, inputs.version))
    (folder / "images.txt").write_text(f"sallyport:{inputs.version}@{written.digest}\n")
    said = statement(inputs, sorted(folder.iterdir()))
    (folder / PROVENANCE).write_bytes(said if key is None else envelope(said, key))
    _sum(folder, key)
    files = tuple(sorted(each.name for each in folder.iterdir()))
    return Release(folder, written.digest, files, signed=key is not None)


def _sum(folder: Path, key: Key | None) -> None:
    """Write the checksums as `sha256sum --check` reads them, and sign them."""
    sums = "".join(f"{sha256(each)}  {each.name}\n" for each in sorted(folder.iterdir())).encode()
    (folder / SUMS).write_bytes(sums)
    if key is not None:
        (folder / f"{SUMS}.sig").write_text(f"{sign(key, sums)}\n")
        (folder / "release.pub").write_bytes(public_pem(key))
