"""CustomResourceDefinitions: which kinds carry Pods, and where in their schemas. Pure.

Shape: k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1 types.go. Structural schemas know no
references: what lies below a schema is written out in `properties`, `items` and
`additionalProperties`.
"""

from collections.abc import Iterator, Mapping
from typing import Any, Final, Literal

import msgspec

from core.base.errors import InvalidObjectError
from core.kubernetes.object_meta import IdentityMeta

DEEPEST: Final = 64
"""No published definition nests deeper than about 25."""
MOST_PARTS: Final = 300_000
"""No more parts of a schema are looked at: one of 2 MB, more than etcd stores, has fewer."""

GROUP: Final = "apiextensions.k8s.io"
KIND: Final = "CustomResourceDefinition"

_LEFT_OUT: Final = ("metadata", "status")
_UNKNOWN: Final = "x-kubernetes-preserve-unknown-fields"

_OpenApiSchema = Mapping[str, Any]


def find_pod_templates(schema: object) -> list[str]:
    """Return the paths of Pod templates and Pod specs, as `workload_kinds` writes them.

    A Pod spec has `containers`, a list of what has a `name` and an `image`; a Pod template has
    such a `spec`. `[*]` stands for each item of a list, `*` for each value of a map. Anything may
    be given: what is no schema has no paths.
    """
    return sorted(path for path, part in _parts(schema) if _embeds(part))


def hides_fields(schema: object) -> bool:
    """Return whether objects may have fields that the schema does not name."""
    whole = isinstance(schema, Mapping) and schema.get(_UNKNOWN) is True
    return whole or any(part.get(_UNKNOWN) is True for _, part in _parts(schema))


def _parts(schema: object) -> Iterator[tuple[str, _OpenApiSchema]]:
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


def _below(path: str, part: _OpenApiSchema) -> Iterator[tuple[str, _OpenApiSchema]]:
    for name, below in _properties(part).items():
        if isinstance(below, Mapping):
            yield f"{path}.{name}", below
    for word, step in (("items", "[*]"), ("additionalProperties", ".*")):
        if isinstance(below := part.get(word), Mapping):
            yield f"{path}{step}", below


def _embeds(part: _OpenApiSchema) -> bool:
    return _is_pod_spec(part) or _is_pod_spec(_properties(part).get("spec"))


def _is_pod_spec(part: object) -> bool:
    containers = _properties(part).get("containers")
    items = containers.get("items") if isinstance(containers, Mapping) else None
    return {"name", "image"} <= _properties(items).keys()


def _properties(part: object) -> _OpenApiSchema:
    properties = part.get("properties") if isinstance(part, Mapping) else None
    return properties if isinstance(properties, Mapping) else {}


class _Schema(msgspec.Struct):
    openapi: dict[str, Any] | None = msgspec.field(default=None, name="openAPIV3Schema")


class _Version(msgspec.Struct):
    name: str
    served: bool = False
    schema: _Schema | None = None


class _Names(msgspec.Struct):
    plural: str
    kind: str


class _Spec(msgspec.Struct):
    group: str
    names: _Names
    scope: Literal["Namespaced", "Cluster"]
    versions: list[_Version]


class _Definition(msgspec.Struct):
    metadata: IdentityMeta
    spec: _Spec


class CustomResourceDefinition(msgspec.Struct, frozen=True):
    """What one definition says of its kind."""

    name: str
    """`widgets.example.com`."""
    uid: str
    group: str
    kind: str
    resource: str
    scope: Literal["Namespaced", "Cluster"]
    versions: tuple[str, ...]
    """All that are served."""
    schemas: tuple[Mapping[str, Any], ...]
    """Of those versions that have one."""

    def paths(self) -> tuple[str, ...]:
        """Say where its Pod templates lie, in any served version."""
        found = {path for schema in self.schemas for path in find_pod_templates(schema)}
        return tuple(sorted(found))

    def hides(self) -> bool:
        """Return whether objects may have fields that no schema names."""
        return any(map(hides_fields, self.schemas))


def read_definition(value: Mapping[str, Any]) -> CustomResourceDefinition:
    """Read a definition.

    Raises:
        InvalidObjectError: it has not the shape of one.
    """
    try:
        read = msgspec.convert(value, _Definition)
    except msgspec.ValidationError as error:
        raise InvalidObjectError(KIND, "", str(error)) from error
    spec = read.spec
    served = [each for each in spec.versions if each.served]
    schemas = (each.schema.openapi for each in served if each.schema is not None)
    return CustomResourceDefinition(
        name=read.metadata.name,
        uid=read.metadata.uid,
        group=spec.group,
        kind=spec.names.kind,
        resource=spec.names.plural,
        scope=spec.scope,
        versions=tuple(each.name for each in served),
        schemas=tuple(schema for schema in schemas if schema is not None),
    )
