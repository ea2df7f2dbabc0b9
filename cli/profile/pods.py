"""The Pods that objects are or would make, each as the request that would create it."""

import re
import sys
from collections.abc import AsyncIterator, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import msgspec

from admission.objects.reader import JUDGED_KINDS, NAMESPACED_KINDS
from app.settings.root import Settings
from cli.output import STANDARD_INPUT, name_object
from cli.shared.claims import claim_notes
from cli.shared.manifests import account_of_pod, read_manifests
from cli.shared.results import Result
from core.base.errors import ClusterError, InvalidObjectError, SettingsError
from core.base.safe_text import safe_line
from core.cluster import Cluster
from core.decision.request import Kind, Operation, Request
from core.kubernetes.pod_templates import find_templates_by_shape, holds_containers
from core.kubernetes.workload_kinds import WORKLOADS, workload_of
from core.kubernetes.workload_pods import templates_of
from kube.client.objects import list_objects, open_objects
from kube.manifests.reader import SUFFIXES
from policies.projection.rbac import KINDS as RIGHTS

_POD: Final = Kind("Pod", "v1")
_FINISHED: Final = frozenset({"Succeeded", "Failed"})
_NAMESPACE: Final = re.compile(r"[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?")
_DEFAULT: Final = "default"
"""The namespace of what names none."""

NOTHING_JUDGED: Final = (
    "nothing in it is judged: no Pod, no Pod template, nothing else that carries privileges"
)


@dataclass(frozen=True)
class FoundPod:
    """A Pod, a Pod template, or another object that carries privileges."""

    object: str
    """For people: `Deployment train/server`."""
    workload: str
    """What made it, or would: its controller, or itself."""
    namespace: str
    prefix: str
    """Where the Pod lies in the object: `spec.template`; empty where it is the object."""
    request: Request
    pods: int = 1
    """How many Pod templates are judged as one."""

    def notes(self, cluster: Cluster) -> list[str]:
        """Say what nobody could know of it; a Pod that runs has its volumes."""
        request = self.request
        if request.running or request.object is None:
            return []
        kind = request.kind.group, request.kind.kind
        value = msgspec.json.decode(request.object)
        return claim_notes(cluster, kind, value, self.namespace)


@dataclass(frozen=True)
class SkippedObject:
    """An object that has containers, but not in a Pod template: what is made of it is unknown."""

    object: str
    namespace: str

    def __str__(self) -> str:
        return f"{self.object}: its containers are in no Pod template: not judged, look yourself"


def is_file(target: str) -> bool:
    """Return whether a person means a file or a folder, not a namespace."""
    return _is_spelt_as_file(target) or Path(target).exists()


def _is_spelt_as_file(target: str) -> bool:
    return target == STANDARD_INPUT or "/" in target or Path(target).suffix.lower() in SUFFIXES


async def find_pods(
    settings: Settings, targets: list[str], profile: str | None = None
) -> AsyncIterator[FoundPod | SkippedObject | Result]:
    """Yield what files, and what namespaces of the cluster that the settings name, hold.

    Of a real cluster it is the Pods that run. A Result is what could not be read. `profile` is
    the one by which all is to be judged, whoever asks; without it only what is needed is asked.

    Raises:
        SettingsError: a target is no file, and no namespace that can be looked into.
        ClusterError: the cluster does not answer, or refuses.
    """
    for target in targets:
        if is_file(target):
            if not _is_spelt_as_file(target):
                told = f"{target}: read as the file or folder of that name, not as a namespace"
                sys.stderr.write(f"{safe_line(told)}\n")
            for item in read_manifests([target]):
                for found in _of_manifest(item, profile):
                    yield found
        else:
            async for found in _in_namespace(settings, target, profile):
                yield found


async def _in_namespace(
    settings: Settings, namespace: str, profile: str | None
) -> AsyncIterator[FoundPod | SkippedObject | Result]:
    if not _NAMESPACE.fullmatch(namespace):
        raise SettingsError(f"{namespace}: neither a file nor the name of a namespace")
    if settings.cluster is not None:
        for item in read_manifests([str(settings.cluster)]):
            for found in _of_manifest(item, profile):
                if isinstance(found, Result) or found.namespace == namespace:
                    yield found
        return
    if settings.kubeconfig is None:
        message = f"{namespace}: no such file; for a namespace give --kubeconfig or --cluster"
        raise SettingsError(message)
    async with open_objects(settings.kubeconfig) as objects:
        try:
            async for raw in list_objects(objects, f"/api/v1/namespaces/{namespace}/pods"):
                if pod := _running(msgspec.json.decode(raw), profile):
                    yield pod
        except ClusterError as error:
            message = f"the Pods of namespace {namespace} cannot be listed: {error}"
            raise ClusterError(message, error.status) from None


def _of_manifest(item: Any, profile: str | None) -> Iterator[FoundPod | SkippedObject | Result]:
    if isinstance(item, Result):
        yield item
        return
    yield from find_pods_of(item.value, profile)


def find_pods_of(
    value: Mapping[str, Any], profile: str | None = None
) -> Iterator[FoundPod | SkippedObject]:
    """Yield what is judged of an object with `apiVersion` and `kind`: itself, or its templates.

    Not the rights that it gives: those are its installer's need, and no workload's profile.
    """
    group, _, version = str(value["apiVersion"]).rpartition("/")
    kind = Kind(str(value["kind"]), version, group)
    metadata = _map(value, "metadata")
    namespace = str(metadata.get("namespace") or "")
    name = str(metadata.get("name") or metadata.get("generateName") or "")
    what = name_object(kind.kind, namespace, name)
    place = namespace or _DEFAULT
    if (group, kind.kind) == ("", "Pod"):
        running = bool(metadata.get("uid"))  # Only kube-apiserver gives one.
        workload = (_owner(value) if running else "") or what
        yield FoundPod(
            what, workload, place, "", _request(value, _POD, place, name, profile, running)
        )
    elif (group, kind.kind) in JUDGED_KINDS - RIGHTS.keys():
        within = place if (group, kind.kind) in NAMESPACED_KINDS else ""
        asked = _request(value, kind, within, name, profile)
        yield FoundPod(what, what, within, "", asked, _templates(group, kind.kind, value))
    else:
        # A bare Pod spec may be only a part of what its operator makes.
        templates = [template for template in find_templates_by_shape(value) if not template.places]
        if not templates and holds_containers(value.get("spec")):
            yield SkippedObject(what, place)
        for template in templates:
            asked = _request(template.pod, _POD, place, name, profile)
            yield FoundPod(what, what, place, template.path, asked)


def _templates(group: str, kind: str, value: Mapping[str, Any]) -> int:
    """Count the templates of a workload; one thing is judged of everything else."""
    if workload_of(group, kind) is None:
        return 1
    try:
        return len(templates_of(group, kind, value))
    except InvalidObjectError:
        return 1


def _running(pod: dict[str, Any], profile: str | None) -> FoundPod | SkippedObject | None:
    """Return a Pod of a list; None for one that has finished or is being deleted."""
    if _map(pod, "metadata").get("deletionTimestamp") or _phase(pod) in _FINISHED:
        return None
    return next(find_pods_of({**pod, "apiVersion": "v1", "kind": "Pod"}, profile))


def _phase(pod: Mapping[str, Any]) -> str:
    return str(_map(pod, "status").get("phase") or "")


def _request(  # noqa: PLR0913, PLR0917 (what a request is made of)
    value: Mapping[str, Any],
    kind: Kind,
    namespace: str,
    name: str,
    profile: str | None,
    running: bool = False,  # noqa: FBT001, FBT002
) -> Request:
    return Request(
        uid="",
        kind=kind,
        operation=Operation.CREATE,
        subject=account_of_pod(value, namespace or _DEFAULT),
        namespace=namespace,
        name=name,
        submitted=msgspec.Raw(msgspec.json.encode(value)),
        dry_run=True,
        running=running,
        by_accounts=(kind.group, kind.kind) in WORKLOADS,
        asked_profile=profile,
    )


def _owner(pod: Mapping[str, Any]) -> str:
    """Name the controller of a Pod, or the Deployment of its ReplicaSet; empty without one."""
    metadata = _map(pod, "metadata")
    references = metadata.get("ownerReferences")
    owners = references if isinstance(references, list) else []
    owner = next((o for o in owners if isinstance(o, dict) and o.get("controller")), None)
    if owner is None:
        return ""
    kind, name = str(owner.get("kind") or ""), str(owner.get("name") or "")
    suffix = "-" + str(_map(metadata, "labels").get("pod-template-hash") or "")
    if kind == "ReplicaSet" and len(suffix) > 1 and name.endswith(suffix):
        kind, name = "Deployment", name.removesuffix(suffix)
    return name_object(kind, str(metadata.get("namespace") or ""), name)


def _map(value: Mapping[str, Any], field: str) -> Mapping[str, Any]:
    found = value.get(field)
    return found if isinstance(found, dict) else {}
