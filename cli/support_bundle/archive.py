"""A support bundle as one file: a tar.gz whose bytes follow from what is in it."""

import gzip
import hashlib
import io
import tarfile
from collections.abc import Mapping
from typing import Final

import msgspec

FORMAT: Final = 1
ROOT: Final = "sallyport-support"
MANIFEST: Final = "MANIFEST.json"


class BundledFile(msgspec.Struct, frozen=True, rename="camel"):
    """A file of the bundle."""

    path: str
    """Below `sallyport-support/`."""
    what: str
    bytes: int
    sha256: str


class LeftOut(msgspec.Struct, frozen=True, rename="camel"):
    """What could not be read, and why."""

    what: str
    why: str


class BundleManifest(msgspec.Struct, frozen=True, rename="camel", kw_only=True):
    """`MANIFEST.json` of a support bundle (docs/reference/support-bundle.schema.json)."""

    format: int = FORMAT
    made: str
    """By this machine's clock."""
    sallyport: str
    """Version of the command."""
    namespace: str
    since: str
    """Events and lines of logs are not older."""
    files: list[BundledFile]
    left_out: list[LeftOut]
    """What could not be read."""
    never: list[str]
    """What no bundle holds."""
    redacted: dict[str, int]
    """How many `secrets` were removed from texts, and `names` became pseudonyms."""


def bundled_file(path: str, what: str, content: bytes) -> BundledFile:
    """Describe a file."""
    return BundledFile(path, what, len(content), hashlib.sha256(content).hexdigest())


def build_archive(files: Mapping[str, bytes], unix_s: int) -> bytes:
    """Return the tar.gz of files by path: in order, of nobody, and all of the same time."""
    packed = io.BytesIO()
    with (
        gzip.GzipFile(fileobj=packed, mode="wb", mtime=unix_s) as zipped,
        tarfile.open(fileobj=zipped, mode="w", format=tarfile.PAX_FORMAT) as archive,
    ):
        for path in sorted(files):
            entry = tarfile.TarInfo(f"{ROOT}/{path}")
            entry.size, entry.mtime, entry.mode = len(files[path]), unix_s, 0o600
            archive.addfile(entry, io.BytesIO(files[path]))
    return packed.getvalue()
