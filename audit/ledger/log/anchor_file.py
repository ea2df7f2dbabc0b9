"""An anchor that is a file: it must lie where whoever can write the ledger can only append."""

import asyncio
import fcntl
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from audit.ledger.log.anchors import (
    BEGINNING,
    MOST_LINE,
    AnchorLine,
    decode_line,
    line_digest,
    lines_of,
)
from audit.ledger.log.heads import TreeHead
from audit.ledger.log.leaves import MARK_BYTES
from core.base.errors import LedgerError

_BLOCK: Final = 64 * 1024


@dataclass(frozen=True, slots=True)
class AnchorEnd:
    """Where an anchor ends."""

    reached: int = 0
    """Leaves that have their marks there."""
    size: int = 0
    """Of the last head, where the last line has one."""
    log: str = ""
    before: str = BEGINNING
    """Digest of the last line."""


def end_of(line: bytes) -> AnchorEnd:
    """Return where an anchor ends whose last line this is, without its end.

    Raises:
        ValueError: it is no line of an anchor.
    """
    read: AnchorLine = decode_line(line)
    head = read.head
    reached = head.size if head else read.reached
    size, log = (head.size, head.log) if head else (0, "")
    return AnchorEnd(reached, size, log, line_digest(line))


def demand_same_log(end: AnchorEnd, head: TreeHead) -> None:
    """Demand that an anchor is of the head's log.

    Raises:
        ValueError: it is another's.
    """
    if end.log and end.log != head.log:
        message = f"it is of the log {end.log}, and this is {head.log}: name another place"
        raise ValueError(message)


class FileAnchor:
    """Appends to a file, and makes it where it is missing; each head is on the disk when kept.

    It writes at the end alone, so the file may be one that can only be appended to (`chattr +a`).
    """

    keeps_marks = True

    def __init__(self, path: Path) -> None:
        self.name = f"file {path}"
        self._path = path

    async def reached(self) -> int:
        """Return how many leaves have their marks there.

        Raises:
            LedgerError: it cannot be read, or is no anchor.
        """
        return await asyncio.to_thread(self._reached)

    async def publish(self, head: TreeHead, marks: bytes) -> None:
        """Keep a head and the marks since `reached()`.

        Raises:
            LedgerError: it is not (all) kept.
        """
        await asyncio.to_thread(self._publish, head, marks)

    def _reached(self) -> int:
        try:
            with self._path.open("rb") as file:
                return self._end(file.fileno()).reached
        except FileNotFoundError:
            return 0
        except (OSError, ValueError) as error:
            raise self._failed(error) from None

    def _publish(self, head: TreeHead, marks: bytes) -> None:
        try:
            file = os.open(self._path, os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o600)
            try:
                fcntl.flock(file, fcntl.LOCK_EX)
                self._append(file, head, marks)
            finally:
                os.close(file)
        except (OSError, ValueError) as error:
            raise self._failed(error) from None

    def _append(self, file: int, head: TreeHead, marks: bytes) -> None:
        end = self._end(file)
        demand_same_log(end, head)
        if head.size <= end.size:
            return
        rest = marks[-(head.size - end.reached) * MARK_BYTES :] if head.size > end.reached else b""
        torn = _is_torn(file)
        for line in lines_of(head, rest, end.reached, end.before):
            _write(file, b"\n" + line if torn else line)
            torn = False
        os.fsync(file)

    def _end(self, file: int) -> AnchorEnd:
        """Read the last whole line; one that a crash cut short does not count."""
        size = os.fstat(file).st_size
        read = b""
        while len(read) < min(size, 2 * MOST_LINE):
            start = max(size - len(read) - _BLOCK, 0)
            read = os.pread(file, size - len(read) - start, start) + read
            for line in reversed(read.split(b"\n")[1 if start else 0 : -1]):
                if line and (end := _end_or_none(line)):
                    return end
        if read.count(b"\n"):
            raise ValueError("its last line is not one of an anchor")
        return AnchorEnd()

    def _failed(self, error: Exception) -> LedgerError:
        problem = error.strerror if isinstance(error, OSError) else str(error)
        return LedgerError(f"the anchor {self.name}: {problem}")


def _end_or_none(line: bytes) -> AnchorEnd | None:
    try:
        return end_of(line)
    except ValueError:
        return None


def _is_torn(file: int) -> bool:
    """Return whether the file ends in a line that was cut short."""
    size = os.fstat(file).st_size
    return size > 0 and os.pread(file, 1, size - 1) != b"\n"


def _write(file: int, content: bytes) -> None:
    rest = memoryview(content)
    while rest:
        rest = rest[os.write(file, rest) :]
