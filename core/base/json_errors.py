"""JSON that is decoded, or said to be unreadable: which field is wrong, and why."""

from typing import Final, TypeVar

import msgspec

from core.base.errors import InvalidObjectError

T = TypeVar("T")

DECODE_ERRORS: Final = (msgspec.DecodeError, UnicodeDecodeError, RecursionError)
"""What msgspec raises on JSON that is none, has another shape, or is nested too deeply."""


def decode_error(what: str, error: Exception, under: str = "") -> InvalidObjectError:
    """Turn msgspec's `Expected … - at `$.spec…`` into a field and what is wrong with it.

    `under` is the field that was decoded, where it was not the whole object.
    """
    problem, _, path = str(error).partition(" - at `$")
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
        raise decode_error(what, error, under) from error


def decode_json_as(kind: type[T], raw: bytes | msgspec.Raw | str, what: str, under: str = "") -> T:
    """Decode JSON of any type, as `decode_json` does.

    Raises:
        InvalidObjectError: it cannot be read; see `decode_error`.
    """
    try:
        return msgspec.json.decode(raw, type=kind)
    except DECODE_ERRORS as error:
        raise decode_error(what, error, under) from error
