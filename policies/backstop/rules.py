"""The rules of privileges that the back-stop holds, each as CEL, and why it holds no other.

A rule is held where it is grave (severity critical or high), speaks of a Pod that is made, and CEL
can say of the Pod alone that it needs the privilege. What CEL finds must be needed by the gate's
reckoning too, word for word: it may find less, never more (docs/adr/0044).
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

PLAIN: Final = "^[A-Za-z0-9._:-]{1,200}$"
"""What stands for itself in a privilege (policies/rego/lib), up to a length that costs little."""

UNCLEAR: Final = "%"
"""Stands for a segment that CEL cannot encode: patterns that hold any such cover it."""

VAGUE: Final = "?"
"""Stands for needs that are too many or too long for CEL: every listed profile may cover them."""


@dataclass(frozen=True)
class CoveredRule:
    """A rule, and the CEL lists of the privileges that it finds."""

    rule: str
    patterns: tuple[str, ...]
    """The privileges that it names, as its METADATA says."""
    of_pod: str = ""
    of_container: str = ""
    """For a container `c`."""


def segment(text: str) -> str:
    """Return the CEL of one segment of a privilege."""
    plain = f"{text}.size() <= 200 && {text}.matches('{PLAIN}') && !({text} in ['.', '..'])"
    return f"({plain} ? {text} : '{UNCLEAR}')"


def _flag(field: str, privilege: str) -> str:
    return f"({field}.orValue(false) ? ['{privilege}'] : [])"


def _typed(context: str, privilege: str) -> str:
    """Return the CEL of a profile (seccomp, AppArmor) that confines nothing."""
    type_of = f"{context}.?type.orValue('')"
    free = f"{context}.hasValue() && !({type_of} in ['RuntimeDefault', 'Localhost'])"
    return f"({free} ? ['{privilege}'] : [])"


def _selinux(context: str, *parts: str) -> str:
    found = []
    for part in parts:
        value = f"{context}.?{part}.orValue('')"
        need = f"['selinux/{part}/' + {segment(value)}]"
        found.append(f"({value} != '' ? {need} : [])")
    return " + ".join(found)


_OF_POD: Final = "variables.spec.?securityContext"
_OF_CONTAINER: Final = "c.?securityContext"

_CAPABILITIES: Final = f"{_OF_CONTAINER}.?capabilities.?add.orValue([])"
_PROC_MOUNT: Final = f"{_OF_CONTAINER}.?procMount.orValue('Default')"

COVERED: Final = (
    CoveredRule(
        "privileges/container/privileged",
        ("container/privileged",),
        of_container=_flag(f"{_OF_CONTAINER}.?privileged", "container/privileged"),
    ),
    CoveredRule(
        "privileges/host/network",
        ("host/network",),
        _flag("variables.spec.?hostNetwork", "host/network"),
    ),
    CoveredRule("privileges/host/pid", ("host/pid",), _flag("variables.spec.?hostPID", "host/pid")),
    CoveredRule("privileges/host/ipc", ("host/ipc",), _flag("variables.spec.?hostIPC", "host/ipc")),
    CoveredRule(
        "privileges/host/process",
        ("host/process",),
        _flag(f"{_OF_POD}.?windowsOptions.?hostProcess", "host/process"),
        _flag(f"{_OF_CONTAINER}.?windowsOptions.?hostProcess", "host/process"),
    ),
    CoveredRule(
        "privileges/volume/host_path",
        ("volume/hostPath:ro/**", "volume/hostPath:rw/**"),
        "variables.hostPaths",
    ),
    CoveredRule(
        "privileges/capability/add",
        ("capability/*",),
        f"(variables.manyCapabilities ? ['{VAGUE}'] : [])",
        f"(variables.manyCapabilities ? [] : {_CAPABILITIES}"
        f".map(x, 'capability/' + {segment('x')}))",
    ),
    CoveredRule(
        "privileges/proc_mount/unmasked",
        ("proc-mount/*", "proc-mount-in-user-namespace/*"),
        of_container=f"({_PROC_MOUNT} == 'Default' ? [] : "
        "[(variables.spec.?hostUsers.orValue(true) ? 'proc-mount/' : "
        f"'proc-mount-in-user-namespace/') + {segment(_PROC_MOUNT)}])",
    ),
    CoveredRule(
        "privileges/seccomp/unconfined",
        ("seccomp/unconfined",),
        _typed(f"{_OF_POD}.?seccompProfile", "seccomp/unconfined"),
        _typed(f"{_OF_CONTAINER}.?seccompProfile", "seccomp/unconfined"),
    ),
    CoveredRule(
        "privileges/apparmor/profile",
        ("apparmor/unconfined", "apparmor/other/*"),
        f"({_OF_POD}.?appArmorProfile.?type.orValue('') == 'Unconfined' "
        "? ['apparmor/unconfined'] : [])",
        f"({_OF_CONTAINER}.?appArmorProfile.?type.orValue('') == 'Unconfined' "
        "? ['apparmor/unconfined'] : [])",
    ),
    CoveredRule(
        "privileges/selinux/options",
        ("selinux/type/*", "selinux/user/*", "selinux/role/*"),
        _selinux(f"{_OF_POD}.?seLinuxOptions", "user", "role", "type"),
        _selinux(f"{_OF_CONTAINER}.?seLinuxOptions", "user", "role", "type"),
    ),
    CoveredRule(
        "privileges/selinux/level",
        ("selinux/level/*",),
        _selinux(f"{_OF_POD}.?seLinuxOptions", "level"),
        _selinux(f"{_OF_CONTAINER}.?seLinuxOptions", "level"),
    ),
)
"""In the order in which a refusal names them."""

_MILD: Final = "of medium or low severity: the back-stop keeps the worst out, and no more"
_OTHER_KINDS: Final = (
    "of objects that are no Pods; rights, claims and credentials wait for the gate, which fails "
    "closed"
)
_CONNECTIONS: Final = "of connections, which no ValidatingAdmissionPolicy of Pods sees"

UNCOVERED: Final[Mapping[str, str]] = {
    **dict.fromkeys(
        (
            "annotation/deprecated", "capability/defaults", "container/privilege_escalation",
            "container/root_filesystem", "debug/target", "dns/host_alias", "dns/settings",
            "host/port", "host/probe", "image/digest", "image/registry", "limits/unset",
            "process_namespace/shared", "run_as/host_users", "run_as/unset",
            "scheduling/anti_affinity", "scheduling/node_name", "scheduling/priority",
            "scheduling/toleration",
            "seccomp/unset", "sysctl/set", "token/audience", "token/automount",
            "token/certificate", "volume/block", "volume/csi", "volume/mount_option", "volume/type",
        ),
        _MILD,
    ),
    **dict.fromkeys(
        (
            "certificate/approve", "certificate/identity", "certificate/pod", "certificate/request",
            "device/admin_access", "device/config", "device/extended_resource",
            "device/toleration", "identity/federated", "rights/aggregate",
            "rights/apis", "rights/approve", "rights/bind", "rights/certificates",
            "rights/collect", "rights/escalate", "rights/exempt", "rights/impersonate",
            "rights/network", "rights/nodes_proxy", "rights/pod_certificates",
            "rights/sallyport", "rights/secrets", "rights/subject", "rights/token",
            "rights/unknown_role", "rights/use", "rights/webhooks",
            "rights/wildcard", "rights/workloads", "runtime_class/handler", "scheduling/bind",
            "storage/driver", "storage/provisioner", "token/lasting", "token/request",
            "volume/secret",
        ),
        _OTHER_KINDS,
    ),
    **dict.fromkeys(
        (
            "attach/stream", "exec/code", "exec/command", "exec/interactive", "port_forward/any",
            "proxy/node", "proxy/pod", "proxy/service",
        ),
        _CONNECTIONS,
    ),
    "debug/image": "which image may enter a Pod is the site's list; what the container may do is "
    "held as that of any other",
    "gpu/environment": "which variables a toolkit obeys, and which values ask for nothing, is a "
    "list that CEL would have to repeat",
    "gpu/mount": "only where a toolkit takes mounts for requests, which is off by default; it "
    "gives devices, not the node",
    **dict.fromkeys(
        ("shared_volume/group", "shared_volume/user"),
        "what a claim is bound to, and the namespace's ranges, are not in the Pod",
    ),
    "identity/gmsa": "it gives an identity in the network, on Windows alone, and not the node",
    "run_as/administrator": "as run_as/root: ordinary images of Windows run so",
    "run_as/root": "ordinary images run as root: nearly every Pod would be asked about",
}  # fmt: skip
"""By the rule's id without its area: why the back-stop does not hold it."""
