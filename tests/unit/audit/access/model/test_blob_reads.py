"""One memory of reads answers what each detection asks of a blob's past."""

import msgspec
import pytest

from audit.access.model.blob_reads import MOST_BLOBS, BlobReads, note_blob
from audit.access.model.sightings import digest_of
from core.weights.documents.access import Access, Act
from tests.unit.audit.access.detections.events import access

SHARD = access(0.0)


def _noted(*told: tuple[str, Act], of: Access = SHARD) -> BlobReads:
    """Return the memory after these acts, one each second from 1 on."""
    reads: BlobReads = {}
    for at, (who, act) in enumerate(told, 1):
        note_blob(reads, msgspec.structs.replace(of, act=act), float(at), who)
    return reads


@pytest.mark.parametrize(
    ("readers", "last", "but_writer"),
    [("a", 1, 1), ("w", 1, 0), ("aw", 2, 1), ("wa", 2, 2), ("waw", 3, 2), ("abww", 4, 2)],
)
def test_the_last_read_and_the_last_by_somebody_else(
    readers: str, last: int, but_writer: int
) -> None:
    """`w` wrote the blob: whoever asks whether others use it leaves out its own reads."""
    (read,) = _noted(*((who, Act.READ) for who in readers)).values()
    assert (read.last, read.last_but("w")) == (last, but_writer)


def test_a_deleted_blob_is_read_first_when_it_is_there_again() -> None:
    """That it was read before it was deleted stays known."""
    (read,) = _noted(("a", Act.READ), ("b", Act.DELETE)).values()
    assert (read.first, read.gone, read.last) == (1, True, 1)
    (read,) = _noted(("a", Act.READ), ("b", Act.DELETE), ("a", Act.READ)).values()
    assert (read.first, read.gone, read.last) == (3, False, 3)


def test_what_was_read_longest_ago_is_forgotten_first() -> None:
    """So many blobs are remembered, and no more."""
    reads: BlobReads = {}
    for number in range(MOST_BLOBS + 1):
        blob = msgspec.structs.replace(SHARD, blob=str(number))
        note_blob(reads, blob, float(number), "a")
    assert len(reads) == MOST_BLOBS
    assert digest_of(SHARD.container, "0") not in reads
