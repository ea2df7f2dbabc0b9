"""The file of what was learnt.

It is written whole and put in place at once: kill -9 costs what was learnt since it last was.

    file = magic checksum content;   checksum = SHA-256 of content, 32 bytes
    content = zlib of MessagePack of _Stored
"""

import hashlib
import zlib
from array import array
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import msgspec

from audit.behaviour.cluster_habits import ClusterHabits, RememberedHabits
from audit.behaviour.habits import HOURS, Habits
from audit.behaviour.rates import Norm, Rate
from core.base.errors import LedgerError
from core.base.whole_files import write_whole
from core.risk.model import Behaviour

FORMAT: Final = 2
"""Version of the file. What an earlier release learnt nobody confirmed: it is not read."""

_MAGIC: Final = b"sallyport-behaviour\n"
_SUM_BYTES: Final = 32
_MOST_BYTES: Final = 1024 * 1024 * 1024
"""What a file may come to: thirty-two clusters have some 400 MB."""

Record = tuple[bytes, float, int, int, int, int, bytes, bytes, bytes, int, list[Rate]]
"""One identity: who, and the fields of `Habits` in their order, the rates together."""


class StoredCluster(msgspec.Struct, frozen=True):
    """One cluster."""

    cluster: str
    salt: bytes
    began: float | None
    people: list[Record]
    machines: list[Record]
    norms: list[dict[int, Norm]]
    """Of people, of machines; by behaviour."""
    acting: list[tuple[bytes, dict[int, int]]]


class StoredState(msgspec.Struct, frozen=True):
    """All that is stored."""

    format: int
    clusters: list[StoredCluster]
    position: int = 0
    """All records before it in the ledger's log are learnt."""
    log: str = ""
    """Id of that log."""
    audited: dict[str, float] = {}
    """By cluster, the Unix seconds of the last event of the audit log that named a decision."""


@dataclass(frozen=True)
class RestoredState:
    """What is taken up of it."""

    clusters: dict[str, ClusterHabits]
    position: int
    log: str
    audited: dict[str, float]


_DECODER: Final = msgspec.msgpack.Decoder(StoredState)


def store_habits(who: bytes, habits: Habits) -> Record:
    """Return one identity's habits as they are stored."""
    return (
        who,
        habits.last,
        habits.day,
        habits.days,
        habits.acts,
        habits.hour,
        habits.namespaces.tobytes(),
        habits.profiles.tobytes(),
        habits.hours.tobytes(),
        habits.refusal,
        [habits.creates, habits.enters, habits.refusals],
    )


def encode_state(state: StoredState) -> bytes:
    """Return the file's content."""
    content = zlib.compress(msgspec.msgpack.encode(state), 1)
    return _MAGIC + hashlib.sha256(content).digest() + content


def decode_state(content: bytes) -> RestoredState:
    """Return what a file's content says.

    Raises:
        LedgerError: it is damaged, of an earlier release, or of one too new.
    """
    body = content[len(_MAGIC) + _SUM_BYTES :]
    if content != _MAGIC + hashlib.sha256(body).digest() + body:
        raise LedgerError("what was learnt of behaviour is damaged: it is learnt anew")
    unpacker = zlib.decompressobj()
    try:
        stored = _DECODER.decode(unpacker.decompress(body, _MOST_BYTES))
        if not FORMAT <= stored.format <= FORMAT + 1:
            text = f"what was learnt of behaviour has format {stored.format}: it is learnt anew"
            raise LedgerError(text)
        clusters = {each.cluster: _cluster_of(each) for each in stored.clusters}
        return RestoredState(clusters, stored.position, stored.log, stored.audited)
    except (zlib.error, msgspec.DecodeError, TypeError, ValueError) as error:
        text = "what was learnt of behaviour cannot be read: it is learnt anew"
        raise LedgerError(text) from error


def write_state(path: Path, content: bytes) -> None:
    """Put the file in place, whole.

    Raises:
        OSError: it cannot be written; the one before stays.
    """
    write_whole(path, content, 0o600, beside=".new")


def _cluster_of(stored: StoredCluster) -> ClusterHabits:
    found = ClusterHabits(stored.salt)
    found.began = stored.began
    for remembered, records in ((found.people, stored.people), (found.machines, stored.machines)):
        _take(remembered, records)
    for is_machine, norms in zip((False, True), stored.norms, strict=False):
        known = {Behaviour(bit): norm for bit, norm in norms.items()}
        mine: Mapping[Behaviour, Norm] = found.norms[is_machine]
        found.norms[is_machine] = {each: known.get(each, norm) for each, norm in mine.items()}
    found.acting.restore(
        (who, {Behaviour(bit): at for bit, at in until.items()}) for who, until in stored.acting
    )
    return found


def _take(remembered: RememberedHabits, records: list[Record]) -> None:
    for record in records:
        remembered.put(record[0], _habits_of(record))


def _habits_of(record: Record) -> Habits:
    _, last, day, days, acts, hour, namespaces, profiles, hours, refusal, rates = record
    if len(hours) != 4 * HOURS:
        hours = bytes(4 * HOURS)  # Of a release that counts them otherwise.
    creates, enters, refusals = rates
    return Habits(
        last=last,
        day=day,
        days=days,
        acts=acts,
        hour=hour,
        namespaces=_array("Q", namespaces),
        profiles=_array("Q", profiles),
        hours=_array("f", hours),
        refusal=refusal,
        creates=creates,
        enters=enters,
        refusals=refusals,
    )


def _array(kind: str, content: bytes) -> Any:
    made: Any = array(kind)
    made.frombytes(content)
    return made
