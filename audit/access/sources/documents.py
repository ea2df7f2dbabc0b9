"""Splits bytes into JSON documents: one a line, spread over several lines, or several in a line.

Most logs are JSON lines, and a line that begins and ends as a record does is taken as it is. Any
other can be the beginning of a document that a tool has indented, or of a stream without ends of
lines: then its end is looked for. The lines of a damaged document stay together. Pure.
"""

import re
from collections.abc import Iterator
from typing import Final, NamedTuple

import msgspec

MOST_DOCUMENT: Final = 64 * 1024 * 1024
"""Bytes of one document that holds many records: it is read whole."""

_TOKEN: Final = re.compile(
    rb'"[^"\\\n]*(?:\\.[^"\\\n]*)*"|[\[\]{}:,]|[^\s"\[\]{}:,]+|"'  # The last: a text without end.
)
_CLOSING: Final = {b"{": b"}", b"[": b"]"}
_CONTINUES: Final = frozenset({b" ", b"\t", b",", b"]", b"}"})
"""How a line begins that goes on a document."""

_CONTINUED: Final = re.compile(rb'(?:\n[ \t,\]}"][^\n]*)*')
_BLANK: Final = re.compile(rb"\s*")
_BOM: Final = b"\xef\xbb\xbf"

_ALIKE: Final = 8
"""Bytes in which the documents of a stream begin alike: looking for so many is quick."""

_SHORT: Final = 4096
_MOST_DEPTH: Final = 128
_MOST_TRIES: Final = 16
"""Ends of documents looked for in vain, in one piece: then each line is taken as it is."""


class _Piece(NamedTuple):
    begin: int
    end: int
    is_whole: bool = True
    is_open: bool = False
    """Whether the content ends before it does: more of it can come."""


def find_document_end(content: bytes, begin: int) -> int:
    """Return where the object or list that begins at a place ends.

    0 where the content ends before it does; -1 where it is damaged.
    """
    closing: list[bytes] = []
    before = b""
    for found in _TOKEN.finditer(content, begin):
        token = found[0]
        if token in _CLOSING:
            if closing and before not in ((b":",) if closing[-1] == b"}" else (b"[", b",")):
                return -1  # Another record begins.
            if len(closing) == _MOST_DEPTH:
                return -1
            closing.append(_CLOSING[token])
        elif token in {b"}", b"]"}:
            if not closing or closing.pop() != token:
                return -1
            if not closing:
                return found.end()
        elif token == b'"':
            return -1 if content.find(b"\n", found.start()) >= 0 else 0
        before = token
    return 0


def split_documents(content: bytes) -> Iterator[tuple[int, bytes]]:
    """Yield each document and where it begins, also what is none; no blank lines."""
    return ((piece.begin, content[piece.begin : piece.end]) for piece in _pieces(content))


def find_whole_end(content: bytes) -> int:
    """Return up to where content that goes on holds whole documents; 0 for none.

    It is the last end of a line, but where a document spreads over that.
    """
    cut = content.rfind(b"\n") + 1
    last = content.rfind(b"\n", 0, max(cut - 1, 0)) + 1
    lines = _is_line(content, 0, content.find(b"\n")) and _is_line(content, last, cut - 1)
    if cut and lines and content[cut : cut + 1] not in _CONTINUES:
        return cut
    end = 0
    for piece in _pieces(content):
        known = piece.end < cut or is_json(content[piece.begin : piece.end])
        if piece.is_open or not known:
            break
        end = piece.end
    return end + 1 if content[end : end + 1] == b"\n" else end


def is_json(content: bytes) -> bool:
    """Return whether content is JSON, and one document."""
    try:
        msgspec.json.decode(content, type=msgspec.Raw)
    except (msgspec.MsgspecError, UnicodeError, RecursionError):
        return False
    return True


def _pieces(content: bytes) -> Iterator[_Piece]:
    at, size, tries = 0, len(content), 0
    while at < size:
        end = content.find(b"\n", at)
        end = size if end < 0 else end
        if _is_line(content, at, end):
            yield _Piece(at, end)
            at = end + 1
            continue
        blank = _BLANK.match(content, at)
        if blank and blank.end() > at:
            at = blank.end()
            continue
        piece = _spread(content, at, search=tries < _MOST_TRIES)
        tries += not piece.is_whole and content[at : at + 1] in _CLOSING
        yield piece
        at = piece.end


def _is_line(content: bytes, begin: int, end: int) -> bool:
    """Return whether a line can be a record as it stands: an object, and no other beside it.

    Those of a stream begin alike. Of short lines in the midst of others nobody looks: a record a
    line is what nearly all logs are, and each microsecond counts.
    """
    line = content[begin:end]
    if line[:1] != b"{" or (line[-1:] != b"}" and line[-2:] != b"}\r"):
        return False
    if content[end + 1 : end + 2] in _CONTINUES:
        return False
    begins = content[begin - 1 : begin] == b"\n"
    return (begins and end - begin < _SHORT) or line.find(line[:_ALIKE], 1) < 0


def _spread(content: bytes, at: int, *, search: bool) -> _Piece:
    """Return the document that begins at a place, or the lines that are none."""
    begin = at + len(_BOM) if content.startswith(_BOM, at) else at
    opens = content[begin : begin + 1] in _CLOSING
    stop = find_document_end(content, begin) if search and opens else -1
    if stop > 0 and is_json(content[begin:stop]):
        return _Piece(at, stop)
    end = content.find(b"\n", begin)
    end = len(content) if end < 0 else end
    goes_on = _CONTINUED.match(content, end) if opens else None
    return _Piece(at, goes_on.end() if goes_on else end, is_whole=False, is_open=stop == 0)
