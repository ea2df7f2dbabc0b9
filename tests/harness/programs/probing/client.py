"""Tries many connections at once; a program of its own, run in the network of a Pod.

    python -m tests.harness.programs.probing.client

reads `[[protocol, address, port, says], …]` as JSON from stdin and prints as JSON what became of
each, in their order: `open`, or why not. It is open only once the other end has answered: over TCP
with the line that `says`, or where that is empty with the connection itself; over UDP with what it
was sent; over SCTP with its first packet.
"""

import asyncio
import json
import os
import socket
import sys
from collections.abc import Awaitable, Callable
from contextlib import closing
from typing import Final

from tests.harness.programs.probing.sctp import init, is_answer, payload, raw_socket

OPEN: Final = "open"
SILENT: Final = "silent"
TIMEOUT_S: Final = 2.0
_TRIES: Final = 3
"""Datagrams may be lost."""


async def _over_tcp(address: str, port: int, says: str) -> str:
    reader, writer = await asyncio.open_connection(address, port)
    try:
        if not says:
            return OPEN
        said = (await reader.readline()).decode().rstrip("\n")
        return OPEN if said == says else f"somebody else: {said}"
    finally:
        writer.close()


async def _over_udp(address: str, port: int, says: str) -> str:
    loop = asyncio.get_running_loop()
    nonce = os.urandom(8)
    found = socket.getaddrinfo(address, port, type=socket.SOCK_DGRAM)
    with closing(socket.socket(found[0][0], socket.SOCK_DGRAM)) as sender:
        sender.settimeout(0)
        sender.connect(found[0][4])
        for _ in range(_TRIES):
            await loop.sock_sendall(sender, nonce)
            try:
                async with asyncio.timeout(TIMEOUT_S / _TRIES):
                    answer = await loop.sock_recv(sender, 2048)
            except TimeoutError:
                continue
            return OPEN if answer == f"{says} ".encode() + nonce else f"somebody else: {answer!r}"
    return SILENT


async def _over_sctp(address: str, port: int, _says: str) -> str:
    loop = asyncio.get_running_loop()
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    source = 1024 + int.from_bytes(os.urandom(2), "big") % 60000
    with closing(raw_socket(family)) as raw:
        await loop.sock_sendto(raw, init(source, port), (address, 0))
        while True:
            data, (peer, *_) = await loop.sock_recvfrom(raw, 2048)
            if peer == address and is_answer(payload(data, family), source, port):
                return OPEN


_OVER: Final[dict[str, Callable[[str, int, str], Awaitable[str]]]] = {
    "TCP": _over_tcp,
    "UDP": _over_udp,
    "SCTP": _over_sctp,
}


async def _try(protocol: str, address: str, port: int, says: str) -> str:
    try:
        async with asyncio.timeout(TIMEOUT_S):
            return await _OVER[protocol](address, port, says)
    except TimeoutError:
        return SILENT
    except OSError as error:
        return os.strerror(error.errno) if error.errno else str(error)


async def attempt_all(targets: list[tuple[str, str, int, str]]) -> list[str]:
    """Try targets, written as above, all at once; give what became of each."""
    return await asyncio.gather(*(_try(*each) for each in targets))


if __name__ == "__main__":
    print(json.dumps(asyncio.run(attempt_all(json.load(sys.stdin)))))
