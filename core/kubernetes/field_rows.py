"""Rows about fields of Kubernetes' kinds, as they are stored: in a file, or in a ConfigMap.

A type is `<group>/<name>` as Kubernetes' OpenAPI calls it, whatever its version: `core/PodSpec`.
"""

from collections.abc import Iterator, Mapping
from typing import Final

import msgspec

from core.base.errors import InvalidObjectError
from core.base.json_errors import decode_json

FORMAT: Final = 1

LIST: Final = "[]"
MAP: Final = "{}"

MOST_BYTES: Final = 1024 * 1024
"""Of a table: a ConfigMap holds no more."""


class FieldRow(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """What is known of a field."""

    row: str
    """`judged: <rules>`, `harmless: <why>` or `refused: <by whom>`."""
    type: str = ""
    """The type of what it holds, after `[]` in lists and `{}` in maps; empty where that is not
    looked at."""


class FieldRows(msgspec.Struct, frozen=True):
    """A table."""

    format: int = FORMAT
    versions: list[str] = []
    """The releases of Kubernetes of which it knows each field."""
    kinds: dict[str, str] = {}
    """The type of each kind, by `<group>/<kind>`; the core group is empty: `/Pod`."""
    types: dict[str, dict[str, FieldRow]] = {}


class FilledField(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """A field that kube-apiserver fills into a Pod template by itself."""

    path: str
    """From the Pod's root, `[*]` for each place of a list: `spec.containers[*].example`."""
    value: str
    """As JSON."""


class KnownFields(msgspec.Struct, frozen=True):
    """What a cluster says beside the table of the release."""

    added: FieldRows = FieldRows()
    filled: frozenset[tuple[str, str]] = frozenset()
    """Path and value of each `FilledField`."""


NOTHING_KNOWN: Final = KnownFields()

_ROWS: Final = msgspec.json.Decoder(FieldRows)
_FILLED: Final = msgspec.json.Decoder(list[FilledField])


def decode_rows(raw: bytes | str, what: str) -> FieldRows:
    """Read a table; `what` names where it stands.

    Raises:
        InvalidObjectError: it is none, is larger than any, or has another format.
    """
    if len(raw) > MOST_BYTES:
        raise InvalidObjectError(
            what, "", f"is larger than any table of fields, {MOST_BYTES} bytes"
        )
    rows = decode_json(_ROWS, raw if isinstance(raw, bytes) else raw.encode(), what)
    if rows.format != FORMAT:
        problem = f"is {rows.format}; this release reads {FORMAT}"
        raise InvalidObjectError(what, "format", problem)
    return rows


def decode_filled(raw: str, what: str) -> frozenset[tuple[str, str]]:
    """Read what kube-apiserver fills in by itself.

    Raises:
        InvalidObjectError: it is no such list.
    """
    return frozenset((each.path, each.value) for each in decode_json(_FILLED, raw.encode(), what))


def encode_filled(filled: frozenset[tuple[str, str]]) -> str:
    """Write the same, sorted."""
    return msgspec.json.encode([FilledField(*each) for each in sorted(filled)]).decode()


def split_shape(of: str) -> tuple[str, str]:
    """Return the shape (`[]`, `{}` or empty) and the name of a field's type.

    >>> split_shape("[]core/Container")
    ('[]', 'core/Container')
    """
    return (of[:2], of[2:]) if of[:2] in {LIST, MAP} else ("", of)


def fields_of(rows: FieldRows) -> Iterator[tuple[str, str]]:
    """Yield type and name of each field."""
    return ((name, field) for name, fields in rows.types.items() for field in fields)


def merge_types(
    first: Mapping[str, Mapping[str, FieldRow]], second: Mapping[str, Mapping[str, FieldRow]]
) -> dict[str, dict[str, FieldRow]]:
    """Return the rows of both; of a field in both that of the second."""
    return {
        name: {**first.get(name, {}), **second.get(name, {})}
        for name in dict.fromkeys([*first, *second])
    }
