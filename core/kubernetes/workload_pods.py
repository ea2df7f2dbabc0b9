"""The Pods that an object would make, and how many of each. Pure.

The table of kinds says where they lie, else their shape does. Kinds that write no template are
composed as their operators do. What is absent there the operator, its settings or another object
may fill in, so these Pods are `partial`: needs of what is absent are left to the Pods themselves
(docs/operate/workloads.md). Sources: argo-workflows workflow/controller/workflowpod.go;
spark-operator internal/webhook/sparkpod_defaulter.go; flink-kubernetes-operator
FlinkConfigBuilder.java; kserve pkg/controller/v1beta1/inferenceservice/components.
"""

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from itertools import islice
from typing import Any, Final

from core.base.errors import InvalidObjectError
from core.kubernetes.pod_templates import (
    Json,
    PodTemplate,
    build_pod,
    find_objects_at,
    find_templates_by_shape,
    template_at,
)
from core.kubernetes.workload_kinds import WORKLOADS, PlaceContent, TemplatePlace

MOST_TEMPLATES: Final = 1000
"""No real object holds more: a workflow of Argo may hold hundreds."""

_PARAMETER: Final = "{{"
"""What begins a parameter of Argo: only the controller knows what will stand there."""

_LISTS: Final = ("containers", "initContainers")

_FRAMEWORKS: Final = (
    "model",
    "sklearn",
    "xgboost",
    "tensorflow",
    "pytorch",
    "triton",
    "onnx",
    "huggingface",
    "pmml",
    "lightgbm",
    "paddle",
    "art",
)
"""Fields of a component of KServe that are a container made with a ServingRuntime's."""

_STEP: Final = re.compile(r"([^.\[\]]+)|\[([0-9]+)\]")

_LATER: Final = frozenset({"CronJob", "CronWorkflow", "RayCronJob", "ScheduledSparkApplication"})
"""Kinds that make Pods at times of their own."""

_DEEPEST: Final = 3
"""So many objects may lie in one another; what lies deeper is judged when it is made."""


class _Composition:
    """A Pod that is put together of fields that lie in several places of an object."""

    def __init__(self, path: str) -> None:
        self._path = path
        self._metadata: dict[str, Any] = {}
        self._spec: dict[str, Any] = {}
        self._places: list[tuple[str, str]] = []

    def put(self, field: str, *sources: tuple[str, Any]) -> None:
        """Set a field of the spec to the first value of these (path, value) that there is."""
        for path, value in sources:
            if value is not None:
                self._spec[field] = value
                self._places.append((f"spec.{field}", path))
                return

    def annotate(self, *sources: tuple[str, Any]) -> None:
        """Add annotations; those of a later source win."""
        merged: dict[str, Any] = {}
        places: dict[str, str] = {}
        for path, annotations in sources:
            for key, value in annotations.items() if isinstance(annotations, Mapping) else ():
                merged[key] = value
                places[f"metadata.annotations[{key}]"] = f"{path}[{key}]"
        self._metadata["annotations"] = merged
        self._places += places.items()

    def alias(self, path: str, place: str) -> None:
        """Say where a path of the Pod lies."""
        self._places.append((path, place))

    def add(self, field: str, path: str, item: Any) -> None:
        """Add an item to a list of the spec, from a path."""
        items = self._spec.setdefault(field, [])
        self._places.append((f"spec.{field}[{len(items)}]", path))
        items.append(item)

    def add_all(self, field: str, path: str, items: Any) -> None:
        """Add a list that lies at a path; what is none is no operator's Pod."""
        for index, item in enumerate(_listed(items)):
            self.add(field, f"{path}[{index}]", item)

    def mounts(self) -> set[Any]:
        """Return the names of the volumes that its containers use."""
        containers = [each for name in _LISTS for each in self._spec.get(name, ())]
        return {
            _get(mount, "name")
            for container in containers
            for field in ("volumeMounts", "volumeDevices")
            for mount in _listed(_get(container, field))
        }

    def add_mounted(self, path: str, volumes: Any) -> None:
        """Add those volumes of a list that the containers use: operators add no others."""
        mounted = self.mounts()
        for index, volume in enumerate(_listed(volumes)):
            if _get(volume, "name") in mounted:
                self.add("volumes", f"{path}[{index}]", volume)

    def made(self) -> PodTemplate:
        """Return the Pod."""
        pod = build_pod(self._metadata, self._spec)
        return PodTemplate(self._path, pod, tuple(self._places), partial=True)


def _get(value: Any, field: str) -> Any:
    return value.get(field) if isinstance(value, Mapping) else None


def _listed(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


def _workflow(kind: str, path: str, workflow: Json) -> Iterator[PodTemplate]:
    """Yield the Pods of a workflow's templates that have containers of their own."""
    for step in (
        "templates[*]",
        "templates[*].dag.tasks[*].inline",
        "templates[*].steps[*][*].inline",
    ):
        for place, template in find_objects_at(kind, workflow, step):
            if any(template.get(field) for field in ("container", "script", "containerSet")):
                yield _argo_pod(path, workflow, f"{path}.{place}", template)


def _argo_pod(path: str, workflow: Json, place: str, template: Json) -> PodTemplate:
    made = _Composition(place)
    default = _get(workflow, "templateDefaults")

    def sources(field: str, whole: str) -> list[tuple[str, Any]]:
        """Return where a field of a template may stand; `whole` is its name in the workflow."""
        own = (f"{place}.{field}", template.get(field))
        common = (f"{path}.templateDefaults.{field}", _get(default, field))
        return [own, common, (f"{path}.{whole}", workflow.get(whole))]

    for field in ("container", "script"):
        if template.get(field) is not None:
            made.add("containers", f"{place}.{field}", _without_parameter(template[field]))
    within = _get(template.get("containerSet"), "containers")
    for field, at, containers in (
        ("containers", f"{place}.containerSet.containers", within),
        ("containers", f"{place}.sidecars", template.get("sidecars")),
        ("initContainers", f"{place}.initContainers", template.get("initContainers")),
    ):
        made.add_all(field, at, [_without_parameter(each) for each in _listed(containers)])
    made.add_mounted(f"{place}.volumes", template.get("volumes"))
    made.add_mounted(f"{path}.volumes", workflow.get("volumes"))
    for field in ("securityContext", "serviceAccountName", "automountServiceAccountToken"):
        made.put(field, *sources(field, field))
    made.put("tolerations", *sources("tolerations", "tolerations"))
    made.put("priorityClassName", *sources("priorityClassName", "podPriorityClassName"))
    for field in ("hostNetwork", "dnsPolicy", "dnsConfig"):
        made.put(field, (f"{path}.{field}", workflow.get(field)))
    made.add_all("hostAliases", f"{path}.hostAliases", workflow.get("hostAliases"))
    made.add_all("hostAliases", f"{place}.hostAliases", template.get("hostAliases"))
    pods = _get(workflow.get("podMetadata"), "annotations")
    own = _get(template.get("metadata"), "annotations")
    made.annotate((f"{path}.podMetadata.annotations", pods), (f"{place}.metadata.annotations", own))
    return made.made()


def _without_parameter(container: Any) -> Any:
    """Leave out an image that only the controller knows."""
    image = _get(container, "image")
    if isinstance(image, str) and _PARAMETER in image:
        return {key: value for key, value in container.items() if key != "image"}
    return container


def _spark(kind: str, path: str, application: Json) -> Iterator[PodTemplate]:
    """Yield the driver's and the executors' Pods: what their templates say, and their fields."""
    for role in ("driver", "executor"):
        for place, pod in find_objects_at(kind, application, role):
            at = f"{path}.{place}"
            for template, value in find_objects_at(kind, pod, "template"):
                yield template_at(f"{at}.{template}", value, partial=True)
            yield _spark_pod(path, application, at, pod)


def _spark_pod(path: str, application: Json, at: str, pod: Json) -> PodTemplate:
    made = _Composition(at)
    fields = ("image", "env", "securityContext", "volumeMounts", "lifecycle", "ports")
    container = {field: pod[field] for field in fields if pod.get(field) is not None}
    if "image" not in container and application.get("image") is not None:
        container["image"] = application["image"]
        made.alias("spec.containers[0].image", f"{path}.image")
    made.add("containers", at, container)
    made.add_all("containers", f"{at}.sidecars", pod.get("sidecars"))
    made.add_all("initContainers", f"{at}.initContainers", pod.get("initContainers"))
    made.add_mounted(f"{path}.volumes", application.get("volumes"))
    for field in ("hostNetwork", "dnsConfig", "hostAliases", "tolerations", "priorityClassName"):
        made.put(field, (f"{at}.{field}", pod.get(field)))
    made.put(
        "shareProcessNamespace", (f"{at}.shareProcessNamespace", pod.get("shareProcessNamespace"))
    )
    made.put("securityContext", (f"{at}.podSecurityContext", pod.get("podSecurityContext")))
    made.put("serviceAccountName", (f"{at}.serviceAccount", pod.get("serviceAccount")))
    made.annotate((f"{at}.annotations", pod.get("annotations")))
    return made.made()


def _flink(kind: str, path: str, deployment: Json) -> Iterator[PodTemplate]:
    """Yield the Pod templates, which the operator merges, and the Pod with the image of all."""
    account = deployment.get("serviceAccount")
    for place in ("podTemplate", "jobManager.podTemplate", "taskManager.podTemplate"):
        for at, value in find_objects_at(kind, deployment, place):
            yield _with_account(template_at(f"{path}.{at}", value, partial=True), path, account)
    made = _Composition(path)
    if deployment.get("image") is not None:
        made.add("containers", path, {"name": "flink-main-container", "image": deployment["image"]})
    made.put("serviceAccountName", (f"{path}.serviceAccount", account))
    yield made.made()


def _with_account(template: PodTemplate, path: str, account: Any) -> PodTemplate:
    """Let a template that names no service account have the deployment's."""
    spec = template.pod["spec"]
    if account is None or not isinstance(spec, Mapping) or spec.get("serviceAccountName"):
        return template
    pod = {**template.pod, "spec": {**spec, "serviceAccountName": account}}
    places = (("spec.serviceAccountName", f"{path}.serviceAccount"),)
    return PodTemplate(template.path, pod, places, partial=True)


def _predictor(kind: str, path: str, component: Json) -> Iterator[PodTemplate]:
    """Yield a component's Pod and its workers'; with a `model`, a runtime gives it the rest."""
    annotations = {"annotations": component.get("annotations")}
    own = [name for name in _FRAMEWORKS if isinstance(component.get(name), Mapping)]
    containers = [*_listed(component.get("containers")), *(component[name] for name in own)]
    places = [
        (f"spec.containers[{len(containers) - len(own) + index}]", f"{path}.{name}")
        for index, name in enumerate(own)
    ]
    if containers or component.get("volumes"):
        spec = {**component, "containers": containers}
        places += [("spec", path), ("metadata", path)]
        yield PodTemplate(path, build_pod(annotations, spec), tuple(places), partial=bool(own))
    for place, workers in find_objects_at(kind, component, "workerSpec"):
        at = f"{path}.{place}"
        pod = build_pod(annotations, workers)
        yield PodTemplate(at, pod, (("spec", at), ("metadata", path)), partial=True)


COMPOSERS: Final[Mapping[PlaceContent, Callable[[str, str, Json], Iterator[PodTemplate]]]] = {
    PlaceContent.WORKFLOW: _workflow,
    PlaceContent.SPARK: _spark,
    PlaceContent.FLINK: _flink,
    PlaceContent.PREDICTOR: _predictor,
}
"""For what is no template: how its Pods are put together, of the kind, the path and the value."""


def count_pods(group: str, kind: str, value: Json, path: str) -> int:
    """Return how many Pods an object makes of the template at a path; 1 where it does not say.

    Read on the way to it: `replicas`, of a Job `parallelism` (no more than `completions`), of Ray
    `numOfHosts`, of a LeaderWorkerSet `size`, of Spark `instances`. Of kinds that nobody listed
    nothing is read: their fields may mean anything.
    """
    if (group, kind) not in WORKLOADS:
        return 1
    count = 1
    here: Any = value
    steps = [name or int(index) for name, index in _STEP.findall(path)]
    for step in steps:
        if isinstance(here, Mapping):
            count *= _here(here, step)
        here = _under(here, step)
    return count * _number(here, "instances", 1) if kind.endswith("SparkApplication") else count


def makes_pods_now(group: str, kind: str, value: Json) -> bool:
    """Return whether Pods are made of it as soon as it is there."""
    workload = WORKLOADS.get((group, kind))
    if kind in _LATER or (workload is not None and not workload.controllers):
        return False
    spec = value.get("spec")
    return not (isinstance(spec, Mapping) and spec.get("suspend") is True)


def _here(value: Json, step: str | int) -> int:
    """Return what one object on the way multiplies by."""
    count = _number(value, "replicas", 1) * _number(value, "numOfHosts", 1)
    if step == "template" and "parallelism" in value:
        parallel = _number(value, "parallelism", 1)
        count *= min(parallel, _number(value, "completions", parallel))
    if step == "workerTemplate":
        led = isinstance(value.get("leaderTemplate"), Mapping)
        count *= max(_number(value, "size", 1) - led, 0)
    return count


def _number(value: Any, field: str, without: int) -> int:
    found = value.get(field) if isinstance(value, Mapping) else None
    if not isinstance(found, int) or isinstance(found, bool):
        return without
    return max(found, 0)


def _under(value: Any, step: str | int) -> Any:
    if isinstance(step, int):
        return value[step] if isinstance(value, list) and step < len(value) else None
    return value.get(step) if isinstance(value, Mapping) else None


def templates_of(group: str, kind: str, value: Json) -> list[PodTemplate]:
    """Return what an object of a kind would make, each by its place, in the order of the table.

    Raises:
        InvalidObjectError: there is something else than the kind has at a place, or there is more
            than any real object has; names the field.
    """
    found = list(islice(_templates(group, kind, value, 0), MOST_TEMPLATES + 1))
    if len(found) > MOST_TEMPLATES:
        problem = f"holds more than {MOST_TEMPLATES} Pod templates"
        raise InvalidObjectError(kind, found[-1].path, problem)
    return found


def _templates(group: str, kind: str, value: Json, depth: int) -> Iterator[PodTemplate]:
    workload = WORKLOADS.get((group, kind))
    if workload is None:
        yield from find_templates_by_shape(value)
        return
    for place in workload.places:
        for path, found in find_objects_at(kind, value, place.path):
            yield from _lying(place, kind, path, found, value, depth)


def _lying(  # noqa: PLR0913, PLR0917  What lies where, in what, and how deep.
    place: TemplatePlace, kind: str, path: str, found: Json, whole: Json, depth: int
) -> Iterator[PodTemplate]:
    if place.holds is PlaceContent.TEMPLATE:
        yield template_at(path, found)
    elif place.holds is PlaceContent.SPEC:
        pod = build_pod(whole.get("metadata"), found)
        yield PodTemplate(path, pod, (("spec", path), ("metadata", "metadata")))
    elif place.holds is PlaceContent.OBJECT:
        yield from _embedded(path, found, depth + 1)
    else:
        yield from COMPOSERS[place.holds](kind, path, found)


def _embedded(path: str, value: Json, depth: int) -> Iterator[PodTemplate]:
    """Yield what an object that lies at a path would make."""
    group = str(value.get("apiVersion") or "").rpartition("/")[0]
    kind = str(value.get("kind") or "")
    if (group, kind) == ("", "Pod"):
        yield template_at(path, value)
    elif depth < _DEEPEST:
        for each in _templates(group, kind, value, depth):
            places = tuple((inner, f"{path}.{outer}") for inner, outer in each.places)
            yield replace(each, path=f"{path}.{each.path}", places=places)
