"""What a node's programs are told: containerd, runsc, the container network, the kubelet."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from tests.harness.programs.node.cgroups import ROOT
from tests.harness.programs.node.images import PAUSE
from tests.harness.programs.node.namespace import BRIDGE, SUBNET

SOCKET: Final = "/run/containerd/containerd.sock"

_CONTAINERD: Final = """version = 3
imports = []
[plugins.'io.containerd.cri.v1.images'.pinned_images]
sandbox = '{pause}'
[plugins.'io.containerd.cri.v1.runtime']
disable_apparmor = true
# Else runc fails where root lacks CAP_SYS_RESOURCE.
restrict_oom_score_adj = true
[plugins.'io.containerd.cri.v1.runtime'.cni]
bin_dirs = ['{plugins}']
conf_dir = '{networks}'
[plugins.'io.containerd.cri.v1.runtime'.containerd]
default_runtime_name = 'runc'
[plugins.'io.containerd.cri.v1.runtime'.containerd.runtimes.runc]
runtime_type = 'io.containerd.runc.v2'
[plugins.'io.containerd.cri.v1.runtime'.containerd.runtimes.runsc]
runtime_type = 'io.containerd.runsc.v1'
[plugins.'io.containerd.cri.v1.runtime'.containerd.runtimes.runsc.options]
TypeUrl = 'io.containerd.runsc.v1.options'
ConfigPath = '{runsc}'
"""

_RUNSC: Final = """[runsc_config]
platform = 'systrap'
network = 'sandbox'
"""

LEASES: Final = "/run/cni"
"""Where the container network keeps which addresses are in use."""
BRIDGED: Final = (
    {
        "type": "bridge",
        "bridge": BRIDGE,
        "isGateway": True,
        "ipam": {"type": "host-local", "ranges": [[{"subnet": SUBNET}]], "dataDir": LEASES},
    },
    # Pods of one bridge would reach each other by IPv6, whatever a policy says.
    {"type": "tuning", "sysctl": {"net.ipv6.conf.all.disable_ipv6": "1"}},
)
"""Pods on one bridge, whose address is the node's."""


def write_containerd(folder: Path, programs: Path, network: Sequence[object]) -> Path:
    """Write containerd's settings and those that they name; return their path.

    `programs` holds those of the container network (CNI), and `network` is its list of plugins.
    """
    networks = folder / "networks"
    networks.mkdir()
    listed = {"cniVersion": "1.0.0", "name": "node", "plugins": list(network)}
    (networks / "10-node.conflist").write_text(json.dumps(listed))
    runsc = folder / "runsc.toml"
    runsc.write_text(_RUNSC)
    path = folder / "containerd.toml"
    path.write_text(
        _CONTAINERD.format(pause=PAUSE, plugins=programs, networks=networks, runsc=runsc)
    )
    return path


def write_kubelet(folder: Path, authority: Path) -> Path:
    """Write the kubelet's settings; return their path. It knows clients of this authority."""
    settings = {
        "apiVersion": "kubelet.config.k8s.io/v1beta1",
        "kind": "KubeletConfiguration",
        "authentication": {
            "anonymous": {"enabled": False},
            "webhook": {"enabled": False},
            "x509": {"clientCAFile": str(authority)},
        },
        "authorization": {"mode": "AlwaysAllow"},
        "cgroupDriver": "cgroupfs",
        "cgroupRoot": ROOT,
        "containerRuntimeEndpoint": f"unix://{SOCKET}",
        # Whatever else the machine does, its Pods stay.
        "evictionHard": {"memory.available": "0%", "nodefs.available": "0%"},
        "failCgroupV1": False,
        "failSwapOn": False,
        "localStorageCapacityIsolation": False,
        "makeIPTablesUtilChains": False,
        # Without CAP_SYS_RESOURCE it may not lower its own.
        "oomScoreAdj": 0,
        "resolvConf": "",
        "volumePluginDir": "/var/lib/kubelet/volume-plugins",
    }
    path = folder / "kubelet.json"
    path.write_text(json.dumps(settings))
    return path
