"""The file of a bundle, a `.tar.gz` as OPA's bundles are: read, packed, written in one step."""

import gzip
import io
import stat
import tarfile
import zlib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Final

from core.base.errors import BundleRefusedError

MAX_BYTES: Final = 16 * 1024 * 1024
"""Largest bundle, packed and unpacked; ours take under 1 MiB."""


def read_archive(path: Path) -> bytes:
    """Read the file of a bundle.

    Raises:
        BundleRefusedError: it is missing, too large or no file.
    """
    try:
        found = path.stat()
        if not stat.S_ISREG(found.st_mode):
            raise BundleRefusedError(f"{path}: cannot be read as a bundle: not a regular file")
        if found.st_size > MAX_BYTES:
            raise BundleRefusedError(f"{path}: larger than {MAX_BYTES >> 20} MiB")
        return path.read_bytes()
    except FileNotFoundError as error:
        message = f"{path}: no such bundle; make it with 'sallyport policy build'"
        raise BundleRefusedError(message) from error
    except OSError as error:
        raise BundleRefusedError(f"{path}: cannot be read as a bundle: {error}") from error


def unpack(packed: bytes, path: str) -> dict[str, bytes]:
    """Return the files of a packed bundle, by name; `path` is what messages call it.

    Raises:
        BundleRefusedError: it is damaged, or too large.
    """
    try:
        with gzip.open(io.BytesIO(packed)) as unpacked:
            content = unpacked.read(MAX_BYTES + 1)
        if len(content) > MAX_BYTES:
            raise BundleRefusedError(f"{path}: unpacks to more than {MAX_BYTES >> 20} MiB")
        return dict(_entries(content))
    except (OSError, EOFError, ValueError, tarfile.TarError, zlib.error) as error:
        raise BundleRefusedError(f"{path}: cannot be read as a bundle: {error}") from error


def _entries(content: bytes) -> Iterator[tuple[str, bytes]]:
    """Yield name and content of each file of an unpacked archive.

    The blocks are walked here, since `tarfile` follows links and takes any memory for extended
    headers. OPA and `pack` write neither: files and folders are all there can be.
    """
    at = 0
    while (header := content[at : at + tarfile.BLOCKSIZE]).strip(b"\0"):
        entry = tarfile.TarInfo.frombuf(header, "utf-8", "replace")
        at += tarfile.BLOCKSIZE
        if entry.isdir():
            continue
        if entry.type not in {tarfile.REGTYPE, tarfile.AREGTYPE}:
            raise ValueError(f"{entry.name!r} is neither a file nor a folder")
        end = at + entry.size
        if not at <= end <= len(content):
            raise ValueError(f"{entry.name!r} does not end in it")
        yield entry.name.lstrip("/"), content[at:end]
        at = end + -end % tarfile.BLOCKSIZE


def pack(files: Mapping[str, bytes]) -> bytes:
    """Return a packed bundle of files by name; same in, same out."""
    out = io.BytesIO()
    with (
        # Without a time in the header, which tarfile's own "w:gz" would put there.
        gzip.GzipFile(fileobj=out, mode="wb", compresslevel=9, mtime=0) as packed,
        tarfile.open(fileobj=packed, mode="w", format=tarfile.USTAR_FORMAT) as new,
    ):
        for name, content in sorted(files.items()):
            entry = tarfile.TarInfo(f"/{name}")
            entry.size = len(content)
            new.addfile(entry, io.BytesIO(content))
    return out.getvalue()
