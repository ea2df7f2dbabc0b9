"""Reads a blob of an hour on from where it was read to, in pieces of whole records."""

import re
import zlib
from collections.abc import AsyncIterator, Iterator, Sequence
from typing import Final, NamedTuple, Protocol

from audit.access.model.batch import MOST_BATCH, SourceRecord
from audit.access.sources.blob_hours import OVERLAP, HourBlob, ReadMark, digest_of
from audit.access.sources.documents import (
    MOST_DOCUMENT,
    find_document_end,
    find_whole_end,
    is_json,
    split_documents,
)
from audit.access.sources.envelopes import (
    LineRecords,
    is_envelope,
    parts_of,
    records_of,
    too_long_problem,
)

PIECE: Final = 4 * 1024 * 1024
"""Bytes of one piece, but for longer lines."""

_LIST_HEAD: Final = re.compile(rb'\s*(\[|\{\s*"records"\s*:)')
_BOM: Final = b"\xef\xbb\xbf"


class BlobStore(Protocol):
    """Where blobs lie: a folder, or a container."""

    def names(self, prefix: str) -> AsyncIterator[tuple[str, int]]:
        """Yield the names below a prefix, and their sizes.

        Raises:
            SourceError: they cannot be listed.
        """

    async def read(self, name: str, begin: int, length: int) -> bytes:
        """Return bytes of a blob, fewer only at its end; none where it is gone.

        Raises:
            SourceError: it cannot be read.
        """


class BlobPiece(NamedTuple):
    """Whole records of a blob, and how far it is read with them."""

    records: Sequence[SourceRecord]
    mark: ReadMark
    replaced: str = ""
    """Why what was read of it before is no longer in it; it is read from its beginning."""


async def read_pieces(
    blobs: BlobStore, blob: HourBlob, mark: ReadMark, *, settled: bool
) -> AsyncIterator[BlobPiece]:
    """Yield what a blob has after a mark.

    `settled` says that it grows no more: an end that is no whole record is refused, not waited for.
    """
    content: _Content = _Zipped(blobs, blob.name) if blob.zipped else _Plain(blobs, blob.name)
    try:
        listed = mark.listed or (not mark.at and await _is_list(content))
        read = _of_list if listed else _of_lines
        async for piece in read(content, blob, mark, settled=settled):
            mark = piece.mark
            yield piece
    except zlib.error:
        problem = "is no gzip, or is damaged from there on"
        yield BlobPiece([SourceRecord(b"", f"{blob.name}@{mark.at}", problem)], mark)


async def _replaced(content: "_Content", blob: HourBlob, mark: ReadMark) -> str:
    """Say why what was read is no longer in a blob; nothing where it is."""
    if not mark.at:
        return ""
    if not blob.zipped and blob.size < mark.at:
        return f"the blob shrank from {mark.at} bytes to {blob.size}"
    begin = max(mark.at - OVERLAP, 0)
    before = await content.read(begin, mark.at - begin)
    if digest_of(before) == mark.digest:
        return ""
    return "the blob was replaced: it has other bytes where it was read to"


async def _is_list(content: "_Content") -> bool:
    """Return whether a blob may be one JSON list, or one envelope of records.

    Lines that wrap records, and streams of lists, look alike at first.
    """
    head = (await content.read(0, 4096)).removeprefix(_BOM)
    if not _LIST_HEAD.match(head):
        return False
    whole = (await content.read(0, MOST_DOCUMENT + 1)).removeprefix(_BOM)
    line, ended, _ = whole.partition(b"\n")
    if ended and is_json(line):
        return False
    if len(whole) > MOST_DOCUMENT or is_json(whole):
        return True
    end = find_document_end(whole, len(whole) - len(whole.lstrip()))
    return end <= 0 or not is_json(whole[:end])  # Else more follows it: a stream.


async def _of_lines(
    content: "_Content", blob: HourBlob, mark: ReadMark, *, settled: bool
) -> AsyncIterator[BlobPiece]:
    if replaced := await _replaced(content, blob, mark):
        mark = ReadMark()
        yield BlobPiece([], mark, replaced)
    at, size = mark.at, PIECE
    problem: str | None
    while window := await content.read(at, size):
        ended = len(window) < size
        cut = find_whole_end(window)
        if not cut and not ended:
            if size < (most := _most(window)):
                size = min(max(2 * size, MOST_BATCH), most)
                continue
            cut = window.rfind(b"\n") + 1
        whole, rest = window[:cut], window[cut:]
        records: Sequence[SourceRecord] = LineRecords(whole, blob.name, at)
        problem = too_long_problem(len(window)) if not cut and not ended else None
        if ended and rest:
            problem = _end(rest, settled=settled)
        if problem is not None:
            records = [*records, *_last(rest, blob.name, at + cut, problem)]
            whole = window
        if whole:
            at += len(whole)
            begin = max(at - OVERLAP, 0)
            before = whole if len(whole) >= OVERLAP else await content.read(begin, at - begin)
            yield BlobPiece(records, ReadMark(at, digest_of(before)))
        if ended:
            return
        size = PIECE


def _most(window: bytes) -> int:
    """Return how many bytes are read at most for one document: of one record, fewer."""
    head = window.removeprefix(_BOM).lstrip()
    spread = head[:1] in {b"{", b"["} and b"\n" in head
    return MOST_DOCUMENT if spread or is_envelope(head) else MOST_BATCH


def _last(rest: bytes, name: str, at: int, problem: str) -> Iterator[SourceRecord]:
    """Yield the records of an end without a line's end; the problem is of the last."""
    *before, (begin, last) = split_documents(rest)
    for start, document in before:
        yield from records_of(document, f"{name}@{at + start}")
    yield from records_of(last, f"{name}@{at + begin}", problem)


def _end(rest: bytes, *, settled: bool) -> str | None:
    """Say what is wrong with an end without a line's end; None where it is to be waited for.

    No beginning of a JSON object is one, so one that is whole is no half-written record.
    """
    if not rest.strip(b"\r\n\t \x00"):
        return None
    if is_json(rest):
        return ""
    return "ends in the middle of a record" if settled else None


async def _of_list(
    content: "_Content", blob: HourBlob, mark: ReadMark, *, settled: bool
) -> AsyncIterator[BlobPiece]:
    whole = await content.read(0, MOST_DOCUMENT + 1)
    if len(whole) > MOST_DOCUMENT:
        text = f"is one JSON list of more than {MOST_DOCUMENT} bytes: export it as lines"
        yield BlobPiece(
            [SourceRecord(whole[:PIECE], blob.name, text)],
            ReadMark(mark.at, mark.digest, listed=True),
        )
        return
    whole = whole.removeprefix(_BOM)
    if not is_json(whole):
        if settled:
            text = "is a JSON list that ends in its middle, or is damaged"
            yield BlobPiece(
                [SourceRecord(whole[:PIECE], blob.name, text)],
                ReadMark(mark.at, mark.digest, listed=True),
            )
        return
    parts = list(parts_of(whole))
    done = mark.at if mark.listed else 0
    if done and (done > len(parts) or digest_of(parts[done - 1].raw) != mark.digest):
        done = 0
        yield BlobPiece([], ReadMark(listed=True), "the blob was replaced: it lists other records")
    while done < len(parts):
        records: list[SourceRecord] = []
        size = 0
        while done < len(parts) and size < PIECE:
            records.append(
                SourceRecord(parts[done].raw, f"{blob.name}#{done}", parts[done].problem)
            )
            size += len(parts[done].raw)
            done += 1
        yield BlobPiece(records, ReadMark(done, digest_of(parts[done - 1].raw), listed=True))


class _Content(Protocol):
    async def read(self, begin: int, length: int) -> bytes:
        """Return bytes from a place on, fewer only at the end."""


class _Plain:
    def __init__(self, blobs: BlobStore, name: str) -> None:
        self._blobs, self._name = blobs, name

    async def read(self, begin: int, length: int) -> bytes:
        return await self._blobs.read(self._name, begin, length)


class _Zipped:
    """A blob under gzip; it is read from its beginning, and remembers the last bytes it gave."""

    def __init__(self, blobs: BlobStore, name: str) -> None:
        self._blobs, self._name = blobs, name
        self._again()

    def _again(self) -> None:
        self._unzip = zlib.decompressobj(31)
        self._taken = 0
        self._begin = 0
        self._held = b""

    async def read(self, begin: int, length: int) -> bytes:
        if begin < self._begin:
            self._again()
        while self._begin + len(self._held) < begin + length:
            more = await self._more()
            if not more:
                break
            self._held += more
            passed = min(begin - OVERLAP - self._begin, len(self._held))
            if passed > PIECE:
                self._held, self._begin = self._held[passed:], self._begin + passed
        at = begin - self._begin
        return self._held[at : at + length]

    async def _more(self) -> bytes:
        """Return what comes next, at most PIECE bytes of it; none at the end."""
        while True:
            waiting = self._unzip.unconsumed_tail
            if self._unzip.eof:
                waiting, self._unzip = self._unzip.unused_data, zlib.decompressobj(31)
            if not waiting:
                waiting = await self._blobs.read(self._name, self._taken, 256 * 1024)
                self._taken += len(waiting)
                if not waiting:
                    return b""
            found = self._unzip.decompress(waiting, PIECE)
            if found:
                return found
