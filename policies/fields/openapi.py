"""Reads which fields kinds have from OpenAPI: Kubernetes' own (version 2), or a cluster's (3)."""

from collections.abc import Iterable, Mapping
from typing import Any, Final

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


def read_types(
    documents: Iterable[Mapping[str, Any]], kinds: Mapping[str, str]
) -> dict[str, dict[str, str]]:
    """Return, by type and field, the type of what the field holds, for all that kinds reach.

    A type that several versions of a group have gets the fields of all of them.
    """
    schemas: dict[str, dict[str, Any]] = {}
    for document in documents:
        found = document.get("definitions") or (document.get("components") or {}).get("schemas")
        for name, schema in (found or {}).items():
            of = type_name(name)
            if of:
                schemas.setdefault(of, {}).update(schema.get("properties") or {})
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


def _held(schema: Mapping[str, Any], schemas: Mapping[str, Mapping[str, Any]]) -> str:
    """Return the type of what a field holds; empty where that is not looked into."""
    shape = ""
    if schema.get("type") == "array":
        shape, schema = LIST, schema.get("items") or {}
    elif isinstance(schema.get("additionalProperties"), Mapping):
        shape, schema = MAP, schema["additionalProperties"]
    reference = schema.get("$ref") or next(
        (each["$ref"] for each in schema.get("allOf") or () if "$ref" in each), ""
    )
    of = type_name(str(reference).rpartition("/")[2])
    return f"{shape}{of}" if of and of not in _LEAVES and schemas.get(of) else ""
