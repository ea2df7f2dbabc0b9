"""Pod templates in objects: their paths, and templates found by their shape. Pure.

What the operator of a kind that nobody listed does with a template is unknown: it may fill in what
is absent. So a template found by its shape is `partial`: what *is* there counts.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Final

from core.base.errors import InvalidObjectError

Json = Mapping[str, Any]
"""An object of JSON."""

DEEPEST: Final = 64

MOST_PARTS: Final = 3000
MOST_SEARCHED: Final = 20_000
"""No more parts of an object are searched, and no more values looked at; what lies beyond is judged
Pod by Pod alone."""

LONGEST_PATH: Final = 1024
"""Characters of a template's place, which each finding in it repeats."""

_AT_ONCE: Final = 1000
"""Values that are looked at before others may go on: about half a millisecond."""

_END: Final = ("", None)
"""Of what lies in a part."""

_MOST_LOOKED_AT: Final = 200
"""Containers that tell a Pod spec from something else."""

MOST_AT_PATH: Final = 5000
"""Values on the way to what lies at one path: an Argo Workflow of 1 MB may have as many steps."""

_ENDS: Final = frozenset({"", ".", "["})
"""What may follow a path within a longer one."""

_ITEM: Final = re.compile(r"\[([0-9]+)\]")
_STEP: Final = re.compile(r"([^.\[\]]+)|\[([^\]]*)\]")

_LEFT_OUT: Final = frozenset({"metadata", "status"})
"""Fields of an object that say nothing of what it would make."""

_NAMES: Final = ("template", "templates")
"""Ends of names of fields in which a template needs no image: its operator may have one."""


@dataclass(frozen=True)
class PodTemplate:
    """A Pod that an object would make, as far as the object says what is in it."""

    path: str
    """Where it lies, from the object's root: `spec.template`."""
    pod: Json
    """`metadata` and `spec`."""
    places: tuple[tuple[str, str], ...] = ()
    """Paths of the Pod that lie elsewhere than under `path`, and where; the longest counts."""
    partial: bool = False
    """Whether something else fills in what is absent: then only what is there is certain."""

    def place(self, path: str) -> str:
        """Return a path of the Pod as a path from the object's root."""
        for end in range(len(path) if self.places else -1, -1, -1):
            if path[end : end + 1] in _ENDS and (outer := self._outer.get(path[:end])) is not None:
                return outer + path[end:]
        return f"{self.path}.{path}" if self.path and path else self.path or path

    @cached_property
    def _outer(self) -> dict[str, str]:
        """By a path of the Pod: where it lies; of several, the first."""
        return dict(reversed(self.places))

    def says(self, path: str) -> bool:
        """Return whether there is something at a path of the Pod."""
        value: Any = self.pod
        for name, key in _STEP.findall(path):
            if isinstance(value, list):
                value = value[int(key)] if key.isdecimal() and int(key) < len(value) else None
            else:
                value = value.get(name or key) if isinstance(value, Mapping) else None
        return value is not None


def _is_within(path: str, inner: str) -> bool:
    return path.startswith(inner) and path[len(inner) :][:1] in _ENDS


def template_at(path: str, value: Json, *, partial: bool = False) -> PodTemplate:
    """Return what lies at a path, a Pod template or a Pod, as a PodTemplate."""
    return PodTemplate(path, build_pod(value.get("metadata"), value.get("spec")), partial=partial)


def build_pod(metadata: object, spec: object) -> dict[str, Any]:
    """Return a Pod of what may be null, which is absent for kube-apiserver too."""
    return {"metadata": {} if metadata is None else metadata, "spec": {} if spec is None else spec}


def values_at(value: Any, path: str) -> list[Any]:
    """Return what lies at a path of `core.kubernetes.workload_kinds`; None where nothing is."""
    found = [value]
    for step in path.split("."):
        name, lists = step.partition("[")[0], step.count("[*]")
        found = [each.get(name) if isinstance(each, Mapping) else None for each in found]
        for _ in range(lists):
            found = [inner for each in found for inner in (each if isinstance(each, list) else ())]
    return found


def json_pointer(value: Any, path: str) -> str | None:
    """Return the JSON pointer (RFC 6901) to what lies at a path such as `spec.jobs[0].template`.

    None where nothing does. A key may have a dot in it: the longest that leads there is taken.
    """
    if not path:
        return ""
    if isinstance(value, list):
        index = _ITEM.match(path)
        if index is None or int(index[1]) >= len(value):
            return None
        return _under(index[1], value[int(index[1])], path[index.end() :])
    if not isinstance(value, Mapping):
        return None
    for key in sorted((key for key in value if _is_within(path, key)), key=len, reverse=True):
        if (found := _under(_escaped(key), value[key], path[len(key) :])) is not None:
            return found
    return None


def _under(token: str, value: Any, rest: str) -> str | None:
    found = json_pointer(value, rest.removeprefix("."))
    return None if found is None else f"/{token}{found}"


def _escaped(key: str) -> str:
    return key.replace("~", "~0").replace("/", "~1")


def find_objects_at(kind: str, value: Json, path: str) -> Iterator[tuple[str, Json]]:
    """Yield paths and values of the objects at a path of `core.kubernetes.workload_kinds`.

    Raises:
        InvalidObjectError: something else lies there, or too much; names the field.
    """
    return (each for each in search_objects_at(kind, value, path) if each is not None)


def search_objects_at(kind: str, value: Json, path: str) -> Iterator[tuple[str, Json] | None]:
    """Yield what `find_objects_at` does, and None now and then: others may go on.

    Raises:
        InvalidObjectError: as there.
    """
    passed = _pass_objects(kind, "", value, path.split(".") if path else [])
    for count, (at, found) in enumerate(passed):
        if count > MOST_AT_PATH:
            problem = f"holds more than {MOST_AT_PATH:,} values, which are not judged"
            raise InvalidObjectError(kind, path, f"{problem}: split it into several objects")
        if found is not None:
            yield at, found
        elif count % _AT_ONCE == _AT_ONCE - 1:
            yield None


def _pass_objects(
    kind: str, at: str, value: Any, steps: list[str]
) -> Iterator[tuple[str, Json | None]]:
    """Yield what lies at a path, and a None for all else on the way there."""
    if value is not None and not isinstance(value, Mapping):
        raise InvalidObjectError(kind, at, "must be an object")
    if not steps or value is None:
        yield at, value
        return
    yield at, None
    name, lists = steps[0].partition("[")[0], steps[0].count("[*]")
    under = f"{at}." if at else ""
    for key in value if name == "*" else (name,):
        if len(key) > LONGEST_PATH:
            problem = f"has a name of more than {LONGEST_PATH:,} characters"
            raise InvalidObjectError(kind, f"{under}{key}", problem)
        for place, each in _items(kind, f"{under}{key}", value.get(key), lists):
            yield from _pass_objects(kind, place, each, steps[1:])


def _items(kind: str, at: str, value: Any, lists: int) -> Iterator[tuple[str, Any]]:
    """Yield what lies in lists that lie in one another so many times."""
    if not lists or value is None:
        yield at, value
        return
    if not isinstance(value, list):
        raise InvalidObjectError(kind, at, "must be a list")
    for index, each in enumerate(value):
        yield from _items(kind, f"{at}[{index}]", each, lists - 1)


def find_templates_by_shape(value: Json) -> list[PodTemplate]:
    """Return what has the shape of a Pod template or a bare Pod spec, in an object that is no Pod.

    A Pod spec has containers that have names, one of them an image too; a template has such a
    `spec`, without images where its field is called `…template`.
    """
    return [found for found in search_templates_by_shape(value) if found is not None]


def search_templates_by_shape(value: Json) -> Iterator[PodTemplate | None]:
    """Yield what `find_templates_by_shape` returns, and None now and then: others may go on."""
    top = {name: below for name, below in value.items() if name not in _LEFT_OUT}
    levels = [_below("", top)]
    values = parts = 0
    while levels and values < MOST_SEARCHED and parts < MOST_PARTS:
        below = next(levels[-1], _END)
        if below is _END:
            levels.pop()
            continue
        values += 1
        if values % _AT_ONCE == 0:
            yield None
        if below is None:
            continue
        path, part = below
        parts += 1
        if len(path) > LONGEST_PATH:
            continue
        template = _shaped(path, part) if isinstance(part, dict) else None
        if template is not None:
            yield template  # What is in it is no part.
        elif len(levels) < DEEPEST:
            levels.append(_below(f"{path}.", part))


def _below(path: str, part: Any) -> Iterator[tuple[str, Any] | None]:
    """Yield the objects and lists in a part, in its order, and None for what holds nothing.

    A path of a field ends in a dot.
    """
    if isinstance(part, dict):
        for name, each in part.items():
            yield (f"{path}{name}", each) if isinstance(each, dict | list) else None
    else:
        within = path.removesuffix(".")
        for index, each in enumerate(part):
            yield (f"{within}[{index}]", each) if isinstance(each, dict | list) else None


def _shaped(path: str, part: Json) -> PodTemplate | None:
    if "spec" not in part and "containers" not in part:
        return None  # As nearly all parts; there may be thousands.
    field = path.rpartition(".")[2].partition("[")[0].lower()
    if _is_pod_spec(part.get("spec"), images=not field.endswith(_NAMES)):
        return template_at(path, part, partial=True)
    if _is_pod_spec(part, images=True):
        return PodTemplate(path, build_pod(None, part), (("spec", path),), partial=True)
    return None


def _is_pod_spec(value: Any, *, images: bool) -> bool:
    containers = value.get("containers") if isinstance(value, Mapping) else None
    return (
        isinstance(containers, list)
        and bool(containers)
        and all(
            isinstance(each, Mapping) and "name" in each for each in containers[:_MOST_LOOKED_AT]
        )
        and (not images or _names_an_image(containers[:_MOST_LOOKED_AT]))
    )


def _names_an_image(containers: list[Json]) -> bool:
    return any(isinstance(each.get("image"), str) for each in containers)


def holds_containers(value: Any) -> bool:
    """Return whether a list `containers` lies somewhere in a value, in a template or not."""
    if isinstance(value, Mapping):
        return bool(value.get("containers") and isinstance(value["containers"], list)) or any(
            holds_containers(below) for below in value.values()
        )
    return isinstance(value, list) and any(holds_containers(below) for below in value)
