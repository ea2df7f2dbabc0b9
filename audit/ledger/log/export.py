"""Exports: the log in one file of JSON lines, which is verified without the ledger. Pure.

    {"line":"export", …}   what it is: the log, which of its leaves, the frontier before them
    {"line":"leaf", …}     one for each leaf, in the log's order
    {"line":"head", …}     after the leaf that it ends with; heads before the first leaf come first
    {"line":"end", …}      how many there were: without it the file was cut short

Each line is written in one way only: what says the same in other bytes is no line of an export.
"""

import base64
import binascii
import datetime as dt
from typing import Final

import msgspec

from audit.ledger.log.heads import TreeHead, encode_head
from audit.ledger.log.heads import decode_head as _decode_head
from audit.ledger.log.merkle import Frontier
from audit.ledger.log.problems import RecordPlace
from core.base.document_part import require_format

FORMAT: Final = 1
"""Version of an export. Readers of release N read FORMAT - 1 and FORMAT + 1 as well."""

MOST_LINE: Final = 8 * 1024 * 1024
"""Bytes of one line: a payload of 1 MiB, of which each byte can be six in JSON."""


class _Line(
    msgspec.Struct,
    frozen=True,
    kw_only=True,
    omit_defaults=True,
    rename="camel",
    gc=False,
    tag_field="line",
    forbid_unknown_fields=True,
):
    """Frozen, camelCase, defaults left out."""


class ExportLine(_Line, frozen=True, kw_only=True, tag="export"):
    """The first line: what the file holds."""

    format: int
    log: str
    """The log's id."""
    first: int
    """The position of the first leaf."""
    size: int
    """Leaves of the log before the end of this export: positions `first` to `size` - 1."""
    since: str = ""
    """RFC 3339: from when on it was asked for; empty for all that the ledger has."""
    until: str = ""
    """RFC 3339: until when; empty for all."""
    keys: list[str] = []
    """Base64 of the raw public keys that heads are signed with, as the ledger says."""
    frontier: list[str] = []
    """Hex: the whole subtrees before `first`, the largest first."""
    made: str
    """RFC 3339: when the export was begun."""

    @property
    def before(self) -> Frontier:
        """The tree before the first leaf.

        Raises:
            ValueError: it has not as many subtrees as it has leaves.
        """
        return Frontier(self.first, tuple(map(bytes.fromhex, self.frontier)))


class LeafLine(_Line, frozen=True, kw_only=True, tag="leaf"):
    """One leaf with what it is of."""

    at: int
    """Its position in the log."""
    kind: int
    cluster: str
    id: str
    """Hex."""
    payload: str | None = None
    """As it is stored, where it is UTF-8."""
    payload64: str | None = None
    """Base64 of what is not."""
    digest: str | None = None
    """Hex, of a payload that was removed."""
    aside: bool = False
    """Whether the ledger keeps it in quarantine, as a frame that cannot be read."""

    @property
    def content(self) -> bytes | None:
        """The payload; None where it was removed.

        Raises:
            ValueError: it is none, or is not written as `leaf_line` writes it.
        """
        if self.payload is not None:
            return self.payload.encode()
        return None if self.payload64 is None else _unbase64(self.payload64)


class HeadLine(_Line, frozen=True, kw_only=True, tag="head"):
    """A signed head that the ledger has."""

    head: TreeHead


class EndLine(_Line, frozen=True, kw_only=True, tag="end"):
    """The last line."""

    leaves: int
    heads: int


Line = ExportLine | LeafLine | HeadLine | EndLine

_ENCODER = msgspec.json.Encoder()
_DECODER: msgspec.json.Decoder[Line] = msgspec.json.Decoder(Line)


def encode_line(line: Line) -> bytes:
    """Return the line as JSON, with its end."""
    return _ENCODER.encode(line) + b"\n"


def decode_line(content: bytes) -> Line:
    """Read a line with its end.

    Raises:
        ValueError: it is none, or is not written as `encode_line` writes it.
    """
    try:
        line = _DECODER.decode(content)
    except RecursionError:
        raise ValueError("it is nested too deeply") from None
    if encode_line(line) != content:
        raise ValueError("it is not written as an export writes it: its bytes were changed")
    if isinstance(line, ExportLine):
        _demand_export(line)
    elif isinstance(line, HeadLine):
        _decode_head(encode_head(line.head))
    return line


def leaf_line(where: RecordPlace, digest: bytes, payload: bytes | None, *, aside: bool) -> LeafLine:
    """Return the line of a leaf."""
    text = coded = removed = None
    if payload is None:
        removed = digest.hex()
    else:
        text, coded = _spelt(payload)
    return LeafLine(
        at=where.at,
        kind=where.kind,
        cluster=where.cluster,
        id=where.id.hex(),
        payload=text,
        payload64=coded,
        digest=removed,
        aside=aside,
    )


def _spelt(payload: bytes) -> tuple[str | None, str | None]:
    """Return a payload as text, or in base64 where it is not UTF-8."""
    try:
        return payload.decode(), None
    except UnicodeDecodeError:
        return None, base64.b64encode(payload).decode()


def _demand_export(line: ExportLine) -> None:
    require_format(line.format, FORMAT)
    if not 0 <= line.first <= line.size:
        message = f"size: it holds the leaves {line.first} to {line.size}"
        raise ValueError(message)
    if [each.hex() for each in line.before.hashes] != line.frontier:
        raise ValueError("frontier: its hashes are not written in lower-case hex digits")
    _demand_time("made", line.made)
    for field in ("since", "until"):
        if text := getattr(line, field):
            _demand_time(field, text)


def _unbase64(text: str) -> bytes:
    try:
        content = base64.b64decode(text, validate=True)
    except binascii.Error:
        raise ValueError("payload64: it is not base64") from None
    if _spelt(content) != (None, text):
        raise ValueError("payload64: an export writes these bytes in another way")
    return content


def _demand_time(field: str, text: str) -> None:
    try:
        is_time = dt.datetime.fromisoformat(text).tzinfo is not None
    except ValueError:
        is_time = False
    if not is_time:
        raise ValueError(f"{field}: it is no time as RFC 3339 writes it")
