"""Makes of a template's OpenAPI schema the JSON Schema of a rule's parameter."""

from collections.abc import Mapping
from typing import Any, Final

import jsonschema

_KEPT: Final = frozenset({"description", "enum", "required", "type"})
_DEEPEST: Final = 30


def json_schema(schema: Mapping[str, Any], depth: int = 0) -> dict[str, Any]:
    """Return the types of a schema; patterns and bounds are another dialect's, left out."""
    if depth > _DEEPEST:
        return {}
    found = {key: value for key, value in schema.items() if key in _KEPT and value is not None}
    if isinstance(found.get("description"), str):
        found["description"] = " ".join(found["description"].split())
    if schema.get("x-kubernetes-int-or-string"):
        found["type"] = ["integer", "string"]
    if schema.get("nullable") and isinstance(found.get("type"), str):
        found["type"] = [found["type"], "null"]
    properties = schema.get("properties")
    if isinstance(properties, Mapping):
        found["properties"] = {
            str(name): json_schema(inner, depth + 1)
            for name, inner in properties.items()
            if isinstance(inner, Mapping)
        }
    for key in ("items", "additionalProperties"):
        if isinstance(schema.get(key), Mapping):
            found[key] = json_schema(schema[key], depth + 1)
    return found


def schema_problem(value: Any, schema: Mapping[str, Any]) -> str:
    """Return the fault of a value; empty where there is none."""
    try:
        jsonschema.Draft202012Validator.check_schema(schema)
    except jsonschema.SchemaError as error:
        return f"the template's schema is none: {error.message}"
    wrong = next(jsonschema.Draft202012Validator(schema).iter_errors(value), None)
    if wrong is None:
        return ""
    at = "".join(f".{step}" for step in wrong.absolute_path)
    return f"spec.parameters{at}: {wrong.message}"


def fill_defaults(value: Any, schema: Any) -> Any:
    """Return a value with the defaults of its schema, as kube-apiserver stores a Constraint."""
    if not isinstance(schema, Mapping):
        return value
    if isinstance(value, Mapping):
        found = dict(value)
        properties = schema.get("properties") or {}
        for name, inner in properties.items():
            if name not in found and isinstance(inner, Mapping) and "default" in inner:
                found[name] = inner["default"]
        more = schema.get("additionalProperties")
        return {
            name: fill_defaults(each, properties.get(name, more)) for name, each in found.items()
        }
    if isinstance(value, list):
        return [fill_defaults(each, schema.get("items")) for each in value]
    return value
