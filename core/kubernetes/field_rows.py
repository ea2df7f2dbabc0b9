"""Rows about fields of Kubernetes' kinds, as they are stored: in a file, or in a ConfigMap.

A type is `<group>/<name>` as Kubernetes' OpenAPI calls it, whatever its version: `core/PodSpec`.
"""

import re
from collections.abc import Iterator, Mapping
from typing import Final

import msgspec

from core.base.errors import InvalidObjectError
from core.base.json_errors import DECODE_ERRORS, decode_json, decode_json_as

FORMAT: Final = 1

LIST: Final = "[]"
MAP: Final = "{}"

MOST_BYTES: Final = 1024 * 1024
"""Of a table: a ConfigMap holds no more."""


WORDS: Final = ("judged: ", "harmless: ", "refused: ", "not held: ")
"""Each row begins with one of them."""

_LONGEST: Final = 100
"""Characters of a name that a message repeats."""

_TYPE_NAME: Final = re.compile(r"[a-z][a-z0-9]*/[A-Z][A-Za-z0-9]*")
_KIND_NAME: Final = re.compile(r"[a-z0-9.-]*/[A-Z][A-Za-z0-9]*")


class FieldRow(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """What is known of a field."""

    row: str
    """`judged: <rules>`, `harmless: <why>`, `refused: <by whom>` or `not held: <why>`."""
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
    raw = raw if isinstance(raw, bytes) else raw.encode()
    try:
        rows = decode_json(_ROWS, raw, what)
    except InvalidObjectError:
        _check_shapes(raw, what)
        raise
    if rows.format != FORMAT:
        problem = f"is {rows.format}; this release reads {FORMAT}"
        raise InvalidObjectError(what, "format", problem)
    return rows


class _Shapes(msgspec.Struct):
    types: dict[str, dict[str, msgspec.Raw]] = {}


def _check_shapes(raw: bytes, what: str) -> None:
    """Raise for the first row that is none, with its type and field: a decoder names neither."""
    try:
        found = msgspec.json.decode(raw, type=_Shapes)
    except DECODE_ERRORS:
        return
    for name, fields in found.types.items():
        for field, row in fields.items():
            decode_json_as(FieldRow, row, what, _place(name, field))


def _place(*names: str) -> str:
    return "types" + "".join(f"[{name[:_LONGEST]}]" for name in names)


def check_rows(rows: FieldRows, what: str) -> None:
    """Refuse names and words that mean nothing: such a row would do nothing, silently.

    Raises:
        InvalidObjectError: names the row, and what to write.
    """
    for kind, of in rows.kinds.items():
        if not _KIND_NAME.fullmatch(kind):
            raise InvalidObjectError(
                what, f"kinds[{kind[:_LONGEST]}]", "must be GROUP/KIND, such as /Pod"
            )
        _check_type(of, what, f"kinds[{kind[:_LONGEST]}]")
    for name, fields in rows.types.items():
        _check_type(name, what, _place(name))
        for field, row in fields.items():
            place = _place(name, field)
            if not row.row.startswith(WORDS) or not row.row.partition(": ")[2].strip():
                problem = (
                    "must begin with 'judged: ' and rules, 'harmless: ' and why, 'refused: ' and "
                    "by whom, or 'not held: ' and why"
                )
                raise InvalidObjectError(what, f"{place}[0]", problem)
            if row.type:
                _check_type(split_shape(row.type)[1], what, f"{place}[1]")


def _check_type(name: str, what: str, place: str) -> None:
    if not _TYPE_NAME.fullmatch(name):
        problem = "a type must be GROUP/NAME without a version, such as core/PodSpec"
        raise InvalidObjectError(what, place, problem)


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
