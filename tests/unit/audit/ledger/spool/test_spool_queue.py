"""A spool as a queue: what goes in comes out, in order, until it is acknowledged."""

from pathlib import Path

import pytest

from audit.ledger.records.frames import MAX_BODY, Frame
from audit.ledger.spool.queue import Spool, SpoolSettings
from core.base.errors import LedgerError, NotRecordedError
from tests.unit.audit.ledger.spool.spools import (
    SMALL,
    frame,
    frames,
    opened,
    segments,
    unopened,
    wait_until,
)


def test_frames_come_out_as_they_went_in(tmp_path: Path) -> None:
    """All, in order, over many segments; kinds of a later release untouched."""
    sent = [*frames(300), Frame(200, b"\x00" * 32, b"of a later release"), Frame(7, b"", b"")]
    with opened(tmp_path) as made:
        made.write(*sent)
        assert len(segments(tmp_path)) > 3
        assert made.ship() == sent


def test_what_is_not_acknowledged_comes_again(tmp_path: Path) -> None:
    """Reading alone takes nothing out."""
    with opened(tmp_path) as made:
        made.write(*frames(5))
        first = made.spool.read(4096, 3)
        assert made.spool.read(4096, 3) == first
        made.spool.acknowledge(first)
        assert made.ship() == frames(5)[3:]


def test_acknowledging_twice_does_no_harm(tmp_path: Path) -> None:
    """A shipper that was cancelled may acknowledge after its successor."""
    with opened(tmp_path) as made:
        made.write(*frames(5))
        first, longer = made.spool.read(4096, 2), made.spool.read(4096, 4)
        made.spool.acknowledge(longer)
        made.spool.acknowledge(first)
        assert made.ship() == frames(5)[4:]


def test_acknowledged_segments_are_deleted(tmp_path: Path) -> None:
    """The disk's space comes back, while the spool is used and when it is opened again."""
    with opened(tmp_path) as made:
        made.write(*frames(300))
        made.ship()
        assert len(segments(tmp_path)) == 1
        assert made.spool.status().bytes <= SMALL.segment_bytes
    with opened(tmp_path) as made:
        assert segments(tmp_path) == []
        assert made.spool.status().bytes == 0


def test_a_batch_keeps_to_its_bounds(tmp_path: Path) -> None:
    """In bytes and in frames; a frame that is larger than a batch comes alone."""
    sent = [frame(0, 500), frame(1, 500), frame(2, 5000), frame(3, 500)]
    with opened(tmp_path) as made:
        made.write(*sent)
        assert made.spool.read(1100, 100).frames == tuple(sent[:2])
        assert made.spool.read(4096, 1).frames == (sent[0],)
        made.spool.acknowledge(made.spool.read(1100, 100))
        assert made.spool.read(1100, 100).frames == (sent[2],)


def test_a_frame_larger_than_a_segment_has_its_own(tmp_path: Path) -> None:
    """The largest frame is spooled whatever the size of segments."""
    large = Frame(1, b"\x01" * 16, b"x" * (MAX_BODY - 18))
    settings = SpoolSettings(segment_bytes=4096)
    with opened(tmp_path, settings) as made:
        made.write(frame(0), large, frame(1))
        assert len(segments(tmp_path)) == 3
        assert made.ship() == [frame(0), large, frame(1)]


def test_what_is_held_becomes_what_is_freed(tmp_path: Path) -> None:
    """Segment by segment, and the sum stays: by it a share knows when its records are gone."""
    with opened(tmp_path) as made:
        spool = made.spool
        made.write(*frames(40, 1000))
        held = spool.held_bytes
        assert (spool.freed_bytes, spool.max_bytes) == (0, SMALL.max_bytes)
        assert held >= 40 * 1000
        spool.acknowledge(spool.read(16 * 1024, 1000))
        assert 0 < spool.freed_bytes <= 16 * 1024
        made.ship()
        assert spool.held_bytes + spool.freed_bytes == held
        assert spool.freed_bytes >= held - SMALL.segment_bytes


def test_a_frame_larger_than_any_is_refused(tmp_path: Path) -> None:
    """It is said, and counted; the frames around it are not touched."""
    with opened(tmp_path) as made:
        with pytest.raises(NotRecordedError, match="more than a frame holds"):
            made.append(Frame(1, b"\x01" * 16, b"x" * MAX_BODY))
        assert made.spool.status().refused == 1
        made.write(frame(0))
        assert made.ship() == [frame(0)]


def test_one_process_has_a_folder(tmp_path: Path) -> None:
    """The second is told which folder it is; the first goes on, and gives it back at its end."""
    with opened(tmp_path) as made:
        with pytest.raises(LedgerError, match=rf"{tmp_path} is in use by another process"):
            Spool(tmp_path).open()
        made.write(frame(0))
    with opened(tmp_path) as made:
        assert made.ship() == [frame(0)]


def test_a_folder_that_cannot_be_used_is_named(tmp_path: Path) -> None:
    """With the setting that names it."""
    (tmp_path / "file").touch()
    with pytest.raises(LedgerError, match=r"file/spool cannot be used: .*; set spool.folder"):
        Spool(tmp_path / "file" / "spool").open()


def test_closing_writes_what_waits(tmp_path: Path) -> None:
    """Also where the time for it had not come; afterwards nothing is taken."""
    slow = SpoolSettings(write_every_s=0.2, sync_every_s=60)
    made = unopened(tmp_path, slow)
    with pytest.raises(NotRecordedError, match="not open"):
        made.append(frame(0))
    made.spool.open()
    made.append(*frames(50))
    assert made.spool.close() == 0
    with pytest.raises(NotRecordedError, match="closed"):
        made.append(frame(51))
    with opened(tmp_path) as again:
        assert again.ship() == frames(50)


def test_the_status_says_what_there_is(tmp_path: Path) -> None:
    """Totals, bytes, and how long the oldest has waited."""
    with opened(tmp_path) as made:
        assert made.spool.status().oldest_age_s == 0
        made.write(*frames(10))
        wait_until(lambda: made.spool.status().oldest_age_s > 0.01)
        status = made.spool.status()
        assert (status.appended, status.acknowledged, status.refused) == (10, 0, 0)
        assert 10 * 100 < status.unacknowledged_bytes < status.bytes <= status.max_bytes
        assert status.full == ""
        assert status.syncs >= 1
        made.spool.acknowledge(made.spool.read(4096, 4))
        assert made.spool.status().acknowledged == 4
        assert made.spool.status().oldest_age_s > 0
        made.ship()
        done = made.spool.status()
        assert (done.acknowledged, done.unacknowledged_bytes, done.oldest_age_s) == (10, 0, 0)


def test_a_spool_needs_room_for_four_segments() -> None:
    """With fewer, what is acknowledged might not make it usable again."""
    with pytest.raises(ValueError, match="four segments"):
        SpoolSettings(max_bytes=1000, segment_bytes=300)
