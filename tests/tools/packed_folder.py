"""A folder that is kept for other clones in one file, which they read whole or not at all."""

import tarfile
from pathlib import Path
from tempfile import TemporaryDirectory


def pack_whole(folder: Path, archive: Path) -> None:
    """Keep a folder in a file; whoever reads it meanwhile reads the old one or the new one."""
    archive.parent.mkdir(parents=True, exist_ok=True)
    with TemporaryDirectory(dir=archive.parent) as beside:
        partial = Path(beside) / archive.name
        with tarfile.open(partial, "w") as packed:
            packed.add(folder, folder.name)
        partial.replace(archive)


def unpack_whole(archive: Path, folder: Path) -> bool:
    """Put a packed folder in place, complete; return whether there was one that can be read."""
    with TemporaryDirectory(dir=folder.parent) as beside:
        try:
            with tarfile.open(archive) as packed:
                packed.extractall(beside, filter="data")
            (Path(beside) / folder.name).rename(folder)
        except (OSError, tarfile.TarError):
            return False
    return True
