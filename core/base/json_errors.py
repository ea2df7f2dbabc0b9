"""Errors for JSON that cannot be decoded: which field is wrong, and why."""

from typing import Final

import msgspec

from core.base.errors import InvalidObjectError

DECODE_ERRORS: Final = (msgspec.DecodeError, UnicodeDecodeError, RecursionError)
"""What msgspec raises on JSON that is none, has another shape, or is nested too deeply."""


def decode_error(what: str, error: Exception, under: str = "") -> InvalidObjectError:
    """Turn msgspec's `Expected … - at `$.spec…`` into a field and what is wrong with it.

    `under` is the field that was decoded, where it was not the whole object.
    """
    problem, _, path = str(error).partition(" - at `$")
    field = (under + path.rstrip("`")).removeprefix(".")
    return InvalidObjectError(what, field, problem or "nested too deeply")
