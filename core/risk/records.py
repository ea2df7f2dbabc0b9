"""The binary form of one record of a risk snapshot: fixed fields first, then what varies in length.

Numbers of levels, states and kinds are their places in their enumerations: a release adds new ones
at the end, and a number that this one does not know is never read as something milder.
"""

import enum
import struct
import uuid
from collections.abc import Mapping, MutableMapping
from typing import Final

from core.risk.model import (
    Application,
    ApplicationKind,
    Behaviour,
    BehaviourEntry,
    PrincipalKind,
    RiskEntry,
    RiskLevel,
    RiskState,
)

MOST_EVENT_ID: Final = 64
"""Bytes kept of an event's id: Graph's are 64 hexadecimal digits, or a GUID."""

MOST_EVENT_TYPE: Final = 64
"""Characters kept of an event's type."""

MOST_EVENT_TYPES: Final = 1000
"""Different event types that are kept; `riskEventType` has some forty."""

OTHER_TYPE: Final = "other"
"""What any further event type is kept as."""

_ENTRY: Final = struct.Struct("<BBBBIIIIH")
"""Kind, level, state, flags; updated, since, active, revoked; number of the event type."""

_BEHAVIOUR: Final = struct.Struct("<HI")

_DELETED: Final = 1

_LATEST: Final = 2**32 - 1

_KINDS: Final = tuple(PrincipalKind)

_LEVELS: Final = tuple(RiskLevel)

_STATES: Final = tuple(RiskState)

_APPLICATIONS: Final = tuple(ApplicationKind)

_KIND_NUMBERS: Final = {each: number for number, each in enumerate(_KINDS)}

_LEVEL_NUMBERS: Final = {each: number for number, each in enumerate(_LEVELS)}

_STATE_NUMBERS: Final = {each: number for number, each in enumerate(_STATES)}

_SPARED: Final = frozenset(
    _STATE_NUMBERS[each]
    for each in (
        RiskState.NONE,
        RiskState.CONFIRMED_SAFE,
        RiskState.REMEDIATED,
        RiskState.DISMISSED,
    )
)

_TEXT, _HEX, _GUID = b"t", b"x", b"g"

_HEX_LENGTH: Final = 64


class RecordSort(enum.IntEnum):
    """What a record is: the first byte of its key; 0 and 1 are a `core.risk.model.RiskSource`."""

    ENTRA = 0
    CAEP = 1
    APPLICATION = 2
    BEHAVIOUR = 3
    GUEST = 4


WIDTHS: Final[Mapping[int, int]] = {
    RecordSort.ENTRA: _ENTRY.size,
    RecordSort.CAEP: _ENTRY.size,
    RecordSort.APPLICATION: 1,
    RecordSort.BEHAVIOUR: _BEHAVIOUR.size,
    RecordSort.GUEST: 0,
}
"""How long the part is that all records of a sort have; what follows varies."""


def pack_entry(entry: RiskEntry, types: MutableMapping[str, int]) -> bytes:
    """Write an entry; an event type that is not in `types` is added there."""
    kind = entry.event_type[:MOST_EVENT_TYPE]
    if kind not in types and len(types) >= MOST_EVENT_TYPES:
        kind = OTHER_TYPE
    return _ENTRY.pack(
        _KIND_NUMBERS[entry.kind],
        _LEVEL_NUMBERS[entry.level],
        _STATE_NUMBERS[entry.state],
        _DELETED if entry.deleted else 0,
        *(min(max(at, 0), _LATEST) for at in (entry.updated, entry.since)),
        *(min(max(at, 0), _LATEST) for at in (entry.active, entry.revoked)),
        types.setdefault(kind, len(types)),
    ) + _pack_id(entry.event_id)


def unpack_entry(record: bytes, types: tuple[str, ...]) -> RiskEntry:
    """Read an entry."""
    kind, level, state, flags, updated, since, active, revoked, named = _ENTRY.unpack_from(record)
    return RiskEntry(
        kind=_KINDS[kind] if kind < len(_KINDS) else PrincipalKind.USER,
        level=_LEVELS[level] if level < len(_LEVELS) else RiskLevel.UNKNOWN,
        state=_STATES[state] if state < len(_STATES) else RiskState.UNKNOWN,
        deleted=bool(flags & _DELETED),
        updated=updated,
        since=since,
        active=active,
        revoked=revoked,
        event_id=_unpack_id(record[_ENTRY.size :]),
        event_type=types[named] if named < len(types) else OTHER_TYPE,
    )


def not_at_risk_since(key: bytes, record: bytes) -> int | None:
    """Return when an entry last changed that says of nobody that they are at risk; else None.

    It is what can be left out where there is no room: None also for what is no entry.
    """
    if key[0] not in {RecordSort.ENTRA, RecordSort.CAEP}:
        return None
    _, level, state, _, updated, _, _, revoked, _ = _ENTRY.unpack_from(record)
    unsettled = state == _STATE_NUMBERS[RiskState.NONE] and level != _LEVEL_NUMBERS[RiskLevel.NONE]
    return updated if state in _SPARED and not unsettled and not revoked else None


def pack_application(application: Application) -> bytes:
    """Write what a client id stands for."""
    kind = bytes([_APPLICATIONS.index(application.kind)])
    return kind + (uuid.UUID(application.object_id).bytes if application.object_id else b"")


def unpack_application(record: bytes) -> Application:
    """Read what a client id stands for."""
    object_id = str(uuid.UUID(bytes=record[1:])) if record[1:] else ""
    known = record[0] < len(_APPLICATIONS)
    return Application(
        _APPLICATIONS[record[0]] if known else ApplicationKind.FOREIGN,
        object_id,
    )


def pack_behaviour(acting: BehaviourEntry) -> bytes:
    """Write what an identity does that is unusual."""
    return _BEHAVIOUR.pack(acting.behaviour, min(max(acting.until, 0), _LATEST))


def unpack_behaviour(record: bytes) -> BehaviourEntry:
    """Read what an identity does that is unusual."""
    behaviour, until = _BEHAVIOUR.unpack(record)
    return BehaviourEntry(Behaviour(behaviour), until)


def _pack_id(text: str) -> bytes:
    """Write an id as short as it can be read back letter for letter."""
    text = text.encode(errors="replace")[:MOST_EVENT_ID].decode(errors="ignore")
    try:
        if len(text) == _HEX_LENGTH and text == text.lower():
            return _HEX + bytes.fromhex(text)
        if str(uuid.UUID(text)) == text:
            return _GUID + uuid.UUID(text).bytes
    except ValueError:
        pass
    return _TEXT + text.encode()


def _unpack_id(packed: bytes) -> str:
    form, content = packed[:1], packed[1:]
    if form == _HEX:
        return content.hex()
    return str(uuid.UUID(bytes=content)) if form == _GUID else content.decode()
