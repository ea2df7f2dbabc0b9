"""Fills what a new Pod leaves out from the defaults of the profile that it is admitted under. Pure.

Which fields, when, and why these: docs/adr/0026.
"""

from collections.abc import Iterable, Iterator, Mapping
from itertools import chain
from typing import Any, Final

import msgspec

from admission.model.facts import Facts
from core.base import names
from core.base.json_errors import decode_json
from core.decision.decision import Patch
from core.decision.id_ranges import IdRanges
from core.decision.namespaces import Mode
from core.decision.request import Operation, Phase, Request
from core.kubernetes import pod as k8s
from core.kubernetes.pod import is_nothing
from core.kubernetes.pod_templates import PodTemplate, template_at
from core.kubernetes.workload_pods import templates_of
from core.profiles.defaults import Defaults, DefaultVariable, NamespaceId

_SECCOMP: Final = "seccomp/unset"
_CAPABILITIES: Final = "capabilities/default"
_ESCALATION: Final = "container/privilege-escalation"
_MOUNTED: Final = "token/automount"
_USER: Final = "shared-volume/user/any"
_GROUP: Final = "shared-volume/group/any"
"""Privileges that a Pod needs because it leaves a field out."""

_ANY_OF: Final[Mapping[NamespaceId, str]] = {
    "runAsUser": _USER,
    "runAsGroup": _GROUP,
    "fsGroup": _GROUP,
    "supplementalGroups": _GROUP,
    "supplementalGroupsPolicy": _GROUP,
}
"""Fields that are filled in from the namespace's IDs, and what a Pod needs without them."""

_MOUNTED_VOLUME: Final = "kube-api-access-"
_MOUNTED_PATH: Final = "/var/run/secrets/kubernetes.io/serviceaccount"
"""Of the volume that kube-apiserver adds before any webhook is asked (kubernetes
plugin/pkg/admission/serviceaccount/admission.go)."""

_ESCALATES: Final = frozenset({"ALL", "SYS_ADMIN"})
"""Who adds one of these may not be without escalation (pkg/apis/core/validation, 1.36: what has
CAP_SYS_ADMIN or is privileged is refused)."""


class _Projection(msgspec.Struct, frozen=True):
    """What the Pod was judged by: the IDs of its namespace, where it shares a file system."""

    ids: IdRanges | None = None
    ids_filled: bool = msgspec.field(default=False, name="idsFilled")


class _Resources(msgspec.Struct, frozen=True):
    limits: dict[str, str | int | float | None] | None = None
    requests: dict[str, str | int | float | None] | None = None


class _Container(msgspec.Struct, frozen=True, rename="camel"):
    security_context: k8s.SecurityContext | None = None
    env: list[k8s.EnvVar] | None = None
    resources: _Resources | None = None
    volume_mounts: list[k8s.VolumeMount] | None = None


class _Volume(msgspec.Struct, frozen=True):
    name: str = ""


class _Spec(msgspec.Struct, frozen=True, rename="camel"):
    containers: list[_Container] | None = None
    init_containers: list[_Container] | None = None
    volumes: list[_Volume] | None = None
    security_context: k8s.PodSecurityContext | None = None
    os: k8s.PodOS | None = None
    automount_service_account_token: bool | None = None

    @property
    def containers_with_paths(self) -> Iterator[tuple[str, _Container]]:
        """All containers, each with the JSON pointer (RFC 6901) to it."""
        for field, containers in (
            ("containers", self.containers),
            ("initContainers", self.init_containers),
        ):
            for index, container in enumerate(containers or ()):
                yield f"/spec/{field}/{index}", container


class _Pod(msgspec.Struct, frozen=True):
    spec: _Spec


_POD: Final = msgspec.json.Decoder(_Pod)


def fill_defaults(request: Request, facts: Facts, profile: str | None) -> list[Patch]:
    """Return what the mutating pass fills in; `profile` is the one that a Pod is admitted under.

    What is not admitted, or only since its namespace does not enforce, stays as its author wrote
    it. So does a field whose absence an exception excuses: two people approved of it.

    Raises:
        InvalidObjectError: the Pod does not have its kind's shape.
    """
    pod = facts.pod
    if profile is None or pod is None or not _is_new_pod(request):
        return []
    defaults = facts.profiles.by_name[profile].defaults
    if defaults is None or facts.mode is not Mode.ENFORCE or request.object is None:
        return []
    excused = frozenset(need.privilege for need in pod.excepted_needs)
    ranges = None
    if defaults.namespace_ids and b'"ids":' in pod.projection:
        ranges = msgspec.json.decode(pod.projection, type=_Projection).ids
    return default_patches(request.object, defaults, excused, ranges)


def id_ranges_of(projection: bytes) -> list[IdRanges | None]:
    """Return the IDs that are filled in, by Pod of the object that was judged by this."""
    if b'"ids":' not in projection:
        return []
    several = msgspec.json.decode(projection, type=_Projection | list[_Projection])
    return [each.ids for each in (several if isinstance(several, list) else [several])]


def fill_ids(request: Request, facts: Facts, profile: str | None) -> Request | None:
    """Return the request to create a file's Pod, or workload, as its Pods come to be judged.

    None where nothing hangs on it. What a Pod or a template leaves out was taken for filled in; a
    gate fills in Pods before it judges them, from a namespace's IDs, and only what the profile
    says, which it notes. Without a profile the object is refused, and nothing is filled in.

    Raises:
        InvalidObjectError: the object does not have its kind's shape.
    """
    pod = facts.pod
    if request.phase is not None or request.is_filled or pod is None or request.object is None:
        return None
    if facts.mode is not Mode.ENFORCE or b'"idsFilled":' not in pod.projection:
        return None
    defaults = facts.profiles.by_name[profile].defaults if profile is not None else None
    of_ids = Defaults(namespace_ids=defaults.namespace_ids) if defaults else Defaults()
    excused = frozenset(need.privilege for need in pod.excepted_needs)
    made = msgspec.json.decode(request.object)
    ranges = id_ranges_of(pod.projection)
    if not _fill_templates(made, request, _without(of_ids, excused), ranges):
        return None
    if profile is not None and pod.named is None:
        metadata = made.get("metadata") or {}
        marks = {**(metadata.get("annotations") or {}), names.PROFILE_ANNOTATION: profile}
        made["metadata"] = {**metadata, "annotations": marks}
    return msgspec.structs.replace(
        request, submitted=msgspec.Raw(msgspec.json.encode(made)), is_filled=True
    )


def _fill_templates(
    made: dict[str, Any], request: Request, defaults: Defaults, ranges: list[IdRanges | None]
) -> bool:
    """Fill IDs into a Pod, or into the templates of a workload; False where that says nothing.

    Of a template that is `partial`, or that is composed of other fields, nobody knows what its
    operator fills in.
    """
    templates = _templates(made, request)
    if len(templates) != len(ranges) or any(each.partial for each in templates):
        return False
    for template, ids in zip(templates, ranges, strict=True):
        for patch in default_patches(msgspec.json.encode(template.pod), defaults, ranges=ids):
            *parents, last = str(patch["path"]).strip("/").split("/")
            at: Any = template.pod
            for name in parents:
                at = at[name]
            at[last] = patch["value"]
    return [each.pod for each in _templates(made, request)] == [each.pod for each in templates]


def _templates(made: dict[str, Any], request: Request) -> list[PodTemplate]:
    kind = request.kind.group, request.kind.kind
    return [template_at("", made)] if kind == ("", "Pod") else templates_of(*kind, made)


def default_patches(
    pod: bytes | msgspec.Raw,
    defaults: Defaults,
    excused: frozenset[str] = frozenset(),
    ranges: IdRanges | None = None,
) -> list[Patch]:
    """Return what these defaults fill in, of a Pod that is admitted; `excused` are privileges.

    `ranges` are the IDs of its namespace, where it mounts a file system that others mount too.

    Raises:
        InvalidObjectError: the Pod does not have its kind's shape.
    """
    spec = decode_json(_POD, pod, "Pod").spec
    return list(_filled(spec, _without(defaults, excused), ranges))


def defaults_note(facts: Facts, profile: str | None, filled: list[Patch]) -> dict[str, str]:
    """Return the annotation that names the profile whose defaults were filled in, if none does yet.

    Without it the validating pass, and a second mutating one, might choose another profile for
    the Pod as it is now.
    """
    if not filled or profile is None or facts.pod is None or facts.pod.named is not None:
        return {}
    return {names.PROFILE_ANNOTATION: profile}


def _is_new_pod(request: Request) -> bool:
    kind = request.kind.group, request.kind.kind, request.subresource
    mutating = request.phase is Phase.MUTATING and request.operation is Operation.CREATE
    return mutating and kind == ("", "Pod", "")


def _without(defaults: Defaults, excused: frozenset[str]) -> Defaults:
    if not excused:
        return defaults
    return msgspec.structs.replace(
        defaults,
        seccomp_profile=None if _SECCOMP in excused else defaults.seccomp_profile,
        capabilities=None if _CAPABILITIES in excused else defaults.capabilities,
        allow_privilege_escalation=(
            None if _ESCALATION in excused else defaults.allow_privilege_escalation
        ),
        automount_service_account_token=(
            None if _MOUNTED in excused else defaults.automount_service_account_token
        ),
        namespace_ids=[each for each in defaults.namespace_ids if _ANY_OF[each] not in excused],
    )


def _filled(spec: _Spec, defaults: Defaults, ranges: IdRanges | None) -> Iterator[Patch]:
    if spec.os is None or spec.os.name != "windows":  # There kube-apiserver refuses these fields.
        absent: dict[str, Any] = {}
        if defaults.seccomp_profile is not None:
            absent |= _seccomp(spec, defaults.seccomp_profile.type)
        if ranges is not None:
            absent |= _ids(spec, defaults.namespace_ids, ranges)
        yield from _add_within("/spec", "securityContext", spec.security_context, absent)
        for path, container in spec.containers_with_paths:
            yield from _security_context(path, container.security_context, defaults)
    if defaults.env:
        for path, container in spec.containers_with_paths:
            yield from _env(path, container, defaults.env)
    if defaults.automount_service_account_token is not None:
        yield from _token(spec)


def _seccomp(spec: _Spec, name: str) -> dict[str, Any]:
    """Set it for the whole Pod, where a container has none of its own."""
    context = spec.security_context
    if context is not None and context.seccomp_profile is not None:
        return {}
    contexts = (container.security_context for _, container in spec.containers_with_paths)
    if any(each is None or each.seccomp_profile is None for each in contexts):
        return {"seccompProfile": {"type": name}}
    return {}


def _ids(spec: _Spec, fields: Iterable[NamespaceId], ranges: IdRanges) -> dict[str, Any]:
    """Return those of the fields that the Pod leaves out, with the first ID of its namespace."""
    context = spec.security_context or k8s.PodSecurityContext()
    user = ranges.users[0].first if ranges.users else None
    group = ranges.groups[0].first if ranges.groups else None
    known: dict[NamespaceId, tuple[object, object]] = {
        "runAsUser": (context.run_as_user, user),
        "runAsGroup": (context.run_as_group, group),
        "fsGroup": (context.fs_group, group),
        "supplementalGroups": (context.supplemental_groups or None, group and [group]),
        "supplementalGroupsPolicy": (context.supplemental_groups_policy, group and "Strict"),
    }
    found = {field: known[field] for field in fields}
    return {field: due for field, (there, due) in found.items() if there is None and due}


def _security_context(
    path: str, context: k8s.SecurityContext | None, defaults: Defaults
) -> Iterator[Patch]:
    """Fill a container's: of one that is privileged none of it would hold."""
    if context is not None and context.privileged:
        return
    capabilities = context.capabilities if context else None
    added = _added(capabilities)
    absent: dict[str, Any] = {}
    said = context is not None and context.allow_privilege_escalation is not None
    if defaults.allow_privilege_escalation is not None and not said and not added & _ESCALATES:
        absent["allowPrivilegeEscalation"] = False
    if drop := _dropped(capabilities, added, defaults):
        if capabilities is None:
            absent["capabilities"] = {"drop": drop}
        else:
            yield _add(f"{path}/securityContext/capabilities/drop", drop)
    if absent and context is None:
        yield _add(f"{path}/securityContext", absent)
        return
    yield from (_add(f"{path}/securityContext/{field}", absent[field]) for field in absent)


def _added(capabilities: k8s.Capabilities | None) -> frozenset[str]:
    if capabilities is None or not capabilities.add:
        return frozenset()
    return frozenset(each.upper().removeprefix("CAP_") for each in capabilities.add)


def _dropped(
    capabilities: k8s.Capabilities | None, added: frozenset[str], defaults: Defaults
) -> list[str]:
    """Return the capabilities to drop if none are, never one that is added: a drop beats it."""
    if defaults.capabilities is None or "ALL" in added:
        return []
    if capabilities is not None and capabilities.drop:
        return []
    return [each for each in defaults.capabilities.drop if each not in added]


def _env(path: str, container: _Container, variables: Iterable[DefaultVariable]) -> Iterator[Patch]:
    there = {each.name for each in container.env or ()}
    due: dict[str, str] = {}
    for variable in variables:
        if variable.name in there or variable.name in due:
            continue
        if not (variable.without_resources and _asks(container, variable.without_resources)):
            due[variable.name] = variable.value
    if not due:
        return
    added = [{"name": name, "value": value} for name, value in due.items()]
    if not container.env:
        yield _add(f"{path}/env", added)
        return
    yield from (_add(f"{path}/env/-", each) for each in added)


def _asks(container: _Container, resources: Iterable[str]) -> bool:
    """Return whether a container asks for one of the resources.

    `nvidia.com/*` is all of a domain.
    """
    asked = container.resources
    if asked is None or not (asked.limits or asked.requests):
        return False
    quantities = chain((asked.limits or {}).items(), (asked.requests or {}).items())
    found = [name for name, quantity in quantities if not is_nothing(quantity)]
    return any(
        name == each or (each.endswith("/*") and name.startswith(each[:-1]))
        for each in resources
        for name in found
    )


def _token(spec: _Spec) -> Iterator[Patch]:
    """Say that no token is mounted, and take out the volume that kube-apiserver put there.

    A volume that a container mounts elsewhere too is used: then the Pod stays as it is.
    """
    if spec.automount_service_account_token is not None:
        return
    volumes = {
        each.name: index
        for index, each in enumerate(spec.volumes or ())
        if each.name.startswith(_MOUNTED_VOLUME)
    }
    mounts = [
        (f"{path}/volumeMounts/{index}", mount)
        for path, container in spec.containers_with_paths
        for index, mount in enumerate(container.volume_mounts or ())
        if mount.name in volumes
    ]
    if any(mount.mount_path != _MOUNTED_PATH for _, mount in mounts):
        return
    yield _add("/spec/automountServiceAccountToken", value=False)
    # The last first: the others keep their places.
    yield from ({"op": "remove", "path": path} for path, _ in reversed(mounts))
    yield from (
        {"op": "remove", "path": f"/spec/volumes/{index}"}
        for index in sorted(volumes.values(), reverse=True)
    )


def _add_within(path: str, field: str, there: object, values: dict[str, Any]) -> Iterator[Patch]:
    """Add fields to an object, which is added with them where it is absent."""
    if there is None and values:
        yield _add(f"{path}/{field}", values)
        return
    yield from (_add(f"{path}/{field}/{inner}", value) for inner, value in values.items())


def _add(path: str, value: object) -> Patch:
    return {"op": "add", "path": path, "value": value}
