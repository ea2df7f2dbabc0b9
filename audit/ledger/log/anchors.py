"""Anchors: places out of reach of whoever can write the ledger, which keep what the log was.

    line = JSON {"format", "before", "first", "marks", "head"}, ended by a line end

`before` is the SHA-256 of the line before, so that an anchor whose middle is missing shows it.
`marks` are the first bytes of each leaf's hash, from the leaf `first` on: with them the first bad
record can be named. Long marks fill several lines, of which the last has the head.
"""

import base64
import binascii
import hashlib
from collections.abc import Iterator
from typing import Final, Protocol

import msgspec

from audit.ledger.log.heads import TreeHead, encode_head
from audit.ledger.log.heads import decode_head as _decode_head
from audit.ledger.log.leaves import MARK_BYTES
from core.base.document_part import require_format

FORMAT: Final = 1
"""Version of a line. Readers of release N read FORMAT - 1 and FORMAT + 1 as well."""

BEGINNING: Final = "0" * 64
"""`before` of the first line of an anchor."""

MOST_MARKS: Final = 500_000
"""Leaves whose marks stand in one line: 2.7 MB, where an append block holds 4 MiB."""

MOST_LINE: Final = 4 * 1024 * 1024
"""Bytes of one line."""


class Anchor(Protocol):
    """A place that keeps heads. One process at a time writes to it; several may."""

    name: str
    """For logs and metrics: which one it is."""
    keeps_marks: bool
    """Whether it keeps marks; else `publish` is given none."""

    async def reached(self) -> int:
        """Return how many leaves have their marks there: those that come next begin at it.

        Where it keeps no marks, the size of the last head. 0 where it is empty.

        Raises:
            LedgerError: it cannot be read, or is not the anchor of a ledger.
        """

    async def publish(self, head: TreeHead, marks: bytes) -> None:
        """Keep a head, and the marks of all leaves from `reached()` to its size.

        What is no larger than the last head there changes nothing: somebody else kept it. Called
        again with the same after an error, it goes on where that one stopped.

        Raises:
            LedgerError: it is not (all) kept; ask `reached` and send it again later.
        """


class AnchorLine(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One line of an anchor."""

    format: int
    before: str
    """SHA-256 of the line before, in hex, without its line end; BEGINNING for the first."""
    first: int
    """The leaf that the first mark is of."""
    marks: str = ""
    """Base64 of MARK_BYTES a leaf."""
    head: TreeHead | None = None
    """Of the log as it was with the last leaf that has a mark here; None: more marks follow."""

    @property
    def reached(self) -> int:
        """How many leaves have marks up to here."""
        return self.first + len(self.mark_bytes) // MARK_BYTES

    @property
    def mark_bytes(self) -> bytes:
        """The marks."""
        return base64.b64decode(self.marks)


_ENCODER = msgspec.json.Encoder()
_DECODER = msgspec.json.Decoder(AnchorLine)


def encode_line(line: AnchorLine) -> bytes:
    """Return the line as JSON, without its end."""
    return _ENCODER.encode(line)


def decode_line(content: bytes) -> AnchorLine:
    """Read a line without its end; its signature and its place are judged elsewhere.

    Raises:
        ValueError: it is none; the message names the field.
    """
    line = _DECODER.decode(content)
    require_format(line.format, FORMAT)
    try:
        marks = base64.b64decode(line.marks, validate=True)
    except binascii.Error:
        raise ValueError("marks: they are not base64") from None
    if len(marks) % MARK_BYTES or line.first < 0:
        raise ValueError("marks: they are cut short")
    if line.head is not None:
        _decode_head(encode_head(line.head))
        if marks and line.head.size != line.reached:
            raise ValueError("marks: they do not end where the head does")
    return line


def line_digest(content: bytes) -> str:
    """Return what the next line says of this one, which is without its end."""
    return hashlib.sha256(content).hexdigest()


def lines_of(head: TreeHead, marks: bytes, first: int, before: str) -> Iterator[bytes]:
    """Yield the lines that keep a head and its marks, with their ends.

    Raises:
        ValueError: the marks are not those of the leaves from `first` to the head's size.
    """
    if len(marks) != max(head.size - first, 0) * MARK_BYTES:
        message = f"{len(marks)} bytes of marks are not those of the leaves {first} to {head.size}"
        raise ValueError(message)
    step = MOST_MARKS * MARK_BYTES
    starts = range(0, max(len(marks), 1), step)
    for start in starts:
        line = AnchorLine(
            format=FORMAT,
            before=before,
            first=first + start // MARK_BYTES,
            marks=base64.b64encode(marks[start : start + step]).decode(),
            head=head if start == starts[-1] else None,
        )
        content = encode_line(line)
        before = line_digest(content)
        yield content + b"\n"
