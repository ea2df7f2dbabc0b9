"""Has heads of the ledger timestamped by an authority (RFC 3161), and keeps the replies.

At most one in a while: each reply is verified at once, and appended to a file.
"""

import os
import ssl
import time
from collections.abc import Callable
from dataclasses import dataclass
from http import HTTPStatus
from pathlib import Path
from typing import Final

import aiohttp
from structlog.typing import FilteringBoundLogger

from audit.clients.bounded_answers import read_bounded
from audit.clients.storage_session import FOREIGN_ERRORS
from audit.ledger.log.heads import TreeHead
from audit.ledger.log.timestamps import (
    MOST_REPLY,
    TimestampError,
    TimestampTrust,
    encode_timestamp,
    make_query,
    read_trust,
    verify_reply,
)
from core.base.errors import LedgerError, SettingsError
from core.base.safe_text import safe_line
from network.error_texts import describe

_QUERY: Final = "application/timestamp-query"
_REPLY: Final = "application/timestamp-reply"
_MODE: Final = 0o640


@dataclass(frozen=True, slots=True)
class AuthorityPlace:
    """Which authority, and where its timestamps are kept."""

    url: str
    ca: Path
    """PEM: the certificates that its signing certificate is of."""
    file: Path
    """Lines of JSON, which is only appended to."""
    policy: str = ""
    every_s: float = 3600.0
    timeout_s: float = 30.0


class HeadTimestamper:
    """Timestamps heads, no more often than it may."""

    def __init__(
        self,
        place: AuthorityPlace,
        logger: FilteringBoundLogger,
        clock: Callable[[], float] = time.time,
    ) -> None:
        """Take the place.

        Raises:
            SettingsError: its CA cannot be read, or its policy is none.
        """
        self.at = 0.0
        """Unix time of the last timestamp that this process got; 0: none."""
        self.size = 0
        """Of the head that it is of."""
        self.failures = 0
        self._place = place
        self._trust = _read_trust(place)
        self._logger = logger
        self._clock = clock
        self._next = 0.0
        self._problem = ""
        self._failing: float | None = None
        """Unix time of the first failure since the last timestamp."""
        self._session: aiohttp.ClientSession | None = None

    async def close(self) -> None:
        """Close every connection."""
        session, self._session = self._session, None
        if session is not None:
            await session.close()

    async def beat(self, head: TreeHead | None) -> None:
        """Timestamp a head if it is time and another than the last; a failure is logged, counted.

        After a failure it is tried again with the next beat.
        """
        now = self._clock()
        if head is None or head.size == self.size or now < self._next:
            return
        try:
            await self._stamp(head)
        except LedgerError as error:
            self._fail(now, str(error))
            return
        except Exception as error:  # noqa: BLE001  Whatever it is, the ledger must go on.
            self._fail(now, str(self._error(f"{type(error).__name__}: {safe_line(str(error))}")))
            return
        self.at, self.size, self._problem, self._failing = now, head.size, "", None
        self._next = now + self._place.every_s

    @property
    def failing_s(self) -> float:
        """Seconds since the first failure after the last timestamp; 0 where none failed."""
        return 0.0 if self._failing is None else max(self._clock() - self._failing, 0.0)

    def _fail(self, now: float, problem: str) -> None:
        self.failures += 1
        if self._failing is None:
            self._failing = now
        if self._problem != problem:
            self._problem = problem
            self._logger.error("head not timestamped", problem=problem)

    async def _stamp(self, head: TreeHead) -> None:
        query = make_query(head)
        reply = await self._send(query.content)
        try:
            verify_reply(reply, head, self._trust, query.nonce)
        except TimestampError as error:
            raise self._error(f"its reply is no timestamp of the head: {error}") from None
        try:
            _append(self._place.file, encode_timestamp(head, reply))
        except OSError as error:
            raise self._error(f"{self._place.file}: {error.strerror}") from None

    async def _send(self, content: bytes) -> bytes:
        if self._session is None:
            timeout = aiohttp.ClientTimeout(total=self._place.timeout_s)
            self._session = aiohttp.ClientSession(timeout=timeout)
        headers = {"Content-Type": _QUERY, "Accept": _REPLY}
        context = ssl.create_default_context()
        try:
            async with self._session.post(
                self._place.url, data=content, headers=headers, ssl=context, allow_redirects=False
            ) as answer:
                status, kind = answer.status, answer.content_type
                reply = await read_bounded(answer, MOST_REPLY)
        except FOREIGN_ERRORS as error:
            raise self._error(f"it does not answer: {describe(error)}") from None
        if status != HTTPStatus.OK or kind != _REPLY:
            raise self._error(f"it answers {status} with {safe_line(kind)}, and no {_REPLY}")
        if len(reply) > MOST_REPLY:
            raise self._error(f"it answers more than {MOST_REPLY:,} bytes")
        return reply

    def _error(self, text: str) -> LedgerError:
        return LedgerError(f"the timestamp authority {self._place.url}: {text}")


def _read_trust(place: AuthorityPlace) -> TimestampTrust:
    try:
        return read_trust(place.ca.read_bytes(), place.policy)
    except OSError as error:
        raise SettingsError(f"ledger.timestamp: ca: {place.ca}: {error.strerror}") from None
    except ValueError as error:
        raise SettingsError(
            f"ledger.timestamp: ca: {place.ca}: give certificates in PEM, and a policy such as "
            f"1.2.3 ({error})"
        ) from None


def _append(path: Path, line: bytes) -> None:
    """Append a line after what a crash may have cut short, and bring it to the disk."""
    flags = os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC
    file = os.open(path, flags, _MODE)
    try:
        end = os.lseek(file, 0, os.SEEK_END)
        is_whole = end == 0 or os.pread(file, 1, end - 1) == b"\n"
        os.write(file, line if is_whole else b"\n" + line)
        os.fsync(file)
    finally:
        os.close(file)
