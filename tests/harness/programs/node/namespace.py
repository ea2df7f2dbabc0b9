"""A network, mounts and processes of their own, all of which end with their first process."""

import ctypes
import os
import platform
import shutil
import signal
import subprocess
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from tests.harness.programs.node.cgroups import hierarchies
from tests.harness.programs.process import POLL_S, ServerProcess

ADDRESS: Final = "10.88.0.1"
"""Of the bridge, which is the node's; Pods have the others of `SUBNET`."""
SUBNET: Final = "10.88.0.0/24"
ADDRESSES: Final = (f"{ADDRESS}/24",)
"""The bridge's addresses in their networks, unless a node is to have others."""
BRIDGE: Final = "cni0"
HIDDEN: Final = ("/run", "/var/lib", "/var/log")
"""Folders of the machine that the node has empty ones in place of."""

_FIRST: Final = """set -e
trap 'exit 0' TERM
mount --make-rshared /
for folder in $HIDDEN; do mount -t tmpfs -o mode=755 tmpfs "$folder"; done
"$BUSYBOX" ip link set lo up
"$BUSYBOX" ip link add "$BRIDGE" type bridge
# An address of IPv6 is otherwise not used for a second, in which others may object to it.
echo 0 > "/proc/sys/net/ipv6/conf/$BRIDGE/accept_dad" || true
for address in $ADDRESSES; do "$BUSYBOX" ip addr add "$address" dev "$BRIDGE"; done
"$BUSYBOX" ip link set "$BRIDGE" up
: > "$READY"
# As the first process it is the parent of whatever loses its own, and must wait for that.
sleep infinity & wait
"""
_FLAGS: Final = (
    "--mount --net --pid --fork --kill-child --mount-proc --propagation private"
).split()
_START_TIMEOUT_S: Final = 60.0
_END_TIMEOUT_S: Final = 60.0
_CLONE_NEWNET: Final = 0x40000000  # linux/sched.h


def unable() -> str:
    """Say why this machine cannot have a node; empty where it can."""
    if platform.system() != "Linux":
        return f"a node needs Linux, and this is {platform.system()}"
    if os.geteuid() != 0:
        return "a node needs root: namespaces, mounts and cgroups are made"
    if not shutil.which("unshare") or not shutil.which("nsenter"):
        return "a node needs unshare and nsenter: install util-linux"
    refused = _refused()
    if refused:
        return f"a node needs namespaces, which even root may not make here: {refused}"
    if not hierarchies():
        return "a node needs cgroups that root may write"
    return ""


def _refused() -> str:
    """Return what the system says to new namespaces, if it refuses."""
    tried = subprocess.run(
        ["unshare", *_FLAGS, "true"],  # noqa: S607
        capture_output=True,
        text=True,
        check=False,
    )
    return tried.stderr.strip() if tried.returncode != 0 else ""


class NodeNamespace:
    """Where a node's programs run: nothing there reaches the machine's own network or folders."""

    def __init__(self, folder: Path, busybox: Path, addresses: Sequence[str] = ADDRESSES) -> None:
        """Make it, its log in `folder`, with loopback and a bridge of these addresses up.

        Raises:
            ServerFailedError: the system refused; with its words.
        """
        self._ready = folder / "namespace.ready"
        self._first = ServerProcess(
            "unshare",
            ["unshare", *_FLAGS, "/bin/sh", "-c", _FIRST],
            folder / "namespace.log",
            {
                "BUSYBOX": str(busybox),
                "HIDDEN": " ".join(HIDDEN),
                "BRIDGE": BRIDGE,
                "ADDRESSES": " ".join(addresses),
                "READY": str(self._ready),
            },
        )
        try:
            self._first.wait_until(self._ready.exists, _START_TIMEOUT_S)
        except BaseException:
            self.end()
            raise

    def command(self, *command: str | Path) -> list[str | Path]:
        """Return what runs a command in it."""
        own = f"/proc/{self._first.pid}/ns"
        # unshare itself stays outside the new namespace of processes; its children are inside.
        flags = [f"--net={own}/net", f"--mount={own}/mnt", f"--pid={own}/pid_for_children"]
        return ["nsenter", *flags, "--", *command]

    @contextmanager
    def network(self) -> Iterator[None]:
        """Let this thread, and what it starts, be in the network while the context lasts."""
        own = os.open("/proc/thread-self/ns/net", os.O_RDONLY)
        try:
            other = os.open(f"/proc/{self._first.pid}/ns/net", os.O_RDONLY)
            try:
                _enter(other)
            finally:
                os.close(other)
            try:
                yield
            finally:
                _enter(own)
        finally:
            os.close(own)

    def end(self) -> None:
        """End all that runs in it, and wait until it has."""
        if self._first.alive:
            self._begin_to_end()
        deadline = time.monotonic() + _END_TIMEOUT_S
        # The first process is gone only after the last of the others.
        while self._first.alive and time.monotonic() < deadline:
            time.sleep(POLL_S)
        self._first.stop()

    def _begin_to_end(self) -> None:
        if self._ready.exists():
            ask = self.command("/bin/sh", "-c", "kill -TERM 1")
            subprocess.run(ask, capture_output=True, check=False)
        else:
            # Number 1 may still be the machine's own first process: end what would make another.
            os.kill(self._first.pid, signal.SIGKILL)


def _enter(namespace: int) -> None:
    # os.setns is there from Python 3.12 on.
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.setns(namespace, _CLONE_NEWNET) != 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number), "setns")
