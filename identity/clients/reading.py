"""Reads answers of Microsoft's services, up to a limit."""

from typing import Final

import aiohttp

from core.base.errors import EntraError

_CHUNK: Final = 64 * 1024


async def read_answer(response: aiohttp.ClientResponse, most: int, asked: str) -> bytes:
    """Read an answer of at most so many bytes; `asked` names it for a person.

    Raises:
        EntraError: it is longer.
    """
    chunks, size = [], 0
    async for chunk in response.content.iter_chunked(_CHUNK):
        size += len(chunk)
        if size > most:
            raise EntraError(f"{asked}: an answer of more than {most} bytes", "too-large")
        chunks.append(chunk)
    return b"".join(chunks)
