"""The projection of Pods and their containers; volumes have a module of their own."""

import enum
import re
from collections.abc import Collection, Iterator
from typing import Final

import msgspec

from core.base.short_text_cache import cache_short_text
from core.decision.id_ranges import IdRanges
from core.kubernetes import pod as k8s
from core.kubernetes.pod import NO_DEVICE, Pod, device_variables, is_nothing
from policies.projection.container_risks import NONE, ContainerRisk, risks_of, special_resources
from policies.projection.hints import project_hints
from policies.projection.images import origin
from policies.projection.model import (
    MAX_CONTAINERS,
    MAX_ENV,
    MAX_IMAGE,
    MAX_MARKS,
    MAX_NAME,
    MAX_VOLUMES,
    AntiAffinity,
    Container,
    EnvVar,
    HandlerHost,
    HostAlias,
    HostPort,
    Mount,
    Projection,
    Toleration,
    bound,
    check_length,
)
from policies.projection.volumes import (
    NOTHING_KNOWN,
    KnownVolumes,
    project_volumes,
    shared_names,
)

APPARMOR_ANNOTATIONS: Final = "container.apparmor.security.beta.kubernetes.io/"
"""Prefix of the annotations that older kubelets honour (k8s.io/api/core/v1)."""

_READ: Final = (
    APPARMOR_ANNOTATIONS,
    "seccomp.security.alpha.kubernetes.io/",
    "container.seccomp.security.alpha.kubernetes.io/",
    "security.alpha.kubernetes.io/",
    "scheduler.alpha.kubernetes.io/critical-pod",
)
"""Annotations that older kubelets honour; their values are read."""

_RUNTIME: Final = (
    "azure.workload.identity/inject-proxy-sidecar",
    "dev.gvisor.",
    "io.katacontainers.",
    "io.kubernetes.cri",
    "io.microsoft.",
    "microsoft.com/hostprocess",
    "io.containers.trace-syscall",
    "run.oci.",
    "org.systemd.property.",
    "org.criu.config",
    "module.wasm.image/",
    "io.containerd.",
    "com.github.containers.virtcontainers.",
)

_RUNTIME_WITHIN: Final = re.compile(
    r"(?:^|\.)(?:crio\.io|cri-o\.io|nri\.io|nri\.containerd\.io|noderesource\.dev|cdi\.k8s\.io|devices\.gke\.io)(?:[./]|$)"
)
"""Annotations that runtimes, their plugins and Entra's webhook act on; that they are there says
enough."""

_OF_EVERY_POD: Final = frozenset({"node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable"})
"""Tolerations that the admission plugin DefaultTolerationSeconds adds to every Pod."""

_DEVICE_MOUNT: Final = "nvidia-container-devices"
"""In a mount's path: NVIDIA's toolkit takes such a mount for a request for a device."""

_EPHEMERAL: Final = "ephemeral"
"""The kind of container that cannot have limits."""

_NODE: Final = "kubernetes.io/hostname"
"""The label by which each node is a topology of its own."""

_GANG_KEYS: Final = frozenset(
    {
        "jobset.sigs.k8s.io/job-key",
        "leaderworkerset.sigs.k8s.io/group-key",
        "leaderworkerset.sigs.k8s.io/subgroup-key",
    }
)
"""Labels that JobSet and LeaderWorkerSet put on the Pods of their gangs, and on no others."""

_GIVEN: Final = "given"
"""Stands for the text of a GMSA's specification."""

_LIMITED: Final = ("cpu", "memory")

_MOST_REMEMBERED: Final = 4096


def project(
    pod: k8s.Pod, known: KnownVolumes = NOTHING_KNOWN, *, placed: bool = False, weighed: bool = True
) -> Projection:
    """Return the projection of a Pod. Pure.

    A Pod that is `placed` may have its node from the scheduler: who set it is not known. What
    makes it risky is read only where that is `weighed`.

    Raises:
        InvalidObjectError: a volume has the wrong shape, or there is more of something than any
            real Pod has; names the field.
        NamespaceMarkError: it mounts a shared file system, and the namespace's IDs cannot be read.
    """
    spec, marks, affinity = pod.spec, pod.metadata.annotations, pod.spec.affinity
    bound_lists(pod)
    containers, ids = _containers_and_ids(pod, known, weighed=weighed)
    return Projection(
        containers=containers,
        os=spec.os.name if spec.os else "",
        host_network=bool(spec.host_network),
        host_pid=bool(spec.host_pid),
        host_ipc=bool(spec.host_ipc),
        host_users=spec.host_users,
        automount=spec.automount_service_account_token,
        node_name="" if placed else spec.node_name or "",
        tolerations=_tolerations(spec.tolerations) if spec.tolerations else [],
        anti_affinity=list(_anti_affinity(pod, affinity, known.namespace)) if affinity else [],
        priority_class=spec.priority_class_name or "",
        share_process_namespace=bool(spec.share_process_namespace),
        dns_policy=spec.dns_policy or "",
        nameservers=_nameservers(spec.dns_config) if spec.dns_config else [],
        host_aliases=_host_aliases(spec.host_aliases) if spec.host_aliases else [],
        security_context=_pod_context(spec.security_context),
        annotations=project_annotations(marks) if marks else {},
        volumes=list(project_volumes(pod, known.of_claim)) if spec.volumes else [],
        ids=ids,
        ids_filled=known.filled and ids is not None,
        weighed=weighed,
        hints=project_hints(containers, pod.metadata) if weighed else (),
        resources=_special_resources(spec) if weighed else (),
        resource_claims=weighed and bool(spec.resource_claims),
    )


def _containers_and_ids(
    pod: k8s.Pod, known: KnownVolumes, *, weighed: bool
) -> tuple[list[Container], IdRanges | None]:
    """Return the containers, and the namespace's IDs where one of them shares a file system."""
    spec = pod.spec
    shared = shared_names(spec.volumes, pod.metadata.name or "", known) if spec.volumes else None
    containers = list(project_containers(spec, shared, weighed=weighed))
    shares = shared and any(each.shares for each in containers)
    return containers, known.ranges() if shares else None


def _special_resources(spec: k8s.PodSpec) -> tuple[str, ...]:
    """Return the special resources that the Pod as a whole has limits of."""
    resources = spec.resources
    return special_resources(resources.limits, "spec") if resources and resources.limits else ()


def bound_lists(pod: k8s.Pod) -> None:
    """Raise InvalidObjectError where there is more than any real Pod has, before it is looked at.

    Environment variables are counted with their containers.
    """
    metadata, spec = pod.metadata, pod.spec
    if metadata.labels:
        bound(len(metadata.labels), "metadata.labels", most=MAX_MARKS)
    if spec.volumes:
        bound(len(spec.volumes), "spec.volumes", most=MAX_VOLUMES)
    if spec.security_context and spec.security_context.sysctls:
        bound(len(spec.security_context.sysctls), "spec.securityContext.sysctls")
    if spec.security_context and spec.security_context.supplemental_groups:
        groups = spec.security_context.supplemental_groups
        bound(len(groups), "spec.securityContext.supplementalGroups")


def mark_added(projection: Projection, before: Pod) -> Projection:
    """Mark the ephemeral containers of a Pod that it did not have before. Pure."""
    old = {each.name for each in before.spec.ephemeral_containers or ()}
    return msgspec.structs.replace(
        projection,
        containers=[
            msgspec.structs.replace(each, added=True)
            if each.kind == "ephemeral" and each.name not in old
            else each
            for each in projection.containers
        ],
    )


def project_annotations(annotations: dict[str, str]) -> dict[str, str]:
    """Return those annotations of a Pod that kubelets and runtimes act on.

    Raises:
        InvalidObjectError: there are more than any real Pod has, or one has a longer name.
    """
    found = {}
    bound(len(annotations), "metadata.annotations", most=MAX_MARKS)
    for key, value in annotations.items():
        check_length(key, "metadata.annotations")
        if part := _part_of(key):
            found[key] = value if part is _Part.VALUE else ""
    bound(len(found), "metadata.annotations")
    return found


class _Part(enum.Enum):
    """What of an annotation is read."""

    VALUE = "value"
    NAME = "name"


@cache_short_text(_MOST_REMEMBERED, MAX_NAME)
def _part_of(key: str) -> _Part | None:
    """Say what is read of an annotation; the same few keys come with every Pod."""
    if key.startswith(_READ):
        return _Part.VALUE
    return _Part.NAME if key.startswith(_RUNTIME) or _RUNTIME_WITHIN.search(key) else None


def _tolerations(tolerations: list[k8s.PodToleration]) -> list[Toleration]:
    bound(len(tolerations), "spec.tolerations")
    return [
        Toleration(f"spec.tolerations[{index}]", each.key, each.operator)
        for index, each in enumerate(tolerations)
        if each.effect != "NoExecute" or each.key not in _OF_EVERY_POD
    ]


def _anti_affinity(pod: Pod, affinity: k8s.Affinity, namespace: str) -> Iterator[AntiAffinity]:
    """Yield the required terms that reach beyond a node, or beyond the Pod's own namespace.

    Not those that select Pods of gangs alone: JobSet and LeaderWorkerSet write them for whoever
    annotates one with `exclusive-topology` (jobset pkg/webhooks/pod_mutating_webhook.go, lws
    pkg/webhooks/pod_webhook.go).
    """
    anti = affinity.pod_anti_affinity
    terms = (anti.required_during_scheduling_ignored_during_execution if anti else None) or ()
    field = "spec.affinity.podAntiAffinity.requiredDuringSchedulingIgnoredDuringExecution"
    bound(len(terms), field)
    own = {namespace or pod.metadata.namespace}
    for index, term in enumerate(terms):
        if _selects_gangs_alone(term):
            continue
        elsewhere = term.namespace_selector is not None or not own.issuperset(term.namespaces or ())
        if elsewhere or term.topology_key != _NODE:
            yield AntiAffinity(f"{field}[{index}]", term.topology_key, elsewhere)


def _selects_gangs_alone(term: k8s.PodAffinityTerm) -> bool:
    demanded = (term.label_selector.match_expressions if term.label_selector else None) or ()
    return any(each.key in _GANG_KEYS and each.operator in {"Exists", "In"} for each in demanded)


def _pod_context(context: k8s.PodSecurityContext | None) -> k8s.PodSecurityContext | None:
    """Return a Pod's security context without the text of a GMSA's specification."""
    options = context.windows_options if context else None
    if context is None or options is None or not options.gmsa_credential_spec:
        return context
    return msgspec.structs.replace(context, windows_options=_without_text(options))


def _context(context: k8s.SecurityContext | None) -> k8s.SecurityContext | None:
    """Return a container's security context without the text of a GMSA's specification."""
    options = context.windows_options if context else None
    if context is None or options is None or not options.gmsa_credential_spec:
        return context
    return msgspec.structs.replace(context, windows_options=_without_text(options))


def _without_text(options: k8s.WindowsOptions) -> k8s.WindowsOptions:
    return msgspec.structs.replace(options, gmsa_credential_spec=_GIVEN)


def _nameservers(config: k8s.DNSConfig) -> list[str]:
    found = config.nameservers or []
    bound(len(found), "spec.dnsConfig.nameservers")
    return found


def _host_aliases(aliases: list[k8s.HostAlias]) -> list[HostAlias]:
    bound(len(aliases), "spec.hostAliases")
    bound(sum(len(alias.hostnames or ()) for alias in aliases), "spec.hostAliases")
    return [
        HostAlias(f"spec.hostAliases[{index}]", alias.hostnames or [])
        for index, alias in enumerate(aliases)
    ]


def check_containers(spec: object) -> None:
    """Raise InvalidObjectError if the spec of a Pod, as JSON, has more containers than are judged.

    It is asked before anything reads them with their types.
    """
    fields = ("containers", "initContainers", "ephemeralContainers")
    found = [spec.get(field) for field in fields] if isinstance(spec, dict) else []
    count = sum(len(each) for each in found if isinstance(each, list))
    bound(count, "spec.containers", most=MAX_CONTAINERS)


def project_containers(
    spec: k8s.PodSpec, shared: Collection[str] | None = None, *, weighed: bool = True
) -> Iterator[Container]:
    """Yield all containers of a Pod: ordinary, init, ephemeral.

    `shared` names the volumes that others mount too. If `weighed`, with what is risky.
    """
    lists = (spec.containers, spec.init_containers, spec.ephemeral_containers)
    bound(sum(len(each or ()) for each in lists), "spec.containers", most=MAX_CONTAINERS)
    variables = sum(len(each.env) for some in lists if some for each in some if each.env)
    bound(variables, "spec.containers[*].env", most=MAX_ENV)
    placed = [
        (f"spec.{field}[{index}]", container, kind)
        for kind, field, containers in (
            ("container", "containers", spec.containers),
            ("init", "initContainers", spec.init_containers),
            (_EPHEMERAL, "ephemeralContainers", spec.ephemeral_containers),
        )
        if containers
        for index, container in enumerate(containers)
    ]
    sharing = _names_of_sharing(spec, [each for _, each, _ in placed], shared) if shared else set()
    if not weighed:
        for path, container, kind in placed:
            yield _project(container, kind, path, spec, sharing, None)
        return
    risks = risks_of([(path, container) for path, container, _ in placed])
    for (path, container, kind), risk in zip(placed, risks, strict=True):
        yield _project(container, kind, path, spec, sharing, risk)


def _names_of_sharing(
    spec: k8s.PodSpec, containers: list[k8s.Container], shared: Collection[str]
) -> set[str]:
    """Return the names of the containers that reach a file system which others mount too.

    They mount it, or see the processes of one that does: by /proc/PID/root they have what it
    mounts, as the user that they are themselves.
    """
    mounting = {
        container.name
        for container in containers
        if any(each.name in shared for each in container.volume_mounts or ())
    }
    if mounting and spec.share_process_namespace:
        return {container.name for container in containers}
    return mounting | {
        container.name for container in containers if container.target_container_name in mounting
    }


def _project(  # noqa: PLR0913, PLR0917  One thing each of where it stands.
    container: k8s.Container,
    kind: str,
    path: str,
    spec: k8s.PodSpec,
    sharing: Collection[str],
    risk: ContainerRisk | None,
) -> Container:
    """Project one container; `risk` is None where nobody may ask that its Pod be sandboxed."""
    context = container.security_context
    if context and context.capabilities and context.capabilities.add:
        bound(len(context.capabilities.add), f"{path}.securityContext.capabilities.add")
    image = container.image or ""
    check_length(image, f"{path}.image", most=MAX_IMAGE)
    comes = origin(image)
    weighed = risk is not None
    start, interactive, resources = risk or NONE
    mounted = container.volume_mounts
    mounts, recursive = _mounts(path, mounted, weighed=weighed) if mounted else ([], [])
    return Container(
        path,
        container.name,
        kind,
        image,
        comes.source,
        comes.pinned,
        weighed and comes.public,
        _context(context),
        _host_ports(path, container, of_node=bool(spec.host_network)) if container.ports else [],
        list(_handler_hosts(path, container)),
        _unlimited(container.resources, spec.resources) if kind != _EPHEMERAL else [],
        _env(path, container.env) if container.env else [],
        mounts,
        _block_devices(path, container) if container.volume_devices else [],
        recursive,
        interactive,
        start.installs,
        start.scripts,
        resources,
        target=bool(container.target_container_name),
        shares=container.name in sharing,
    )


def _unlimited(resources: k8s.Resources | None, of_pod: k8s.Resources | None) -> list[str]:
    """Return which of cpu and memory nothing limits: a limit of zero is none."""
    limits = (resources.limits if resources else None) or {}
    missing = [name for name in _LIMITED if is_nothing(limits.get(name))]
    if missing and of_pod and of_pod.limits:
        return [name for name in missing if is_nothing(of_pod.limits.get(name))]
    return missing


def _host_ports(path: str, container: k8s.Container, *, of_node: bool) -> list[HostPort]:
    """Return the ports of the node; where the Pod is in its network (`of_node`) every port is one.

    kube-apiserver fills them in for Pods, and for templates not (kubernetes/pkg/apis/core/v1
    defaults.go, SetDefaults_PodSpec).
    """
    return [
        HostPort(f"{path}.ports[{index}].hostPort", opened)
        for index, port in enumerate(container.ports or ())
        if (opened := port.host_port or (of_node and port.container_port))
    ]


def _handler_hosts(path: str, container: k8s.Container) -> Iterator[HandlerHost]:
    lifecycle = container.lifecycle
    probes = container.liveness_probe or container.readiness_probe or container.startup_probe
    if not (probes or lifecycle):
        return
    for name, handler in (
        ("livenessProbe", container.liveness_probe),
        ("readinessProbe", container.readiness_probe),
        ("startupProbe", container.startup_probe),
        ("lifecycle.postStart", lifecycle.post_start if lifecycle else None),
        ("lifecycle.preStop", lifecycle.pre_stop if lifecycle else None),
    ):
        if handler is None:
            continue
        if handler.http_get and handler.http_get.host:
            yield HandlerHost(f"{path}.{name}.httpGet.host", handler.http_get.host)
        if handler.tcp_socket and handler.tcp_socket.host:
            yield HandlerHost(f"{path}.{name}.tcpSocket.host", handler.tcp_socket.host)


def _env(path: str, variables: list[k8s.EnvVar]) -> list[EnvVar]:
    found = [
        EnvVar(f"{path}.env[{index}]", variable.name)
        for index, variable in device_variables(variables)
        if len(variable.name) <= MAX_NAME
        and (variable.value_from is not None or (variable.value or "") not in NO_DEVICE)
    ]
    bound(len(found), f"{path}.env")
    return found


def _mounts(
    path: str, mounts: list[k8s.VolumeMount], *, weighed: bool
) -> tuple[list[Mount], list[str]]:
    """Return the mounts that ask for devices; if `weighed`, those that must be made recursive.

    Of a recursive one `IfPossible` demands nothing of the runtime. Most containers have neither.
    """
    odd = [
        (f"{path}.volumeMounts[{index}]", mount)
        for index, mount in enumerate(mounts)
        if mount.recursive_read_only or _DEVICE_MOUNT in mount.mount_path
    ]
    if not odd:
        return [], []
    bound(len(odd), f"{path}.volumeMounts")
    devices = [
        Mount(f"{place}.mountPath", mount.mount_path)
        for place, mount in odd
        if _DEVICE_MOUNT in mount.mount_path
    ]
    recursive = [
        f"{place}.recursiveReadOnly"
        for place, mount in odd
        if weighed and mount.recursive_read_only == "Enabled"
    ]
    return devices, recursive


def _block_devices(path: str, container: k8s.Container) -> list[str]:
    count = len(container.volume_devices or ())
    bound(count, f"{path}.volumeDevices")
    return [f"{path}.volumeDevices[{index}]" for index in range(count)]
