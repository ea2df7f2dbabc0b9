"""Reads JSON that was signed: what two readers could understand differently is none. Pure."""

import json
from typing import Any


def strict_json(content: bytes) -> dict[str, Any]:
    """Read a JSON object in which no name stands twice, and no number is NaN.

    Of a name that stands twice one reader takes the first value and another the last (RFC 7519,
    4): what is verified would not be what is read.

    Raises:
        ValueError: it is none; the text quotes nothing of it.
    """
    try:
        found = json.loads(content.decode(), object_pairs_hook=_once, parse_constant=_no_constant)
    except RecursionError:
        raise ValueError("nested too deeply") from None
    except json.JSONDecodeError as error:
        raise ValueError(f"no JSON at byte {error.pos}") from None
    if not isinstance(found, dict):
        raise ValueError("not an object")  # noqa: TRY004  It is a value that came from outside.
    return found


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise ValueError("a name stands twice")
    return found


def _no_constant(_: str) -> None:
    raise ValueError("no JSON number")
