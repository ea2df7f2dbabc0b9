"""Ports of loopback for servers that tests start."""

import fcntl
import os
import socket
import tempfile
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterator

_PORTS: Final = range(10_000, 30_000)
"""Below what Linux gives to connections that go out (32768) and Kubernetes to Services (30000).

A port of theirs can be taken by any connection between its choice and its use, and whoever
connects to one that nobody listens on can reach himself.
"""
_TURN: Final = Path(tempfile.gettempdir()) / f"sallyport-ports.{os.getuid()}"


def free_ports(count: int) -> list[int]:
    """Return ports of 127.0.0.1 that are free now, each another.

    All test runs of this machine take them in turn, so that none is given out again for long.
    """
    with _TURN.open("a+") as turn:
        fcntl.flock(turn, fcntl.LOCK_EX)
        turn.seek(0)
        first = int(turn.read() or 0)
        ports = list(islice(_free_from(first), count))
        turn.truncate(0)
        turn.write(str(ports[-1] - _PORTS.start + 1))
    return ports


def _free_from(first: int) -> "Iterator[int]":
    for each in range(len(_PORTS)):
        port = _PORTS[(first + each) % len(_PORTS)]
        with socket.socket() as probe:
            try:
                probe.bind(("127.0.0.1", port))
            except OSError:
                continue
        yield port
