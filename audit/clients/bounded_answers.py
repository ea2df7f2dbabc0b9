"""Answers of HTTP servers, of which no more is read than is wanted."""

import aiohttp


async def read_bounded(answer: aiohttp.ClientResponse, most: int) -> bytes:
    """Return the body; of one that is longer than `most` bytes the beginning, which is longer too.

    Raises:
        aiohttp.ClientError: the connection ends.
    """
    content = b""
    async for chunk in answer.content.iter_any():
        content += chunk
        if len(content) > most:
            answer.close()
            break
    return content
