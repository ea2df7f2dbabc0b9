"""The Pods that an object would make. Pure.

The table of kinds says where their templates lie, else their shape does. Pods of kinds that write
no template are composed (`core.kubernetes.operator_pods`).
"""

from collections.abc import Iterator
from dataclasses import replace
from typing import Final

from core.base.errors import InvalidObjectError
from core.kubernetes.operator_pods import COMPOSERS
from core.kubernetes.pod_templates import (
    Json,
    PodTemplate,
    build_pod,
    search_objects_at,
    search_templates_by_shape,
    template_at,
)
from core.kubernetes.workload_kinds import WORKLOADS, PlaceContent, TemplatePlace

MOST_TEMPLATES: Final = 1000
"""No real object holds more: a workflow of Argo may hold hundreds."""

MOST_PLACES: Final = 20_000
"""Fields of all templates that lie elsewhere than in them: what a workflow says once, each of its
templates has. 500 with 20 annotations and 10 volumes have 15,000."""

_DEEPEST: Final = 3
"""So many objects may lie in one another; what lies deeper is judged when it is made."""


def templates_of(group: str, kind: str, value: Json) -> list[PodTemplate]:
    """Return what an object of a kind would make, each by its place, in the order of the table.

    Raises:
        InvalidObjectError: there is something else than the kind has at a place, or there is more
            than any real object has; names the field.
    """
    return [found for found in search_templates(group, kind, value) if found is not None]


def search_templates(group: str, kind: str, value: Json) -> Iterator[PodTemplate | None]:
    """Yield what `templates_of` returns, and None now and then: others may go on.

    Raises:
        InvalidObjectError: as `templates_of` does.
    """
    count = places = 0
    for template in _templates(group, kind, value, 0):
        if template is not None:
            count += 1
            places += len(template.places)
            _bound(count, places, kind, template)
        yield template


def _bound(count: int, places: int, kind: str, last: PodTemplate) -> None:
    if count > MOST_TEMPLATES:
        problem = f"holds more than {MOST_TEMPLATES} Pod templates"
        raise InvalidObjectError(kind, last.path, problem)
    if places > MOST_PLACES:
        problem = f"brings what templates share to {places} fields; more than {MOST_PLACES}"
        raise InvalidObjectError(kind, last.path, f"{problem} are not judged")


def _templates(group: str, kind: str, value: Json, depth: int) -> Iterator[PodTemplate | None]:
    workload = WORKLOADS.get((group, kind))
    if workload is None:
        yield from search_templates_by_shape(value)
        return
    for place in workload.places:
        for each in search_objects_at(kind, value, place.path):
            if each is None:
                yield None
            else:
                yield from _at_place(place, kind, *each, value, depth)


def _at_place(  # noqa: PLR0913, PLR0917  What lies where, in what, and how deep.
    place: TemplatePlace, kind: str, path: str, found: Json, whole: Json, depth: int
) -> Iterator[PodTemplate | None]:
    if place.holds is PlaceContent.TEMPLATE:
        yield template_at(path, found)
    elif place.holds is PlaceContent.SPEC:
        pod = build_pod(whole.get("metadata"), found)
        yield PodTemplate(path, pod, (("spec", path), ("metadata", "metadata")))
    elif place.holds is PlaceContent.OBJECT:
        yield from _embedded(path, found, depth + 1)
    else:
        yield from COMPOSERS[place.holds](kind, path, found)


def _embedded(path: str, value: Json, depth: int) -> Iterator[PodTemplate | None]:
    """Yield what an object that lies at a path would make, and None: there may be thousands."""
    yield None
    group = str(value.get("apiVersion") or "").rpartition("/")[0]
    kind = str(value.get("kind") or "")
    if (group, kind) == ("", "Pod"):
        yield template_at(path, value)
    elif depth < _DEEPEST:
        for each in _templates(group, kind, value, depth):
            if each is None:
                yield None
                continue
            places = tuple((inner, f"{path}.{outer}") for inner, outer in each.places)
            yield replace(each, path=f"{path}.{each.path}", places=places)
