"""Pods to compare verdicts on: bases, each with one change or a pair of them, by a seed.

Source: k8s.io/pod-security-admission v0.37.2, policy/check_*.go; fields are spelled as in
the comments there. A value is not marked as allowed or forbidden: kube-apiserver says that.
"""

import copy
import enum
import json
import random
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any, Final


class Special(enum.Enum):
    """Values that JSON has no word for."""

    UNSET = "unset"


UNSET: Final = Special.UNSET
APPEND: Final = "-"
"""As the last step of a path: add to the list there (RFC 6902)."""


@dataclass(frozen=True, slots=True)
class Change:
    """One value for one field: set what lies at `path` to `value`.

    `field` is the field that is meant, for instance `ports[*].hostPort`, where `path` may
    lead to a whole that holds it. Both are relative to a container or to the Pod.
    """

    field: str
    path: tuple[str, ...]
    value: Any

    def applied(self, root: dict[str, Any]) -> None:
        """Make the change in place, making the maps on the way where there are none."""
        at: Any = root
        *way, last = self.path
        if last == APPEND:
            *way, listed = way
        for step in way:
            at[step] = at.get(step) or {}
            at = at[step]
        if last == APPEND:
            at[listed] = [*(at.get(listed) or []), self.value]
        elif self.value is UNSET:
            at.pop(last, None)
        else:
            at[last] = self.value


def set_each(field: str, values: Iterable[Any]) -> Iterator[Change]:
    """Yield a change of the field itself for each value."""
    path = tuple(field.split("."))
    return (Change(field, path, value) for value in values)


BOOLEANS: Final = (True, False, None, UNSET)
_SECCOMP_TYPES: Final[tuple[Any, ...]] = (
    {"type": "RuntimeDefault"},
    {"type": "Localhost", "localhostProfile": "profiles/a.json"},
    {"type": "Unconfined"},
    None,
    UNSET,
    # Refused by the API's own validation:
    {},
    {"type": ""},
    {"type": "runtime/default"},
    {"type": "Localhost"},
)
_APPARMOR: Final[tuple[Any, ...]] = (
    {"type": "RuntimeDefault"},
    {"type": "Localhost", "localhostProfile": "k8s-a"},
    {"type": "Unconfined"},
    None,
    UNSET,
    {},
    {"type": "Localhost"},
)
_SELINUX: Final[tuple[Any, ...]] = (
    *(
        {"type": name}
        for name in (
            "", "container_t", "container_init_t", "container_kvm_t", "container_engine_t",
            "spc_t", "Container_t", "container_t ",
        )
    ),
    {},
    {"type": None, "user": None, "role": None},
    {"level": "s0:c123,c456"},
    None,
    UNSET,
)  # fmt: skip
_WINDOWS: Final[tuple[Any, ...]] = (
    {"hostProcess": True},
    {"hostProcess": False},
    {"hostProcess": None},
    {"runAsUserName": "ContainerUser"},
    {"runAsUserName": "ContainerAdministrator"},
    {"gmsaCredentialSpecName": "reader"},
    {},
    None,
    UNSET,
)


def security(prefix: str) -> Iterator[Change]:
    """Yield what a Pod's and a container's security context have in common."""
    yield from set_each(f"{prefix}runAsNonRoot", BOOLEANS)
    yield from set_each(f"{prefix}runAsUser", (0, 1, 65_534, None, UNSET))
    path = tuple(prefix.rstrip(".").split("."))
    for whole, part, values in (
        ("seccompProfile", "type", _SECCOMP_TYPES),
        ("appArmorProfile", "type", _APPARMOR),
        ("seLinuxOptions", "type", _SELINUX),
        ("windowsOptions", "hostProcess", _WINDOWS),
    ):
        for value in values:
            yield Change(f"{prefix}{whole}.{part}", (*path, whole), value)
    for part in ("user", "role"):
        yield from set_each(f"{prefix}seLinuxOptions.{part}", ("", "a_u", "system_u"))


_HOSTS: Final = ("", "127.0.0.1", "10.1.2.3", "localhost", "example.org", None, UNSET)
_BASELINE_CAPABILITIES: Final = (
    "AUDIT_WRITE", "CHOWN", "DAC_OVERRIDE", "FOWNER", "FSETID", "KILL", "MKNOD",
    "NET_BIND_SERVICE", "SETFCAP", "SETGID", "SETPCAP", "SETUID", "SYS_CHROOT",
)  # fmt: skip
_ADDED_CAPABILITIES: Final[tuple[Any, ...]] = (
    *([name] for name in _BASELINE_CAPABILITIES),
    *(
        [name]
        for name in (
            "NET_RAW", "NET_ADMIN", "SYS_ADMIN", "SYS_PTRACE", "BPF", "ALL", "all",
            "chown", "Net_Bind_Service", "CAP_CHOWN", "CAP_NET_ADMIN", "CAP_NET_BIND_SERVICE",
            "NET_BIND_SERVICE ", "", "*", "NOT_A_CAPABILITY",
        )
    ),
    ["CHOWN", "SYS_ADMIN"],
    ["NET_BIND_SERVICE", "NET_BIND_SERVICE"],
    ["NET_BIND_SERVICE", "KILL"],
    [],
    None,
    UNSET,
)  # fmt: skip
_DROPPED_CAPABILITIES: Final[tuple[Any, ...]] = (
    ["ALL"], ["all"], ["All"], ["CAP_ALL"], ["NET_RAW"], ["NET_RAW", "ALL"], ["ALL "],
    list(_BASELINE_CAPABILITIES), [], None, UNSET,
)  # fmt: skip


def _hosts() -> Iterator[Change]:
    """Yield probes and lifecycle handlers, each with each host."""
    probes = [(name,) for name in ("livenessProbe", "readinessProbe", "startupProbe")]
    handlers = [("lifecycle", name) for name in ("postStart", "preStop")]
    for path in (*probes, *handlers):
        for action in ("httpGet", "tcpSocket"):
            for host in _HOSTS:
                what = {"port": 8080} if host is UNSET else {"port": 8080, "host": host}
                yield Change(".".join((*path, action, "host")), path, {action: what})
        # What has no host at all must change nothing.
        yield Change(".".join((*path, "exec")), path, {"exec": {"command": ["true"]}})
        yield Change(".".join(path), path, None)


def _ports() -> Iterator[Change]:
    for value in (
        [{"containerPort": 80}],
        [{"containerPort": 80, "hostPort": 0}],
        [{"containerPort": 80, "hostPort": None}],
        [{"containerPort": 80, "hostPort": 80}],
        [{"containerPort": 80}, {"containerPort": 81, "hostPort": 81, "protocol": "UDP"}],
        [],
        None,
    ):
        yield Change("ports[*].hostPort", ("ports",), value)


def _of_container() -> Iterator[Change]:
    prefix = "securityContext."
    yield from set_each(f"{prefix}allowPrivilegeEscalation", BOOLEANS)
    yield from set_each(f"{prefix}privileged", BOOLEANS)
    # The API allows it only without `allowPrivilegeEscalation: false`.
    privileged = {"privileged": True, "allowPrivilegeEscalation": True}
    yield Change(f"{prefix}privileged", ("securityContext",), privileged)
    yield from set_each(f"{prefix}capabilities.add", _ADDED_CAPABILITIES)
    yield from set_each(f"{prefix}capabilities.drop", _DROPPED_CAPABILITIES)
    yield from set_each(f"{prefix}capabilities", ({}, None, UNSET))
    yield from set_each(f"{prefix}procMount", ("Default", "Unmasked", "", "default", None, UNSET))
    yield from security(prefix)
    yield from set_each("securityContext", ({}, None, UNSET))
    yield from _ports()


CONTAINER_CHANGES: Final = tuple(_of_container())
HANDLER_CHANGES: Final = tuple(_hosts())
"""Probes and lifecycle handlers, which only containers that keep running may have."""


_ANNOTATIONS: Final = (
    "runtime/default",
    "localhost/k8s-a",
    "localhost/",
    "unconfined",
    "",
    "Unconfined",
    "docker/default",
)
_SAFE_SYSCTLS: Final = (
    "kernel.shm_rmid_forced", "net.ipv4.ip_local_port_range", "net.ipv4.tcp_syncookies",
    "net.ipv4.ping_group_range", "net.ipv4.ip_unprivileged_port_start",
    "net.ipv4.ip_local_reserved_ports", "net.ipv4.tcp_keepalive_time",
    "net.ipv4.tcp_fin_timeout", "net.ipv4.tcp_keepalive_intvl",
    "net.ipv4.tcp_keepalive_probes", "net.ipv4.tcp_notsent_lowat",
    "net.ipv4.tcp_slow_start_after_idle",
    "net.ipv4.tcp_rmem", "net.ipv4.tcp_wmem",
)  # fmt: skip
_OTHER_SYSCTLS: Final = (
    "kernel.msgmax", "kernel.shmmax", "net.core.somaxconn", "net.ipv4.tcp_mem",
    "net.ipv4.tcp_rmem_x", "net/ipv4/tcp_syncookies", "kernel/shm_rmid_forced", "vm.swappiness",
    "NET.IPV4.TCP_SYNCOOKIES",
)  # fmt: skip


def _sysctls() -> Iterator[Change]:
    field, path = "spec.securityContext.sysctls[*].name", ("spec", "securityContext", "sysctls")
    for name in (*_SAFE_SYSCTLS, *_OTHER_SYSCTLS):
        yield Change(field, (*path, APPEND), {"name": name, "value": "1"})
    yield Change(field, path, [])
    yield Change(field, path, None)


def _annotations() -> Iterator[Change]:
    path = ("metadata", "annotations")
    apparmor = "container.apparmor.security.beta.kubernetes.io/"
    for container in ("main", "init"):
        for value in _ANNOTATIONS:
            field = f"metadata.annotations['{apparmor}*']"
            yield Change(field, (*path, apparmor + container), value)
    for key in (
        "seccomp.security.alpha.kubernetes.io/pod",
        "container.seccomp.security.alpha.kubernetes.io/main",
    ):
        field = f"metadata.annotations['{key.replace('/main', '/*')}']"
        for value in ("unconfined", "runtime/default", "localhost/a"):
            yield Change(field, (*path, key), value)


_VOLUMES: Final[dict[str, Any]] = {
    # What the restricted level lets in:
    "configMap": {"name": "c", "optional": True},
    "csi": {"driver": "disk.csi.example.org"},
    "downwardAPI": {"items": [{"path": "n", "fieldRef": {"fieldPath": "metadata.name"}}]},
    "emptyDir": {},
    "ephemeral": {
        "volumeClaimTemplate": {
            "spec": {
                "accessModes": ["ReadWriteOnce"],
                "resources": {"requests": {"storage": "1Gi"}},
            },
        },
    },
    "image": {"reference": "registry.example.org/data:1"},
    "persistentVolumeClaim": {"claimName": "c"},
    "projected": {"sources": [{"configMap": {"name": "c"}}]},
    "secret": {"secretName": "s"},
    # What it does not:
    "awsElasticBlockStore": {"volumeID": "v"},
    "azureDisk": {"diskName": "d", "diskURI": "https://blob.example.org/d"},
    "azureFile": {"secretName": "s", "shareName": "f"},
    "cephfs": {"monitors": ["m"]},
    "cinder": {"volumeID": "v"},
    "fc": {"targetWWNs": ["w"], "lun": 0},
    "flexVolume": {"driver": "example.org/flex"},
    "flocker": {"datasetName": "d"},
    "gcePersistentDisk": {"pdName": "p"},
    "gitRepo": {"repository": "https://git.example.org/r"},
    "glusterfs": {"endpoints": "e", "path": "p"},
    "hostPath": {"path": "/var/log"},
    "iscsi": {"targetPortal": "127.0.0.1", "iqn": "iqn.2015-02.example.org:a", "lun": 0},
    "nfs": {"server": "127.0.0.1", "path": "/"},
    "photonPersistentDisk": {"pdID": "p"},
    "portworxVolume": {"volumeID": "v"},
    "quobyte": {"registry": "r:1", "volume": "v"},
    "rbd": {"monitors": ["m"], "image": "i"},
    "scaleIO": {
        "gateway": "https://g",
        "system": "s",
        "secretRef": {"name": "s"},
        "volumeName": "v",
    },
    "storageos": {"volumeName": "v"},
    "vsphereVolume": {"volumePath": "[d] v"},
}


def _volumes() -> Iterator[Change]:
    path = ("spec", "volumes", APPEND)
    for name, source in _VOLUMES.items():
        yield Change(f"spec.volumes[*].{name}", path, {"name": name.lower(), name: source})
    for label, source in (
        ("none", {}),
        ("null", {"hostPath": None}),
        ("nulls", {"emptyDir": None, "nfs": None}),
        ("nullandother", {"hostPath": None, "secret": {"secretName": "s"}}),
        ("two", {"hostPath": {"path": "/"}, "emptyDir": {}}),
    ):
        yield Change("spec.volumes[*].hostPath", path, {"name": label, **source})
    yield Change("spec.volumes[*]", ("spec", "volumes"), None)


def _of_pod() -> Iterator[Change]:
    for field in ("hostNetwork", "hostPID", "hostIPC", "hostUsers"):
        yield from set_each(f"spec.{field}", BOOLEANS)
    yield from security("spec.securityContext.")
    yield from set_each("spec.securityContext", ({}, None, UNSET))
    yield from set_each("spec.os", ({"name": "linux"}, None))
    yield from set_each("metadata.annotations", (None, {}))
    yield from _sysctls()
    yield from _annotations()
    yield from _volumes()


POD_CHANGES: Final = tuple(_of_pod())


Pod = dict[str, Any]

_LISTS: Final = {
    "main": "containers",
    "second": "containers",
    "init": "initContainers",
    "sidecar": "initContainers",
    "debug": "ephemeralContainers",
}
"""The containers that a change may be made to, and the lists in which they lie."""

SLOTS: Final = ("main", "second", "init", "sidecar")
"""Those that a Pod may have when it is created."""


@dataclass(frozen=True, slots=True)
class Base:
    """A Pod to start from, and what any further container in it looks like."""

    name: str
    spec: Pod
    container: Pod

    def pod(self) -> Pod:
        """Return a new Pod with the one container `main`."""
        pod: Pod = {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {"name": "pod"},
            "spec": copy.deepcopy(self.spec),
        }
        self.container_of(pod, "main")
        return pod

    def container_of(self, pod: Pod, slot: str) -> Pod:
        """Return the container in a slot, adding it first where the Pod has none there."""
        containers: list[Pod] = pod["spec"].setdefault(_LISTS[slot], [])
        for container in containers:
            if container["name"] == slot:
                return container
        container = {"name": slot, **copy.deepcopy(self.container)}
        if slot == "sidecar":
            container["restartPolicy"] = "Always"
        containers.append(container)
        return container


_IMAGE: Final = "registry.example.org/a:1"
_COMPLIANT: Final = {
    "image": _IMAGE,
    "securityContext": {
        "allowPrivilegeEscalation": False,
        "capabilities": {"drop": ["ALL"]},
    },
}
_SECCOMP: Final = {"seccompProfile": {"type": "RuntimeDefault"}}

RESTRICTED: Final = Base(
    "restricted",
    {"securityContext": {"runAsNonRoot": True, **_SECCOMP}},
    _COMPLIANT,
)
BARE: Final = Base("bare", {}, {"image": _IMAGE})
USER_NAMESPACE: Final = Base(
    "user-namespace",
    {"hostUsers": False, "securityContext": _SECCOMP},
    _COMPLIANT,
)
WINDOWS: Final = Base(
    "windows",
    {"os": {"name": "windows"}, "securityContext": {"runAsNonRoot": True}},
    {"image": _IMAGE},
)
HOST_PROCESS: Final = Base(
    "host-process",
    {
        "os": {"name": "windows"},
        "hostNetwork": True,
        "securityContext": {"runAsNonRoot": True, "windowsOptions": {"hostProcess": True}},
    },
    {"image": _IMAGE},
)

BASES: Final = (RESTRICTED, USER_NAMESPACE, BARE, WINDOWS, HOST_PROCESS)
_PAIR_WEIGHTS: Final = (55, 20, 20, 4, 1)
"""How often each base is drawn for a pair: most where one change can tip the verdict."""


@dataclass(frozen=True, slots=True)
class Mutation:
    """A change to the Pod itself (`slot` is None) or to one of its containers."""

    slot: str | None
    change: Change

    @property
    def field(self) -> str:
        """The field's path from the Pod, as Pod Security's own comments spell it."""
        if self.slot is None:
            return self.change.field
        return f"spec.{_LISTS[self.slot]}[*].{self.change.field}"

    @property
    def name(self) -> str:
        """What is changed to what, for a message."""
        value = "unset" if self.change.value is UNSET else json.dumps(self.change.value)
        where = "" if self.slot is None else f"{self.slot}:"
        return f"{where}{'.'.join(self.change.path)}={value}"

    def apply(self, base: Base, pod: Pod) -> None:
        """Make the change in a Pod that was made from `base`."""
        root = pod if self.slot is None else base.container_of(pod, self.slot)
        copy.deepcopy(self.change).applied(root)


def container_mutations(slot: str) -> list[Mutation]:
    """Return every change that the API lets the container in a slot have."""
    handlers = () if slot in {"init", "debug"} else HANDLER_CHANGES
    return [Mutation(slot, change) for change in (*CONTAINER_CHANGES, *handlers)]


MUTATIONS: Final = (
    *(Mutation(None, change) for change in POD_CHANGES),
    *(mutation for slot in SLOTS for mutation in container_mutations(slot)),
)
"""Every change that can be asked about by creating a Pod."""


def pods(seed: int) -> Iterator[tuple[str, Pod]]:
    """Yield (name, Pod) without end: the bases, every single change to each, then pairs.

    The order depends on nothing but the seed: every change to the restricted base comes
    first, then the other bases' changes shuffled together, then pairs.
    """
    rng = random.Random(seed)  # noqa: S311 -- must repeat, need not be secret
    for base in BASES:
        yield _mutated(base)
    singles = [(base, mutation) for base in BASES[1:] for mutation in MUTATIONS]
    rng.shuffle(singles)
    for base, mutation in [(RESTRICTED, mutation) for mutation in MUTATIONS] + singles:
        yield _mutated(base, mutation)
    while True:
        (base,) = rng.choices(BASES, _PAIR_WEIGHTS)
        yield _mutated(base, *rng.sample(MUTATIONS, 2))


def _mutated(base: Base, *mutations: Mutation) -> tuple[str, Pod]:
    pod = base.pod()
    for mutation in mutations:
        mutation.apply(base, pod)
    return " + ".join([base.name, *(mutation.name for mutation in mutations)]), pod
