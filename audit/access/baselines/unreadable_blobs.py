"""Blobs that could be read and cannot any more, and who changed them between. Changed in place."""

from typing import Final

import msgspec

from audit.access.model.detection import EventContext
from audit.access.model.sightings import digest_of, touch
from core.weights.documents.access import Access
from core.weights.documents.events import Finding

_MOST_BLOBS: Final = 16_384
_MOST_DAYS: Final = 512
_MOST_REFUSED: Final = 64
_MOST_READERS: Final = 8


class BlobUse(msgspec.Struct, gc=False, array_like=True):
    """What is remembered of a blob."""

    changed: float = 0.0
    """Unix seconds, as `before`; 0: never."""
    who: str = ""
    """Who changed it last."""
    address: str = ""
    change: str = ""
    """Id of that access."""
    before: float = 0.0
    """When it was read last before that, or before an earlier change; 0: never."""


class RefusedDay(msgspec.Struct, gc=False, array_like=True):
    """What was refused in a store on a day."""

    first: float
    events: int = 0
    blobs: list[int] = []
    """Digests of the first of them."""
    readers: list[str] = []
    lost: int = 0
    """How many of the blobs could be read before somebody else changed them."""


def note_change(uses: dict[int, BlobUse], access: Access, known: EventContext) -> BlobUse:
    """Remember who changed a blob, and give what is known of it."""
    use = touch(uses, digest_of(access.container, access.blob), BlobUse, _MOST_BLOBS)
    read = known.read_of(access)
    use.before = read.last if read else use.before
    use.changed, use.who = known.at, known.who
    use.address, use.change = access.address, access.id
    return use


def note_refusal(
    uses: dict[int, BlobUse], days: dict[str, RefusedDay], access: Access, known: EventContext
) -> tuple[BlobUse, RefusedDay]:
    """Count a read that was refused; give what is known of the blob and of the day."""
    digest = digest_of(access.container, access.blob)
    use = uses.get(digest) or BlobUse()
    if read := known.read_of(access):
        use.before = read.last
    key = f"{access.store} {known.day}"
    day = touch(days, key, lambda: RefusedDay(known.at), _MOST_DAYS)
    day.events += 1
    if digest not in day.blobs and len(day.blobs) < _MOST_REFUSED:
        day.blobs.append(digest)
        day.lost += is_lost(use, known.who)
    if known.who not in day.readers and len(day.readers) < _MOST_READERS:
        day.readers.append(known.who)
    return use, day


def is_lost(use: BlobUse, reader: str) -> bool:
    """Return whether a blob could be read, until somebody else than this reader changed it."""
    return bool(use.before) and use.who != reader


def about_changer(found: Finding, use: BlobUse) -> Finding:
    """Return a finding of a refused read as one about who changed the blob, and not its reader."""
    addresses = [use.address] if use.address else []
    return msgspec.structs.replace(found, who=use.who, addresses=addresses, pods=[], requesters=[])
