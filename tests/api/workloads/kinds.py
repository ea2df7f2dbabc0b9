"""Kinds that nobody listed: schemas, definitions, objects."""

from tests.api.kube.objects import new_name
from tests.api.workloads.conftest import TRAIN
from tests.harness.programs.client import Json
from tests.harness.worlds.pods import RESTRICTED

CONTAINER: Json = {
    "type": "object",
    "properties": {"name": {"type": "string"}, "image": {"type": "string"}},
    "x-kubernetes-preserve-unknown-fields": True,
}
POD_SPEC: Json = {
    "type": "object",
    "properties": {"containers": {"type": "array", "items": CONTAINER}},
    "x-kubernetes-preserve-unknown-fields": True,
}
TEMPLATE: Json = {
    "type": "object",
    "properties": {"metadata": {"type": "object"}, "spec": POD_SPEC},
}
PLAIN: Json = {"type": "object", "properties": {"size": {"type": "integer"}}}
HIDDEN: Json = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}


def workers(part: Json) -> Json:
    """Return the schema of a `spec` with a list of workers, each with `part` as its template."""
    worker = {"type": "object", "properties": {"template": part}}
    return {"type": "object", "properties": {"workers": {"type": "array", "items": worker}}}


class Kind:
    """A kind of a test's own, and its definition."""

    def __init__(self, spec: Json, scope: str = "Namespaced") -> None:
        self.plural = new_name("widgets").replace("-", "")
        self.group = f"{self.plural}.example.com"
        self.name = f"{self.plural}.{self.group}"
        self.kind = self.plural.capitalize()
        self.scope = scope
        self.spec = spec

    def definition(self) -> Json:
        """Return the definition: two served versions with the same schema."""
        schema = {"type": "object", "properties": {"spec": self.spec}}
        return {
            "apiVersion": "apiextensions.k8s.io/v1",
            "kind": "CustomResourceDefinition",
            "metadata": {"name": self.name},
            "spec": {
                "group": self.group,
                "scope": self.scope,
                "names": {"kind": self.kind, "plural": self.plural},
                "versions": [
                    {
                        "name": version,
                        "served": True,
                        "storage": version == "v1",
                        "schema": {"openAPIV3Schema": schema},
                    }
                    for version in ("v1", "v2")
                ],
            },
        }

    def sample(self, version: str = "v1", **spec: object) -> Json:
        """Return an object with one worker, whose Pods are restricted but for `spec`."""
        pod = {"spec": {**RESTRICTED.pod()["spec"], **spec}}
        made: Json = {
            "apiVersion": f"{self.group}/{version}",
            "kind": self.kind,
            "metadata": {"name": "sample"},
            "spec": {"workers": [{"template": pod}]},
        }
        if self.scope == "Namespaced":
            made["metadata"]["namespace"] = TRAIN
        return made
