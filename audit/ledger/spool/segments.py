"""The files of a spool: segments of frames and how they are read, the cursor, the lock."""

import errno
import fcntl
import os
import re
import struct
import time
import zlib
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from audit.ledger.records.frames import MAX_BODY, DamagedFrameError, Frame, read_frames
from core.base.errors import LedgerError

FORMAT: Final = 1
"""Version of a segment's header and of the cursor; FORMAT - 1 and FORMAT + 1 are read too."""

_HEADER: Final = struct.Struct(">8sI")
_MAGIC: Final = b"slpspool"
HEADER: Final = _HEADER.pack(_MAGIC, FORMAT)
HEADER_BYTES: Final = len(HEADER)

_SEGMENT: Final = re.compile(r"(\d{16})\.(spool|damaged)")

_LARGEST_FRAME: Final = MAX_BODY + 8

_FRAMES_BETWEEN_BREATHS: Final = 64
"""The interpreter's lock is offered that often: a reader must not hold up the event loop."""


@dataclass(frozen=True, order=True, slots=True)
class SpoolPosition:
    """A place between two frames."""

    segment: int
    offset: int
    """Bytes from the beginning of the segment's file."""


def segment_path(folder: Path, number: int, suffix: str = "spool") -> Path:
    """Return a segment's file; with the suffix `damaged`, where it is set aside."""
    return folder / f"{number:016d}.{suffix}"


def list_segments(folder: Path) -> tuple[dict[int, int], int]:
    """Return the size of each segment by number, ascending, and the highest number ever seen."""
    sizes, highest = {}, 0
    for path in sorted(folder.iterdir()):
        if match := _SEGMENT.fullmatch(path.name):
            number = int(match[1])
            highest = max(highest, number)
            if match[2] == "spool":
                sizes[number] = path.stat().st_size
    return sizes, highest


def check_header(content: bytes) -> None:
    """Check the first bytes of a segment.

    Raises:
        DamagedFrameError: they are none, or of a release that is too far away.
    """
    if len(content) < HEADER_BYTES:
        raise DamagedFrameError(0, "the header is cut short")
    magic, version = _HEADER.unpack_from(content)
    if magic != _MAGIC:
        raise DamagedFrameError(0, "it does not begin as a segment does")
    if not FORMAT - 1 <= version <= FORMAT + 1:
        raise DamagedFrameError(0, f"format {version}; this release reads up to {FORMAT + 1}")


def cut_tail(path: Path) -> int:
    """Cut an unfinished frame off the end of a segment; give how many bytes that were.

    Damage is left as it is, for whoever reads: an impossible frame, or one that seems unfinished
    and has whole frames after its beginning.
    """
    content = path.read_bytes()
    if len(content) < HEADER_BYTES and HEADER.startswith(content):
        path.unlink()
        return len(content)
    try:
        check_header(content)
        end = HEADER_BYTES
        for _, after in read_frames(content, HEADER_BYTES):
            end = after
    except DamagedFrameError:
        return 0
    if end == len(content) or _has_frame(content, end + 1):
        return 0
    os.truncate(path, end)
    return len(content) - end


def _has_frame(content: bytes, start: int) -> bool:
    """Return whether a whole frame begins anywhere after `start`. Its first byte is always 0."""
    at = content.find(0, start)
    while at != -1:
        try:
            if next(read_frames(content, at), None):
                return True
        except DamagedFrameError:
            pass
        at = content.find(0, at + 1)
    return False


def write_cursor(folder: Path, position: SpoolPosition) -> None:
    """Keep what is acknowledged, whole or not at all.

    Nothing waits for the disk: an old cursor only has frames sent again.
    """
    text = f"{FORMAT} {position.segment} {position.offset}"
    temporary = folder / "cursor.new"
    temporary.write_text(f"{text} {zlib.crc32(text.encode()):08x}\n")
    temporary.replace(folder / "cursor")


def read_cursor(folder: Path) -> SpoolPosition | None:
    """Return what is acknowledged; None where nothing was yet.

    Raises:
        ValueError: the file is no cursor.
    """
    try:
        text, _, checksum = (folder / "cursor").read_text("ascii").rstrip("\n").rpartition(" ")
    except FileNotFoundError:
        return None
    version, segment, offset = map(int, text.split(" "))
    if checksum != f"{zlib.crc32(text.encode()):08x}" or abs(version - FORMAT) > 1:
        message = "the checksum or the format is wrong"
        raise ValueError(message)
    return SpoolPosition(segment, offset)


def lock_folder(folder: Path) -> int:
    """Take a folder for this process alone; closing the descriptor gives it back.

    Raises:
        LedgerError: another process has it.
    """
    descriptor = os.open(folder / "lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(descriptor)
        message = f"the spool {folder} is in use by another process: give each its own folder"
        raise LedgerError(message) from None
    return descriptor


def sync_folder(folder: Path) -> None:
    """Have the names of new files survive a crash of the machine."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


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
    """Return whole frames and their length: those before a damage, if there are any.

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
