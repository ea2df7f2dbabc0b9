"""Answers on many addresses and ports at once, saying who and where it is; a program of its own.

    python -m tests.harness.programs.probing.server READY NAME PROTOCOL,ADDRESS,PORT...

makes the file READY once it listens. Over TCP it then gives back what it is sent, so that a
connection can be seen to live on.
"""

import asyncio
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import cast

from tests.harness.programs.probing.sctp import answer_sctp


def banner(name: str, address: str, port: int, protocol: str) -> str:
    """Return what the server `name` says to whoever reaches it there."""
    return f"{name} {address} {port}/{protocol}"


class _Datagrams(asyncio.DatagramProtocol):
    """Answers each datagram with itself, after the banner."""

    def __init__(self, said: str) -> None:
        self._said = said

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        # Python 3.11's own transport is no subclass of it.
        self._transport = cast("asyncio.DatagramTransport", transport)

    def datagram_received(self, data: bytes, addr: tuple[str, int]) -> None:
        self._transport.sendto(f"{self._said} ".encode() + data, addr)


async def _listen(name: str, protocol: str, address: str, port: int) -> None:
    said = banner(name, address, port, protocol)
    loop = asyncio.get_running_loop()
    if protocol == "UDP":
        where = (address, port)
        await loop.create_datagram_endpoint(lambda: _Datagrams(said), local_addr=where)
    elif protocol == "SCTP":
        answer_sctp(loop, address, port)
    else:

        async def converse(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            writer.write(f"{said}\n".encode())
            while data := await reader.read(4096):
                writer.write(data)
            writer.close()

        await asyncio.start_server(converse, address, port)


async def serve(ready: Path, name: str, places: Sequence[str]) -> None:
    """Listen until the program is ended."""
    for place in places:
        protocol, address, port = place.split(",")
        await _listen(name, protocol, address, int(port))
    await asyncio.to_thread(ready.touch)
    await asyncio.Event().wait()


if __name__ == "__main__":
    asyncio.run(serve(Path(sys.argv[1]), sys.argv[2], sys.argv[3:]))
