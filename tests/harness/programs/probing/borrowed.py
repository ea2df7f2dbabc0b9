"""Sends a datagram from an address that is not its own; a program of its own, run as nobody.

    python -m tests.harness.programs.probing.borrowed SOURCE ADDRESS PORT

Linux lets any process do so in IPv6, without a capability (IPV6_FREEBIND, ip(7)); in IPv4 it finds
no way from such an address. It prints `sent`, or why not.
"""

import os
import socket
import sys
from typing import Final

_IP_FREEBIND: Final = 15  # linux/in.h
_IPV6_FREEBIND: Final = 78  # linux/in6.h
_NOBODY: Final = 65534


def main() -> None:
    """Give up all rights, then send."""
    source, address, port = sys.argv[1:]
    os.setgroups([])
    os.setgid(_NOBODY)
    os.setuid(_NOBODY)
    family = socket.AF_INET6 if ":" in source else socket.AF_INET
    with socket.socket(family, socket.SOCK_DGRAM) as sender:
        if family == socket.AF_INET6:
            sender.setsockopt(socket.IPPROTO_IPV6, _IPV6_FREEBIND, 1)
        else:
            sender.setsockopt(socket.IPPROTO_IP, _IP_FREEBIND, 1)
        try:
            sender.bind((source, 0))
            sender.sendto(b"borrowed", (address, int(port)))
        except OSError as error:
            print(os.strerror(error.errno or 0))
        else:
            print("sent")


if __name__ == "__main__":
    main()
