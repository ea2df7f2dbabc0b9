"""What of a node could be left on a machine, and the lock by which there is one at a time."""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from tests.harness.programs.node.cgroups import ROOT, hierarchies
from tests.harness.programs.node.namespace import BRIDGE
from tests.tools.provide import cache_folder, locked

_PROGRAMS: Final = frozenset(
    (
        "containerd containerd-shim-runc-v2 containerd-shim-runsc-v1 kube-scheduler kubelet runsc"
    ).split()
)
"""Those that only a node runs."""
_OWN_MOUNT: Final = re.compile(r"kubelet|containerd|runsc|/netns/")
_OWN_LINK: Final = re.compile(rf"{BRIDGE}|veth")


@contextmanager
def only_node() -> Iterator[None]:
    """Hold the lock of nodes on this machine, waiting for other test runs."""
    with locked(cache_folder() / "node.lock"):
        yield


def footprint() -> dict[str, frozenset[str]]:
    """Return the processes, mounts, links of networks and cgroups that may be a node's.

    Not all there are: other tests come and go at the same time.
    """
    mounts = Path("/proc/self/mountinfo").read_text().splitlines()
    links = Path("/sys/class/net").iterdir()
    cgroups = (f"{each}{ROOT}" for each in hierarchies())
    return {
        "processes": frozenset(filter(_is_of_a_node, map(str, Path("/proc").glob("[0-9]*")))),
        "mounts": frozenset(filter(_OWN_MOUNT.search, mounts)),
        "links": frozenset(filter(_OWN_LINK.match, (each.name for each in links))),
        "cgroups": frozenset(each for each in cgroups if Path(each).exists()),
    }


def _is_of_a_node(process: str) -> bool:
    try:
        return Path(f"{process}/exe").readlink().name in _PROGRAMS
    except OSError:  # It has just ended, or is the kernel's.
        return False
