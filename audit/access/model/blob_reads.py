"""When each blob was read, by whom: one memory for all detections that ask. Changed in place."""

from typing import Final

import msgspec

from audit.access.model.sightings import digest_of, touch
from core.weights.documents.access import Access, Act

MOST_BLOBS: Final = 16_384
"""Blobs that are remembered; what was read longest ago is forgotten first."""

_NOTED: Final = frozenset({Act.READ, Act.DELETE})


class BlobRead(msgspec.Struct, gc=False, array_like=True):
    """The reads of one blob. Unix seconds."""

    first: float
    """Since it is there: after it was deleted, of whatever has its name then."""
    last: float
    who: str
    """Who read it last."""
    other: float = 0.0
    """When somebody else read it last; 0: never."""
    gone: bool = False
    """Whether it was deleted after that."""

    def last_but(self, who: str) -> float:
        """Return when somebody else than `who` read it last; 0 if nobody did."""
        return self.other if self.who == who else self.last


BlobReads = dict[int, BlobRead]
"""By `digest_of`."""


def note_blob(reads: BlobReads, access: Access, at: float, who: str) -> None:
    """Note that `who` read a blob, or deleted it; other acts count for nothing."""
    if access.act not in _NOTED:
        return
    digest = digest_of(access.container, access.blob)
    read = reads.get(digest)
    if access.act is Act.DELETE:
        if read is not None:
            read.gone = True
        return
    if read is None:
        touch(reads, digest, lambda: BlobRead(at, at, who), MOST_BLOBS)
        return
    if read.gone:
        read.first, read.gone = at, False
    if read.who != who:
        read.other, read.who = read.last, who
    read.last = at
