"""Runs something again each time that files change."""

import os
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Final

_EVERY_S: Final = 0.5
_SUFFIXES: Final = frozenset({".rego", ".yaml", ".yml", ".json"})

FileState = dict[str, tuple[int, int]]


def state_of(paths: Iterable[Path]) -> FileState:
    """Return time and size of the files that policies are made of, in these files and folders."""
    return {
        str(file): (found.st_mtime_ns, found.st_size)
        for path in paths
        for file in ([path] if path.is_file() else path.rglob("*"))
        if file.suffix in _SUFFIXES and (found := _stat(file)) is not None
    }


def _stat(file: Path) -> os.stat_result | None:
    try:
        found = file.stat()
    except OSError:
        return None  # It went meanwhile, or is a link to nothing.
    return found


def watch(
    paths: Iterable[Path], again: Callable[[], None], wait: Callable[[float], None] = time.sleep
) -> None:
    """Run `again` now and after each change, until the person ends it with Ctrl-C."""
    watched = list(paths)
    try:
        while True:
            before = state_of(watched)
            again()
            while state_of(watched) == before:
                wait(_EVERY_S)
    except KeyboardInterrupt:
        return
