"""Asks Linux to hold what the gate has in memory in pages of 2 MiB.

Each review walks over the interpreter's heap; in a virtual machine, where a page that the processor
does not have at hand costs two walks through page tables, small pages took 3 to 5 % of a review's
CPU. Only an advice: kernels before 6.1, and sandboxes, say no, and all works as before.
"""

import ctypes
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Final

PAGE: Final = 2 * 1024 * 1024
_MADV_HUGEPAGE: Final = 14
_MADV_COLLAPSE: Final = 25
_MAPS: Final = Path("/proc/self/maps")


def use_huge_pages() -> int:
    """Move the process's own memory into huge pages; give how many bytes were moved."""
    try:
        lines = _MAPS.read_text().splitlines()
        advise = ctypes.CDLL(None).madvise
    except (OSError, AttributeError):  # No Linux.
        return 0
    advise.argtypes = (ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int)
    moved = 0
    for start, end in private_memory(lines):
        advise(start, end - start, _MADV_HUGEPAGE)
        if advise(start, end - start, _MADV_COLLAPSE) == 0:
            moved += end - start
    return moved


def private_memory(lines: Iterable[str]) -> Iterator[tuple[int, int]]:
    """Yield where writable memory of no file lies, in whole huge pages (proc_pid_maps(5))."""
    for line in lines:
        fields = line.split(maxsplit=5)
        path = fields[5] if len(fields) > 5 else ""  # noqa: PLR2004  The last one may be absent.
        if not fields[1].startswith("rw-p") or path not in {"", "[heap]"}:
            continue
        low, _, high = fields[0].partition("-")
        start, end = -(-int(low, 16) // PAGE) * PAGE, int(high, 16) // PAGE * PAGE
        if start < end:
            yield start, end
