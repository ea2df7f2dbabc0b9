"""How one record of a snapshot is written: fixed fields first, then the event's id."""

import struct
import uuid
from collections.abc import Mapping, MutableMapping
from typing import Final

from core.risk import (
    Acting,
    Application,
    ApplicationKind,
    Behaviour,
    Level,
    PrincipalKind,
    RiskEntry,
    State,
)

MOST_EVENT_ID: Final = 64
"""Characters kept of an event's id: Graph's are 64 hexadecimal digits, or a GUID."""

MOST_EVENT_TYPES: Final = 1000
"""Different event types that are kept; `riskEventType` has some forty."""

OTHER_TYPE: Final = "other"
"""What any further event type is kept as."""

_ENTRY: Final = struct.Struct("<BBBBIIIIH")
"""Kind, level, state, flags; updated, since, active, revoked; number of the event type."""

_ACTING: Final = struct.Struct("<HI")
_DELETED: Final = 1
_LATEST: Final = 2**32 - 1

_KINDS: Final = tuple(PrincipalKind)
_LEVELS: Final = tuple(Level)
_STATES: Final = tuple(State)
_APPLICATIONS: Final = tuple(ApplicationKind)
_KIND_NUMBERS: Final = {each: number for number, each in enumerate(_KINDS)}
_LEVEL_NUMBERS: Final = {each: number for number, each in enumerate(_LEVELS)}
_STATE_NUMBERS: Final = {each: number for number, each in enumerate(_STATES)}

_TEXT, _HEX, _GUID = b"t", b"x", b"g"
_HEX_LENGTH: Final = 64


def pack_entry(entry: RiskEntry, types: MutableMapping[str, int]) -> bytes:
    """Write an entry; an event type that is not in `types` is added there."""
    kind = entry.event_type
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


def unpack_entry(record: bytes, types: tuple[str, ...] | Mapping[int, str]) -> RiskEntry:
    """Read an entry."""
    kind, level, state, flags, updated, since, active, revoked, named = _ENTRY.unpack_from(record)
    return RiskEntry(
        kind=_KINDS[kind],
        level=_LEVELS[level],
        state=_STATES[state],
        deleted=bool(flags & _DELETED),
        updated=updated,
        since=since,
        active=active,
        revoked=revoked,
        event_id=_unpack_id(record[_ENTRY.size :]),
        event_type=types[named],
    )


def pack_application(application: Application) -> bytes:
    """Write what a client id stands for."""
    kind = bytes([_APPLICATIONS.index(application.kind)])
    return kind + (uuid.UUID(application.object_id).bytes if application.object_id else b"")


def unpack_application(record: bytes) -> Application:
    """Read what a client id stands for."""
    object_id = str(uuid.UUID(bytes=record[1:])) if record[1:] else ""
    return Application(_APPLICATIONS[record[0]], object_id)


def pack_acting(acting: Acting) -> bytes:
    """Write what an identity does that is unusual."""
    return _ACTING.pack(acting.behaviour, min(max(acting.until, 0), _LATEST))


def unpack_acting(record: bytes) -> Acting:
    """Read what an identity does that is unusual."""
    behaviour, until = _ACTING.unpack(record)
    return Acting(Behaviour(behaviour), until)


def _pack_id(text: str) -> bytes:
    """Write an id as short as it can be read back letter for letter."""
    text = text[:MOST_EVENT_ID]
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
