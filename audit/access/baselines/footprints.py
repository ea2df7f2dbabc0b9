"""How much of different bytes somebody has read: training reads the same ones in each epoch.

Records do not say which range of a blob was read. Where its size is known (`blob_sizes`) a blob
counts at most that; else what was read of it on the best day so far. A footprint holds a sample of
blobs, by their digests (Wegman's adaptive sampling: where it is full, every second one is let go
and the others count twice), so it is of bounded size however many there are. Changed in place; pure
otherwise.
"""

from typing import Final

import msgspec

MOST_BLOBS: Final = 128
"""Of one footprint. The error of what it tells is about 9 % then (1 / sqrt(128))."""


class BlobReads(msgspec.Struct, gc=False, array_like=True):
    """What was read of a blob."""

    first: int
    """Day on which it was read first."""
    day: int
    """On which it was read last."""
    today: float = 0.0
    """Bytes on that day."""
    best: float = 0.0
    """What it counts: by day, of the days before; by window, until now."""


class Footprint(msgspec.Struct, gc=False, array_like=True):
    """A sample of the blobs that somebody has read."""

    shift: int = 0
    """One of 2^shift blobs is in it."""
    blobs: dict[int, BlobReads] = {}


def add_day(footprint: Footprint, digest: int, day: int, amount: int, size: int) -> tuple[int, int]:
    """Note a read; give the bytes and the blobs by which it makes the day's footprint larger.

    `size` is the blob's, 0 where it is not known.
    """
    seen = _sampled(footprint, digest, day)
    if seen is None:
        return 0, 0
    weight = 1 << footprint.shift
    fresh = 0
    if seen.day != day or not seen.today:
        fresh = weight
        if day > seen.day:
            seen.best = max(seen.best, seen.today)
            seen.day, seen.today = day, 0.0
    most = size or seen.best or float("inf")
    before = min(seen.today, most)
    seen.today += amount
    return weight * int(min(seen.today, most) - before), fresh


def add_window(  # noqa: PLR0913, PLR0917  as add_day, and the window
    footprint: Footprint, digest: int, day: int, amount: int, size: int, days: int
) -> int:
    """Note a read; give by how many bytes it makes the footprint of the last `days` larger."""
    seen = _sampled(footprint, digest, day)
    if seen is None:
        return 0
    if seen.first <= day - days:
        seen.first, seen.day, seen.today, seen.best = day, day, 0.0, 0.0
    if day > seen.day:
        seen.day, seen.today = day, 0.0
    seen.today += amount
    counts = min(seen.best + amount, size) if size else seen.today
    gained = max(0, int(counts - seen.best))
    seen.best += gained
    return gained << footprint.shift


def forget_before(footprint: Footprint, day: int) -> None:
    """Let go what was read last before a day."""
    old = [digest for digest, seen in footprint.blobs.items() if seen.day < day]
    for digest in old:
        del footprint.blobs[digest]
    if not footprint.blobs:
        footprint.shift = 0


def _sampled(footprint: Footprint, digest: int, day: int) -> BlobReads | None:
    """Return what is known of a blob, if it is in the sample."""
    blobs = footprint.blobs
    seen = blobs.get(digest)
    if seen is not None:
        return seen
    if digest & ((1 << footprint.shift) - 1):
        return None
    while len(blobs) >= MOST_BLOBS:
        footprint.shift += 1
        mask = (1 << footprint.shift) - 1
        footprint.blobs = blobs = {key: kept for key, kept in blobs.items() if not key & mask}
        if digest & mask:
            return None
    seen = blobs[digest] = BlobReads(first=day, day=day)
    return seen
