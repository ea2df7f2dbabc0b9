"""Pod templates and Pod specs that are known by their shape, in kinds that nobody listed. Pure.

Whatever such a kind's operator does with them is unknown: it may fill in what is absent, as those
that merge templates into their own do. So what is found is `partial`: what *is* there counts.
"""

from collections.abc import Iterator, Mapping
from typing import Any, Final

from core.kubernetes.pod_templates import Json, Template, of_template, pod_of

DEEPEST: Final = 64
MOST_PARTS: Final = 100_000
"""No more parts of an object are searched; what lies beyond is judged Pod by Pod alone."""

_LEFT_OUT: Final = frozenset({"metadata", "status"})
"""Fields of an object that say nothing of what it would make."""

_NAMES: Final = ("template", "templates")
"""Ends of names of fields in which a template needs no image: its operator may have one."""


def find_shaped(value: Json) -> list[Template]:
    """Give what has the shape of a Pod template or a bare Pod spec, in an object that is no Pod.

    A Pod spec has containers that have names, one of them an image too; a template has such a
    `spec`, without images where its field is called `…template`.
    """
    found = []
    top = {name: below for name, below in value.items() if name not in _LEFT_OUT}
    waiting = [(path[1:], below, 1) for path, below in _below("", top)]
    waiting.reverse()
    for _ in range(MOST_PARTS):
        if not waiting:
            break
        path, part, depth = waiting.pop()
        template = _shaped(path, part) if isinstance(part, Mapping) else None
        if template is not None:
            found.append(template)
        elif depth < DEEPEST:
            below = [(inner, each, depth + 1) for inner, each in _below(path, part)]
            waiting.extend(reversed(below))
    return found


def _below(path: str, part: Any) -> Iterator[tuple[str, Any]]:
    """Yield what can hold something else, in its order."""
    if isinstance(part, Mapping):
        pairs = ((f"{path}.{name}", each) for name, each in part.items())
    else:
        pairs = ((f"{path}[{index}]", each) for index, each in enumerate(part))
    return (pair for pair in pairs if isinstance(pair[1], Mapping | list))


def _shaped(path: str, part: Json) -> Template | None:
    field = path.rpartition(".")[2].partition("[")[0].lower()
    if _is_pod_spec(part.get("spec"), images=not field.endswith(_NAMES)):
        return of_template(path, part, partial=True)
    if _is_pod_spec(part, images=True):
        return Template(path, pod_of(None, part), (("spec", path),), partial=True)
    return None


def _is_pod_spec(value: Any, *, images: bool) -> bool:
    containers = value.get("containers") if isinstance(value, Mapping) else None
    return (
        isinstance(containers, list)
        and bool(containers)
        and all(isinstance(each, Mapping) and "name" in each for each in containers)
        and (not images or any(isinstance(each.get("image"), str) for each in containers))
    )


def holds_containers(value: Any) -> bool:
    """Say whether a list `containers` lies somewhere in a value, in a template or not."""
    if isinstance(value, Mapping):
        return bool(value.get("containers") and isinstance(value["containers"], list)) or any(
            holds_containers(below) for below in value.values()
        )
    return isinstance(value, list) and any(holds_containers(below) for below in value)
