"""Pods of kinds that write no template, composed as their operators do. Pure.

What is absent in such an object the operator, its settings or another object may fill in, so these
Pods are `partial`: needs of what is absent are left to the Pods themselves
(docs/operate/workloads.md). Sources: argo-workflows workflow/controller/workflowpod.go;
spark-operator internal/webhook/sparkpod_defaulter.go; flink-kubernetes-operator
FlinkConfigBuilder.java; kserve pkg/controller/v1beta1/inferenceservice/components.
"""

from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final

from core.kubernetes.pod_templates import (
    Json,
    PodTemplate,
    build_pod,
    find_objects_at,
    template_at,
)
from core.kubernetes.workload_kinds import PlaceContent

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
