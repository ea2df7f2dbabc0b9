"""The cgroups of a node's Pods: all below one of its own, and gone with the node."""

import os
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final

from tests.harness.programs.process import POLL_S

ROOT: Final = "/sallyport-node"

_MOUNT: Final = Path("/sys/fs/cgroup")
_CONTROLLERS: Final = _MOUNT / "cgroup.controllers"
"""There with cgroup v2 alone (kernel.org, admin-guide/cgroup-v2)."""
_WANTED: Final = frozenset("cpu cpuset hugetlb io memory pids".split())
_TIMEOUT_S: Final = 60.0


def hierarchies() -> list[Path]:
    """Return the roots of the cgroups that may be written: one of version 2, or each of 1."""
    found = [_MOUNT] if _CONTROLLERS.exists() else sorted(_MOUNT.glob("*"))
    return [each for each in found if os.access(each / "cgroup.procs", os.W_OK)]


@contextmanager
def cgroup_root() -> Iterator[None]:
    """Have the cgroup `ROOT` in each hierarchy while the context lasts.

    Raises:
        TimeoutError: at the end there still are processes in one.
    """
    _remove()
    if _CONTROLLERS.exists():
        wanted = sorted(_WANTED & set(_CONTROLLERS.read_text().split()))
        (_MOUNT / "cgroup.subtree_control").write_text(" ".join(f"+{each}" for each in wanted))
    for each in hierarchies():
        Path(f"{each}{ROOT}").mkdir(exist_ok=True)
    try:
        yield
    finally:
        _remove()


def _remove() -> None:
    """Take the cgroups away, the innermost first, waiting for the last process to be gone."""
    deadline = time.monotonic() + _TIMEOUT_S
    while found := [root for each in hierarchies() if (root := Path(f"{each}{ROOT}")).exists()]:
        if time.monotonic() > deadline:
            raise TimeoutError(f"processes are left in {', '.join(map(str, found))}")
        for root in found:
            for folder, _, _ in os.walk(root, topdown=False):
                with suppress(OSError):  # Busy: a process has not ended yet.
                    Path(folder).rmdir()
        time.sleep(POLL_S)
