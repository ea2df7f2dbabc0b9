"""Reads which fields kinds have from OpenAPI: Kubernetes' own (version 2), or a cluster's (3)."""

from collections.abc import Iterable, Mapping
from typing import Any, Final, TypeVar

import msgspec

from core.base.json_errors import DECODE_ERRORS, decode_error
from core.kubernetes.field_rows import LIST, MAP

_API: Final = "io.k8s.api."
_META: Final = "io.k8s.apimachinery.pkg.apis.meta.v1."

_LEAVES: Final = frozenset({"meta/ManagedFieldsEntry"})
"""Types that are not looked into: kube-apiserver writes them itself."""

_NOT_SUBMITTED: Final = "status"
"""The field of a kind that is dropped from what is submitted; not looked into."""


def type_name(definition: str) -> str:
    """Return the name of a type of the table; empty for what is no object of Kubernetes' API.

    >>> type_name("io.k8s.api.core.v1.PodSpec")
    'core/PodSpec'
    """
    if definition.startswith(_META):
        return f"meta/{definition.removeprefix(_META)}"
    parts = definition.removeprefix(_API).split(".")
    return f"{parts[0]}/{parts[2]}" if definition.startswith(_API) and len(parts) == 3 else ""  # noqa: PLR2004


class Schema(msgspec.Struct, frozen=True):
    """What OpenAPI says of a value, as far as it is read."""

    reference: str = msgspec.field(default="", name="$ref")
    type: str = ""
    items: "Schema | None" = None
    additional: "Schema | bool" = msgspec.field(default=False, name="additionalProperties")
    all_of: "list[Schema]" = msgspec.field(default_factory=list, name="allOf")


class _Object(msgspec.Struct, frozen=True):
    properties: dict[str, Any] = {}


class _Components(msgspec.Struct, frozen=True):
    schemas: dict[str, Any] = {}


class _Document(msgspec.Struct, frozen=True):
    definitions: dict[str, Any] = {}
    components: _Components = _Components()


Schemas = dict[str, dict[str, Schema]]
"""By type and field."""

_T = TypeVar("_T")


def read_types(
    documents: Iterable[Mapping[str, Any]], kinds: Mapping[str, str]
) -> dict[str, dict[str, str]]:
    """Return, by type and field, the type of what the field holds, for all that kinds reach.

    A type that several versions of a group have gets the fields of all of them.

    Raises:
        InvalidObjectError: a document has not the shape of OpenAPI.
    """
    schemas: Schemas = {}
    for document in documents:
        for of, fields in _read_schemas(document):
            schemas.setdefault(of, {}).update(fields)
    types: dict[str, dict[str, str]] = {}
    waiting = list(kinds.values())
    while waiting:
        of = waiting.pop()
        if of in types or not schemas.get(of):
            continue
        root = of in kinds.values()
        types[of] = {
            name: "" if root and name == _NOT_SUBMITTED else _held(schema, schemas)
            for name, schema in sorted(schemas[of].items())
        }
        waiting += (each.removeprefix(LIST).removeprefix(MAP) for each in types[of].values())
    return dict(sorted(types.items()))


def _read_schemas(document: Mapping[str, Any]) -> Iterable[tuple[str, dict[str, Schema]]]:
    read = _convert(document, _Document, "")
    for part, found in (
        ("definitions", read.definitions),
        ("components.schemas", read.components.schemas),
    ):
        for name, schema in found.items():
            if of := type_name(name):
                place = f"{part}.{name}"
                fields = _convert(schema, _Object, place).properties
                yield (
                    of,
                    {
                        field: _convert(value, Schema, f"{place}.properties.{field}")
                        for field, value in fields.items()
                    },
                )


def _convert(value: object, kind: type[_T], place: str) -> _T:
    try:
        return msgspec.convert(value, kind)
    except DECODE_ERRORS as error:
        raise decode_error("OpenAPI", error, place) from error


def _held(schema: Schema, schemas: Schemas) -> str:
    """Return the type of what a field holds; empty where that is not looked into."""
    shape = ""
    if schema.type == "array":
        shape, schema = LIST, schema.items or Schema()
    elif isinstance(schema.additional, Schema):
        shape, schema = MAP, schema.additional
    reference = schema.reference or next(
        (each.reference for each in schema.all_of if each.reference), ""
    )
    of = type_name(reference.rpartition("/")[2])
    return f"{shape}{of}" if of and of not in _LEAVES and schemas.get(of) else ""
