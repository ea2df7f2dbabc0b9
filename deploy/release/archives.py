"""Archives that depend on nothing but what is in them."""

import gzip
import io
import tarfile
from collections.abc import Mapping
from pathlib import Path

_MODE = 0o644


def write_tar_gz(path: Path, files: Mapping[str, bytes], epoch: int) -> None:
    """Write a tar file, packed with gzip, of contents by name; all have one time, Unix seconds."""
    plain = io.BytesIO()
    with tarfile.open(fileobj=plain, mode="w", format=tarfile.PAX_FORMAT) as tar:
        for name, content in sorted(files.items()):
            info = tarfile.TarInfo(name)
            info.size, info.mtime, info.mode = len(content), epoch, _MODE
            tar.addfile(info, io.BytesIO(content))
    path.write_bytes(gzip.compress(plain.getvalue(), compresslevel=9, mtime=0))
