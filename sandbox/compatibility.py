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

_COMPATIBILITY: Final = "https://gvisor.dev/docs/user_guide/compatibility/"
_GVISOR_MODEL: Final = "https://gvisor.dev/docs/architecture_guide/security/"
_GVISOR_GPU: Final = "https://gvisor.dev/docs/user_guide/gpu/"
_GKE: Final = "https://cloud.google.com/kubernetes-engine/docs/concepts/sandbox-pods"
_RUNSC: Final = "https://github.com/google/gvisor/blob/master/runsc/specutils/specutils.go"
_KATA_LIMITS: Final = (
    "https://github.com/kata-containers/kata-containers/blob/main/docs/Limitations.md"
)
_KATA_PRIVILEGED: Final = (
    "https://github.com/kata-containers/kata-containers/blob/main/docs/how-to/privileged.md"
)
_AKS_KATA: Final = "https://learn.microsoft.com/azure/aks/use-pod-sandboxing"


class Limit(msgspec.Struct, frozen=True):
    """Why a sandbox cannot run a feature, what to do instead, and where that is written."""

    why: str
    instead: str
    source: str


_HOST_NETWORK: Final = "Leave out hostNetwork: a Service or a host port of another Pod reaches it"
_HOST_PROCESSES: Final = "Leave it out; observe processes from an agent of the node's own"
_PRIVILEGED: Final = "Name the capabilities that it needs in place of privileged"
_HOST_PATH: Final = "Mount it read-only, or use an emptyDir or a claim"
_BLOCK: Final = "Let the claim be of volumeMode Filesystem, and mount it"
_RDMA: Final = "Train without RDMA, or ask for an exception to the sandbox"
_LABELS: Final = "Leave it out: the sandbox confines the process more tightly than labels do"
_DEVICE: Final = "Leave the device out, or move what needs it to a Pod that needs no sandbox"
_WINDOWS: Final = "Run it on Linux, or ask for an exception to the sandbox"
_GPU: Final = "Name no GPU, or ask your operators for nodes that can (setting sandbox.gpu_label)"

CANNOT: Final[Mapping[str, Mapping[str, Limit]]] = {
    GVISOR: {
        "host-network": Limit("would leave the sandbox's network", _HOST_NETWORK, _GKE),
        "host-pid": Limit("would see the node's processes", _HOST_PROCESSES, _GVISOR_MODEL),
        "host-ipc": Limit("would share the node's memory", _HOST_PROCESSES, _GVISOR_MODEL),
        "privileged": Limit("has no meaning in the sandbox's own kernel", _PRIVILEGED, _GKE),
        "host-path-writable": Limit("would write files of the node", _HOST_PATH, _GKE),
        "selinux": Limit("is refused by runsc at start", _LABELS, _RUNSC),
        "apparmor": Limit("is ignored by runsc", _LABELS, _RUNSC),
        "block-volume": Limit("cannot be mounted inside", _BLOCK, _COMPATIBILITY),
        "hugepages": Limit(
            "are not implemented by its kernel", "Use ordinary memory", _COMPATIBILITY
        ),
        "rdma": Limit("are devices that it does not pass on", _RDMA, _COMPATIBILITY),
        "mig": Limit(
            "are not supported by its driver proxy", "Ask for whole nvidia.com/gpu", _GVISOR_GPU
        ),
        GPU: Limit("runs only with drivers that its proxy knows", _GPU, _GVISOR_GPU),
        "device": Limit("is one that it does not pass on", _DEVICE, _COMPATIBILITY),
        "windows": Limit("is no Linux", _WINDOWS, _COMPATIBILITY),
    },
    KATA: {
        "host-network": Limit("is not that of a virtual machine", _HOST_NETWORK, _KATA_LIMITS),
        "host-pid": Limit("is not seen from a virtual machine", _HOST_PROCESSES, _KATA_LIMITS),
        "host-ipc": Limit("is not shared with a virtual machine", _HOST_PROCESSES, _KATA_LIMITS),
        "privileged": Limit(
            "may show the node's block devices to the machine", _PRIVILEGED, _KATA_PRIVILEGED
        ),
        "host-path-writable": Limit("would write files of the node", _HOST_PATH, _AKS_KATA),
        "selinux": Limit("is not applied", _LABELS, _KATA_LIMITS),
        "apparmor": Limit("is not applied", _LABELS, _KATA_LIMITS),
        "rdma": Limit("are devices that it does not pass on", _RDMA, _AKS_KATA),
        "hugepages": Limit("are not passed on to the machine", "Use ordinary memory", _AKS_KATA),
        "mig": Limit("are devices that it does not pass on", "Name no GPU", _AKS_KATA),
        GPU: Limit("is a device that it does not pass on", "Name no GPU", _AKS_KATA),
        "device": Limit("is one that it does not pass on", _DEVICE, _AKS_KATA),
        "windows": Limit("is no Linux", _WINDOWS, _AKS_KATA),
    },
}
"""By kind of sandbox, then by feature."""
