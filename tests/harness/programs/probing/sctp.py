"""The first two packets of SCTP by raw sockets, since most kernels of test machines lack SCTP.

What a policy engine lets through is decided by the first packet. RFC 9260: INIT (3.3.2), INIT ACK
(3.3.3), checksum CRC32c (appendix A).
"""

import asyncio
import socket
import struct
from typing import Final

_INIT, _INIT_ACK, _COOKIE = 1, 2, 7
_TAG: Final = 0x5A5A5A5A
_POLYNOMIAL: Final = 0x82F63B78


def _crc32c(data: bytes) -> int:
    crc = 0xFFFFFFFF
    for byte in data:
        crc ^= byte
        for _ in range(8):
            crc = crc >> 1 ^ (_POLYNOMIAL if crc & 1 else 0)
    return crc ^ 0xFFFFFFFF


def _packet(source: int, destination: int, tag: int, chunk: bytes) -> bytes:
    ports = struct.pack("!HHI", source, destination, tag)
    crc = _crc32c(ports + bytes(4) + chunk)
    return ports + struct.pack("<I", crc) + chunk


def init(source: int, destination: int) -> bytes:
    """Return the packet that asks for an association, from one port to another."""
    chunk = struct.pack("!BBHIIHHI", _INIT, 0, 20, _TAG, 65536, 1, 1, 1)
    return _packet(source, destination, 0, chunk)


def is_answer(packet: bytes, source: int, destination: int) -> bool:
    """Return whether a packet is the answer to an INIT between these ports."""
    if len(packet) < 13:
        return False
    back: tuple[int, int] = struct.unpack("!HH", packet[:4])
    return back == (destination, source) and packet[12] == _INIT_ACK


def raw_socket(family: int) -> socket.socket:
    """Return a socket that gets every packet of SCTP of its addresses; for root."""
    raw = socket.socket(family, socket.SOCK_RAW, socket.IPPROTO_SCTP)
    raw.settimeout(0)
    return raw


def payload(packet: bytes, family: int) -> bytes:
    """Take off the header that a raw socket of IPv4 gives too (raw(7))."""
    return packet[(packet[0] & 0xF) * 4 :] if family == socket.AF_INET else packet


def answer_sctp(loop: asyncio.AbstractEventLoop, address: str, port: int) -> None:
    """Answer each INIT to this address and port."""
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    raw = raw_socket(family)
    raw.bind((address, 0))

    def answer() -> None:
        data, (peer, *_) = raw.recvfrom(2048)
        asked = payload(data, family)
        theirs, ours = struct.unpack("!HH", asked[:4])
        if ours == port and asked[12] == _INIT:
            (tag,) = struct.unpack("!I", asked[16:20])
            cookie = struct.pack("!HHI", _COOKIE, 8, 0)
            chunk = struct.pack("!BBHIIHHI", _INIT_ACK, 0, 28, _TAG, 65536, 1, 1, 1) + cookie
            raw.sendto(_packet(port, theirs, tag, chunk), (peer, 0))

    loop.add_reader(raw, answer)
