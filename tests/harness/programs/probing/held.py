"""Holds one connection open and says, when asked, whether it still lives; a program of its own.

    python -m tests.harness.programs.probing.held PROTOCOL ADDRESS PORT

For each line that it reads it sends a datagram or a line and prints `alive` if that came back,
else `dead`. The first line that it prints is of the beginning.
"""

import os
import socket
import sys
from typing import Final

ALIVE: Final = "alive"
DEAD: Final = "dead"
TIMEOUT_S: Final = 1.5
_TRIES: Final = 3


def _connect(protocol: str, address: str, port: int) -> socket.socket:
    """Connect; over TCP, take the line that the server begins with."""
    kind = socket.SOCK_DGRAM if protocol == "UDP" else socket.SOCK_STREAM
    ((family, _, _, _, where), *_) = socket.getaddrinfo(address, port, type=kind)
    connection = socket.socket(family, kind)
    connection.settimeout(TIMEOUT_S)
    connection.connect(where)
    if protocol == "TCP":
        connection.recv(4096)
    return connection


def _lives(connection: socket.socket) -> bool:
    """Send something new and wait for it to come back; datagrams may be lost."""
    for _ in range(_TRIES if connection.type == socket.SOCK_DGRAM else 1):
        sent = os.urandom(8).hex().encode()
        try:
            connection.sendall(sent)
            if connection.recv(4096).endswith(sent):
                return True
        except OSError:
            continue
    return False


def main() -> None:
    """Hold the connection until stdin ends."""
    protocol, address, port = sys.argv[1:]
    with _connect(protocol, address, int(port)) as connection:
        print(ALIVE if _lives(connection) else DEAD, flush=True)
        for _ in sys.stdin:
            print(ALIVE if _lives(connection) else DEAD, flush=True)


if __name__ == "__main__":
    main()
