"""Runs on a node; writes which connections its Pods begin, and whether they are answered.

Packets of all links are read, as an agent of a flow log does: `python -m … recorder READY`. Once
standard input ends it prints a JSON array of what `Connections.written` yields.
"""

import json
import select
import socket
import struct
import sys
import time
from collections.abc import Iterator
from ipaddress import ip_address
from pathlib import Path
from typing import Any, Final

_ALL: Final = 0x0003
"""Of every protocol (linux/if_ether.h, ETH_P_ALL)."""
_IPV4, _IPV6 = 0x0800, 0x86DD
_TCP, _UDP, _SCTP = 6, 17, 132
_NAMES: Final = {_TCP: "TCP", _UDP: "UDP", _SCTP: "SCTP"}
_SYN, _ACK, _SYN_ACK = 0x02, 0x10, 0x12
_MOST: Final = 1 << 16
_PORTS: Final = struct.Struct("!HH")

_Key = tuple[int, str, int, str, int]
"""Protocol, source and its port, destination and its port."""


class Connections:
    """What was seen so far."""

    def __init__(self) -> None:
        self.begun: dict[_Key, float] = {}
        """When each began, in Unix seconds."""
        self.answered: set[_Key] = set()

    def take(self, protocol: int, source: str, destination: str, payload: bytes) -> None:
        """Take in a packet."""
        if protocol not in _NAMES or len(payload) < _PORTS.size:
            return
        first, second = _PORTS.unpack_from(payload)
        key = (protocol, source, first, destination, second)
        back = (protocol, destination, second, source, first)
        flags = payload[13] if protocol == _TCP and len(payload) > 13 else 0
        if back in self.begun and (protocol != _TCP or flags & _SYN_ACK == _SYN_ACK):
            self.answered.add(back)
        elif protocol != _TCP or (flags & _SYN and not flags & _ACK):
            self.begun.setdefault(key, time.time())

    def written(self) -> Iterator[dict[str, Any]]:
        """Yield each as it is printed."""
        for key, at in self.begun.items():
            protocol, source, _, destination, port = key
            yield {
                "time": at,
                "protocol": _NAMES[protocol],
                "source": source,
                "destination": destination,
                "port": port,
                "answered": key in self.answered,
            }


def read(ether_type: int, packet: bytes) -> tuple[int, str, str, bytes] | None:
    """Return protocol, source, destination and what follows the header; None for others."""
    if ether_type == _IPV4 and len(packet) >= 20:
        size = (packet[0] & 0x0F) * 4
        source, destination = packet[12:16], packet[16:20]
        return packet[9], str(ip_address(source)), str(ip_address(destination)), packet[size:]
    if ether_type == _IPV6 and len(packet) >= 40:
        source, destination = packet[8:24], packet[24:40]
        return packet[6], str(ip_address(source)), str(ip_address(destination)), packet[40:]
    return None


def main(ready: Path) -> None:
    """Record until standard input ends."""
    found = Connections()
    with socket.socket(socket.AF_PACKET, socket.SOCK_DGRAM, socket.htons(_ALL)) as listening:
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 24)
        ready.touch()
        while True:
            readable, _, _ = select.select([listening, sys.stdin], [], [])
            if listening not in readable:  # Standard input has ended, and nothing is left.
                break
            packet, place = listening.recvfrom(_MOST)
            if told := read(place[1], packet):
                found.take(*told)
    sys.stdout.write(json.dumps(list(found.written())))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
