"""Where a CustomResourceDefinition's schema has Pod templates, and whether it may hide any. Pure.

Structural schemas (apiextensions.k8s.io/v1) know no references: what lies below a schema is
written out in `properties`, `items` and `additionalProperties`.
"""

from collections.abc import Iterator, Mapping
from typing import Any, Final

DEEPEST: Final = 64
"""No published definition nests deeper than about 25."""
MOST_PARTS: Final = 300_000
"""No more parts of a schema are looked at: one of 2 MB, more than etcd stores, has fewer."""

_LEFT_OUT: Final = ("metadata", "status")
_UNKNOWN: Final = "x-kubernetes-preserve-unknown-fields"

_Schema = Mapping[str, Any]


def find_pod_templates(schema: object) -> list[str]:
    """Return the paths of Pod templates and Pod specs, as `core.kubernetes.workload` writes them.

    A Pod spec has `containers`, a list of what has a `name` and an `image`; a Pod template has
    such a `spec`. `[*]` stands for each item of a list, `*` for each value of a map. Anything may
    be given: what is no schema has no paths.
    """
    return sorted(path for path, part in _parts(schema) if _embeds(part))


def hides_fields(schema: object) -> bool:
    """Say whether objects may have fields that the schema does not name."""
    whole = isinstance(schema, Mapping) and schema.get(_UNKNOWN) is True
    return whole or any(part.get(_UNKNOWN) is True for _, part in _parts(schema))


def _parts(schema: object) -> Iterator[tuple[str, _Schema]]:
    """Yield the parts of a schema by path, none that lies in a Pod template.

    Not the root, and nothing of an object's metadata and status: they say not what it would make.
    """
    top = {name: part for name, part in _properties(schema).items() if name not in _LEFT_OUT}
    waiting = [(path[1:], part, 1) for path, part in _below("", {"properties": top})]
    for _ in range(MOST_PARTS):
        if not waiting:
            return
        path, part, depth = waiting.pop()
        yield path, part
        if depth < DEEPEST and not _embeds(part):
            waiting.extend((inner, below, depth + 1) for inner, below in _below(path, part))


def _below(path: str, part: _Schema) -> Iterator[tuple[str, _Schema]]:
    for name, below in _properties(part).items():
        if isinstance(below, Mapping):
            yield f"{path}.{name}", below
    for word, step in (("items", "[*]"), ("additionalProperties", ".*")):
        if isinstance(below := part.get(word), Mapping):
            yield f"{path}{step}", below


def _embeds(part: _Schema) -> bool:
    return _is_pod_spec(part) or _is_pod_spec(_properties(part).get("spec"))


def _is_pod_spec(part: object) -> bool:
    containers = _properties(part).get("containers")
    items = containers.get("items") if isinstance(containers, Mapping) else None
    return {"name", "image"} <= _properties(items).keys()


def _properties(part: object) -> _Schema:
    properties = part.get("properties") if isinstance(part, Mapping) else None
    return properties if isinstance(properties, Mapping) else {}
