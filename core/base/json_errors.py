"""JSON that is decoded, or said to be unreadable: which field is wrong, and why."""

import re
from typing import Any, Final, TypeVar

import msgspec
import msgspec.inspect

from core.base.errors import InvalidObjectError

T = TypeVar("T")

DECODE_ERRORS: Final = (msgspec.DecodeError, UnicodeDecodeError, RecursionError)
"""What msgspec raises on JSON that is none, has another shape, or is nested too deeply."""


_ENUM: Final = "Invalid enum value"

_STEP: Final = re.compile(r"\.([^.\[]+)|\[([^\]]*)\]")
"""A field, or a place in a list (`[0]`) or a map (`[...]`)."""


def enum_error(problem: str, kind: object, path: str) -> str:
    """Return a problem with the values that there are, where it is a word that is none of them.

    `path` leads from a value of the type `kind` to the word, as msgspec writes it.
    """
    if not problem.startswith(_ENUM):
        return problem
    values = _enum_values(msgspec.inspect.type_info(kind), _STEP.findall(path))
    return f"{problem}: must be one of {', '.join(values)}" if values else problem


def _enum_values(known: msgspec.inspect.Type, steps: list[tuple[str, str]]) -> list[str]:
    if isinstance(known, msgspec.inspect.Metadata):
        return _enum_values(known.type, steps)
    if isinstance(known, msgspec.inspect.UnionType):
        return next((found for each in known.types if (found := _enum_values(each, steps))), [])
    if not steps:
        if isinstance(known, msgspec.inspect.EnumType):
            return [str(each.value) for each in known.cls]
        if isinstance(known, msgspec.inspect.LiteralType):
            return [str(each) for each in known.values]
        return []
    (name, _), *rest = steps
    inner: Any = None
    if name and isinstance(known, msgspec.inspect.StructType):
        inner = next((each.type for each in known.fields if each.encode_name == name), None)
    elif not name:
        inner = getattr(known, "item_type", None) or getattr(known, "value_type", None)
    return _enum_values(inner, rest) if inner is not None else []


def decode_error(
    what: str, error: Exception, under: str = "", kind: object = None
) -> InvalidObjectError:
    """Turn msgspec's `Expected … - at `$.spec…`` into a field and what is wrong with it.

    `under` is the field that was decoded, where it was not the whole object, and `kind` its type.
    """
    problem, _, path = str(error).partition(" - at `$")
    if kind is not None:
        problem = enum_error(problem, kind, path.rstrip("`"))
    field = (under + path.rstrip("`")).removeprefix(".")
    return InvalidObjectError(what, field, problem or "nested too deeply")


def decode_json(
    decoder: msgspec.json.Decoder[T], raw: bytes | msgspec.Raw | str, what: str, under: str = ""
) -> T:
    """Decode JSON with a decoder that is kept; `what` it is and `under` are for the error alone.

    Raises:
        InvalidObjectError: it cannot be read; see `decode_error`.
    """
    try:
        return decoder.decode(raw)
    except DECODE_ERRORS as error:
        raise decode_error(what, error, under, decoder.type) from error


def decode_json_as(kind: type[T], raw: bytes | msgspec.Raw | str, what: str, under: str = "") -> T:
    """Decode JSON of any type, as `decode_json` does.

    Raises:
        InvalidObjectError: it cannot be read; see `decode_error`.
    """
    try:
        return msgspec.json.decode(raw, type=kind)
    except DECODE_ERRORS as error:
        raise decode_error(what, error, under, kind) from error
