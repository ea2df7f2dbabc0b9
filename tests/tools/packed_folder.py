"""A folder that is kept for other clones in one file, which they read whole or not at all."""

import tarfile
from pathlib import Path
from tempfile import TemporaryDirectory

from core.base.whole_files import replace_file


def pack_whole(folder: Path, archive: Path) -> None:
    """Keep a folder in a file; whoever reads it meanwhile reads the old one or the new one."""
    archive.parent.mkdir(parents=True, exist_ok=True)
    with replace_file(archive) as file, tarfile.open(fileobj=file, mode="w") as packed:
        packed.add(folder, folder.name)


def unpack_whole(archive: Path, folder: Path) -> bool:
    """Put a packed folder in place, complete; return whether there was one that can be read.

    What a run that is cut off leaves beside it has its name, and more.
    """
    with TemporaryDirectory(prefix=f"{folder.name}-", dir=folder.parent) as beside:
        try:
            with tarfile.open(archive) as packed:
                packed.extractall(beside, filter="data")
            (Path(beside) / folder.name).rename(folder)
        except (OSError, tarfile.TarError):
            return False
    return True
