"""JSON pointers to what lies at a path of an object."""

from typing import Any, Final

import pytest

from core.kubernetes.pod_templates import json_pointer

OBJECT: Final[dict[str, Any]] = {
    "spec": {
        "jobs": [{"template": {"spec": {}}}],
        "replicas": {"a.b": {"x": 1}, "a": {"b": {"y": 1}}, "c/d~e": {"z": 1}},
        "null": None,
    }
}


@pytest.mark.parametrize(
    ("path", "pointer"),
    [
        ("", ""),
        ("spec", "/spec"),
        ("spec.jobs[0].template.spec", "/spec/jobs/0/template/spec"),
        ("spec.replicas.a.b.x", "/spec/replicas/a.b/x"),
        ("spec.replicas.a.b.y", "/spec/replicas/a/b/y"),
        ("spec.replicas.c/d~e.z", "/spec/replicas/c~1d~0e/z"),
        ("spec.jobs[1]", None),
        ("spec.jobs.template", None),
        ("spec.null.more", None),
        ("spec.job", None),
    ],
)
def test_pointer_of_a_path(path: str, pointer: str | None) -> None:
    """Keys may have dots, slashes and tildes; what is not there has none."""
    assert json_pointer(OBJECT, path) == pointer
