"""Stores on whom was looked back: a Secret, so that no leader repeats one, nor leaves one out.

A look back is written down before it begins, with the id from which those of its documents follow,
and again once all that it found is recorded. Whoever leads next goes on with the same ids: the
ledger keeps each once, and an Event names its document.
"""

import hashlib
import struct
import zlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import msgspec
import structlog

from core.base.ids import uuid7, uuid7_unix_ms
from identity.look_back.subjects import IdentityAtRisk
from kube.client.objects import Objects
from kube.leader.lease import Leadership
from kube.resources.secrets import OPAQUE, Secret, Secrets

NAME: Final = "sallyport-look-backs"

_KEY: Final = "state"
"""Of its data."""

FORMAT: Final = 1
"""Version of what is stored. Release N reads N - 1 and N + 1 as well."""

MOST: Final = 25_000
"""Identities remembered: 25 bytes each, so 850 KB in base64. Of more, those whose risk is the
oldest are not looked back on."""

MOST_BYTES: Final = 1024 * 1024
"""Of what is stored, unpacked."""

_RECORD: Final = struct.Struct("<16sIIB")
"""Key; `since`, beginning of the window, level."""

LookBackRecord = tuple[int, int, int]
"""`since`, level and beginning of the window of a look back."""

_log = structlog.get_logger(__name__)


class StoredLookBacks(msgspec.Struct, frozen=True, kw_only=True):
    """What is stored."""

    format: int = FORMAT
    done: bytes = b""
    """Records of those that were looked back on."""
    running: str = ""
    """UUIDv7 of the one that is under way; empty where none is."""
    of: bytes = b""
    """Records of those that it is about."""


@dataclass(frozen=True)
class LookBackMemory:
    """On whom was looked back, as it was read."""

    done: Mapping[bytes, LookBackRecord]
    running: str = ""
    of: Mapping[bytes, LookBackRecord] | None = None
    version: str | None = None
    """resourceVersion of the Secret; None where there is none."""


def document_id(running: str, key: bytes) -> str:
    """Return the id of a document of a look back: the same each time it is made."""
    digest = hashlib.sha256(running.encode() + key).digest()
    return uuid7(uuid7_unix_ms(running), int.from_bytes(digest[:10], "big") >> 6)


def records_of(risen: Iterable[IdentityAtRisk]) -> dict[bytes, LookBackRecord]:
    """Return what is remembered of identities."""
    return {each.key: (each.since, each.level, each.begin) for each in risen}


def encode_memory(memory: LookBackMemory) -> bytes:
    """Return what is stored. Pure."""
    stored = StoredLookBacks(
        done=_pack(memory.done), running=memory.running, of=_pack(memory.of or {})
    )
    return zlib.compress(msgspec.json.encode(stored), 6)


def decode_memory(content: bytes, version: str | None) -> LookBackMemory:
    """Read what is stored. Pure.

    Raises:
        ValueError: it is damaged, or of another format.
    """
    unpacker = zlib.decompressobj()
    try:
        text = unpacker.decompress(content, 2 * MOST_BYTES)
        if not unpacker.eof:
            raise ValueError("is cut off, or too large")
        stored = msgspec.json.decode(text, type=StoredLookBacks)
        if abs(stored.format - FORMAT) > 1:
            message = f"has the format {stored.format}"
            raise ValueError(message)
        done, of = _unpack(stored.done), _unpack(stored.of)
    except (zlib.error, struct.error, RecursionError):
        raise ValueError("cannot be read") from None
    return LookBackMemory(done, stored.running, of, version)


def _pack(records: Mapping[bytes, LookBackRecord]) -> bytes:
    return b"".join(
        _RECORD.pack(key, since, begin, level)
        for key, (since, level, begin) in sorted(records.items())
    )


def _unpack(packed: bytes) -> dict[bytes, LookBackRecord]:
    return {key: (since, level, begin) for key, since, begin, level in _RECORD.iter_unpack(packed)}


class MemoryStore:
    """The Secret of one installation."""

    def __init__(self, objects: Objects, namespace: str) -> None:
        self._secrets = Secrets(objects, namespace)

    async def load(self) -> LookBackMemory:
        """Return what is stored; a broken one is said aloud, and everybody is looked back on again.

        Raises:
            ClusterError: kube-apiserver does not answer, or refuses.
        """
        secret = await self._secrets.read(NAME)
        if secret is None:
            return LookBackMemory({})
        try:
            return decode_memory(secret.content.get(_KEY, b""), secret.version)
        except ValueError as error:
            _log.error("on whom was looked back cannot be read", secret=NAME, why=str(error))
            return LookBackMemory({}, version=secret.version)

    async def save(self, leadership: Leadership, memory: LookBackMemory) -> LookBackMemory:
        """Store it over what was read, and give it with its new version.

        Raises:
            ClusterError: with the status 409, somebody else stored one meanwhile.
            NotLeaderError: the term is over.
        """
        before = None if memory.version is None else Secret(memory.version, {})
        content = {_KEY: encode_memory(memory)}
        stored = await self._secrets.write(leadership, NAME, before, content, OPAQUE)
        return LookBackMemory(memory.done, memory.running, memory.of, stored.version)


def begin_look_back(
    memory: LookBackMemory, due: Sequence[IdentityAtRisk], running: str
) -> LookBackMemory:
    """Return the memory with a look back under way."""
    return LookBackMemory(memory.done, running, records_of(due), memory.version)


def finish_look_back(memory: LookBackMemory, risky: Iterable[bytes]) -> LookBackMemory:
    """Return the memory once it is over; whoever is not at risk any more is forgotten."""
    done = {**memory.done, **(memory.of or {})}
    kept = set(risky)
    return LookBackMemory(
        {key: known for key, known in done.items() if key in kept}, version=memory.version
    )
