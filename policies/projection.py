"""The projection: the part of a Pod that policies see, and all that they see.

Its published schema is `policies/rego/schema/projection.json`. What no rule reads stays out:
small inputs are fast inputs, and secrets cannot reach a policy that never gets them.
Paths are from the Pod's root, so that a finding can name the field its author wrote.
"""

from collections.abc import Iterator
from typing import Final, TypeVar

import msgspec

from core import pod as k8s
from core.errors import InvalidObjectError

APPARMOR_ANNOTATIONS: Final = "container.apparmor.security.beta.kubernetes.io/"
"""Prefix of the annotations that older kubelets honour (k8s.io/api/core/v1)."""

HARMLESS_VOLUMES: Final = frozenset(
    {
        "configMap",
        "csi",
        "downwardAPI",
        "emptyDir",
        "ephemeral",
        "image",
        "persistentVolumeClaim",
        "projected",
        "secret",
    }
)
"""Volume types that every Pod Security level allows (check_restrictedVolumes.go, 1.36)."""

_WRITING_TYPES: Final = frozenset(
    {"DirectoryOrCreate", "FileOrCreate", "Socket", "CharDevice", "BlockDevice"}
)
"""hostPath types that no read-only mount makes harmless: they create, or take what is sent to
them (a socket can be connected to, a device written to, through a read-only mount)."""

MAX_PATH: Final = 4096
"""Linux's PATH_MAX: no path of a node is longer."""

MAX_NAMES: Final = 256
"""The most capabilities of a container, or sysctls of a Pod; Linux has 41 capabilities."""
_NULL: Final = b"null"


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


class HostPath(_Struct, frozen=True):
    """A hostPath volume. `read_only`: it is mounted, never writably, and creates nothing."""

    path: str
    read_only: bool = False


class Volume(_Struct, frozen=True):
    """A volume of a type that some Pod Security level restricts."""

    path: str
    name: str
    types: list[str]
    host_path: HostPath | None = None


class Container(_Struct, frozen=True):
    """A container of any sort."""

    path: str
    name: str
    kind: str
    image: str = ""
    security_context: k8s.SecurityContext | None = None
    host_ports: list[HostPort] = []
    handler_hosts: list[HandlerHost] = []


class Projection(_Struct, frozen=True):
    """What policies see of a Pod. Absent, false and empty are the same: left out."""

    containers: list[Container]
    os: str = ""
    host_network: bool = False
    host_pid: bool = msgspec.field(default=False, name="hostPID")
    host_ipc: bool = msgspec.field(default=False, name="hostIPC")
    host_users: bool | None = None
    security_context: k8s.PodSecurityContext | None = None
    annotations: dict[str, str] = {}
    volumes: list[Volume] = []


_ENCODER = msgspec.json.Encoder()


def encode(projection: Projection) -> bytes:
    """Give the projection as the JSON that policies are evaluated on."""
    return _ENCODER.encode(projection)


def project(pod: k8s.Pod) -> Projection:
    """Give the projection of a Pod. Pure.

    Raises:
        InvalidObjectError: a volume has the wrong shape, or there is more of something than any
            real Pod has; names the field.
    """
    spec = pod.spec
    annotations = {
        key: value
        for key, value in (pod.metadata.annotations or {}).items()
        if key.startswith(APPARMOR_ANNOTATIONS)
    }
    _bound(len(annotations), MAX_NAMES, f"metadata.annotations[{APPARMOR_ANNOTATIONS}*]")
    if spec.security_context and spec.security_context.sysctls:
        _bound(len(spec.security_context.sysctls), MAX_NAMES, "spec.securityContext.sysctls")
    return Projection(
        containers=list(_containers(spec)),
        os=spec.os.name if spec.os else "",
        host_network=bool(spec.host_network),
        host_pid=bool(spec.host_pid),
        host_ipc=bool(spec.host_ipc),
        host_users=spec.host_users,
        security_context=spec.security_context,
        annotations=annotations,
        volumes=list(_volumes(spec)) if spec.volumes else [],
    )


def _containers(spec: k8s.PodSpec) -> Iterator[Container]:
    for kind, field, containers in (
        ("container", "containers", spec.containers),
        ("init", "initContainers", spec.init_containers),
        ("ephemeral", "ephemeralContainers", spec.ephemeral_containers),
    ):
        for index, container in enumerate(containers or ()):
            path = f"spec.{field}[{index}]"
            context = container.security_context
            if context and context.capabilities and context.capabilities.add:
                place = f"{path}.securityContext.capabilities.add"
                _bound(len(context.capabilities.add), MAX_NAMES, place)
            yield Container(
                path,
                container.name,
                kind,
                container.image or "",
                container.security_context,
                _host_ports(path, container) if container.ports else [],
                list(_handler_hosts(path, container)),
            )


def _host_ports(path: str, container: k8s.Container) -> list[HostPort]:
    return [
        HostPort(f"{path}.ports[{index}].hostPort", port.host_port)
        for index, port in enumerate(container.ports or ())
        if port.host_port
    ]


def _handler_hosts(path: str, container: k8s.Container) -> Iterator[HandlerHost]:
    lifecycle = container.lifecycle
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


class _HostPathSource(msgspec.Struct):
    path: str = ""
    type: str | None = None


def _volumes(spec: k8s.PodSpec) -> Iterator[Volume]:
    mounts: tuple[set[str], set[str]] | None = None
    for index, volume in enumerate(spec.volumes or ()):
        types = [key for key, value in volume.items() if key != "name" and bytes(value) != _NULL]
        if HARMLESS_VOLUMES.issuperset(types):
            continue
        place = f"spec.volumes[{index}]"
        name = _decode(volume.get("name", b'""'), str, f"{place}.name")
        host_path = None
        if "hostPath" in types:
            source = _decode(volume["hostPath"], _HostPathSource, f"{place}.hostPath")
            if len(source.path) > MAX_PATH:
                problem = f"is longer than any path, {MAX_PATH} characters"
                raise InvalidObjectError("Pod", f"{place}.hostPath.path", problem)
            mounted, writable = mounts = mounts or _writable(spec)
            only_read = name in mounted and name not in writable
            host_path = HostPath(source.path, only_read and source.type not in _WRITING_TYPES)
        yield Volume(place, name, types, host_path)


_Decoded = TypeVar("_Decoded")


def _decode(raw: bytes | msgspec.Raw, kind: type[_Decoded], field: str) -> _Decoded:
    try:
        return msgspec.json.decode(raw, type=kind)
    except msgspec.ValidationError as error:
        problem, _, path = str(error).partition(" - at `$")
        raise InvalidObjectError("Pod", field + path.rstrip("`"), problem) from error


def _writable(spec: k8s.PodSpec) -> tuple[set[str], set[str]]:
    """Give the names of the volumes that are mounted, and of those mounted writably."""
    mounted: set[str] = set()
    writable: set[str] = set()
    for containers in (spec.containers, spec.init_containers, spec.ephemeral_containers):
        for container in containers or ():
            for mount in container.volume_mounts or ():
                mounted.add(mount.name)
                if not mount.read_only:
                    writable.add(mount.name)
    return mounted, writable


def _bound(count: int, most: int, field: str) -> None:
    if count > most:
        raise InvalidObjectError("Pod", field, f"holds {count}; more than {most} are not judged")
