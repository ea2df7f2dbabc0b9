"""Gives the schemas of what rules see, and an example, for editors that complete `input`."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import msgspec

from policies import BUILT_IN_REGO
from policies.authoring.workspace import open_workspace
from policies.build.site_rego import FIELDS_SCHEMA
from policies.site.choices import Choices
from policies.site.fields import schema_of

_SCHEMAS: Final = BUILT_IN_REGO / "schema"
_SAMPLES: Final[Mapping[str, Any]] = {"string": "", "integer": 0, "number": 0, "boolean": True}
_DEEPEST: Final = 12


def schemas_of(opa: Path | None, sites: Sequence[Path], choices: Choices) -> dict[str, Any]:
    """Return the schemas by file name; of the folders' fields, where there are folders.

    Raises:
        BundleRefusedError: the folders' Rego is no bundle; the message has file and line.
    """
    found: dict[str, Any] = {
        path.name: msgspec.json.decode(path.read_bytes()) for path in sorted(_SCHEMAS.iterdir())
    }
    found[FIELDS_SCHEMA] = schema_of(())
    if sites and opa is not None:
        with open_workspace(opa, sites, choices) as workspace:
            found[FIELDS_SCHEMA] = schema_of(workspace.rules)
    return found


def example_of(schemas: Mapping[str, Any]) -> Any:
    """Return an input of `judge` in which every field is there once, whatever it would be worth."""
    judge = _example(schemas["judge.json"], schemas["judge.json"], _DEEPEST)
    projection = schemas["projection.json"]
    judge["projection"] = _example(projection, projection, _DEEPEST)
    judge["fields"] = _example(schemas[FIELDS_SCHEMA], schemas[FIELDS_SCHEMA], _DEEPEST)
    return judge


def _example(schema: Any, root: Mapping[str, Any], depth: int) -> Any:
    if not isinstance(schema, dict) or depth == 0:
        return {}
    schema = _meant(schema, root)
    kind = str(schema.get("type"))
    if kind in _SAMPLES:
        return next(iter(schema.get("enum") or ()), _SAMPLES[kind])
    if kind == "array":
        return [_example(schema.get("items"), root, depth - 1)]
    inner = schema.get("properties") or {}
    return {name: _example(each, root, depth - 1) for name, each in inner.items()}


def _meant(schema: dict[str, Any], root: Mapping[str, Any]) -> dict[str, Any]:
    """Follow references, and take the first of several."""
    for _ in range(_DEEPEST):
        if "$ref" in schema:
            found: Any = root
            for step in str(schema["$ref"]).removeprefix("#/").split("/"):
                found = found[step]
            schema = found
        elif many := schema.get("anyOf") or schema.get("oneOf") or schema.get("allOf"):
            schema = many[0]
        else:
            break
    return schema
