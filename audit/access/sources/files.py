"""Files and standard input: logs that somebody has already fetched."""

import asyncio
import sys
from collections.abc import AsyncGenerator, AsyncIterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import BinaryIO, Final

from audit.access.model.batch import MOST_RECORD, MOST_STRETCH, Places, Record, Stretch
from audit.access.sources.blob_hours import HourBlob, Mark, read_marks, write_marks
from audit.access.sources.blob_reader import pieces
from audit.access.sources.envelopes import parts_of, too_long, wraps
from audit.access.sources.folder import Folder
from core.base.errors import SourceError

_SLOT: Final = "00/00"
_WINDOW: Final = 1024 * 1024


@dataclass(frozen=True, slots=True)
class Files:
    """Files of JSON lines or of one JSON list, also under gzip; read on where they have grown."""

    name: str
    cluster: str
    paths: Sequence[Path]

    async def stretches(self, places: Places) -> AsyncGenerator[Stretch, None]:
        """Give what came after these places, file by file, as `Source` says."""
        for path in self.paths:
            async for stretch in self._file(path.absolute(), places):
                yield stretch

    async def _file(self, path: Path, places: Places) -> AsyncIterator[Stretch]:
        size, real = _size(path), _real(path)
        blob = HourBlob(real.name, "", str(path), _SLOT, 0, size, path.suffix == ".gz")
        mark = read_marks(places.get(f"{self.name}:{path}", "")).get(_SLOT, Mark())
        begin = write_marks({_SLOT: mark}) if mark.at else ""
        async for piece in pieces(Folder(real.parent), blob, mark, settled=True):
            end = write_marks({_SLOT: piece.mark})
            records = piece.records
            if piece.replaced:  # Nobody promised that a file stays: it is read anew, and said.
                records = [Record(b"", str(path), piece.replaced), *records]
            yield Stretch(self.name, str(path), begin, end, records)
            begin, mark = end, piece.mark
        if mark.listed or blob.zipped:
            end = write_marks({_SLOT: replace(mark, size=size)})
            yield Stretch(self.name, str(path), begin, end, ())


@dataclass(frozen=True, slots=True)
class StandardInput:
    """Standard input, from its beginning to its end: what came before is known by its ids."""

    name: str
    cluster: str
    stream: BinaryIO = field(default_factory=lambda: sys.stdin.buffer)

    async def stretches(self, places: Places) -> AsyncGenerator[Stretch, None]:  # noqa: ARG002  No place.
        """Give its lines; a line can wrap several records."""
        rest, number, records, size = b"", 0, list[Record](), 0
        begin = 0
        while window := await asyncio.to_thread(self.stream.read1, _WINDOW):  # type: ignore[attr-defined]
            *lines, rest = (rest + window).split(b"\n")
            if len(rest) > MOST_STRETCH:
                lines, rest = [*lines, rest], b""
            for line in lines:
                number += 1
                records.extend(self._line(line, number))
                size += len(line)
            if size >= _WINDOW:
                yield Stretch(self.name, "stdin", str(begin or ""), str(number), records)
                records, size, begin = [], 0, number
        if rest.strip():
            number += 1
            records.extend(self._line(rest, number))
        if records:
            yield Stretch(self.name, "stdin", str(begin or ""), str(number), records)

    def _line(self, line: bytes, number: int) -> list[Record]:
        line, place = line.strip(), f"{self.name} line {number}"
        if not line:
            return []
        if wraps(line):
            return [Record(part.raw, place, part.problem) for part in parts_of(line)]
        return [Record(line, place, too_long(len(line)) if len(line) > MOST_RECORD else "")]


def _size(path: Path) -> int:
    try:
        return path.stat().st_size
    except OSError as error:
        raise SourceError(f"{path} cannot be read ({error.strerror})") from error


def _real(path: Path) -> Path:
    """Give where a link leads: the operator named it, so it is followed."""
    return path.resolve()
