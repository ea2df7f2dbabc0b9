"""Files, folders of blobs and standard input: logs that somebody has already fetched."""

import asyncio
import os
import stat
import sys
from collections.abc import AsyncGenerator, AsyncIterator, Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import BinaryIO, Final

from audit.access.model.batch import RecordBatch, SourcePlaces, SourceRecord
from audit.access.sources.blob_hours import HourBlob, ReadMark, read_marks, write_marks
from audit.access.sources.blob_reader import read_pieces
from audit.access.sources.documents import MOST_DOCUMENT, find_whole_end, split_documents
from audit.access.sources.envelopes import records_of
from core.base.errors import SourceError

_SLOT: Final = "00/00"
_WINDOW: Final = 1024 * 1024


class BlobFolder:
    """A folder of blobs; names are paths below it. Links out of it are not followed."""

    def __init__(self, path: Path) -> None:
        self._path = path.resolve()

    async def names(self, prefix: str) -> AsyncIterator[tuple[str, int]]:
        """Yield the names below a prefix that ends a folder's name, and their sizes.

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
        """Return a file's size; None where it is gone, no file, or a link that leads out of here.

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
        """Return bytes of a file, fewer only at its end; none where it is gone.

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


@dataclass(frozen=True, slots=True)
class LogFiles:
    """Files of JSON lines or of one JSON list, also under gzip; read on where they have grown."""

    name: str
    cluster: str
    paths: Sequence[Path]

    async def stretches(self, places: SourcePlaces) -> AsyncGenerator[RecordBatch, None]:
        """Yield what came after these places, file by file, as `LogSource` says."""
        for path in self.paths:
            async for stretch in self._file(path.absolute(), places):
                yield stretch

    async def _file(self, path: Path, places: SourcePlaces) -> AsyncIterator[RecordBatch]:
        size, real = _size(path), _real(path)
        blob = HourBlob(real.name, "", str(path), _SLOT, 0, size, path.suffix == ".gz")
        mark = read_marks(places.get(f"{self.name}:{path}", "")).get(_SLOT, ReadMark())
        begin = write_marks({_SLOT: mark}) if mark.at else ""
        async for piece in read_pieces(BlobFolder(real.parent), blob, mark, settled=True):
            end = write_marks({_SLOT: piece.mark})
            records = piece.records
            if piece.replaced:  # Nobody promised that a file stays: it is read anew, and said.
                records = [SourceRecord(b"", str(path), piece.replaced), *records]
            yield RecordBatch(self.name, str(path), begin, end, records)
            begin, mark = end, piece.mark
        if mark.listed or blob.zipped:
            end = write_marks({_SLOT: replace(mark, size=size)})
            yield RecordBatch(self.name, str(path), begin, end, ())


@dataclass(frozen=True, slots=True)
class StandardInput:
    """Standard input, from its beginning to its end: what came before is known by its ids."""

    name: str
    cluster: str
    stream: BinaryIO = field(default_factory=lambda: sys.stdin.buffer)

    async def stretches(self, places: SourcePlaces) -> AsyncGenerator[RecordBatch, None]:  # noqa: ARG002  No place.
        """Yield its documents; one can wrap several records."""
        reading = _NumberedLines(self.name)
        rest, least, begin = b"", 0, ""
        records: list[SourceRecord] = []
        size = 0
        while window := await asyncio.to_thread(self.stream.read1, _WINDOW):  # type: ignore[attr-defined]
            rest += window
            if len(rest) < least:
                continue
            cut = find_whole_end(rest)
            if not cut and len(rest) > MOST_DOCUMENT:
                cut = len(rest)
            least = 0 if cut else 2 * len(rest)
            records += reading.records_of(rest[:cut])
            size, rest = size + cut, rest[cut:]
            if size >= _WINDOW:
                end = str(reading.number)
                yield RecordBatch(self.name, "stdin", begin, end, records)
                records, size, begin = [], 0, end
        records += reading.records_of(rest)
        if records:
            yield RecordBatch(self.name, "stdin", begin, str(reading.number), records)


class _NumberedLines:
    """Documents of standard input, and the number of the line that each begins in."""

    def __init__(self, name: str) -> None:
        self._name = name
        self.number = 0
        """Lines that were read."""

    def records_of(self, content: bytes) -> Iterator[SourceRecord]:
        """Yield the records of what comes next."""
        at, line = 0, self.number + 1
        for begin, document in split_documents(content):
            line += content.count(b"\n", at, begin)
            at = begin
            yield from records_of(document.strip(), f"{self._name} line {line}")
        ended = content[-1:] in {b"", b"\n"}
        self.number = line + content.count(b"\n", at) - ended


def _size(path: Path) -> int:
    try:
        return path.stat().st_size
    except OSError as error:
        raise SourceError(f"{path} cannot be read ({error.strerror})") from error


def _real(path: Path) -> Path:
    """Return where a link leads: the operator named it, so it is followed."""
    return path.resolve()
