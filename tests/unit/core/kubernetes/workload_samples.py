"""For each kind that carries Pods: an object with a given Pod template at each of its places."""

from collections.abc import Callable
from typing import Any

from core.kubernetes.workload_kinds import WORKLOADS, GroupKind, PlaceContent

Json = dict[str, Any]


def at(path: str, value: Any) -> Any:
    """Return an object with a value at a path of the table; maps get the key `Worker`."""
    if not path:
        return value
    step, _, rest = path.partition(".")
    name, lists = step.partition("[")[0], step.count("[*]")
    below = at(rest, value)
    for _ in range(lists):
        below = [below]
    return {"Worker" if name == "*" else name: below}


def merged(one: Json, other: Json) -> Json:
    """Join two objects that have different fields at the end."""
    both = dict(one)
    for key, value in other.items():
        mine = both.get(key)
        if isinstance(mine, dict) and isinstance(value, dict):
            both[key] = merged(mine, value)
        elif isinstance(mine, list) and isinstance(value, list):
            both[key] = [merged(mine[0], value[0])]
        else:
            both[key] = value
    return both


def wrapped(kind: GroupKind, template: Json) -> Json:
    """Return an object of a kind whose every place holds a template."""
    workload = WORKLOADS[kind]
    found: Json = {
        "apiVersion": f"{kind[0]}/{workload.versions[0]}" if kind[0] else "v1",
        "kind": kind[1],
        "metadata": {"name": "sample"},
    }
    for place in workload.places:
        found = merged(found, at(place.path, _LIES[place.holds](template)))
    if any(place.holds is PlaceContent.SPEC for place in workload.places):
        found["metadata"] |= {
            key: value for key, value in template.get("metadata", {}).items() if key != "name"
        }
    return found


def _workflow(template: Json) -> Json:
    """Return a workflow with a template of the first container; the others are its sidecars."""
    spec = template["spec"]
    own = "securityContext tolerations automountServiceAccountToken volumes initContainers"
    own += " hostAliases serviceAccountName priorityClassName"
    whole = ("hostNetwork", "dnsPolicy", "dnsConfig")
    return {
        **{field: spec[field] for field in whole if field in spec},
        "templates": [
            {
                "name": "main",
                "metadata": {"annotations": template.get("metadata", {}).get("annotations", {})},
                "container": spec["containers"][0],
                "sidecars": spec["containers"][1:],
                **{field: spec[field] for field in own.split() if field in spec},
            }
        ],
    }


_LIES: dict[PlaceContent, Callable[[Json], Json]] = {
    PlaceContent.TEMPLATE: lambda template: {
        key: value for key, value in template.items() if key not in {"apiVersion", "kind"}
    },
    PlaceContent.SPEC: lambda template: template["spec"],
    PlaceContent.OBJECT: lambda template: {"apiVersion": "v1", "kind": "Pod", **template},
    PlaceContent.WORKFLOW: _workflow,
    PlaceContent.SPARK: lambda template: {"driver": {"template": template}},
    PlaceContent.FLINK: lambda template: {"podTemplate": template},
    PlaceContent.PREDICTOR: lambda template: {
        **template["spec"],
        "annotations": template.get("metadata", {}).get("annotations", {}),
    },
}
