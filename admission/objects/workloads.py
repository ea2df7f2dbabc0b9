"""Reads a workload: the Pods that it would make, each judged as such a Pod is, and for whom.

An update counts where it changes a template. Commands and labels are no part of a projection, but
who changes them in a template has Pods made that its former author did not ask for; so templates
are compared whole, not as projections (docs/adr/0021). Kinds that nobody listed are known by the
shape of their Pod templates, once `control` has found their definitions. What is said of them is
early advice, since their Pods are judged in any case: in doubt such an object is left alone
(docs/adr/0027).
"""

import asyncio
import time
from collections.abc import Mapping
from typing import Any, Final, NamedTuple

import msgspec

from admission.model.judged_object import LeftAlone, Part, Reading
from admission.objects.size_limits import MAX_TEMPLATE_CONTAINERS, give_way, is_too_large
from core.base.errors import InvalidObjectError
from core.base.json_errors import decode_error, decode_json_as
from core.decision.request import Operation, Request
from core.decision.requester_notes import profile_annotation
from core.kubernetes.object_meta import ObjectMeta
from core.kubernetes.pod import Pod, decode_pod
from core.kubernetes.pod_templates import PodTemplate, values_at
from core.kubernetes.workload_kinds import WorkloadKind
from core.kubernetes.workload_pods import search_templates
from core.people.subject import Subject
from identity.requester_note_rules import PROFILE_PATH
from identity.subjects import Controllers, pod_service_account, subjects_of
from policies.projection.model import Projection
from policies.projection.pods import check_containers, project
from policies.projection.volumes import KnownVolumes
from policies.site.fields import NO_DECLARED_FIELDS, POD, DeclaredFields

_READ_S: Final = 0.002
"""So long templates are read before other reviews have their turn; an ordinary one takes 50 µs."""

_LARGE_TEMPLATE: Final = 64 * 1024
"""Bytes of a template's JSON that is made and read in two steps."""

TEMPLATES_UNCHANGED: Final = "the update changes no Pod template"

RESTARTED_ANNOTATION: Final = "kubectl.kubernetes.io/restartedAt"
"""What `kubectl rollout restart` sets in a template: it makes the same Pods anew."""

OWNED_BY_ANOTHER: Final = "it is made for another object: its Pods are judged"
NO_TEMPLATE: Final = "nothing in it has the shape of a Pod template"
TOO_LARGE: Final = "it holds too much to be searched for Pod templates"
MISSHAPEN: Final = "what looks like a Pod template in it is none"


async def read_workload(
    workload: WorkloadKind,
    request: Request,
    known: KnownVolumes,
    controllers: Controllers,
    reads: DeclaredFields = NO_DECLARED_FIELDS,
) -> Reading | LeftAlone:
    """Return what is judged of a workload's object, or say why it is left alone.

    Other reviews go on between the parts of a large one.

    Raises:
        InvalidObjectError: the object does not have its kind's shape; names the field.
    """
    if request.subresource:
        return LeftAlone(f"{request.subresource} of a workload is not judged")
    if request.object is None:
        raise InvalidObjectError(workload.kind, "object", "the review holds none")
    value = decode_json_as(dict[str, Any], request.object, workload.kind)
    await give_way(request)
    before = await _before(workload, request)
    if before is not None and _body(before.value) == _body(value):
        return LeftAlone(TEMPLATES_UNCHANGED)
    await give_way(request)
    templates = await _templates_of(workload, value)
    await give_way(request)
    if before is not None and _makes_the_same(workload, before, value, templates):
        return LeftAlone(TEMPLATES_UNCHANGED)
    if workload.built_in and not templates:
        raise InvalidObjectError(workload.kind, workload.places[0].path, "must be a Pod template")
    pods, parts = await _project_templates(workload, templates, known, reads)
    metadata = _metadata_of(workload.kind, value)
    return Reading(
        tuple(parts),
        _subjects(workload, request, metadata, pods, controllers),
        request.namespace,
        metadata=metadata,
        named=_named(metadata, pods, templates),
        uid=metadata.uid or "",
        always=bool(templates),
        is_complete=not workload.more and not any(each.partial for each in templates),
        pods=tuple(pods),
    )


async def _project_templates(
    workload: WorkloadKind,
    templates: list[PodTemplate],
    known: KnownVolumes,
    reads: DeclaredFields,
) -> tuple[list[Pod], list[Part]]:
    """Return the Pod of each template and what is judged of it; others have turns between.

    Raises:
        InvalidObjectError: a template is no Pod's, or all have too many containers together.
    """
    pods: list[Pod] = []
    parts: list[Part] = []
    containers, began = 0, time.perf_counter()
    for template in templates:
        pod = await _pod_of(workload, template)
        projection = _project(workload.kind, pod, template, known)
        containers += len(projection.containers)
        _bound_containers(containers, workload.kind, template)
        pods.append(pod)
        parts.append(Part(projection, template, reads.fields(POD, template.pod)))
        if time.perf_counter() - began > _READ_S:
            await asyncio.sleep(0)
            began = time.perf_counter()
    return pods, parts


def _bound_containers(count: int, kind: str, template: PodTemplate) -> None:
    """Raise InvalidObjectError where this template brings an object to too many containers."""
    if count > MAX_TEMPLATE_CONTAINERS:
        problem = f"brings the object's containers to {count}; more than {MAX_TEMPLATE_CONTAINERS}"
        raise InvalidObjectError(kind, template.path, f"{problem} are not judged")


def _metadata_of(kind: str, value: Mapping[str, Any]) -> ObjectMeta:
    try:
        return msgspec.convert(value.get("metadata") or {}, ObjectMeta)
    except msgspec.ValidationError as error:
        raise decode_error(kind, error, under="metadata") from error


async def _templates_of(workload: WorkloadKind, value: Mapping[str, Any]) -> list[PodTemplate]:
    """Return the templates of an object, each by its place; others have turns meanwhile.

    Raises:
        InvalidObjectError: there is more in it than any real object has.
    """
    found: list[PodTemplate] = []
    began = time.perf_counter()
    for template in search_templates(workload.group, workload.kind, value):
        if template is not None:
            found.append(template)
        if time.perf_counter() - began > _READ_S:
            await asyncio.sleep(0)
            began = time.perf_counter()
    return found


class _Before(NamedTuple):
    """What an update changes."""

    value: Mapping[str, Any]
    templates: list[PodTemplate]
    """Empty where it is broken: what was there before has no shape to be demanded."""


async def _before(workload: WorkloadKind, request: Request) -> _Before | None:
    if request.operation is not Operation.UPDATE or request.old_object is None:
        return None
    value = decode_json_as(dict[str, Any], request.old_object, workload.kind)
    await give_way(request)
    try:
        return _Before(value, await _templates_of(workload, value))
    except InvalidObjectError:
        return _Before(value, [])


def _makes_the_same(
    workload: WorkloadKind, before: _Before, value: Mapping[str, Any], now: list[PodTemplate]
) -> bool:
    """Return whether an update leaves the Pods as they were."""
    return (
        bool(now)
        and len(before.templates) == len(now)
        and all(
            _lasting(one) == _lasting(other)
            for one, other in zip(before.templates, now, strict=True)
        )
        and all(values_at(before.value, path) == values_at(value, path) for path in workload.says)
    )


def _body(value: Mapping[str, Any]) -> dict[str, Any]:
    """Return what an object says, but for whether it is to wait."""
    body = {key: each for key, each in value.items() if key not in {"metadata", "status"}}
    if isinstance(body.get("spec"), Mapping):
        body["spec"] = {key: each for key, each in body["spec"].items() if key != "suspend"}
    return body


def _lasting(template: PodTemplate) -> Any:
    """Return all of a template but what only says when it was restarted."""
    metadata = template.pod["metadata"]
    annotations = metadata.get("annotations") if isinstance(metadata, Mapping) else None
    if not isinstance(annotations, Mapping) or RESTARTED_ANNOTATION not in annotations:
        return template.path, template.pod
    kept = {key: value for key, value in annotations.items() if key != RESTARTED_ANNOTATION}
    rest = {key: value for key, value in metadata.items() if key != "annotations"}
    metadata = {**rest, "annotations": kept} if kept else rest
    return template.path, {**template.pod, "metadata": metadata}


async def _pod_of(workload: WorkloadKind, template: PodTemplate) -> Pod:
    try:
        check_containers(template.pod["spec"])
        raw = msgspec.json.encode(template.pod)
        if len(raw) > _LARGE_TEMPLATE:
            await asyncio.sleep(0)
        pod = decode_pod(raw, workload.kind)
    except InvalidObjectError as error:
        raise _placed(error, workload.kind, template) from error
    if workload.built_in and not pod.spec.containers:
        field = template.place("spec.containers")
        raise InvalidObjectError(workload.kind, field, "must hold at least one container")
    return pod


def _project(kind: str, pod: Pod, template: PodTemplate, known: KnownVolumes) -> Projection:
    try:
        return project(pod, known)
    except InvalidObjectError as error:
        raise _placed(error, kind, template) from error


def _placed(error: InvalidObjectError, kind: str, template: PodTemplate) -> InvalidObjectError:
    return InvalidObjectError(kind, template.place(error.field), error.problem)


def _subjects(
    workload: WorkloadKind,
    request: Request,
    metadata: ObjectMeta,
    pods: list[Pod],
    controllers: Controllers,
) -> tuple[Subject, ...]:
    """Return whose rights count: each service account once, in the order of the templates."""
    accounts = {
        account.username: account
        for account in (pod_service_account(pod, request.namespace) for pod in pods)
    }
    if request.by_accounts:
        return tuple(accounts.values())
    own = workload.group_kind if request.operation is Operation.UPDATE else None
    owners = metadata.owner_references or ()
    every = tuple(accounts.values())
    return subjects_of(request.subject, owners, every, controllers, own)


def _named(
    metadata: ObjectMeta, pods: list[Pod], templates: list[PodTemplate]
) -> tuple[str, str] | None:
    """Return the profile that the object names, else the first that a template does.

    On what has an owner the annotation is ignored: Deployments copy theirs to their ReplicaSets.
    """
    if not metadata.owner_references and (name := profile_annotation(metadata)):
        return name, PROFILE_PATH
    for pod, template in zip(pods, templates, strict=True):
        if name := profile_annotation(pod.metadata):
            return name, template.place(PROFILE_PATH)
    return None


async def read_unlisted(
    request: Request,
    known: KnownVolumes,
    controllers: Controllers,
    reads: DeclaredFields = NO_DECLARED_FIELDS,
) -> Reading | LeftAlone:
    """Return what is judged of an object of a kind that nobody listed, or why it is left alone."""
    if is_too_large(request):
        return LeftAlone(TOO_LARGE)
    try:
        reading = await read_workload(_as_workload(request), request, known, controllers, reads)
    except InvalidObjectError as error:
        return LeftAlone(f"{MISSHAPEN}: {error}")
    if isinstance(reading, LeftAlone):
        return reading
    if not reading.parts:
        return LeftAlone(NO_TEMPLATE)
    # Copies that operators keep for themselves, such as Kueue's, are owned by what they copy.
    return reading if reading.root else LeftAlone(OWNED_BY_ANOTHER)


def _as_workload(request: Request) -> WorkloadKind:
    return WorkloadKind(
        group=request.kind.group,
        kind=request.kind.kind,
        resource="",
        versions=(request.kind.version,),
        places=(),
        source="",
        more="what its operator makes of its templates",
    )
