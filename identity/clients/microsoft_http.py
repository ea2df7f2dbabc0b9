"""HTTP as clients of Microsoft's APIs share it: session, bounded answers, and pace.

One connection each and no cookies. Times come in, and are of any clock that does not jump.
"""

import asyncio
import random
import ssl
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import aiohttp

from core.base.errors import EntraError
from identity.clients.tokens import Tokens

FIRST_BACK_OFF_S: Final = 5.0
LAST_BACK_OFF_S: Final = 60.0
"""Graph's risk resources answer 429 without Retry-After: the waits are ours."""

LONGEST_RETRY_AFTER_S: Final = 600.0
"""What it asks for is honoured up to here."""

_JITTER: Final = 0.25


@dataclass
class RequestPace:
    """One request after another, and at least `rate_s` from an answer to the next request.

    Measured from the answer, so that requests are as far apart when they arrive, too: what is
    measured between sends shrinks by whatever the first one was delayed on its way.
    """

    rate_s: float
    ready_at: float = 0.0
    failures: int = 0
    """In a row."""

    def begin(self, now: float) -> None:
        """Wait first: another leader may just have asked."""
        self.ready_at = max(self.ready_at, now + self.rate_s * (1 + _JITTER))

    def answered(self, now: float) -> None:
        """Go on after an answer, or after the end of a request that had none."""
        self.ready_at = max(self.ready_at, now + self.rate_s)

    def succeeded(self) -> None:
        """Forget the failures before."""
        self.failures = 0

    def back_off(self, now: float, retry_after_s: float, chance: float) -> None:
        """Ask nothing for a while.

        Args:
            now: time.
            retry_after_s: what Graph asks for; 0 where it says nothing.
            chance: 0 to 1, at random: those who were thrown back together come back apart.
        """
        self.failures += 1
        doubled = FIRST_BACK_OFF_S * 2.0 ** min(self.failures - 1, 10)
        wait = min(LAST_BACK_OFF_S, doubled * (1 + _JITTER * chance))
        asked = min(LONGEST_RETRY_AFTER_S, retry_after_s * (1 + _JITTER * chance))
        self.ready_at = max(self.ready_at, now + max(wait, asked))


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


def open_session(
    trust: Path | None, setting: str, *, total_s: float, connect_s: float, keeps: bool
) -> aiohttp.ClientSession:
    """Open one; `trust` is the CA (PEM) that `setting` names, `keeps` has its connection stay open.

    Raises:
        EntraError: the CA cannot be read.
    """
    try:
        context = ssl.create_default_context(cafile=str(trust) if trust else None)
    except (OSError, ssl.SSLError) as error:
        text = f"{setting}: no CA can be read ({type(error).__name__})"
        raise EntraError(text, "unreachable") from error
    return aiohttp.ClientSession(
        connector=aiohttp.TCPConnector(ssl=context, limit=1, force_close=not keeps),
        cookie_jar=aiohttp.DummyCookieJar(),
        timeout=aiohttp.ClientTimeout(total=total_s, connect=connect_s, sock_connect=connect_s),
        trust_env=False,
    )


class PacedClient:
    """One of Microsoft's APIs as one application: one request at a time, and none too early.

    Which answers are errors, and after which of them nothing is asked for a while, is the API's.
    """

    def __init__(
        self, tokens: Tokens, rate_s: float, open_session: Callable[[], aiohttp.ClientSession]
    ) -> None:
        self._tokens = tokens
        self._pace = RequestPace(rate_s)
        self._open_session = open_session
        self._session: aiohttp.ClientSession | None = None
        self._turn = asyncio.Lock()

    @property
    def wait_s(self) -> float:
        """Seconds until something may be asked."""
        return max(0.0, self._pace.ready_at - time.monotonic())

    def back_off(self, retry_after_s: float = 0.0) -> None:
        """Ask nothing for a while: what was answered cannot be used."""
        chance = random.random()  # noqa: S311  It spreads load.
        self._pace.back_off(time.monotonic(), retry_after_s, chance)

    def succeeded(self) -> None:
        """Forget the failures before: an answer was of use."""
        self._pace.succeeded()

    async def close(self) -> None:
        """Close connections."""
        if self._session is not None:
            await self._session.close()
        self._tokens.close()

    def _opened(self) -> aiohttp.ClientSession:
        if self._session is None:
            self._session = self._open_session()
        return self._session
