"""Reads frames out of a segment's file, a bounded part at a time."""

import errno
import os
import time
from pathlib import Path
from typing import Final

from audit.ledger.records.frames import MAX_BODY, DamagedFrameError, Frame, read_frames
from audit.ledger.spool.segments import HEADER_BYTES, check_header
from core.base.errors import LedgerError

_LARGEST_FRAME: Final = MAX_BODY + 8

_FRAMES_BETWEEN_BREATHS: Final = 64
"""The interpreter's lock is offered that often: a reader must not hold up the event loop."""


def read_segment(
    path: Path, start: int, end: int, max_bytes: int, max_frames: int
) -> tuple[list[Frame], int]:
    """Read at least one frame between two offsets; give the offset after the last one as well.

    A frame that is larger than `max_bytes` comes alone.

    Raises:
        DamagedFrameError: there is none at `start`.
        LedgerError: the file cannot be opened now.
    """
    try:
        file = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
        try:
            if start == HEADER_BYTES:
                check_header(os.pread(file, HEADER_BYTES, 0))
            for size, most in ((max_bytes, max_frames), (_LARGEST_FRAME, 1)):
                frames, length = _take(os.pread(file, min(size, end - start), start), most)
                if frames:
                    return frames, start + length
        finally:
            os.close(file)
    except OSError as error:
        problem = os.strerror(error.errno or 0)
        if error.errno in {errno.EIO, errno.ENOENT}:
            raise DamagedFrameError(start, problem) from None
        message = f"{path} cannot be read: {problem}"
        raise LedgerError(message) from None
    raise DamagedFrameError(start, "the last frame is cut short")


def _take(content: bytes, most: int) -> tuple[list[Frame], int]:
    """Give whole frames and their length: those before a damage, if there are any.

    Raises:
        DamagedFrameError: the first frame is damaged.
    """
    frames, length = [], 0
    try:
        for frame, length in read_frames(content):  # noqa: B007  The last one is what is asked for.
            frames.append(frame)
            if len(frames) >= most:
                break
            if len(frames) % _FRAMES_BETWEEN_BREATHS == 0:
                time.sleep(0)
    except DamagedFrameError:
        if not frames:
            raise
    return frames, length
