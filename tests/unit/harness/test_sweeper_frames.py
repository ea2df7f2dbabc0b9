"""The sweeper that tests kill goes on after its last whole frame."""

import os
from pathlib import Path

import pytest

from audit.ledger.records.frames import Frame, encode_frame, read_frames
from audit.ledger.spool.segments import HEADER, HEADER_BYTES
from tests.harness.programs.sweeper import FrameFile, open_frames

WHOLE = encode_frame(1, b"a" * 16, b"first")
NEXT = encode_frame(1, b"b" * 16, b"second")


@pytest.mark.parametrize("cut", range(len(NEXT) + 1))
def test_a_frame_that_a_kill_cut_short_is_taken_away(tmp_path: Path, cut: int) -> None:
    """Wherever it ends: what is appended then can be read."""
    path = tmp_path / "frames"
    path.write_bytes(HEADER + WHOLE + NEXT[:cut])
    file = open_frames(path)
    FrameFile(file).append(1, b"c" * 16, b"third")
    os.close(file)
    found = [frame.payload for frame, _ in read_frames(path.read_bytes(), HEADER_BYTES)]
    assert found == [b"first", *([b"second"] if cut == len(NEXT) else []), b"third"]


def test_a_first_process_begins_a_segment(tmp_path: Path) -> None:
    """Nothing is there to be read."""
    file = open_frames(tmp_path / "frames")
    FrameFile(file).append(1, b"a" * 16, b"first")
    os.close(file)
    content = (tmp_path / "frames").read_bytes()
    frames = [frame for frame, _ in read_frames(content, HEADER_BYTES)]
    assert frames == [Frame(1, b"a" * 16, b"first")]
