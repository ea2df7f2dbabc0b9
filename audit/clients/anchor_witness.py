"""An anchor that is a witness (https://c2sp.org/tlog-witness): it cosigns the ledger's heads.

It keeps no marks. Its word is checked at once: what it answers must be its own signature of the
checkpoint that was sent. The checkpoint with the cosignature may be kept in a file, for `ledger
verify --cosigned`.
"""

import ssl
from collections.abc import Mapping
from dataclasses import dataclass
from http import HTTPStatus
from pathlib import Path
from typing import Final, Protocol
from urllib.parse import urlsplit

import aiohttp

from audit.clients.bounded_answers import read_bounded
from audit.clients.storage_session import FOREIGN_ERRORS
from audit.ledger.log.checkpoints import cosigned_at, parse_checkpoint, sign_checkpoint
from audit.ledger.log.heads import TreeHead, key_id
from audit.ledger.log.keys import read_key
from audit.ledger.log.signed_notes import (
    Note,
    NoteError,
    NoteSignature,
    SignatureType,
    VerifierKey,
    parse_signature,
    parse_verifier_key,
)
from audit.ledger.witness.submissions import Submission
from core.base.errors import LedgerError, SettingsError
from core.base.safe_text import safe_line
from core.base.whole_files import write_whole
from network.error_texts import describe

_MOST_ANSWER: Final = 64 * 1024
_MOST_DIGITS: Final = 19
_SHOWN: Final = 200
_ANSWERS: Final[Mapping[int, str]] = {
    HTTPStatus.FORBIDDEN: "it does not take the signature: give it the ledger's key "
    "(`sallyport ledger checkpoint --vkey`)",
    HTTPStatus.NOT_FOUND: "it does not know this ledger: give it its key (`sallyport ledger "
    "checkpoint --vkey`), or see to the URL",
    HTTPStatus.UNPROCESSABLE_ENTITY: "THE LEDGER DOES NOT CONTINUE WHAT IT COSIGNED: treat its "
    "host and its key as taken; `sallyport ledger verify --cosigned` says more",
}


class ProvableLog(Protocol):
    """What is asked of the ledger."""

    async def consistency(self, first: int, second: int) -> list[bytes]:
        """Return the proof that the log at one size began as it was at the other."""


@dataclass(frozen=True, slots=True)
class WitnessPlace:
    """Which witness."""

    url: str
    """Before `/add-checkpoint`."""
    key: str
    """NAME+ID+BASE64, of type 4."""
    signing_key: Path
    """Of the ledger: it signs the checkpoint."""
    trust: Path | None = None
    """CA of its certificate (PEM); the public ones where it is None."""
    cosigned: Path | None = None
    """The file for the last checkpoint that it cosigned."""
    timeout_s: float = 30.0


class WitnessAnchor:
    """Has the heads of a ledger cosigned."""

    keeps_marks = False

    def __init__(self, place: WitnessPlace, ledger: ProvableLog) -> None:
        """Take the witness, and who proves that one head continues another.

        Raises:
            SettingsError: its URL, key or CA is none.
        """
        self._place = place
        self._ledger = ledger
        self._key = _demand_key(place.key)
        _demand_url(place.url)
        try:
            self._context = ssl.create_default_context(cafile=place.trust)
        except OSError as error:
            raise SettingsError(
                f"ledger.anchors: trust: {place.trust} cannot be read ({describe(error)}): give PEM"
            ) from None
        self.name = f"witness {self._key.name}"
        self._size = 0
        """Of the head that it cosigned last, as far as this process knows."""
        self._session: aiohttp.ClientSession | None = None

    async def close(self) -> None:
        """Close every connection."""
        session, self._session = self._session, None
        if session is not None:
            await session.close()

    async def reached(self) -> int:
        """Return the size of the head that it cosigned last; 0 before this process asked it."""
        return self._size

    async def publish(self, head: TreeHead, marks: bytes) -> None:  # noqa: ARG002  It keeps none.
        """Have a head cosigned.

        Raises:
            LedgerError: it is not; the message says what the witness answered.
        """
        note = self._sign(head)
        status, content = await self._send(await self._request(note, self._size, head.size))
        if status == HTTPStatus.CONFLICT:
            self._size = self._seen(content, head.size)
            status, content = await self._send(await self._request(note, self._size, head.size))
            if status == HTTPStatus.CONFLICT and self._is_fork(content, head.size):
                raise self._error(_ANSWERS[HTTPStatus.UNPROCESSABLE_ENTITY])
        if status != HTTPStatus.OK:
            raise self._error(_explain(status, content))
        signature = self._verified(note, content)
        if self._place.cosigned is not None:
            self._keep(self._place.cosigned, Note(note.text, (*note.signatures, signature)))
        self._size = head.size

    def _sign(self, head: TreeHead) -> Note:
        key = read_key(self._place.signing_key)
        if key is None or key_id(key.public_key()) != head.key:
            raise self._error("the head is not signed with ledger.signing_key: wait for the next")
        return sign_checkpoint(head, key)

    async def _request(self, note: Note, old: int, size: int) -> bytes:
        proof = tuple(await self._ledger.consistency(old, size)) if old else ()
        return Submission(old, proof, note, parse_checkpoint(note.text)).content

    async def _send(self, content: bytes) -> tuple[int, bytes]:
        if self._session is None:
            timeout = aiohttp.ClientTimeout(total=self._place.timeout_s)
            self._session = aiohttp.ClientSession(timeout=timeout)
        url = f"{self._place.url.rstrip('/')}/add-checkpoint"
        try:
            async with self._session.post(
                url, data=content, ssl=self._context, allow_redirects=False
            ) as answer:
                found = answer.status, await read_bounded(answer, _MOST_ANSWER)
        except FOREIGN_ERRORS as error:
            raise self._error(f"it does not answer: {describe(error)}") from None
        if len(found[1]) > _MOST_ANSWER:
            raise self._error(f"it answers more than {_MOST_ANSWER:,} bytes")
        return found

    def _seen(self, content: bytes, size: int) -> int:
        text = content.decode("ascii", errors="replace").removesuffix("\n")
        if not text.isdecimal() or len(text) > _MOST_DIGITS:
            raise self._error("it answers 409 without the size that it cosigned")
        if int(text) > size:
            raise self._error(
                f"it cosigned {int(text):,} records of the ledger, whose head has {size:,}: the "
                "ledger is another or an older one; `sallyport ledger verify --cosigned` says more"
            )
        return int(text)

    def _is_fork(self, content: bytes, size: int) -> bool:
        """Return whether it cosigned another root of the size that it was asked from and to."""
        return self._seen(content, size) == size == self._size

    def _verified(self, note: Note, content: bytes) -> NoteSignature:
        """Return its cosignature among the lines that it answered."""
        try:
            lines = map(parse_signature, content.decode().splitlines())
            for each in lines:
                if (each.name, each.key_id) == (self._key.name, self._key.key_id):
                    cosigned_at(note.text, each, self._key)
                    return each
        except ValueError as error:
            raise self._error(f"its answer is no cosignature ({safe_line(str(error))})") from None
        raise self._error("its answer has no cosignature of witness_key: is it its key?")

    def _keep(self, path: Path, note: Note) -> None:
        try:
            write_whole(path, note.content)
        except OSError as error:
            raise self._error(f"{path}: {error.strerror}") from None

    def _error(self, text: str) -> LedgerError:
        return LedgerError(f"the {self.name}: {text}")


def _explain(status: int, content: bytes) -> str:
    said = safe_line(content[:_SHOWN].decode(errors="replace").strip())
    return _ANSWERS.get(status, f"it answers {status}") + (f" ({said})" if said else "")


def _demand_key(text: str) -> VerifierKey:
    try:
        key = parse_verifier_key(text)
    except NoteError as error:
        raise SettingsError(f"ledger.anchors: witness_key: {error}") from None
    if key.kind is not SignatureType.COSIGNATURE:
        raise SettingsError("ledger.anchors: witness_key: it is a log's key (type 1): give type 4")
    return key


def _demand_url(url: str) -> None:
    site = urlsplit(url)
    if site.scheme != "https" or not site.hostname or site.query or "@" in site.netloc:
        raise SettingsError("ledger.anchors: witness: must be https://HOST, without a query")
