"""What was learnt of DNS names as stored documents, so that it outlives a restart. Pure.

A shard is `{"format": 1, "names": {"packages.example.org": {"seen": {"192.0.2.7": 1795000200}}}}`.
Names lie in shards by a hash of their own. Every name comes back from whatever shards there are:
while shards are written, one name may lie in two, and the later times count.
"""

import hashlib
import ipaddress
import math
from collections.abc import Mapping, Sequence
from typing import Final

import msgspec

from core.base.errors import InvalidObjectError
from core.base.json_errors import decode_json
from core.base.networks import Address
from egress.dns.learnt_names import LearntName, SeenAddress, SeenAlias

FORMAT: Final = 1
"""Version of a shard; FORMAT - 1 and FORMAT + 1 are read too."""

MAX_SHARD_BYTES: Final = 256 * 1024
"""Of one shard: a quarter of what a ConfigMap takes (1 MiB), a sixth of what etcd does."""

STEP_S: Final = 300
"""Stored times are rounded up to it, so that a name seen again changes no shard at once."""

_WHAT: Final = "learnt names"

_LAST_TIME: Final = 2**37
"""Unix seconds, in the year 6325: later ones cannot be written as RFC 3339."""


class _Name(msgspec.Struct, omit_defaults=True):
    seen: dict[str, int] = {}
    answered: int | None = None
    capped: int | None = None
    unwanted: int | None = None
    learning: int | None = None
    refused: int | None = None
    aliases: dict[str, int] = {}


class _Shard(msgspec.Struct):
    format: int
    names: dict[str, msgspec.Raw]


class StoredNames(msgspec.Struct, frozen=True):
    """What could be read of all shards."""

    names: dict[str, LearntName]
    problems: tuple[str, ...]
    """Each thing that could not, with its shard; for people. The names come to be learnt anew."""


_SHARD: Final = msgspec.json.Decoder(_Shard)
_NAME: Final = msgspec.json.Decoder(_Name)


def encode_names(state: Mapping[str, LearntName], shards: int = 1) -> tuple[bytes, ...]:
    """Return the shards of a state, in the order of their numbers; the same state, the same bytes.

    `shards` is how many are stored now, a power of two (as this function gives): there are twice as
    many as soon as one is full, and half as many once each would be half empty. To lose nothing
    when killed meanwhile, write from the last to the first where there are more than before; where
    there are fewer, delete what is over after the rest is written.
    """
    encoded = [(_hash(name), name, _encode(learnt)) for name, learnt in sorted(state.items())]
    count = shards
    while count > 1 and max(map(len, _pack(encoded, count // 2))) * 2 <= MAX_SHARD_BYTES:
        count //= 2
    packed = _pack(encoded, count)
    while max(map(len, packed)) > MAX_SHARD_BYTES:
        count *= 2
        packed = _pack(encoded, count)
    return packed


def decode_names(shards: Mapping[str, bytes]) -> StoredNames:
    """Read shards by their names; what is broken is told, and takes nothing else with it."""
    names: dict[str, LearntName] = {}
    problems: list[str] = []
    for shard, raw in sorted(shards.items()):
        try:
            content = _read(shard, raw)
        except InvalidObjectError as error:
            problems.append(str(error))
            continue
        for name, part in content.items():
            try:
                found = _decode(shard, name, part)
            except InvalidObjectError as error:
                problems.append(str(error))
                continue
            names[name] = _merged(names[name], found) if name in names else found
    return StoredNames(names, tuple(problems))


def _pack(encoded: Sequence[tuple[int, str, msgspec.Raw]], count: int) -> tuple[bytes, ...]:
    parts: list[dict[str, msgspec.Raw]] = [{} for _ in range(count)]
    for digest, name, content in encoded:
        parts[digest % count][name] = content
    return tuple(msgspec.json.encode(_Shard(FORMAT, part)) for part in parts)


def _hash(name: str) -> int:
    return int.from_bytes(hashlib.sha256(name.encode()).digest()[:8], "big")


def _encode(learnt: LearntName) -> msgspec.Raw:
    seen = {str(seen.address): _up(seen.last) for seen in learnt.seen}
    times = (_up_if(learnt.answered), _up_if(learnt.capped), _up_if(learnt.unwanted))
    since = None if learnt.learning is None else math.floor(learnt.learning)
    aliases = {each.name: _up(each.last) for each in learnt.aliases}
    return msgspec.Raw(msgspec.json.encode(_Name(seen, *times, since, learnt.refused, aliases)))


def _up(time: float) -> int:
    return math.ceil(time / STEP_S) * STEP_S


def _up_if(time: float | None) -> int | None:
    return None if time is None else _up(time)


def _read(shard: str, raw: bytes) -> Mapping[str, msgspec.Raw]:
    content = decode_json(_SHARD, raw, f"{_WHAT} {shard}")
    if not FORMAT - 1 <= content.format <= FORMAT + 1:
        message = f"{content.format}; this release reads up to {FORMAT + 1}: update sallyport"
        raise InvalidObjectError(f"{_WHAT} {shard}", "format", message)
    return content.names


def _decode(shard: str, name: str, raw: msgspec.Raw) -> LearntName:
    what, field = f"{_WHAT} {shard}", f"names[{name}]"
    stored = decode_json(_NAME, raw, what, field)
    seen = []
    for text, last in stored.seen.items():
        try:
            seen.append(SeenAddress(ipaddress.ip_address(text), float(last)))
        except (ValueError, OverflowError) as error:
            message = f"{text[:64]!r} must be an IP address, with Unix seconds"
            raise InvalidObjectError(what, f"{field}.seen", message) from error
    if stored.learning is not None and not 0 <= stored.learning < _LAST_TIME:
        raise InvalidObjectError(what, f"{field}.learning", "must be Unix seconds")
    seen.sort(key=_place)
    return LearntName(
        tuple(seen),
        stored.answered,
        stored.capped,
        stored.unwanted,
        stored.learning,
        stored.refused,
        aliases=tuple(SeenAlias(each, float(at)) for each, at in sorted(stored.aliases.items())),
    )


def _merged(one: LearntName, other: LearntName) -> LearntName:
    last: dict[Address, SeenAddress] = {}
    for seen in (*one.seen, *other.seen):
        if seen.address not in last or last[seen.address].last < seen.last:
            last[seen.address] = seen
    return LearntName(
        tuple(sorted(last.values(), key=_place)),
        _later(one.answered, other.answered),
        _later(one.capped, other.capped),
        None if None in {one.unwanted, other.unwanted} else _later(one.unwanted, other.unwanted),
        _later(one.learning, other.learning),
        max((each for each in (one.refused, other.refused) if each is not None), default=None),
        aliases=_merged_aliases(one.aliases, other.aliases),
    )


def _merged_aliases(
    one: tuple[SeenAlias, ...], other: tuple[SeenAlias, ...]
) -> tuple[SeenAlias, ...]:
    last: dict[str, SeenAlias] = {}
    for seen in sorted((*one, *other), key=lambda each: each.last):
        last[seen.name] = seen
    return tuple(sorted(last.values()))


def _later(one: float | None, other: float | None) -> float | None:
    return max((time for time in (one, other) if time is not None), default=None)


def _place(seen: SeenAddress) -> tuple[int, int]:
    return seen.address.version, int(seen.address)
