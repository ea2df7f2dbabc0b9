"""Finds the fields of an object that the table does not know.

An ordinary object has none: that is seen by decoding it once more, in C, into types that know each
field and take no other (2.4 µs for a Pod of 1.2 KB). Only an object that has one is looked through
field by field, lazily and within a bound. Values are never read, names of unknown fields are.
"""

from collections.abc import Callable, Iterator, Mapping
from functools import cache
from typing import Any, Final, NamedTuple

import msgspec

from core.base.json_errors import DECODE_ERRORS
from core.kubernetes.field_rows import (
    LIST,
    MAP,
    FieldRow,
    FieldRows,
    decode_rows,
    merge_types,
    split_shape,
)
from policies.fields import TABLE

MOST_FOUND: Final = 32
"""Different unknown fields that are looked for in one object."""

MOST_PARTS: Final = 20_000
"""Objects within an object that are looked through."""

STEP: Final = 128
"""So many of them in one step, each of about a microsecond."""

_LONGEST: Final = 200
"""Characters of an unknown field's name that are kept: real ones have up to forty."""

_OBJECT: Final = msgspec.json.Decoder(dict[str, msgspec.Raw] | None)
_LIST: Final = msgspec.json.Decoder(list[msgspec.Raw] | None)


class UnknownField(NamedTuple):
    """A field that the table does not know."""

    path: str
    """From the object's root, of the first place that has it: `spec.containers[0].example`."""
    everywhere: str
    """The same with `[*]` for each place of a list: `spec.containers[*].example`."""
    value: bytes
    """As JSON, as it came."""
    at: str
    """The same with the name of each named place of a list: `spec.containers[main].example`."""


BEYOND: Final = UnknownField("", "", b"", "")
"""Stands for what is too far within an object to be looked at."""


class _Place(NamedTuple):
    """Where a part of an object stands, in the three ways of UnknownField."""

    path: str = ""
    everywhere: str = ""
    at: str = ""

    def field(self, name: str) -> "_Place":
        """Return the place of a field of it."""
        return _Place(*(f"{each}.{name}" if each else name for each in self))


class _Named(msgspec.Struct):
    name: str = ""


_NAMED: Final = msgspec.json.Decoder(_Named)


class FieldTable:
    """Knows the fields of kinds; built once of rows."""

    def __init__(self, rows: FieldRows, added: FieldRows | None = None) -> None:
        """Take the rows of the release, and those that the cluster adds."""
        added = added or FieldRows()
        self._kinds: Mapping[str, str] = {**rows.kinds, **added.kinds}
        self._types = merge_types(rows.types, added.types)
        self._made: dict[str, Any] = {}
        self._decoders: dict[str, msgspec.json.Decoder[Any]] = {}
        self.versions: tuple[str, ...] = (*rows.versions, *added.versions)

    @property
    def types(self) -> Mapping[str, Mapping[str, FieldRow]]:
        """The rows, by type and field."""
        return self._types

    @property
    def kinds(self) -> Mapping[str, str]:
        """The type of each kind."""
        return self._kinds

    def knows_all(self, group: str, kind: str, raw: bytes | msgspec.Raw) -> bool:
        """Return whether each field of an object is known; a kind without rows has none unknown.

        False also for what has not its kind's shape: `search` says what is unknown of that.
        """
        of = self._kinds.get(f"{group}/{kind}")
        if of is None:
            return True
        decoder = self._decoders.get(of)
        if decoder is None:
            decoder = self._decoders[of] = msgspec.json.Decoder(self._strict(of, ()))
        try:
            decoder.decode(raw)
        except DECODE_ERRORS:
            return False
        return True

    def search(
        self,
        group: str,
        kind: str,
        raw: bytes | msgspec.Raw,
        *,
        is_ignored: Callable[[UnknownField], bool] = lambda _: False,
        most: int = MOST_FOUND,
    ) -> Iterator[UnknownField | None]:
        """Yield the unknown fields of an object, each once a place and value; None after each step.

        It ends at `most`, of which what is ignored takes none, or at MOST_PARTS: then BEYOND is the
        last. What has not its kind's shape has nothing unknown.
        """
        seen: set[tuple[str, bytes]] = set()
        waiting = [(self._kinds.get(f"{group}/{kind}", ""), msgspec.Raw(raw), _Place())]
        parts = 0
        is_cut = False
        while waiting and len(seen) < most:
            if parts >= MOST_PARTS:
                is_cut = True
                break
            of, part, place = waiting.pop()
            parts += 1
            if parts % STEP == 0:
                yield None
            known = self._types.get(of)
            if known is None:
                continue
            for name, value in _items(part):
                row = known.get(name)
                here = place.field(name if len(name) <= _LONGEST else f"{name[:_LONGEST]}…")
                if row is None:
                    found = UnknownField(here.path, here.everywhere, bytes(value), here.at)
                    key = found.at, found.value
                    if key not in seen and len(seen) < most and not is_ignored(found):
                        seen.add(key)
                        yield found
                elif row.type:
                    shape, held = split_shape(row.type)
                    below = _parts(shape, value, here)
                    room = max(MOST_PARTS - parts - len(waiting), 0)
                    is_cut = is_cut or len(below) > room
                    waiting += ((held, *each) for each in below[:room])
        if is_cut and len(seen) < most:
            yield BEYOND

    def _strict(self, of: str, around: tuple[str, ...]) -> Any:
        """Return the type that an object of this type is decoded into."""
        if of not in self._types or of in around:
            return msgspec.Raw
        made = self._made.get(of)
        if made is None:
            fields = self._types[of]
            names = {f"f{number}": name for number, name in enumerate(fields)}
            made = self._made[of] = msgspec.defstruct(
                "Known",
                [
                    (attribute, self._held(fields[name].type, (*around, of)), None)
                    for attribute, name in names.items()
                ],
                rename=names,
                module=f"{__name__}.made",  # Of data: no type that a module has.
                frozen=True,
                gc=False,
                forbid_unknown_fields=True,
            )
        return made

    def _held(self, type_name: str, around: tuple[str, ...]) -> Any:
        shape, name = split_shape(type_name)
        of: Any = self._strict(name, around) if name else msgspec.Raw
        if of is msgspec.Raw:
            return of
        whole: Any = {LIST: list[of | None], MAP: dict[str, of | None]}.get(shape, of)
        return whole | None


def _items(part: msgspec.Raw) -> Iterator[tuple[str, msgspec.Raw]]:
    try:
        yield from (_OBJECT.decode(part) or {}).items()
    except DECODE_ERRORS:
        return


def _parts(shape: str, value: msgspec.Raw, place: _Place) -> list[tuple[msgspec.Raw, _Place]]:
    """Return the parts of a value that are objects, with their places."""
    path, everywhere, at = place
    if not shape:
        return [(value, place)]
    try:
        if shape == MAP:
            keyed = [(f"[{key[:_LONGEST]}]", each) for key, each in _items(value)]
            return [(each, _Place(path + key, f"{everywhere}[*]", at + key)) for key, each in keyed]
        return [
            (each, _Place(f"{path}[{n}]", f"{everywhere}[*]", f"{at}[{_name_of(each)}]"))
            for n, each in enumerate(_LIST.decode(value) or ())
        ]
    except DECODE_ERRORS:
        return []


def _name_of(part: msgspec.Raw) -> str:
    try:
        return _NAMED.decode(part).name[:_LONGEST]
    except DECODE_ERRORS:
        return ""


def path_in_pod(path: str) -> str:
    """Return the path of a template's field as one from the root of its Pod.

    >>> path_in_pod("spec.jobTemplate.spec.template.spec.containers[*].image")
    'spec.containers[*].image'
    """
    return path.rpartition("template.")[2]


def canonical_json(value: bytes) -> str:
    """Return a value as JSON that is the same for equal values; empty for what is no JSON."""
    try:
        return msgspec.json.encode(msgspec.json.decode(value), order="deterministic").decode()
    except DECODE_ERRORS:
        return ""


@cache
def built_in_rows() -> FieldRows:
    """Return the rows of this release."""
    return decode_rows(TABLE.read_bytes(), TABLE.name)
