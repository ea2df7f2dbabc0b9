"""How large blobs are, and whose: what the records of writes, copies and whole reads say.

A size is known where a blob was written, or read whole (HTTP 200), within memory. Changed in place;
pure otherwise.
"""

from typing import Any, Final

import msgspec

from audit.access.model.detection import HOUR_S, EventContext
from audit.access.model.sightings import digest_of
from audit.access.parsers.operations import SOURCES
from core.weights.documents.access import Access, Act

MOST_SIZES: Final = 20_000

_WHOLE: Final = 200
_NEW_WRITE_S: Final = 6 * HOUR_S
"""Blocks that come so long after the last ones are of another version of the blob."""

_PUT: Final = "PutBlob"
_AT_ONCE: Final = frozenset({_PUT, "CreatePathFile"})
"""What lay there before is gone afterwards."""

_CONTENT: Final = frozenset(
    {*_AT_ONCE, "PutBlock", "PutPage", "AppendBlock", "AppendFile", "SftpWrite", "Write"}
)
"""What brings bytes of a blob. Tags, metadata and lists of blocks have bodies, too."""


class BlobSize(msgspec.Struct, gc=False, array_like=True):
    """How large a blob is, as far as its records say."""

    bytes: int = 0
    at: float = 0.0
    writer: str = ""
    mixed: bool = False
    """Whether it may hold bytes of others, too: it is nobody's own."""
    whole: bool = False
    """Whether it was put there at once: blocks may be added to what nobody saw."""
    read: float = 0.0
    """What its writer has read of it since."""


class BlobSizes(msgspec.Struct, gc=False):
    """What is remembered of blobs, by their digests."""

    sizes: dict[int, BlobSize] = {}
    """Of those that were written lately."""
    there: dict[int, int] = {}
    """Those that were read and not written, and on which day first."""


def note_change(blobs: BlobSizes, access: Access, known: EventContext) -> None:
    """Learn from a write or a copy how large a blob is, and whether all of it is its writer's.

    Blocks can be added to what lay there before. So a blob that somebody read or wrote before, or
    that something was copied into, is nobody's own until it is put there anew as a whole.
    """
    copies = access.act is Act.COPY and access.operation not in SOURCES
    if not access.blob or not (copies or access.operation in _CONTENT):
        return
    digest = digest_of(access.container, access.blob)
    size = blobs.sizes.get(digest)
    if size is None:
        make_room(blobs.sizes, MOST_SIZES)
        size = blobs.sizes[digest] = BlobSize(mixed=digest in blobs.there)
    if copies:
        size.bytes, size.mixed, size.whole = 0, True, False
    elif access.operation in _AT_ONCE:
        size.bytes, size.mixed, size.whole = access.bytes_in, False, access.operation == _PUT
        size.read = 0.0
    else:
        _add(size, access, known)
    size.at, size.writer = known.at, known.who


def _add(size: BlobSize, access: Access, known: EventContext) -> None:
    """Count blocks of a blob: those of another writer lie beside what was there before."""
    size.whole = False
    size.mixed = size.mixed or size.writer not in {"", known.who}
    if size.mixed:
        size.bytes += access.bytes_in if size.bytes else 0  # No more than that; else nobody knows.
    elif known.at > size.at + _NEW_WRITE_S:
        size.bytes, size.read = access.bytes_in, 0.0
    else:
        size.bytes += access.bytes_in


def note_read(blobs: BlobSizes, digest: int, day: int) -> None:
    """Remember that a blob lies there that nobody was seen to write."""
    if digest not in blobs.sizes and digest not in blobs.there:
        make_room(blobs.there, MOST_SIZES)
        blobs.there[digest] = day


def make_room(room: dict[int, Any], most: int) -> None:
    """Let what was noted first go where there is no room for one more."""
    if len(room) >= most:
        del room[next(iter(room))]


def bytes_of_others(
    blobs: BlobSizes, digest: int, access: Access, known: EventContext, times: float
) -> int:
    """Return the bytes that somebody reads and did not write: 0 where they had them before.

    What was put there in blocks may be but a part of the blob: whoever reads so many `times` as
    much reads more than that. All that was read of it counts then, and its size is not known.
    """
    size = blobs.sizes.get(digest)
    if size is None or size.mixed or size.writer != known.who or size.bytes < access.bytes_out:
        return access.bytes_out
    size.read += access.bytes_out
    if size.whole or size.read <= times * size.bytes:
        return 0
    size.mixed, size.bytes = True, 0
    return int(size.read)


def size_of(blobs: BlobSizes, digest: int, access: Access) -> int:
    """Return the size of a blob that is read: as it was written, or all of it came; 0 if unknown.

    No answer is larger than its blob: one that is shows that what was written was not all of it.
    """
    size = blobs.sizes.get(digest)
    if access.status == _WHOLE:
        return max(access.bytes_out, size.bytes) if size else access.bytes_out
    return size.bytes if size and size.bytes >= access.bytes_out else 0
