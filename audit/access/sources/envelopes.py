"""Takes records out of what wraps them: `{"records": […]}`, lists of those, EventLists. Pure."""

from collections.abc import Iterator
from typing import Final, NamedTuple

import msgspec

from audit.access.model.batch import MOST_RECORD

_MOST_DEPTH: Final = 4
_HEAD: Final = 96


class _Envelope(msgspec.Struct, gc=False):
    """What can hold records: of Azure Monitor, and of kube-apiserver's audit webhook."""

    records: list[msgspec.Raw] | None = None
    items: list[msgspec.Raw] | None = None
    kind: str = ""


class Part(NamedTuple):
    """A record of a message, or what came in its place."""

    raw: bytes
    problem: str = ""


_ENVELOPE: Final = msgspec.json.Decoder(_Envelope)
_LIST: Final = msgspec.json.Decoder(list[msgspec.Raw])


def wraps(line: bytes) -> bool:
    """Say whether a line may hold several records; one that does not is a record itself."""
    if line[:1] == b"[":
        return True
    head = line[:_HEAD].lstrip()
    return b'"records"' in head or b'"EventList"' in head or head[:1] == b"["


def parts_of(message: bytes) -> Iterator[Part]:
    """Give the records of a message in their order."""
    return _parts(message, _MOST_DEPTH)


def too_long(size: int) -> str:
    """Say what is wrong with a record that is too long."""
    return f"is longer than {MOST_RECORD} bytes ({size})"


def _parts(message: bytes, depth: int) -> Iterator[Part]:
    head = message.lstrip()[:1]
    if not head:
        yield Part(message, "is empty")
        return
    if not depth:
        yield Part(message, "wraps records in too many others")
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
        yield Part(message, "is no JSON object or list of them")
        return
    if inner is None:
        yield Part(message, too_long(len(message)) if len(message) > MOST_RECORD else "")
        return
    for each in inner:
        raw = bytes(each)
        if raw[:1] in {b"[", b"{"} and (len(raw) > MOST_RECORD or wraps(raw)):
            yield from _parts(raw, depth - 1)
        else:
            yield Part(raw)
