"""Files that are written whole or not at all: whoever reads sees the one before, or this one."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO, Final

_BUFFER: Final = 1 << 20


def write_whole(
    path: Path,
    content: bytes,
    mode: int | None = None,
    *,
    beside: str = "",
    make_folder: bool = False,
) -> None:
    """Put `content` at `path`; see `replace_file`. `make_folder` makes its folder, too.

    Raises:
        OSError: it cannot be written; the one before stays.
    """
    if make_folder:
        path.parent.mkdir(parents=True, exist_ok=True)
    with replace_file(path, mode, beside=beside) as file:
        file.write(content)


@contextmanager
def replace_file(path: Path, mode: int | None = None, *, beside: str = "") -> Iterator[BinaryIO]:
    """Yield a file that takes the place of `path` once it is written and on the disk.

    Args:
        path: where it is to be; its folder is there.
        mode: its permissions; None is what the umask leaves.
        beside: what the name of the unfinished file ends in, where it is to be the same each time:
            one who is killed over and over leaves one, then, and two may not write at once.

    Raises:
        OSError: it cannot be written; the one before stays.
    """
    unfinished = path.with_name(path.name + beside)
    flags = os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC | os.O_TRUNC
    if not beside:
        unfinished = path.with_name(f".{path.name}.{os.urandom(8).hex()}")
        flags |= os.O_EXCL
    descriptor = os.open(unfinished, flags, 0o666 if mode is None else mode)
    try:
        with os.fdopen(descriptor, "wb", buffering=_BUFFER) as file:
            if mode is not None:
                os.fchmod(descriptor, mode)
            yield file
            file.flush()
            os.fsync(descriptor)
        unfinished.replace(path)
    except BaseException:
        unfinished.unlink(missing_ok=True)
        raise
