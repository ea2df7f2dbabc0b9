"""Spools for tests, and frames to put into them."""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from audit.ledger.records.frames import Frame, FrameKind
from audit.ledger.spool.queue import Spool, SpoolSettings

SMALL = SpoolSettings(
    max_bytes=64 * 1024,
    segment_bytes=8 * 1024,
    write_every_s=0.0005,
    sync_every_s=0.002,
    max_queued_bytes=48 * 1024,
)


@dataclass
class Opened:
    """An open spool, and what it told."""

    spool: Spool
    troubles: list[str] = field(default_factory=list)
    damages: list[str] = field(default_factory=list)

    def append(self, *frames: Frame) -> None:
        """Append frames."""
        for frame in frames:
            self.spool.append(frame.kind, frame.id, frame.payload)

    def write(self, *frames: Frame) -> None:
        """Append frames and wait until they are on disk."""
        self.append(*frames)
        wait_until(lambda: self.spool.settled)

    def ship(self, max_bytes: int = 4096, max_frames: int = 100) -> list[Frame]:
        """Read and acknowledge all that waits."""
        shipped: list[Frame] = []
        while (batch := self.spool.read(max_bytes, max_frames)).frames:
            shipped += batch.frames
            self.spool.acknowledge(batch)
        return shipped


def unopened(folder: Path, settings: SpoolSettings = SMALL) -> Opened:
    """Return a spool that is not open yet."""
    opened = Opened(Spool(folder))
    opened.spool = Spool(folder, settings, opened.troubles.append, opened.damages.append)
    return opened


@contextmanager
def opened(folder: Path, settings: SpoolSettings = SMALL) -> Iterator[Opened]:
    """Open a spool, and close it at the end."""
    made = unopened(folder, settings)
    made.spool.open()
    try:
        yield made
    finally:
        made.spool.close()


def frame(number: int, size: int = 100, kind: int = FrameKind.DECISION) -> Frame:
    """Return a frame whose content follows from its number."""
    payload = (b"%d," % number * size)[:size]
    return Frame(kind, number.to_bytes(16), payload)


def frames(count: int, size: int = 100) -> list[Frame]:
    """Return frames that are numbered from 0."""
    return [frame(number, size) for number in range(count)]


def segments(folder: Path, suffix: str = "spool") -> list[Path]:
    """Return the segment files of a folder, oldest first."""
    return sorted(folder.glob(f"*.{suffix}"))


def wait_until(true: Callable[[], bool], seconds: float = 20.0) -> None:
    """Wait until something is so."""
    deadline = time.monotonic() + seconds
    while not true():
        assert time.monotonic() < deadline, "waited in vain"
        time.sleep(0.002)
