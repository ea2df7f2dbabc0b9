"""Containers, as policies see them."""

from collections.abc import Iterator
from functools import lru_cache
from typing import Final

import msgspec

from core import pod as k8s
from core.devices import NO_DEVICE, names_devices
from policies.projecting.bounds import MAX_CONTAINERS, MAX_NAME, bound, check_length
from policies.projecting.images import origin
from policies.projecting.starting import NOTHING, started

_DEVICE_MOUNT: Final = "nvidia-container-devices"
"""In a mount's path: NVIDIA's toolkit takes such a mount for a request for a device."""

_EPHEMERAL: Final = "ephemeral"
"""The kind of container that cannot have limits."""

_LIMITED: Final = ("cpu", "memory")

_ORDINARY: Final = frozenset({*_LIMITED, "ephemeral-storage"})
"""Resources that every node has: not looked at."""

_LONGEST_QUANTITY: Final = 64
"""Characters of one that is remembered: real ones are shorter."""

_MOST_REMEMBERED: Final = 4096
"""Quantities: the same ones come with every Pod."""


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
    """Give all containers of a Pod: ordinary, init, ephemeral; if `weighed`, with what is risky."""
    lists = (spec.containers, spec.init_containers, spec.ephemeral_containers)
    bound(sum(len(each or ()) for each in lists), "spec.containers", most=MAX_CONTAINERS)
    for kind, field, containers in (
        ("container", "containers", spec.containers),
        ("init", "initContainers", spec.init_containers),
        (_EPHEMERAL, "ephemeralContainers", spec.ephemeral_containers),
    ):
        for index, container in enumerate(containers or ()):
            yield _project(container, kind, f"spec.{field}[{index}]", spec, weighed=weighed)


def _unlimited(resources: k8s.Resources | None, of_pod: k8s.Resources | None) -> list[str]:
    """Give which of cpu and memory nothing limits: a limit of zero is none."""
    limits = (resources.limits if resources else None) or {}
    missing = [name for name in _LIMITED if is_nothing(limits.get(name))]
    if missing and of_pod and of_pod.limits:
        return [name for name in missing if is_nothing(of_pod.limits.get(name))]
    return missing


def special_resources(resources: k8s.Resources, path: str) -> tuple[str, ...]:
    """Give the resources that are wanted and that not every node has: hugepages, devices.

    Of these the API demands limits (ValidateContainerResourceRequirements in
    kubernetes/pkg/apis/core/validation): what is requested stands there too.

    Raises:
        InvalidObjectError: there are more than any real container wants, or one has a longer name.
    """
    limits = resources.limits
    if not limits or _ORDINARY.issuperset(limits):
        return ()
    found = [n for n in limits if n not in _ORDINARY and not is_nothing(limits[n])]
    if len(found) == 1 and len(found[0]) <= MAX_NAME:
        return tuple(found)
    field = f"{path}.resources.limits"
    bound(len(found), field)
    for name in found:
        check_length(name, field)
    return tuple(sorted(found))


def is_nothing(quantity: str | float | None) -> bool:
    """Say whether a quantity is absent or zero, in any spelling: 0, "0m", "0.0Gi", "0e3"."""
    if not isinstance(quantity, str):
        return not quantity
    known = len(quantity) <= _LONGEST_QUANTITY
    return _is_zero(quantity) if known else _is_zero.__wrapped__(quantity)


@lru_cache(_MOST_REMEMBERED)
def _is_zero(quantity: str) -> bool:
    number = quantity.strip().rstrip("KMGTPEinumk")
    return not number.lower().partition("e")[0].strip("+-0.")


def _project(
    container: k8s.Container, kind: str, path: str, spec: k8s.PodSpec, *, weighed: bool
) -> Container:
    context = container.security_context
    if context and context.capabilities and context.capabilities.add:
        bound(len(context.capabilities.add), f"{path}.securityContext.capabilities.add")
    image = container.image or ""
    check_length(image, f"{path}.image")
    comes = origin(image)
    start = started(container, path) if weighed else NOTHING
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
        _mounts(path, container.volume_mounts) if container.volume_mounts else [],
        _block_devices(path, container) if container.volume_devices else [],
        _recursive(path, container.volume_mounts) if weighed and container.volume_mounts else [],
        weighed and bool(container.stdin and container.tty),
        start.installs,
        start.scripts,
        special_resources(container.resources, path) if weighed and container.resources else (),
        target=bool(container.target_container_name),
    )


def _host_ports(path: str, container: k8s.Container, *, of_node: bool) -> list[HostPort]:
    """Give the ports of the node; where the Pod is in its network (`of_node`) every port is one.

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


def _mounts(path: str, mounts: list[k8s.VolumeMount]) -> list[Mount]:
    found = [
        Mount(f"{path}.volumeMounts[{index}].mountPath", mount.mount_path)
        for index, mount in enumerate(mounts)
        if _DEVICE_MOUNT in mount.mount_path
    ]
    bound(len(found), f"{path}.volumeMounts")
    return found


def _recursive(path: str, mounts: list[k8s.VolumeMount]) -> list[str]:
    """Give the mounts that a runtime must be able to make so; `IfPossible` demands nothing."""
    found = [
        f"{path}.volumeMounts[{index}].recursiveReadOnly"
        for index, mount in enumerate(mounts)
        if mount.recursive_read_only == "Enabled"
    ]
    bound(len(found), f"{path}.volumeMounts")
    return found


def _block_devices(path: str, container: k8s.Container) -> list[str]:
    count = len(container.volume_devices or ())
    bound(count, f"{path}.volumeDevices")
    return [f"{path}.volumeDevices[{index}]" for index in range(count)]
