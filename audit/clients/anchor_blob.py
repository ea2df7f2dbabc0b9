"""An anchor that is append blobs of Azure Storage, over REST with a bearer token.

A container whose immutability policy allows protected append writes lets blobs grow, and nobody
change or delete what is in them: not the ledger's host, nor whoever has its key and token.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from http import HTTPStatus
from pathlib import Path
from typing import Final
from urllib.parse import quote, urlsplit

from audit.clients.storage_session import FOREIGN_ERRORS, GetToken, StorageSession
from audit.ledger.log.anchor_file import AnchorEnd, demand_same_log, end_of
from audit.ledger.log.anchors import MOST_LINE, lines_of
from audit.ledger.log.heads import TreeHead
from audit.ledger.log.leaves import MARK_BYTES
from core.base.errors import LedgerError, SettingsError, SourceError
from network.error_texts import describe

MOST_BLOCKS: Final = 50_000
"""Of an append blob (Append Block, "Remarks"); the next line begins another blob."""

_TAIL: Final = 64 * 1024
_ATTEMPTS: Final = 3
_MOVED: Final = frozenset({HTTPStatus.PRECONDITION_FAILED, HTTPStatus.CONFLICT})
_HINTS: Final[Mapping[int, str]] = {
    HTTPStatus.UNAUTHORIZED: "the token is refused: check the tenant of the sign-in",
    HTTPStatus.FORBIDDEN: "give the auditor's identity the role Storage Blob Data Contributor on "
    "the container, and its network a way through the account's firewall",
    HTTPStatus.NOT_FOUND: "there is no such container",
    HTTPStatus.CONFLICT: "its immutability policy must allow protected append writes",
}


@dataclass(frozen=True, slots=True)
class BlobPlace:
    """Where the blobs are."""

    url: str
    """`https://ACCOUNT.blob.core.windows.net/CONTAINER/PREFIX`."""
    trust: Path | None = None
    """CA of the site (PEM); the public ones where it is None."""
    timeout_s: float = 30.0

    def __post_init__(self) -> None:
        """Refuse what cannot work, or must not.

        Raises:
            SettingsError: naming the setting and the fix.
        """
        site = urlsplit(self.url)
        is_there = site.scheme == "https" and site.hostname and site.path.strip("/")
        if not is_there or site.query or "@" in site.netloc:
            raise SettingsError("ledger.anchors: blob: must be https://HOST/CONTAINER, without SAS")


@dataclass(frozen=True, slots=True)
class _Part:
    """The blob that lines are appended to now."""

    number: int
    length: int
    blocks: int
    end: AnchorEnd


class BlobAnchor:
    """Appends to blobs `000001.jsonl`, `000002.jsonl` … below a prefix."""

    keeps_marks = True

    def __init__(
        self, place: BlobPlace, get_token: GetToken, most_blocks: int = MOST_BLOCKS
    ) -> None:
        """Take the place and what gives tokens.

        Raises:
            SettingsError: the CA cannot be read.
        """
        try:
            self._session = StorageSession(place.trust, place.timeout_s, get_token)
        except OSError as error:
            text = f"ledger.anchors: trust cannot be read ({describe(error)}): give PEM"
            raise SettingsError(text) from None
        self.name = f"blob {place.url}"
        self._place = place
        self._most_blocks = most_blocks
        self._part: _Part | None = None

    async def close(self) -> None:
        """Close every connection."""
        await self._session.close()

    async def reached(self) -> int:
        """Return how many leaves have their marks there.

        Raises:
            LedgerError: it cannot be read, or is no anchor.
        """
        return (await self._current()).end.reached

    async def publish(self, head: TreeHead, marks: bytes) -> None:
        """Keep a head and the marks since `reached()`.

        Raises:
            LedgerError: it is not (all) kept.
        """
        for _ in range(_ATTEMPTS):
            part = await self._current()
            try:
                demand_same_log(part.end, head)
                missing = head.size - part.end.reached
                rest = marks[-missing * MARK_BYTES :] if missing > 0 else b""
                lines = lines_of(head, rest, part.end.reached, part.end.before)
                if head.size <= part.end.size or await self._append(list(lines)):
                    return
            except ValueError as error:
                raise LedgerError(f"the anchor {self.name}: {error}") from None
            self._part = None  # Somebody else wrote, or an answer was lost: look again.
        raise LedgerError(f"the anchor {self.name}: others write to it all the time")

    async def _append(self, lines: list[bytes]) -> bool:
        """Append lines, each once; say whether nobody else wrote meanwhile."""
        for line in lines:
            part = await self._current()
            if part.blocks >= self._most_blocks:
                part = _Part(part.number + 1, 0, 0, part.end)
            if part.length == 0 and not await self._create(part.number):
                return False
            position = {"x-ms-blob-condition-appendpos": str(part.length)}
            status, _, _ = await self._ask(
                "PUT", part.number, {"comp": "appendblock"}, position, line
            )
            if status == HTTPStatus.PRECONDITION_FAILED:
                return False
            if status != HTTPStatus.CREATED:
                raise self._refused(status)
            length = part.length + len(line)
            self._part = _Part(part.number, length, part.blocks + 1, end_of(line[:-1]))
        return True

    async def _create(self, number: int) -> bool:
        """Make a blob; say whether it was not there, or is still empty."""
        headers = {"x-ms-blob-type": "AppendBlob", "If-None-Match": "*"}
        status, _, _ = await self._ask("PUT", number, {}, headers)
        if status == HTTPStatus.CREATED:
            return True
        if status not in _MOVED:
            raise self._refused(status)
        _, found, _ = await self._ask("HEAD", number, {}, {})
        return found.get("Content-Length") == "0"

    async def _current(self) -> _Part:
        """Find the last blob and what its last line says."""
        if self._part is None:
            found: list[tuple[int, int]] = []
            while (each := await self._look(len(found) + 1)) is not None:
                found.append(each)
            end = AnchorEnd()
            for number in range(len(found), 0, -1):
                if found[number - 1][0]:
                    end = await self._read_end(number, found[number - 1][0])
                    break
            length, blocks = found[-1] if found else (0, 0)
            self._part = _Part(max(len(found), 1), length, blocks, end)
        return self._part

    async def _look(self, number: int) -> tuple[int, int] | None:
        """Return length and blocks of a blob; None where there is none."""
        status, headers, _ = await self._ask("HEAD", number, {}, {})
        if status == HTTPStatus.NOT_FOUND and (
            headers.get("x-ms-error-code", "BlobNotFound") == "BlobNotFound"
        ):
            return None
        if status != HTTPStatus.OK:
            raise self._refused(status)
        blocks = headers.get("x-ms-blob-committed-block-count", "0")
        return int(headers.get("Content-Length", "0")), int(blocks)

    async def _read_end(self, number: int, length: int) -> AnchorEnd:
        """Read the last line; blocks are whole lines, so none is torn."""
        tail = b""
        while len(tail) < min(length, MOST_LINE + _TAIL) and b"\n" not in tail[:-1]:
            begin = max(length - max(2 * len(tail), _TAIL), 0)
            chosen = {"x-ms-range": f"bytes={begin}-{length - 1}"}
            status, _, tail = await self._ask("GET", number, {}, chosen)
            if status not in {HTTPStatus.OK, HTTPStatus.PARTIAL_CONTENT}:
                raise self._refused(status)
        try:
            return end_of(tail[:-1].rpartition(b"\n")[2])
        except ValueError as error:
            text = f"the anchor {self.name}: its last line is not one of an anchor ({error})"
            raise LedgerError(text) from None

    async def _ask(
        self,
        method: str,
        number: int,
        query: Mapping[str, str],
        headers: Mapping[str, str],
        body: bytes = b"",
    ) -> tuple[int, Mapping[str, str], bytes]:
        try:
            return await self._send(method, number, query, headers, body)
        except (*FOREIGN_ERRORS, SourceError) as error:
            self._part = None
            raise LedgerError(f"the anchor {self.name}: {describe(error)}") from None

    async def _send(
        self,
        method: str,
        number: int,
        query: Mapping[str, str],
        headers: Mapping[str, str],
        body: bytes,
    ) -> tuple[int, Mapping[str, str], bytes]:
        url = self._place.url.rstrip("/") + quote(f"/{number:06}.jsonl")
        async with await self._session.send(method, url, query, headers, body) as answer:
            return answer.status, answer.headers, await answer.read()

    def _refused(self, status: int) -> LedgerError:
        hint = _HINTS.get(status, "see the storage account")
        return LedgerError(f"the anchor {self.name}: HTTP {status}: {hint}")
