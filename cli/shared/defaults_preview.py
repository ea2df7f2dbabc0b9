"""What a profile's defaults would fill in, shown before the Pods are there."""

import re
from collections.abc import Iterator, Mapping
from typing import Any, Final

import msgspec

from admission.profiles.defaults import default_patches, id_ranges_of
from cli.shared.results import Fill
from core.base.errors import InvalidObjectError
from core.decision.decision import Patch
from core.decision.request import Request
from core.kubernetes.pod_templates import PodTemplate, template_at
from core.kubernetes.workload_pods import templates_of
from core.profiles.container_profiles import ProfileSet
from core.profiles.defaults import Defaults

_INDEX: Final = re.compile(r"/(\d+)(?=/|$)")


def fills_asked(
    profiles: ProfileSet,
    profile: str | None,
    request: Request,
    prefix: str,
    projection: bytes = b"",
) -> list[Fill]:
    """Return what a profile would fill in of a request's object, which lies at `prefix`.

    `projection` is what it was judged by, with the IDs of its namespace.
    """
    if profile is None or request.object is None:
        return []
    value = msgspec.json.decode(request.object)
    kind = request.kind.group, request.kind.kind
    filled = fills_of_request(
        profiles.by_name[profile].defaults, kind, value, projection=projection
    )
    return [Fill(f"{prefix}.{each.path}" if prefix else each.path, each.value) for each in filled]


def fills_of_request(
    defaults: Defaults | None,
    kind: tuple[str, str],
    value: Mapping[str, Any],
    excused: frozenset[str] = frozenset(),
    projection: bytes = b"",
) -> list[Fill]:
    """Return what defaults fill in of a Pod, or of the Pods of an object that has templates.

    `kind` has the group first; `projection` is what it was judged by, with the IDs of its
    namespace.
    """
    if defaults is None:
        return []
    templates = list(pod_templates_in(*kind, value))
    ranges = id_ranges_of(projection)
    if len(ranges) != len(templates):
        ranges = [None] * len(templates)
    return [
        _fill(patch, template)
        for template, ids in zip(templates, ranges, strict=True)
        for patch in default_patches(msgspec.json.encode(template.pod), defaults, excused, ids)
        if patch["op"] == "add"
    ]


def pod_templates_in(group: str, kind: str, value: Mapping[str, Any]) -> Iterator[PodTemplate]:
    """Yield a Pod itself, or the whole templates of a workload; nothing of what is broken."""
    if (group, kind) == ("", "Pod"):
        yield template_at("", value)
        return
    try:
        found = templates_of(group, kind, value)
    except InvalidObjectError:
        return  # It was not admitted either.
    yield from (template for template in found if not template.partial)


def _fill(patch: Patch, template: PodTemplate) -> Fill:
    pointer = str(patch["path"])
    path = _INDEX.sub(r"[\1]", pointer).replace("/-", "[]").strip("/").replace("/", ".")
    return Fill(template.place(path), patch["value"])
