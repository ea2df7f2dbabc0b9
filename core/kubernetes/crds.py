"""CustomResourceDefinitions, as far as they say which kinds carry Pods. Pure.

Shape: k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1 types.go.
"""

from collections.abc import Mapping
from typing import Any, Final, Literal

import msgspec

from core.base.errors import InvalidObjectError
from core.kubernetes.schemas import find_pod_templates, hides_fields

GROUP: Final = "apiextensions.k8s.io"
KIND: Final = "CustomResourceDefinition"


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


class _Metadata(msgspec.Struct):
    name: str
    uid: str = ""


class _Definition(msgspec.Struct):
    metadata: _Metadata
    spec: _Spec


class Definition(msgspec.Struct, frozen=True):
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
        """Say whether objects may have fields that no schema names."""
        return any(map(hides_fields, self.schemas))


def read_definition(value: Mapping[str, Any]) -> Definition:
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
    return Definition(
        name=read.metadata.name,
        uid=read.metadata.uid,
        group=spec.group,
        kind=spec.names.kind,
        resource=spec.names.plural,
        scope=spec.scope,
        versions=tuple(each.name for each in served),
        schemas=tuple(schema for schema in schemas if schema is not None),
    )
