"""The shape of each type that is read or written, without the name of any class or module.

A shape says what stands in the bytes: names of fields as they are written, their types, defaults
and tags. Two types of one shape are one here; so whoever renames, moves or joins types changes
nothing, and whoever renames a field does.
"""

import enum
import json
from collections.abc import Iterable, Mapping
from contextlib import suppress
from typing import Any, Final

import msgspec
from msgspec import inspect

from tests.compat.product import decoders, structs

Json = Any

_WORDS: Final[Mapping[type, str]] = {
    inspect.AnyType: "any",
    inspect.NoneType: "null",
    inspect.BoolType: "bool",
    inspect.IntType: "int",
    inspect.FloatType: "float",
    inspect.StrType: "str",
    inspect.BytesType: "bytes",
    inspect.RawType: "raw",
    inspect.DateTimeType: "datetime",
    inspect.DateType: "date",
    inspect.UUIDType: "uuid",
    inspect.DecimalType: "decimal",
    inspect.CustomType: "custom",
    inspect.ListType: "list",
    inspect.SetType: "set",
    inspect.FrozenSetType: "set",
    inspect.VarTupleType: "list",
    inspect.CollectionType: "list",
}
_LIMITS: Final = ("gt", "ge", "lt", "le", "multiple_of", "pattern", "min_length", "max_length")

_Fields = inspect.StructType | inspect.DataclassType | inspect.NamedTupleType


def shapes_of(kinds: Iterable[Any]) -> list[Json]:
    """Return the shapes of types, and of all that they hold, each once and in order."""
    found: dict[type, _Fields] = {}
    for kind in kinds:
        with suppress(TypeError):  # msgspec itself could neither read nor write it.
            _reach(inspect.type_info(kind), found)
    texts = {json.dumps(_shape(each), ensure_ascii=False) for each in found.values()}
    return [json.loads(text) for text in sorted(texts)]


def wire_shapes(named: Iterable[Any]) -> list[Json]:
    """Return the shapes of all that the product decodes or marks as written, and others."""
    marked = [each for each in structs() if _is_marked(each)]
    return shapes_of([*decoders(), *marked, *named])


def _is_marked(kind: type[msgspec.Struct]) -> bool:
    """Return whether a type says how it is written."""
    said = kind.__struct_config__
    renamed = kind.__struct_encode_fields__ != kind.__struct_fields__
    own = said.omit_defaults or said.array_like or said.forbid_unknown_fields
    return bool(kind.__struct_fields__) and (renamed or own or said.tag is not None)


def _reach(kind: inspect.Type, found: dict[type, _Fields]) -> None:
    if isinstance(kind, _Fields):
        if kind.cls not in found:
            found[kind.cls] = kind
            for field in kind.fields:
                _reach(field.type, found)
        return
    for name in ("type", "types", "item_type", "item_types", "key_type", "value_type"):
        inner = getattr(kind, name, ())
        for each in inner if isinstance(inner, tuple) else (inner,):
            if isinstance(each, inspect.Type):
                _reach(each, found)


def _shape(kind: _Fields) -> Json:
    fields = {each.encode_name: _field(each) for each in kind.fields}
    if isinstance(kind, inspect.NamedTupleType):
        return {"list": list(fields.values())}
    if isinstance(kind, inspect.DataclassType):
        return {"fields": fields}
    said = kind.cls.__struct_config__
    flags = {
        "tag": {kind.tag_field: kind.tag} if kind.tag_field else None,
        "omits": "defaults" if said.omit_defaults else None,
        "others": "refused" if kind.forbid_unknown_fields else None,
    }
    shown = {name: flag for name, flag in flags.items() if flag is not None}
    return ({"list": list(fields.values())} if kind.array_like else {"fields": fields}) | shown


def _field(field: inspect.Field) -> str:
    shown = _type(field.type)
    if field.required:
        return shown
    default = field.default
    if default is msgspec.NODEFAULT:
        default = field.default_factory() if callable(field.default_factory) else None
    return f"{shown} = {_default(default)}"


def _default(value: Any) -> str:
    if isinstance(value, enum.Enum):
        return json.dumps(value.value)
    if isinstance(value, float):
        return repr(value)
    try:
        return msgspec.json.encode(value, order="deterministic").decode()
    except (TypeError, ValueError):
        return "…"


def _type(kind: inspect.Type) -> str:
    limits = {name: limit for name in _LIMITS if (limit := getattr(kind, name, None)) is not None}
    return _bare(kind) + (json.dumps(limits, ensure_ascii=False) if limits else "")


def _bare(kind: inspect.Type) -> str:  # noqa: PLR0911  One for each kind.
    if isinstance(kind, inspect.Metadata):
        return _type(kind.type)
    if isinstance(kind, _Fields):
        names = [each.encode_name for each in kind.fields]
        is_list = isinstance(kind, inspect.NamedTupleType) or (
            isinstance(kind, inspect.StructType) and kind.array_like
        )
        return f"[list of {len(names)}]" if is_list else f"{{{', '.join(names)}}}"
    if isinstance(kind, inspect.EnumType):
        return f"one of {json.dumps(sorted((each.value for each in kind.cls), key=str))}"
    if isinstance(kind, inspect.LiteralType):
        return f"one of {json.dumps(sorted(kind.values, key=str))}"
    if isinstance(kind, inspect.UnionType):
        return " | ".join(sorted(map(_type, kind.types)))
    if isinstance(kind, inspect.DictType):
        return f"{{{_type(kind.key_type)}: {_type(kind.value_type)}}}"
    if isinstance(kind, inspect.TupleType):
        return f"[{', '.join(map(_type, kind.item_types))}]"
    inner = getattr(kind, "item_type", None)
    word = _WORDS[type(kind)]
    return f"{word}[{_type(inner)}]" if isinstance(inner, inspect.Type) else word
