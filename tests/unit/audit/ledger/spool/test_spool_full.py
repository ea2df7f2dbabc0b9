"""A spool that is full, and a disk that is full, fails or hangs: refused aloud, then over."""

import errno
import os
import resource
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from audit.ledger.records.frames import Frame
from audit.ledger.spool import queue
from audit.ledger.spool.queue import SpoolSettings
from core.base.errors import NotRecordedError
from tests.unit.audit.ledger.spool.spools import SMALL, Opened, frame, opened, wait_until

DISK_BYTES = 256 * 1024
ROOMY = SpoolSettings(
    segment_bytes=64 * 1024, write_every_s=0.0005, sync_every_s=0.002, max_queued_bytes=256 * 1024
)


def append_until_refused(made: Opened, first: int = 0, size: int = 1000) -> list[Frame]:
    """Append until the spool refuses, as fast as it goes; give what it took."""
    taken: list[Frame] = []
    while True:
        one = frame(first + len(taken), size)
        try:
            made.append(one)
        except NotRecordedError:
            assert made.spool.status().full
            return taken
        taken.append(one)
        if len(taken) % 20 == 0:
            wait_until(lambda: made.spool.settled or bool(made.spool.status().full))


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of its own with DISK_BYTES: one that is really full at some time."""
    folder = tmp_path / "disk"
    folder.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", f"size={DISK_BYTES}", "none", str(folder)]
    if subprocess.run(mount, check=False, capture_output=True).returncode:
        pytest.skip("NOT TESTED: only root may mount a small file system")
    yield folder
    subprocess.run(["umount", str(folder)], check=True)  # noqa: S607  As above.


def test_a_full_spool_refuses_until_segments_are_acknowledged(tmp_path: Path) -> None:
    """It never holds more than it may, says why once, and takes frames again by itself."""
    with opened(tmp_path) as made:
        taken = append_until_refused(made)
        assert made.spool.status().bytes <= SMALL.max_bytes
        assert sum(path.stat().st_size for path in tmp_path.glob("*.spool")) <= SMALL.max_bytes
        for _ in range(3):
            with pytest.raises(NotRecordedError, match="65,536 bytes, the most that it may"):
                made.append(frame(0, 1000))
        with pytest.raises(NotRecordedError, match="65,536 bytes, the most that it may"):
            made.spool.check()
        assert made.spool.status().refused == 4  # A look is none.
        assert len(made.troubles) == 1
        assert made.ship() == taken
        assert made.troubles[1:] == [""]
        made.spool.check()
        made.write(frame(1))
        assert made.ship() == [frame(1)]


def test_it_says_how_long_it_lasts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """At the rate of late, whether the auditor takes records or not; nothing where none come."""
    monkeypatch.setattr(queue, "_RATE_S", 1.0)
    monkeypatch.setattr(queue, "_SAMPLE_S", 0.01)
    with opened(tmp_path, ROOMY) as made:
        assert made.spool.status().seconds_left is None
        for number in range(40):
            made.append(frame(number))
            made.ship()
            time.sleep(0.01)
        status = made.spool.status()
        assert status.seconds_left is not None
        per_second = status.taken_bytes / 0.5
        room = ROOMY.max_bytes - status.bytes
        assert 0.3 * room / per_second < status.seconds_left < 3 * room / per_second
        wait_until(lambda: made.spool.status().seconds_left is None)


def test_a_full_spool_waits_for_a_segments_worth(tmp_path: Path) -> None:
    """One small frame must not make it flap: some room is kept before it takes again."""
    with opened(tmp_path) as made:
        append_until_refused(made)
        wait_until(lambda: made.spool.settled)
        made.spool.acknowledge(made.spool.read(1000, 1))
        with pytest.raises(NotRecordedError):
            made.append(frame(0, 1))
        assert len(made.troubles) == 1


def test_a_full_disk_is_told_and_shipping_makes_room(disk: Path) -> None:
    """What was taken is neither lost nor doubled nor mixed, though writes failed in the middle."""
    with opened(disk / "spool", ROOMY) as made:
        taken = append_until_refused(made)
        assert "No space left on device" in made.troubles[0]
        shipped: list[Frame] = []

        def all_shipped() -> bool:
            shipped.extend(made.ship())
            return len(shipped) >= len(taken)

        wait_until(all_shipped)
        assert shipped == taken
        wait_until(lambda: made.spool.settled and made.troubles[-1] == "")
        assert made.troubles[::2] == [made.troubles[0]] * (len(made.troubles) // 2)
        assert made.damages == []
        made.write(frame(9999))
        assert made.ship() == [frame(9999)]


def test_a_full_disk_that_somebody_clears_is_written_on(disk: Path) -> None:
    """Without any shipping, and in order; what another process finds is the same."""
    ballast = disk / "ballast"
    ballast.write_bytes(b"x" * (DISK_BYTES // 2))
    with opened(disk / "spool", ROOMY) as made:
        taken = append_until_refused(made)
        assert "No space left on device" in made.spool.status().full
        ballast.unlink()
        wait_until(lambda: not made.spool.status().full)
        assert made.troubles[1:] == [""]
        more = [frame(len(taken) + number) for number in range(10)]
        made.write(*more)
    with opened(disk / "spool", ROOMY) as again:
        assert again.ship() == [*taken, *more]
        assert again.damages == []


def test_a_write_that_stops_in_the_middle_is_taken_back(tmp_path: Path) -> None:
    """Files may not grow beyond a limit: each ends with a whole frame, and another follows."""
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    with opened(tmp_path, ROOMY) as made:
        resource.setrlimit(resource.RLIMIT_FSIZE, (10_000, limits[1]))
        try:
            taken = append_until_refused(made)
            assert "File too large" in made.troubles[0]
            wait_until(lambda: made.spool.settled)
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, limits)
        assert made.ship() == taken
        assert len(list(tmp_path.glob("*.spool"))) <= 1
        assert made.damages == []


def failing(times: int, really: Callable[[int], None]) -> Callable[[int], None]:
    """Return an fdatasync that fails so many times."""
    left = [times]

    def fdatasync(file: int) -> None:
        if left[0]:
            left[0] -= 1
            raise OSError(errno.EIO, os.strerror(errno.EIO))
        really(file)

    return fdatasync


def test_after_a_failed_sync_frames_are_written_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The kernel may have dropped the pages: so the frames are in a second file as well."""
    with opened(tmp_path, ROOMY) as made:
        monkeypatch.setattr(os, "fdatasync", failing(2, os.fdatasync))
        made.append(frame(0))
        wait_until(lambda: bool(made.troubles))
        assert "Input/output error" in made.troubles[0]
        with pytest.raises(NotRecordedError, match="Input/output error"):
            made.append(frame(1))
        wait_until(lambda: made.spool.settled and made.troubles[-1] == "")
        assert made.ship() == [frame(0)] * 3  # The store keeps one.


def test_a_disk_that_hangs_is_not_waited_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Appending goes on in memory, up to its bound, and after the hang all of it is written."""
    gate, really = threading.Event(), os.fdatasync
    with opened(tmp_path, ROOMY) as made:

        def hang(file: int) -> None:
            gate.wait()
            really(file)

        monkeypatch.setattr(os, "fdatasync", hang)
        taken = [frame(number, 1000) for number in range(ROOMY.max_queued_bytes // 1100)]
        made.append(*taken)
        too_many = [frame(9999, 1000) for _ in range(100)]
        with pytest.raises(NotRecordedError, match="its disk hangs"):
            made.append(*too_many)
        taken += too_many[: made.spool.status().appended - len(taken)]
        queued = made.spool.status().bytes
        assert ROOMY.max_queued_bytes - 2000 < queued < 2 * ROOMY.max_queued_bytes
        gate.set()
        wait_until(lambda: made.spool.settled)
        assert len(made.troubles) == 2
        assert made.troubles[1] == ""
        assert made.ship() == taken
