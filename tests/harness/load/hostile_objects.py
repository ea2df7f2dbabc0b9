"""Objects that hold as much of something as kube-apiserver lets through.

Made from kube-apiserver's own OpenAPI: any list, map or text of any kind may be the one that is
large, wherever it lies, and a list may hold many elements with a large list in each.
"""

import json
import random
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

from tests.harness.programs.client import Json

LARGEST: Final = 3 * 1024 * 1024
"""Bytes of a request that kube-apiserver reads (MaxRequestBodyBytes, apiserver/pkg/server)."""

STORED: Final = 1536 * 1024
"""Bytes of an object that etcd keeps: an update's old one."""

_REFERENCE: Final = "#/components/schemas/"
_DEEPEST: Final = 9
_SMALLEST: Final = 200
_FILL: Final = 0.35
"""How often an element has a field that it need not have."""

_LONG_TEXTS: Final = 0.15
_PRODUCTS: Final = 0.35
"""How often a text is long, and how often each of many elements is large."""

_PIECES: Final = ("a", "/", "a/", ",", "{[", "<", "\U0001f600", "curl a|", "a=b ", "$(a)", "\n")

Path = tuple[str, ...]
"""Names of fields; `[]` goes into a list, `*` into a map."""


@dataclass(frozen=True)
class Schemas:
    """Components of an OpenAPI v3 document."""

    components: Mapping[str, Json]

    def resolve(self, schema: Json) -> Json:
        """Return a schema in the place of a reference to it."""
        for of in (schema, *schema.get("allOf", ())):
            if "$ref" in of:
                return self.components.get(of["$ref"].removeprefix(_REFERENCE), {})
        return schema

    def collections(self, schema: Json, path: Path = ()) -> Iterator[Path]:
        """Yield the paths of all lists and maps below a schema."""
        schema = self.resolve(schema)
        if len(path) > _DEEPEST:
            return
        if "items" in schema:
            yield path
            yield from self.collections(schema["items"], (*path, "[]"))
        elif isinstance(schema.get("additionalProperties"), dict):
            yield path
            yield from self.collections(schema["additionalProperties"], (*path, "*"))
        for name, below in schema.get("properties", {}).items():
            if (*path, name)[:1] != ("status",) and name not in path:
                yield from self.collections(below, (*path, name))

    def texts(self, schema: Json, path: Path = ()) -> Iterator[Path]:
        """Yield the paths of all texts below a schema."""
        schema = self.resolve(schema)
        if len(path) > _DEEPEST:
            return
        if schema.get("type") == "string":
            yield path
        if "items" in schema:
            yield from self.texts(schema["items"], (*path, "[]"))
        for name, below in schema.get("properties", {}).items():
            if (*path, name)[:1] != ("status",) and name not in path:
                yield from self.texts(below, (*path, name))

    def at(self, schema: Json, path: Path) -> Json:
        """Return the schema at a path."""
        for step in path:
            schema = self.resolve(schema)
            if step in {"[]", "*"}:
                schema = schema["items" if step == "[]" else "additionalProperties"]
            else:
                schema = schema["properties"][step]
        return self.resolve(schema)

    def sample(self, schema: Json, chance: random.Random, depth: int = 0) -> Any:
        """Return some small value of a schema; often it lacks what the schema demands."""
        schema = self.resolve(schema)
        kind = schema.get("type")
        if kind == "array":
            return [self.sample(schema["items"], chance, depth + 1)] if depth < _DEEPEST else []
        if kind in {"integer", "number"}:
            return chance.choice([0, 1, 1000, -1])
        if kind == "boolean":
            return chance.random() < 0.5
        if kind == "object" or "properties" in schema:
            return {
                name: self.sample(below, chance, depth + 1)
                for name, below in schema.get("properties", {}).items()
                if depth < _DEEPEST and chance.random() < _FILL / (depth + 1)
            }
        return chance.choice(["a", "", "*", "10", "curl x|sh"])


def inflate(schemas: Schemas, schema: Json, path: Path, chance: random.Random, size: int) -> Any:
    """Return an object of about `size` bytes of JSON, nearly all of it at one path."""
    return _wrapped(path, _elements(schemas, schemas.at(schema, path), chance, size))


def multiply(schemas: Schemas, schema: Json, path: Path, chance: random.Random, size: int) -> Any:
    """Return such an object in which each of many elements on the way to the path is large."""
    steps = [index for index, step in enumerate(path) if step in {"[]", "*"}]
    at = chance.choice(steps)
    outer, inner = path[:at], path[at + 1 :]
    count = max(1, int((size / chance.choice([50, 500, 5000])) ** 0.5))
    element = inflate(schemas, schemas.at(schema, path[: at + 1]), inner, chance, size // count)
    is_list = path[at] == "[]"
    return _wrapped(outer, [element] * count if is_list else dict.fromkeys(_keys(count), element))


def lengthen(path: Path, chance: random.Random, size: int) -> Any:
    """Return an object of about `size` bytes of JSON, nearly all of it one text."""
    piece = chance.choice(_PIECES)
    return _wrapped(path, piece * max(1, size // len(json.dumps(piece))))


def _wrapped(path: Path, value: Any) -> Any:
    for step in reversed(path):
        value = [value] if step == "[]" else {"a" if step == "*" else step: value}
    return value


def _keys(count: int) -> Iterator[str]:
    return (f"{number:x}" for number in range(count))


def _elements(schemas: Schemas, found: Json, chance: random.Random, size: int) -> Any:
    is_list = "items" in found
    inner = found["items"] if is_list else found["additionalProperties"]
    samples = [schemas.sample(inner, chance) for _ in range(chance.choice([1, 8]))]
    samples = chance.choice([samples, samples, _empties(samples)])
    each = max(1, sum(len(json.dumps(sample)) + 1 for sample in samples) // len(samples))
    if is_list:
        return [samples[n % len(samples)] for n in range(max(1, size // each))]
    keys = enumerate(_keys(max(1, size // (each + 9))))
    return {key: samples[n % len(samples)] for n, key in keys}


def _empties(samples: list[Any]) -> list[Any]:
    return [type(sample)() if not isinstance(sample, bool) else sample for sample in samples]


def hostile_object(
    schemas: Schemas, kind: Json, chance: random.Random, size: int
) -> dict[str, Any]:
    """Return an object of a kind, as large as `size` in one or two places, else almost empty."""
    paths = [path for path in schemas.collections(kind) if path]
    texts = [path for path in schemas.texts(kind) if path]
    whole: dict[str, Any] = {}
    count = chance.choice([1, 1, 2])
    for path in chance.sample(paths, min(count, len(paths))):
        how = chance.random()
        if how < _LONG_TEXTS and texts:
            part = lengthen(chance.choice(texts), chance, size // count)
        elif how < _LONG_TEXTS + _PRODUCTS and {"[]", "*"} & {*path}:
            part = multiply(schemas, kind, path, chance, size // count)
        else:
            part = inflate(schemas, kind, path, chance, size // count)
        whole = _merged(whole, part)
    return whole


def _merged(one: Any, other: Any) -> Any:
    if isinstance(one, dict) and isinstance(other, dict):
        return one | {key: _merged(one.get(key), value) for key, value in other.items()}
    return other if one is None else one


def some_size(chance: random.Random, most: int) -> int:
    """Return a size; each power of two as likely as another."""
    return int(_SMALLEST * (most / _SMALLEST) ** chance.random())
