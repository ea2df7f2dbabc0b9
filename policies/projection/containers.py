"""Containers, as policies see them."""

from collections.abc import Iterator
from typing import Final

import msgspec

from core.kubernetes import pod as k8s
from core.kubernetes.device_variables import NO_DEVICE, names_devices
from policies.projection.container_risks import NONE, ContainerRisk, risks_of
from policies.projection.images import origin
from policies.projection.limits import MAX_CONTAINERS, MAX_NAME, bound, check_length
from policies.projection.resources import is_nothing

_DEVICE_MOUNT: Final = "nvidia-container-devices"
"""In a mount's path: NVIDIA's toolkit takes such a mount for a request for a device."""

_EPHEMERAL: Final = "ephemeral"
"""The kind of container that cannot have limits."""

_LIMITED: Final = ("cpu", "memory")


class _Struct(msgspec.Struct, frozen=True, omit_defaults=True, rename="camel", gc=False):
    """Frozen; absent fields are left out when encoded."""


class HostPort(_Struct, frozen=True):
    """A port of the node that a container listens on."""

    path: str
    port: int


class HandlerHost(_Struct, frozen=True):
    """The host that a probe or lifecycle handler makes the kubelet connect to."""

    path: str
    host: str


class EnvVar(_Struct, frozen=True):
    """An environment variable that asks for devices. Its value stays out."""

    path: str
    name: str


class Mount(_Struct, frozen=True):
    """A mount that asks for devices."""

    path: str
    mount_path: str


class Container(_Struct, frozen=True):
    """A container of any sort."""

    path: str
    name: str
    kind: str
    image: str = ""
    image_from: str = ""
    """Segments of a privilege: the registry's host and the repository."""
    pinned: bool = False
    """Whether a digest names the image's content."""
    public: bool = False
    """Whether anyone may publish where the image comes from, or nobody knows where that is."""
    security_context: k8s.SecurityContext | None = None
    host_ports: list[HostPort] = []
    handler_hosts: list[HandlerHost] = []
    unlimited: list[str] = []
    """Which of cpu and memory neither the container nor its Pod limits."""
    env: list[EnvVar] = []
    mounts: list[Mount] = []
    block_devices: list[str] = []
    recursive_read_only: list[str] = []
    """Paths of mounts below which nothing may be writable."""
    interactive: bool = False
    """Whether it has a terminal and waits for what is typed into it."""
    installs: tuple[str, ...] = ()
    scripts: tuple[str, ...] = ()
    """What `started` tells of its command."""
    resources: tuple[str, ...] = ()
    """Names of the resources it wants that not every node has."""
    added: bool = False
    """Whether an update adds it to a Pod that runs."""
    target: bool = False
    """Whether it joins the processes of another container."""


def project_containers(spec: k8s.PodSpec, *, weighed: bool = True) -> Iterator[Container]:
    """Yield all containers of a Pod: ordinary, init, ephemeral.

    If `weighed`, with what is risky.
    """
    lists = (spec.containers, spec.init_containers, spec.ephemeral_containers)
    bound(sum(len(each or ()) for each in lists), "spec.containers", most=MAX_CONTAINERS)
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
    if not weighed:
        for path, container, kind in placed:
            yield _project(container, kind, path, spec, None)
        return
    risks = risks_of([(path, container) for path, container, _ in placed])
    for (path, container, kind), risk in zip(placed, risks, strict=True):
        yield _project(container, kind, path, spec, risk)


def _unlimited(resources: k8s.Resources | None, of_pod: k8s.Resources | None) -> list[str]:
    """Return which of cpu and memory nothing limits: a limit of zero is none."""
    limits = (resources.limits if resources else None) or {}
    missing = [name for name in _LIMITED if is_nothing(limits.get(name))]
    if missing and of_pod and of_pod.limits:
        return [name for name in missing if is_nothing(of_pod.limits.get(name))]
    return missing


def _project(
    container: k8s.Container, kind: str, path: str, spec: k8s.PodSpec, risk: ContainerRisk | None
) -> Container:
    """Project one container; `risk` is None where nobody may ask that its Pod be sandboxed."""
    context = container.security_context
    if context and context.capabilities and context.capabilities.add:
        bound(len(context.capabilities.add), f"{path}.securityContext.capabilities.add")
    image = container.image or ""
    check_length(image, f"{path}.image")
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
        context,
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
    )


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
        for index, variable in enumerate(variables)
        if len(variable.name) <= MAX_NAME
        and names_devices(variable.name)
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
