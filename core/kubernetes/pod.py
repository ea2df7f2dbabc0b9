"""What Sallyport reads of a Pod, typed, and what its variables and quantities mean.

Everything else is skipped while decoding. Field names and meanings: k8s.io/api/core/v1 types.go. A
null is an absent field, as it is for kube-apiserver.
"""

from typing import Final

import msgspec

from core.base.json_errors import decode_json
from core.base.short_text_cache import cache_short_text
from core.kubernetes.object_meta import ObjectMeta

READ_BY_TOOLKITS: Final = frozenset(
    {
        "ASCEND_ALLOW_LINK",
        "ASCEND_RUNTIME_OPTIONS",
        "ASCEND_VNPU_SPECS",
        "CUDA_VERSION",
        "NVIDIA_GDRCOPY",
        "NVIDIA_GDS",
        "NVIDIA_IMEX_CHANNELS",
        "NVIDIA_MIG_CONFIG_DEVICES",
        "NVIDIA_MIG_MONITOR_DEVICES",
        "NVIDIA_MOFED",
        "NVIDIA_NVSWITCH",
    }
)
"""Environment variables by which container toolkits are asked for devices, but for those named
`…_VISIBLE_DEVICES`; sources: the rule `gpu/environment`."""

VISIBLE: Final = "_VISIBLE_DEVICES"
"""End of each vendor's own such variable; those of vendors that are not known count as well."""

READ_BY_LIBRARIES: Final = frozenset(
    f"{name}{VISIBLE}"
    for name in ("ASCEND_RT", "CUDA", "HIP", "JAX_CUDA", "JAX_ROCM", "MUSA", "ROCR", "TPU")
)
"""Variables that narrow what the container already has; ranks set them differently."""

NO_DEVICE: Final = frozenset({"", "none", "void"})
"""Values of such variables that ask for no device."""

_LONGEST_QUANTITY: Final = 64
"""Characters of one that is remembered: real ones are shorter."""

_MOST_QUANTITIES: Final = 4096
"""Quantities: the same ones come with every Pod."""


class _Struct(msgspec.Struct, frozen=True, omit_defaults=True, rename="camel", gc=False):
    """Frozen, camelCase on the wire, absent fields left out when encoded."""


class TypedProfile(_Struct, frozen=True):
    """SeccompProfile and AppArmorProfile share this shape."""

    type: str = ""
    localhost_profile: str | None = None


class SELinuxOptions(_Struct, frozen=True):
    """`securityContext.seLinuxOptions`."""

    user: str | None = None
    role: str | None = None
    type: str | None = None
    level: str | None = None


class WindowsOptions(_Struct, frozen=True):
    """`securityContext.windowsOptions`."""

    host_process: bool | None = None
    gmsa_credential_spec_name: str | None = None
    gmsa_credential_spec: str | None = None
    """JSON of up to 64 KiB."""
    run_as_user_name: str | None = None


class Capabilities(_Struct, frozen=True):
    """`securityContext.capabilities`."""

    add: list[str] | None = None
    drop: list[str] | None = None


class Sysctl(_Struct, frozen=True):
    """One of `spec.securityContext.sysctls`; values are not read."""

    name: str = ""


class PodSecurityContext(_Struct, frozen=True):
    """`spec.securityContext`."""

    run_as_user: int | None = None
    run_as_group: int | None = None
    fs_group: int | None = None
    supplemental_groups: list[int] | None = None
    supplemental_groups_policy: str | None = None
    run_as_non_root: bool | None = None
    seccomp_profile: TypedProfile | None = None
    app_armor_profile: TypedProfile | None = None
    se_linux_options: SELinuxOptions | None = None
    windows_options: WindowsOptions | None = None
    sysctls: list[Sysctl] | None = None


class SecurityContext(_Struct, frozen=True):
    """`spec.containers[*].securityContext`."""

    privileged: bool | None = None
    allow_privilege_escalation: bool | None = None
    run_as_user: int | None = None
    run_as_group: int | None = None
    run_as_non_root: bool | None = None
    proc_mount: str | None = None
    read_only_root_filesystem: bool | None = None
    capabilities: Capabilities | None = None
    seccomp_profile: TypedProfile | None = None
    app_armor_profile: TypedProfile | None = None
    se_linux_options: SELinuxOptions | None = None
    windows_options: WindowsOptions | None = None


class HostAction(_Struct, frozen=True):
    """The `httpGet` or `tcpSocket` of a probe or a lifecycle handler; only its host is read."""

    host: str | None = None


class ExecAction(_Struct, frozen=True):
    """The `exec` of a probe or a lifecycle handler; the command is decoded by who reads it."""

    command: msgspec.Raw = msgspec.Raw()


class Handler(_Struct, frozen=True):
    """A probe or a lifecycle handler."""

    exec: ExecAction | None = None
    http_get: HostAction | None = None
    tcp_socket: HostAction | None = None


class Lifecycle(_Struct, frozen=True):
    """`spec.containers[*].lifecycle`."""

    post_start: Handler | None = None
    pre_stop: Handler | None = None


class ContainerPort(_Struct, frozen=True):
    """One of `spec.containers[*].ports`."""

    host_port: int | None = None
    container_port: int | None = None


class VolumeMount(_Struct, frozen=True):
    """One of `spec.containers[*].volumeMounts`."""

    name: str = ""
    read_only: bool | None = None
    recursive_read_only: str | None = None
    mount_path: str = ""


class VolumeDevice(_Struct, frozen=True):
    """One of `spec.containers[*].volumeDevices`; which claim it shows is not read."""


class EnvVar(_Struct, frozen=True):
    """One of `spec.containers[*].env`."""

    name: str = ""
    value: str | None = None
    value_from: dict[str, msgspec.Raw] | None = None


class ResourceClaim(_Struct, frozen=True):
    """One of `spec.resourceClaims`; which claim it is is not read."""


class Resources(_Struct, frozen=True):
    """`spec.containers[*].resources` and `spec.resources`. A quantity is text or a number."""

    limits: dict[str, str | int | float | None] | None = None


class Container(_Struct, frozen=True):
    """A container, init container or ephemeral container."""

    name: str = ""
    image: str | None = None
    security_context: SecurityContext | None = None
    ports: list[ContainerPort] | None = None
    volume_mounts: list[VolumeMount] | None = None
    volume_devices: list[VolumeDevice] | None = None
    env: list[EnvVar] | None = None
    resources: Resources | None = None
    liveness_probe: Handler | None = None
    readiness_probe: Handler | None = None
    startup_probe: Handler | None = None
    lifecycle: Lifecycle | None = None
    stdin: bool | None = None
    tty: bool | None = None
    command: msgspec.Raw = msgspec.Raw()
    """Decoded by who reads it, like `args`; empty where there is none."""
    args: msgspec.Raw = msgspec.Raw()
    target_container_name: str | None = None
    """Of an ephemeral container: whose processes it joins."""


class PodOS(_Struct, frozen=True):
    """`spec.os`."""

    name: str = ""


class PodToleration(_Struct, frozen=True):
    """One of `spec.tolerations`."""

    key: str = ""
    operator: str = ""
    effect: str = ""


class SelectorExpression(_Struct, frozen=True):
    """One of `matchExpressions`; its values are not read."""

    key: str = ""
    operator: str = ""


class TermSelector(_Struct, frozen=True):
    """The Pods that a term of an affinity selects, as far as it demands labels."""

    match_expressions: list[SelectorExpression] | None = None


class PodAffinityTerm(_Struct, frozen=True):
    """A term of `spec.affinity.podAntiAffinity`."""

    topology_key: str = ""
    label_selector: TermSelector | None = None
    namespaces: list[str] | None = None
    namespace_selector: dict[str, msgspec.Raw] | None = None


class PodAntiAffinity(_Struct, frozen=True):
    """`spec.affinity.podAntiAffinity`, as far as it is required."""

    required_during_scheduling_ignored_during_execution: list[PodAffinityTerm] | None = None


class Affinity(_Struct, frozen=True):
    """`spec.affinity`; which nodes and neighbours a Pod seeks is not read."""

    pod_anti_affinity: PodAntiAffinity | None = None


class DNSConfig(_Struct, frozen=True):
    """`spec.dnsConfig`."""

    nameservers: list[str] | None = None


class HostAlias(_Struct, frozen=True):
    """One of `spec.hostAliases`; addresses are not read."""

    hostnames: list[str] | None = None


class PodSpec(_Struct, frozen=True):
    """`spec`. Volumes stay maps, since a volume's type is the name of its other key."""

    containers: list[Container] | None = None
    init_containers: list[Container] | None = None
    ephemeral_containers: list[Container] | None = None
    volumes: list[dict[str, msgspec.Raw]] | None = None
    security_context: PodSecurityContext | None = None
    host_network: bool | None = None
    host_pid: bool | None = msgspec.field(default=None, name="hostPID")
    host_ipc: bool | None = msgspec.field(default=None, name="hostIPC")
    host_users: bool | None = None
    os: PodOS | None = None
    automount_service_account_token: bool | None = None
    node_name: str | None = None
    tolerations: list[PodToleration] | None = None
    affinity: Affinity | None = None
    priority_class_name: str | None = None
    share_process_namespace: bool | None = None
    dns_policy: str | None = None
    dns_config: DNSConfig | None = None
    host_aliases: list[HostAlias] | None = None
    resources: Resources | None = None
    resource_claims: list[ResourceClaim] | None = None
    runtime_class_name: str | None = None
    service_account_name: str | None = None
    service_account: str | None = None

    @property
    def account(self) -> str:
        """The service account that the Pod runs as.

        One that names none runs as `default` (kubernetes/plugin/pkg/admission/serviceaccount).
        """
        return self.service_account_name or self.service_account or "default"


class Pod(_Struct, frozen=True):
    """A Pod, as far as it is read."""

    metadata: ObjectMeta = ObjectMeta()
    spec: PodSpec = PodSpec()


class _Object(_Struct, frozen=True):
    metadata: ObjectMeta = ObjectMeta()


_DECODER = msgspec.json.Decoder(Pod)

_OBJECT = msgspec.json.Decoder(_Object)


def decode_pod(raw: bytes | msgspec.Raw, what: str = "Pod") -> Pod:
    """Decode a Pod from JSON; `what` names what it is of.

    Raises:
        InvalidObjectError: it is no JSON, or does not have a Pod's shape.
    """
    return decode_json(_DECODER, raw, what)


def decode_metadata(raw: bytes | msgspec.Raw, what: str) -> ObjectMeta:
    """Decode the metadata of an object of any kind from JSON; `what` names the object.

    Raises:
        InvalidObjectError: it is no JSON, or its metadata has not the shape that Kubernetes gives.
    """
    return decode_json(_OBJECT, raw, what).metadata


def is_nothing(quantity: str | float | None) -> bool:
    """Return whether a quantity is absent or zero, in any spelling: 0, "0m", "0.0Gi", "0e3".

    Not by `core.kubernetes.quantities`, which refuses what is no quantity, takes what is below zero
    for zero and counts: here such a text asks for something.
    """
    if not isinstance(quantity, str):
        return not quantity
    return _is_zero(quantity)


@cache_short_text(_MOST_QUANTITIES, _LONGEST_QUANTITY)
def _is_zero(quantity: str) -> bool:
    number = quantity.strip().rstrip("KMGTPEinumk")
    return not number.lower().partition("e")[0].strip("+-0.")


def device_variables(variables: list[EnvVar]) -> list[tuple[int, EnvVar]]:
    """Return the variables that a toolkit reads, and where each stands in the list."""
    return [
        (index, each)
        for index, each in enumerate(variables)
        if (name := each.name) in READ_BY_TOOLKITS
        or (name.endswith(VISIBLE) and name not in READ_BY_LIBRARIES)
    ]
