"""Takes records out of what holds several: lines, `{"records": […]}`, lists, EventLists.

Lines of a blob are split when somebody looks: mostly the parser process does.
"""

from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import Final, NamedTuple, overload

import msgspec

from audit.access.model.batch import MOST_RECORD, SourceRecord

_MOST_DEPTH: Final = 4
_HEAD: Final = 96

_LIST: Final = msgspec.json.Decoder(list[msgspec.Raw])
_BOM: Final = b"\xef\xbb\xbf"


class _Envelope(msgspec.Struct, gc=False):
    """What can hold records: of Azure Monitor, and of kube-apiserver's audit webhook."""

    records: list[msgspec.Raw] | None = None
    items: list[msgspec.Raw] | None = None
    kind: str = ""


class MessagePart(NamedTuple):
    """A record of a message, or what came in its place."""

    raw: bytes
    problem: str = ""


_ENVELOPE: Final = msgspec.json.Decoder(_Envelope)


def is_envelope(line: bytes) -> bool:
    """Return whether a line may hold several records; one that does not is a record itself."""
    if line[:1] == b"[":
        return True
    head = line[:_HEAD].lstrip()
    return b'"records"' in head or b'"EventList"' in head or head[:1] == b"["


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
    inner: list[msgspec.Raw] | None = None
    try:
        if head == b"[":
            inner = _LIST.decode(message)
        else:
            envelope = _ENVELOPE.decode(message)
            listed = envelope.items if envelope.kind.endswith("List") else None
            inner = envelope.records if envelope.records is not None else listed
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


class LineRecords(Sequence[SourceRecord]):
    """The records of whole lines; equal content gives equal records, in whatever process."""

    def __init__(self, content: bytes, name: str = "", at: int = 0) -> None:
        """Note the lines, and where they begin: the blob and its byte."""
        self.content = content
        self._name = name
        self._at = at

    def __iter__(self) -> Iterator[SourceRecord]:
        """Yield the records; who wants but the first of them splits no more."""
        at = self._at
        begin, size = 0, len(self.content)
        while begin < size:
            end = self.content.find(b"\n", begin)
            end = size if end < 0 else end
            if end > begin:
                line = self.content[begin:end]
                if line != b"\r":
                    yield from records_of(line, f"{self._name}@{at + begin}")
            begin = end + 1

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
