"""Finds the Pods that an object would make: itself, or the Pod templates that lie in it. Pure.

A template is known by its shape and by the name of its field, so that kinds nobody listed are
read too: `spec.template` (Deployment, Job …), `spec.jobTemplate.spec.template` (CronJob),
`spec.pytorchReplicaSpecs.Worker.template`, `spec.leaderWorkerTemplate.workerTemplate`,
`spec.replicatedJobs[0].template.spec.template`, `spec.tasks[0].template` …
"""

from collections.abc import Iterator, Mapping
from typing import Any, Final

_LEFT_OUT: Final = frozenset({"metadata", "status"})
"""Fields of an object that say nothing of what it would make."""


def find_templates(value: Mapping[str, Any]) -> list[tuple[str, Mapping[str, Any]]]:
    """Give the path and the value of each Pod template of an object that is no Pod."""
    return [
        found
        for field, below in value.items()
        if field not in _LEFT_OUT
        for found in _walk(field, field, below)
    ]


def _walk(path: str, field: str, value: Any) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Yield the templates at a path and below it; `field` is the last name of the path."""
    if isinstance(value, Mapping):
        if field.lower().endswith(("template", "templates")) and _is_template(value):
            yield path, value
            return
        for name, below in value.items():
            yield from _walk(f"{path}.{name}", str(name), below)
    elif isinstance(value, list):
        for index, below in enumerate(value):
            yield from _walk(f"{path}[{index}]", field, below)


def _is_template(value: Mapping[str, Any]) -> bool:
    spec = value.get("spec")
    containers = spec.get("containers") if isinstance(spec, Mapping) else None
    return (
        isinstance(containers, list)
        and bool(containers)
        and all(isinstance(each, Mapping) and "name" in each for each in containers)
    )


def holds_containers(value: Any) -> bool:
    """Say whether a list `containers` lies somewhere in a value, in a template or not."""
    if isinstance(value, Mapping):
        return bool(value.get("containers") and isinstance(value["containers"], list)) or any(
            holds_containers(below) for below in value.values()
        )
    return isinstance(value, list) and any(holds_containers(below) for below in value)
