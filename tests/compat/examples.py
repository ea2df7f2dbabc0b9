"""An example of any type that is stored: each field filled, and with no value of another field.

A name that changes, a field that is left out or comes at another place, a type that reads less:
each shows in the bytes of such an example.
"""

import enum
from collections.abc import Callable, Mapping
from itertools import count
from typing import Any, Final, TypeVar

import msgspec
from msgspec import inspect

T = TypeVar("T")

_DATE: Final = "2026-11-21"
_DEEPEST: Final = 12
"""Levels: what holds its own kind is empty from there."""


def example_of(kind: type[T], fixed: Mapping[str, Any] | None = None, *, json: bool = False) -> T:
    """Return an example of a type that msgspec decodes.

    `fixed` has values by the names that are stored. `json`: what is raw in it is JSON.
    """
    plain = _Filling(fixed or {}).value(inspect.type_info(kind), 0)
    if json:
        return msgspec.json.decode(msgspec.json.encode(plain), type=kind, strict=False)
    return msgspec.msgpack.decode(msgspec.msgpack.encode(plain), type=kind, strict=False)


class _Filling:
    def __init__(self, fixed: Mapping[str, Any]) -> None:
        self._fixed = fixed
        self._numbers = count(1)

    def value(self, kind: inspect.Type, depth: int) -> Any:  # noqa: PLR0911  One for each kind.
        """Return what an example of a type is made from, as plain values."""
        if isinstance(kind, inspect.Metadata):
            return self.value(kind.type, depth)
        if isinstance(kind, inspect.StructType | inspect.DataclassType):
            return self._fields(kind, depth)
        plain = _PLAIN.get(type(kind))
        if plain is not None:
            return plain(next(self._numbers))
        if isinstance(kind, inspect.IntType):
            least, most = kind.ge if kind.ge is not None else 0, kind.le
            number = least + next(self._numbers)
            return number if most is None else min(number, most)
        if isinstance(kind, inspect.FloatType):
            return (kind.ge or 0) + next(self._numbers) + 0.5
        if isinstance(kind, inspect.EnumType):
            values = [member.value for member in kind.cls]
            return values[next(self._numbers) % len(values)]
        if isinstance(kind, inspect.LiteralType):
            return kind.values[-1]
        if isinstance(kind, inspect.UnionType):
            return self.value(_chosen(kind), depth)
        return self._many(kind, depth)

    def _field(self, field: inspect.Field, depth: int) -> Any:
        """Return a value that is not the field's default."""
        if field.encode_name in self._fixed:
            return self._fixed[field.encode_name]
        if field.default is True:
            return False
        value = self.value(field.type, depth)
        return self.value(field.type, depth) if value == _plain(field.default) else value

    def _many(self, kind: inspect.Type, depth: int) -> Any:
        if isinstance(kind, inspect.DictType):
            keys = _chosen(kind.key_type) if isinstance(kind.key_type, inspect.UnionType) else None
            if depth >= _DEEPEST:
                return {}
            return {
                self.value(keys or kind.key_type, depth + 1): self.value(kind.value_type, depth + 1)
                for _ in range(2)
            }
        if isinstance(kind, inspect.TupleType):
            return [self.value(item, depth + 1) for item in kind.item_types]
        if isinstance(kind, inspect.NamedTupleType):
            return [self.value(field.type, depth + 1) for field in kind.fields]
        if isinstance(kind, inspect.CollectionType):
            least = max(2, kind.min_length or 0)
            wanted = least if kind.max_length is None else min(least, kind.max_length)
            if depth >= _DEEPEST:
                return []
            return [self.value(kind.item_type, depth + 1) for _ in range(wanted)]
        message = f"no example of {kind} yet: add it here"
        raise NotImplementedError(message)

    def _fields(self, kind: inspect.StructType | inspect.DataclassType, depth: int) -> Any:
        values = {field.encode_name: self._field(field, depth + 1) for field in kind.fields}
        tag = {}
        if isinstance(kind, inspect.StructType) and kind.tag is not None and kind.tag_field:
            tag = {kind.tag_field: kind.tag}
        if isinstance(kind, inspect.StructType) and kind.array_like:
            return [*tag.values(), *values.values()]
        return tag | values


def _plain(default: Any) -> Any:
    return default.value if isinstance(default, enum.Enum) else default


def _chosen(kind: inspect.UnionType) -> inspect.Type:
    """Return the first that is something: most are of a type and None."""
    return next(each for each in kind.types if not isinstance(each, inspect.NoneType))


_PLAIN: Final[Mapping[type, Callable[[int], Any]]] = {
    inspect.NoneType: lambda _: None,
    inspect.BoolType: lambda _: True,
    inspect.StrType: lambda number: f"text-{number}",
    inspect.BytesType: lambda number: b"bytes-%d" % number,
    inspect.AnyType: lambda number: {"any": number},
    inspect.RawType: lambda number: {"raw": number},
    inspect.DateTimeType: lambda number: f"{_DATE}T12:{number // 60 % 60:02}:{number % 60:02}Z",
    inspect.DateType: lambda _: _DATE,
    inspect.UUIDType: lambda number: f"01a1fdfa-4600-741a-844b-{number:012x}",
}
