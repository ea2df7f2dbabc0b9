"""OpenAPI of a whole Kubernetes, made of its own, and what a kube-apiserver answers with it."""

from typing import Final

from core.kubernetes.field_rows import LIST, MAP, split_shape
from tests.tools.openapi import supported
from tests.unit.cli.conftest import Answers, Json

MINOR: Final = "1.37"


def definition(of: str) -> str:
    """Return a type's name in OpenAPI."""
    group, name = of.split("/")
    if group == "meta":
        return f"io.k8s.apimachinery.pkg.apis.meta.v1.{name}"
    return f"io.k8s.api.{group}.v1.{name}"


def definitions(minor: str = MINOR) -> Json:
    """Return each type that the kinds of this minor reach."""
    return {
        definition(of): {"properties": {name: _schema(held) for name, held in fields.items()}}
        for of, fields in supported(minor).items()
    }


def _schema(held: str) -> Json:
    shape, of = split_shape(held)
    if not of:
        return {"type": "string"}
    reference = {"$ref": f"#/definitions/{definition(of)}"}
    shapes: dict[str, Json] = {
        LIST: {"type": "array", "items": reference},
        MAP: {"type": "object", "additionalProperties": reference},
        "": {"allOf": [reference], "default": {}},
    }
    return shapes[shape]


def cluster_answers() -> Answers:
    """Return what a kube-apiserver answers of which each field is known."""
    whole = {"components": {"schemas": definitions()}}
    return {
        "/openapi/v3": (200, {"paths": {"api/v1": {"serverRelativeURL": "/openapi/v3/api/v1"}}}),
        "/openapi/v3/api/v1": (200, whole),
        "/version": (200, {"gitVersion": "v1.37.2"}),
        "/api/v1/namespaces/default/pods": (201, {"kind": "Pod", "spec": {"containers": []}}),
    }
