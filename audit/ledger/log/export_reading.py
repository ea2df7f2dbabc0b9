"""Reads an export, which may be packed with gzip, and verifies it while it goes by."""

import gzip
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO, Final, cast

from audit.ledger.log.export import (
    MOST_LINE,
    EndLine,
    ExportLine,
    HeadLine,
    LeafLine,
    Line,
    decode_line,
)
from audit.ledger.log.problems import Where, Wrong, problem, stretch
from audit.ledger.log.verifier import Seen, Trust, Verifier
from core.base.errors import InvalidObjectError

_GZIP: Final = b"\x1f\x8b"
_BUFFER: Final = 1024 * 1024
_EVERY: Final = 65_536
"""Lines between two calls of `progress`."""

Progress = Callable[[int, int], None]
"""Told how many of how many records are verified."""


class DamagedExportError(ValueError):
    """Bytes are no export; `line` says where they cease to be one."""

    def __init__(self, line: int, problem: str) -> None:
        self.line = line
        super().__init__(f"line {line}: {problem}")


def verify_export(path: Path, trust: Trust, progress: Progress) -> Verifier:
    """Verify the export in a file.

    Raises:
        InvalidObjectError: it is no export at all.
        OSError: it cannot be read.
    """
    with _opened(path) as file:
        lines = _lines(file)
        try:
            opening = _opening(next(lines, None))
            verifier = Verifier(opening, trust)
        except ValueError as error:
            raise InvalidObjectError(str(path), "", str(error)) from None
        _feed(verifier, lines, progress)
    return verifier


def _opening(line: Line | None) -> ExportLine:
    if not isinstance(line, ExportLine):
        raise DamagedExportError(1, "it is not the first line of an export")
    return line


def _feed(verifier: Verifier, lines: Iterator[Line], progress: Progress) -> None:
    """Give the verifier all lines after the first."""
    end: EndLine | None = None
    try:
        for number, line in enumerate(lines, 2):
            _demand_place(line, end, number)
            if isinstance(line, LeafLine):
                verifier.leaf(_seen(line, number))
            elif isinstance(line, HeadLine):
                verifier.head(line.head)
            elif isinstance(line, EndLine):
                end = line
            if number % _EVERY == 0:
                progress(verifier.size - verifier.opening.first, verifier.opening.size)
    except DamagedExportError as error:
        says = f"{error}: what comes after it was not read"
        verifier.problems.append(stretch(Wrong.FILE, says, verifier.size))
    if end is None:
        verifier.problems.append(problem(Wrong.FILE, "its last line is missing: it was cut short"))
        verifier.finish()
    else:
        verifier.finish(end.leaves, end.heads)


def _demand_place(line: Line, end: EndLine | None, number: int) -> None:
    if end is not None:
        raise DamagedExportError(number, "it stands after the last line")
    if isinstance(line, ExportLine):
        raise DamagedExportError(number, "a second export begins here")


def _seen(line: LeafLine, number: int) -> Seen:
    try:
        content = line.content
        digest = None if line.digest is None else bytes.fromhex(line.digest)
        where = Where(line.at, line.kind, line.cluster, bytes.fromhex(line.id))
        is_leaf = (content is None) != (digest is None) and 0 <= line.kind <= 255  # noqa: PLR2004  A byte.
        if not is_leaf or len(where.id) > 255 or len(where.cluster.encode()) > 255:  # noqa: PLR2004
            raise ValueError("it is no leaf")  # noqa: TRY301  The same as what fails above.
    except ValueError as error:
        raise DamagedExportError(number, str(error)) from None
    return Seen(where, content, digest, line.aside)


def _lines(file: BinaryIO) -> Iterator[Line]:
    """Give each line; raises DamagedExportError at the first that is none."""
    number = 0
    try:
        while content := file.readline(MOST_LINE):
            number += 1
            yield decode_line(content)
    except (EOFError, gzip.BadGzipFile, zlib.error):
        raise DamagedExportError(number + 1, "its gzip is damaged") from None
    except DamagedExportError:
        raise
    except ValueError as error:
        raise DamagedExportError(number, str(error).partition(" - at")[0]) from None


@contextmanager
def _opened(path: Path) -> Iterator[BinaryIO]:
    with path.open("rb", buffering=_BUFFER) as file:
        begins = file.read(len(_GZIP))
        file.seek(0)
        if begins != _GZIP:
            yield file
            return
        with gzip.open(file, "rb") as unpacked:
            yield cast("BinaryIO", unpacked)
