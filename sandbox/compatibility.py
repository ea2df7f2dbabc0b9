"""What each sandbox cannot run: features of a Pod that break it, or that break the sandbox. Pure.

The names of features are those of the Rego (`policies/rego/features`).
"""

from collections.abc import Mapping
from typing import Final, Literal

import msgspec

Kind = Literal["gvisor", "kata"]
"""What a sandbox is."""

GVISOR: Final = "gvisor"
KATA: Final = "kata"

GPU: Final = "gpu"
"""The one feature of which an operator says whether the nodes can."""

_GVISOR_FAQ: Final = "https://gvisor.dev/docs/user_guide/faq/"
_GVISOR_GPU: Final = "https://gvisor.dev/docs/user_guide/gpu/"
_GVISOR_USERS: Final = "https://github.com/google/gvisor/issues/13303"
_GKE: Final = "https://cloud.google.com/kubernetes-engine/docs/concepts/sandbox-pods"
_GVISOR: Final = "https://github.com/google/gvisor/blob/master"
_SPEC: Final = f"{_GVISOR}/runsc/specutils/specutils.go"
_MOUNTS: Final = f"{_GVISOR}/runsc/specutils/fs.go"
_NAMESPACES: Final = f"{_GVISOR}/runsc/boot/loader.go"
_DEVICES: Final = f"{_GVISOR}/runsc/boot/vfs.go"
_FLAGS: Final = f"{_GVISOR}/runsc/config/flags.go"
_FILTER: Final = f"{_GVISOR}/runsc/boot/seccomp.go"
_SYSTEM_CALLS: Final = f"{_GVISOR}/pkg/sentry/syscalls/linux/linux64.go"

_KATA: Final = "https://github.com/kata-containers/kata-containers"
_KATA_LIMITS: Final = f"{_KATA}/blob/main/docs/Limitations.md"
_KATA_PRIVILEGED: Final = f"{_KATA}/blob/main/docs/how-to/privileged.md"
_KATA_THREATS: Final = f"{_KATA}/blob/main/docs/threat-model/threat-model.md"
_KATA_AGENT: Final = f"{_KATA}/blob/main/src/runtime/virtcontainers/kata_agent.go"
_KATA_DEFAULTS: Final = f"{_KATA}/blob/main/src/runtime/Makefile"
_KATA_USERS: Final = f"{_KATA}/issues/8170"
_KATA_SOCKETS: Final = f"{_KATA}/issues/4244"
_KATA_GPU: Final = (
    "https://docs.nvidia.com/datacenter/cloud-native/gpu-operator/latest/gpu-operator-kata.html"
)
_CONTAINERD: Final = (
    "https://github.com/containerd/containerd/blob/main/internal/cri/server/service.go"
)


class RuntimeLimit(msgspec.Struct, frozen=True):
    """Why a sandbox cannot run a feature, what to do instead, and where that is written."""

    why: str
    instead: str
    source: str


_HOST_NETWORK: Final = "Leave out hostNetwork: a Service or a host port of another Pod reaches it"
_HOST_PROCESSES: Final = "Leave hostPID out; observe processes from an agent of the node's own"
_HOST_IPC: Final = "Leave hostIPC out; share memory within the Pod: emptyDir, medium Memory"
_PRIVILEGED: Final = "Name the capabilities that it needs in place of privileged"
_HOST_PATH: Final = "Mount it read-only, or use an emptyDir or a claim"
_SOCKET: Final = (
    "Mount no path that is such a socket or holds one, or move what needs it to a Pod that needs "
    "no sandbox"
)
_BLOCK: Final = "Let the claim be of volumeMode Filesystem, and mount it"
_RDMA: Final = "Train without RDMA, or ask for an exception to the sandbox"
_LABELS: Final = "Leave it out: the sandbox confines the process more tightly than it does"
_DEFAULT_FILTER: Final = (
    "Use RuntimeDefault: the node's kernel gets no call of the Pod's either way"
)
_USERS: Final = "Leave hostUsers out: the sandbox keeps the node's users away from the Pod"
_SYSCTL: Final = "Leave it out: the sandbox has its own network settings"
_RAW: Final = "Leave the capability out, or name the others that it needs in place of ALL"
_RECURSIVE: Final = "Say recursiveReadOnly: IfPossible, or leave it out"
_DEVICE: Final = "Leave the device out, or move what needs it to a Pod that needs no sandbox"
_WINDOWS: Final = "Run it on Linux, or ask for an exception to the sandbox"
_GPU: Final = "Ask for no GPU, or ask your operators for nodes that can (setting sandbox.gpu_label)"

_ON_GVISOR: Final[Mapping[str, RuntimeLimit]] = {
    "host-network": RuntimeLimit("leaves it without any network", _HOST_NETWORK, _GKE),
    "host-pid": RuntimeLimit(
        "shows the sandbox's processes, not the node's", _HOST_PROCESSES, _NAMESPACES
    ),
    "host-ipc": RuntimeLimit("is the sandbox's own, not the node's", _HOST_IPC, _NAMESPACES),
    "privileged": RuntimeLimit(
        "gives no right on the node, and no device of it", _PRIVILEGED, _GKE
    ),
    "host-path-writable": RuntimeLimit("would write files of the node", _HOST_PATH, _GKE),
    "host-socket": RuntimeLimit("cannot be connected to from inside", _SOCKET, _FLAGS),
    "user-namespace": RuntimeLimit("keeps the Pod from starting", _USERS, _GVISOR_USERS),
    "selinux": RuntimeLimit("is refused by runsc at start", _LABELS, _SPEC),
    "apparmor": RuntimeLimit("is ignored by runsc", _LABELS, _SPEC),
    "seccomp": RuntimeLimit("is ignored by runsc", _DEFAULT_FILTER, _FILTER),
    "sysctl": RuntimeLimit("is ignored by runsc", _SYSCTL, _NAMESPACES),
    "raw-network": RuntimeLimit("is taken away by runsc", _RAW, _FLAGS),
    "recursive-read-only": RuntimeLimit("keeps the container from starting", _RECURSIVE, _MOUNTS),
    "block-volume": RuntimeLimit("cannot be opened inside", _BLOCK, _DEVICES),
    "hugepages": RuntimeLimit(
        "are not implemented by its kernel", "Use ordinary memory", _SYSTEM_CALLS
    ),
    "rdma": RuntimeLimit("needs devices that it does not pass on", _RDMA, _FLAGS),
    "mig": RuntimeLimit(
        "is not supported by its driver proxy", "Ask for whole nvidia.com/gpu", _GVISOR_GPU
    ),
    GPU: RuntimeLimit("runs only with drivers that its proxy knows", _GPU, _GVISOR_GPU),
    "device": RuntimeLimit("is one that it does not pass on", _DEVICE, _DEVICES),
    "windows": RuntimeLimit("is no Linux", _WINDOWS, _GVISOR_FAQ),
}

_ON_KATA: Final[Mapping[str, RuntimeLimit]] = {
    "host-network": RuntimeLimit("is not that of a virtual machine", _HOST_NETWORK, _KATA_LIMITS),
    "host-pid": RuntimeLimit("is not seen from a virtual machine", _HOST_PROCESSES, _KATA_AGENT),
    "host-ipc": RuntimeLimit("is not shared with a virtual machine", _HOST_IPC, _KATA_AGENT),
    "privileged": RuntimeLimit(
        "may show the node's block devices to the machine", _PRIVILEGED, _KATA_PRIVILEGED
    ),
    "host-path-writable": RuntimeLimit("would write files of the node", _HOST_PATH, _KATA_THREATS),
    "host-socket": RuntimeLimit("cannot be connected to from the machine", _SOCKET, _KATA_SOCKETS),
    "user-namespace": RuntimeLimit("keeps the Pod from starting", _USERS, _KATA_USERS),
    "selinux": RuntimeLimit("is not applied", _LABELS, _KATA_LIMITS),
    "apparmor": RuntimeLimit("is not applied", _LABELS, _KATA_LIMITS),
    "seccomp": RuntimeLimit("is not passed on to the machine", _DEFAULT_FILTER, _KATA_DEFAULTS),
    "recursive-read-only": RuntimeLimit(
        "keeps the container from starting", _RECURSIVE, _CONTAINERD
    ),
    "rdma": RuntimeLimit("needs devices that it does not pass on", _RDMA, _KATA_AGENT),
    "mig": RuntimeLimit("needs a device that it does not pass on", "Ask for no GPU", _KATA_GPU),
    GPU: RuntimeLimit("is a device that it does not pass on", "Ask for no GPU", _KATA_GPU),
    "device": RuntimeLimit("is one that it does not pass on", _DEVICE, _KATA_AGENT),
    "windows": RuntimeLimit("is no Linux", _WINDOWS, _KATA_LIMITS),
}

CANNOT: Final[Mapping[Kind, Mapping[str, RuntimeLimit]]] = {GVISOR: _ON_GVISOR, KATA: _ON_KATA}
"""By kind of sandbox, then by feature."""
