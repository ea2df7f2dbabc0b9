"""A Secret's volume as a kubelet writes it: all files change at one moment, by one symlink."""

import shutil
from collections.abc import Mapping
from itertools import count
from pathlib import Path
from typing import Final

_CURRENT: Final = "..data"


class SecretVolume:
    """A folder of a Secret's files (kubernetes/pkg/volume/util, AtomicWriter)."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._numbers = count()
        self._content: dict[str, bytes] = {}
        folder.mkdir(parents=True)

    def __truediv__(self, name: str) -> Path:
        """Return a file's path."""
        return self.folder / name

    def put(self, content: Mapping[str, bytes]) -> bool:
        """Show this content from now on; say whether it is another one."""
        if dict(content) == self._content:
            return False
        self._content = dict(content)
        made = self.folder / f"..{next(self._numbers)}"
        made.mkdir(mode=0o700)
        for name, value in content.items():
            (made / name).write_bytes(value)
        old = (self.folder / _CURRENT).resolve()
        new = self.folder / "..data_tmp"
        new.symlink_to(made.name)
        new.replace(self.folder / _CURRENT)
        for name in content:
            if not (self.folder / name).is_symlink():
                (self.folder / name).symlink_to(f"{_CURRENT}/{name}")
        if old.is_dir() and old.parent == self.folder.resolve() and old.name != _CURRENT:
            shutil.rmtree(old)
        return True
