"""What a profile's defaults would fill in, shown before the Pods are there."""

import re
from collections.abc import Iterator, Mapping
from typing import Any, Final

import msgspec

from admission.profiles.defaults import default_patches
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
    profiles: ProfileSet, profile: str | None, request: Request, prefix: str
) -> list[Fill]:
    """Return what a profile would fill in of a request's object, which lies at `prefix`."""
    if profile is None or request.object is None:
        return []
    value = msgspec.json.decode(request.object)
    kind = request.kind
    filled = fills_of_request(profiles.by_name[profile].defaults, kind.group, kind.kind, value)
    return [Fill(f"{prefix}.{each.path}" if prefix else each.path, each.value) for each in filled]


def fills_of_request(
    defaults: Defaults | None,
    group: str,
    kind: str,
    value: Mapping[str, Any],
    excused: frozenset[str] = frozenset(),
) -> list[Fill]:
    """Return what defaults fill in of a Pod, or of the Pods of an object that has templates."""
    if defaults is None:
        return []
    return [
        _fill(patch, template)
        for template in _templates(group, kind, value)
        for patch in default_patches(msgspec.json.encode(template.pod), defaults, excused)
        if patch["op"] == "add"
    ]


def _templates(group: str, kind: str, value: Mapping[str, Any]) -> Iterator[PodTemplate]:
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
