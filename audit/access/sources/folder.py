"""Blobs in a folder: a mounted container, or what was copied out of one."""

import asyncio
import os
import stat
from collections.abc import AsyncIterator
from pathlib import Path

from core.base.errors import SourceError


class Folder:
    """A folder of blobs; names are paths below it. Links out of it are not followed."""

    def __init__(self, path: Path) -> None:
        self._path = path.resolve()

    async def names(self, prefix: str) -> AsyncIterator[tuple[str, int]]:
        """Give the names below a prefix that ends a folder's name, and their sizes.

        Raises:
            SourceError: the folder is not there, or cannot be read.
        """
        for name, size in await asyncio.to_thread(self._listed, prefix):
            yield name, size

    def _listed(self, prefix: str) -> list[tuple[str, int]]:
        top = self._path / prefix
        if not self._path.is_dir():
            raise SourceError(f"{self._path} is no folder: name the one that the logs lie in")
        found: list[tuple[str, int]] = []
        for folder, folders, files in os.walk(top, onerror=_refuse):
            folders.sort()
            for file in sorted(files):
                path = Path(folder, file)
                if (size := self._size_of(path)) is not None:
                    found.append((str(path.relative_to(self._path)), size))
        return found

    def _size_of(self, path: Path) -> int | None:
        """Give a file's size; None where it is gone, no file, or a link that leads out of here.

        Whoever may write the folder must not stop all of it with a pipe, or a link to itself.
        """
        try:
            real = path.resolve(strict=True)
            about = real.stat()
        except (FileNotFoundError, RuntimeError):  # The latter is of links in a circle.
            return None
        except OSError as error:
            raise _unreadable(str(path.relative_to(self._path)), error) from error
        here = stat.S_ISREG(about.st_mode) and real.is_relative_to(self._path)
        return about.st_size if here else None

    async def read(self, name: str, begin: int, length: int) -> bytes:
        """Give bytes of a file, fewer only at its end; none where it is gone.

        Raises:
            SourceError: it cannot be read.
        """
        return await asyncio.to_thread(self._read, name, begin, length)

    def _read(self, name: str, begin: int, length: int) -> bytes:
        if self._size_of(self._path / name) is None:  # It may have become a link meanwhile.
            return b""
        try:
            with (self._path / name).open("rb") as file:
                file.seek(begin)
                return file.read(length)
        except FileNotFoundError:
            return b""
        except OSError as error:
            raise _unreadable(name, error) from error


def _refuse(error: OSError) -> None:
    if not isinstance(error, FileNotFoundError):
        raise _unreadable(str(error.filename), error) from error


def _unreadable(name: str, error: OSError) -> SourceError:
    return SourceError(f"{name} cannot be read ({error.strerror}): check its owner and mode")
