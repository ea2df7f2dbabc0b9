"""Takes records out of what holds several: lines, streams, lists, envelopes, pages, tables.

Envelopes are Azure Monitor's `{"records": […]}`, EventLists of kube-apiserver, pages of REST
answers (`{"value": […], "nextLink": …}`), and answers of Log Analytics (`{"tables": […]}`: names of
columns, and rows). Lines of a blob are split when somebody looks: mostly the parser process does.
"""

from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import Final, NamedTuple, overload

import msgspec

from audit.access.model.batch import MOST_RECORD, SourceRecord
from audit.access.sources.documents import split_documents

_MOST_DEPTH: Final = 4
_HEAD: Final = 96

_LIST: Final = msgspec.json.Decoder(list[msgspec.Raw])
_BOM: Final = b"\xef\xbb\xbf"


class _Column(msgspec.Struct, gc=False):
    name: str


class _Table(msgspec.Struct, gc=False):
    """Of an answer of Log Analytics."""

    columns: list[_Column]
    rows: list[list[msgspec.Raw]]


class _Envelope(msgspec.Struct, gc=False):
    """What can hold records. Of a record itself, `value` and `tables` may be anything."""

    records: list[msgspec.Raw] | None = None
    items: list[msgspec.Raw] | None = None
    value: msgspec.Raw = msgspec.Raw()
    tables: msgspec.Raw = msgspec.Raw()
    kind: str = ""


class MessagePart(NamedTuple):
    """A record of a message, or what came in its place."""

    raw: bytes
    problem: str = ""


_ENVELOPE: Final = msgspec.json.Decoder(_Envelope)
_TABLES: Final = msgspec.json.Decoder(list[_Table])

_MARKS: Final = (b'"records"', b'"EventList"', b'"value"', b'"tables"', b'"nextLink"', b'"@odata.')
"""One of them stands at the head of whatever holds several records."""


def is_envelope(line: bytes) -> bool:
    """Return whether a line may hold several records; one that does not is a record itself."""
    if line[:1] == b"[":
        return True
    head = line[:_HEAD].lstrip()
    return head[:1] == b"[" or any(mark in head for mark in _MARKS)


def parts_of(message: bytes) -> Iterator[MessagePart]:
    """Return the records of a message in their order."""
    return _parts(message, _MOST_DEPTH)


def too_long_problem(size: int) -> str:
    """Say what is wrong with a record that is too long."""
    return f"is longer than {MOST_RECORD} bytes ({size})"


def _parts(message: bytes, depth: int) -> Iterator[MessagePart]:
    head = message.lstrip()[:1]
    if not head:
        yield MessagePart(message, "is empty")
        return
    if not depth:
        yield MessagePart(message, "wraps records in too many others")
        return
    try:
        inner = _LIST.decode(message) if head == b"[" else _wrapped(_ENVELOPE.decode(message))
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        yield MessagePart(message, "is no JSON object or list of them")
        return
    if inner is None:
        yield MessagePart(
            message, too_long_problem(len(message)) if len(message) > MOST_RECORD else ""
        )
        return
    for each in inner:
        raw = bytes(each)
        if raw[:1] in {b"[", b"{"} and (len(raw) > MOST_RECORD or is_envelope(raw)):
            yield from _parts(raw, depth - 1)
        else:
            yield MessagePart(raw)


def _wrapped(envelope: _Envelope) -> list[msgspec.Raw] | None:
    """Return the records of an envelope; None where it is a record itself.

    Raises:
        msgspec.MsgspecError: it has tables, and they are none.
    """
    if envelope.records is not None:
        return envelope.records
    if envelope.items is not None and envelope.kind.endswith("List"):
        return envelope.items
    if bytes(envelope.value)[:1] == b"[":
        return _LIST.decode(envelope.value)
    if bytes(envelope.tables)[:1] == b"[":
        return [row for table in _TABLES.decode(envelope.tables) for row in _rows(table)]
    return None


def _rows(table: _Table) -> Iterator[msgspec.Raw]:
    """Yield each row of a table as an object."""
    names = [column.name for column in table.columns]
    for row in table.rows:
        yield msgspec.Raw(msgspec.json.encode(dict(zip(names, row, strict=False))))


class LineRecords(Sequence[SourceRecord]):
    """The records of whole lines; equal content gives equal records, in whatever process."""

    def __init__(self, content: bytes, name: str = "", at: int = 0) -> None:
        """Note the lines, and where they begin: the blob and its byte."""
        self.content = content
        self._name = name
        self._at = at

    def __iter__(self) -> Iterator[SourceRecord]:
        """Yield the records; who wants but the first of them splits no more."""
        for begin, document in split_documents(self.content):
            yield from records_of(document, f"{self._name}@{self._at + begin}")

    def __len__(self) -> int:
        """Count the records: a line can wrap several."""
        return len(self._split)

    @overload
    def __getitem__(self, index: int) -> SourceRecord: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[SourceRecord]: ...
    def __getitem__(self, index: int | slice) -> SourceRecord | Sequence[SourceRecord]:
        """Return records by their number."""
        return self._split[index]

    @cached_property
    def _split(self) -> list[SourceRecord]:
        return list(iter(self))  # Of itself, a list would ask for the length first.


def records_of(line: bytes, place: str, problem: str = "") -> Iterator[SourceRecord]:
    """Yield the records of a line, or what is wrong with it."""
    line = line.removeprefix(_BOM)
    if problem:
        yield SourceRecord(line, place, problem)
    elif is_envelope(line):
        for part in parts_of(line):
            yield SourceRecord(part.raw, place, part.problem)
    else:
        yield SourceRecord(
            line, place, too_long_problem(len(line)) if len(line) > MOST_RECORD else ""
        )
