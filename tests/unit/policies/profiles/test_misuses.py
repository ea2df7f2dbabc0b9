"""What each profile still refuses: one step beside what it is for, and the gate says no."""

import copy
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import pytest

from core.profiles.privileges import PatternSet
from tests.harness.published.public_manifests import Pod, public_pods
from tests.unit.policies.profiles import changes
from tests.unit.policies.profiles.pages import RECOMMENDED, read_page


@dataclass(frozen=True)
class Misuse:
    """A step astray: what is added to the Pod, and what that needs beyond the profile."""

    profile: str
    what: str
    needs: frozenset[str]
    spec: dict[str, Any] = field(default_factory=dict)
    container: dict[str, Any] = field(default_factory=dict)
    volume: dict[str, Any] | None = None
    """Mounted writably unless it has `readOnly`."""

    def apply(self, pod: Pod) -> None:
        """Take the step, in place."""
        _merge(pod["spec"], self.spec)
        container = pod["spec"]["containers"][0]
        _merge(container, self.container)
        if self.volume is not None:
            source = {key: value for key, value in self.volume.items() if key != "readOnly"}
            mount: dict[str, Any] = {"name": "astray", "mountPath": "/astray"}
            if self.volume.get("readOnly"):
                mount["readOnly"] = True
            pod["spec"].setdefault("volumes", []).append({"name": "astray", **source})
            container.setdefault("volumeMounts", []).append(mount)


def _merge(into: dict[str, Any], what: dict[str, Any]) -> None:
    for key, value in what.items():
        if isinstance(value, dict) and isinstance(into.get(key), dict):
            _merge(into[key], value)
        else:
            into[key] = copy.deepcopy(value)


def host_path(path: str, *, read_only: bool = False) -> dict[str, Any]:
    """Return the source of a hostPath volume, for `Misuse.volume`."""
    return {"hostPath": {"path": path}, **({"readOnly": True} if read_only else {})}


def env(name: str, value: str) -> dict[str, Any]:
    """Return a container one environment variable."""
    return {"env": [{"name": name, "value": value}]}


def add(*capabilities: str) -> dict[str, Any]:
    """Return a container capabilities."""
    return {"securityContext": {"capabilities": {"add": list(capabilities)}}}


TAG = {"image": "registry.example/tool:latest"}
NO_MEMORY = {"resources": {"limits": {"memory": None}}}
WRITABLE = {"securityContext": {"readOnlyRootFilesystem": False}}
PRIVILEGED = {"securityContext": {"privileged": True, "allowPrivilegeEscalation": None}}
ALL_GPUS = env("NVIDIA_VISIBLE_DEVICES", "all")
FOREIGN = {
    "projected": {"sources": [{"serviceAccountToken": {"audience": "vault", "path": "token"}}]}
}


def of(profile: str, *found: tuple[str, set[str], dict[str, Any]]) -> list[Misuse]:
    """Return the misuses of a profile from (what, what it needs, how)."""
    return [Misuse(profile, what, frozenset(needs), **how) for what, needs, how in found]


AGENT_MISUSES = [
    *of(
        "gpu-health",
        (
            "the node's network",
            {"host/network", "host/port/9400"},
            {"spec": {"hostNetwork": True}},
        ),
        ("the node's processes", {"host/pid"}, {"spec": {"hostPID": True}}),
        (
            "privileged",
            {"container/privileged", "container/privilege-escalation"},
            {"container": PRIVILEGED},
        ),
        ("profiling metrics", {"capability/SYS_ADMIN"}, {"container": add("SYS_ADMIN")}),
        ("writing to the node", {"volume/hostPath:rw/var/log"}, {"volume": host_path("/var/log")}),
        (
            "the node's root",
            {"volume/hostPath:ro/%2F"},
            {"volume": host_path("/", read_only=True)},
        ),
        (
            "Pods' secrets",
            {"volume/hostPath:ro/var/lib/kubelet"},
            {"volume": host_path("/var/lib/kubelet", read_only=True)},
        ),
        (
            "a way around by ..",
            {"volume/hostPath:ro/%2E%2E/sys/%2E%2E"},
            {"volume": host_path("/sys/..", read_only=True)},
        ),
    ),
    *of(
        "log-agent",
        (
            "writing logs",
            {"volume/hostPath:rw/var/log/pods"},
            {"volume": host_path("/var/log/pods")},
        ),
        (
            "the runtime's socket",
            {"volume/hostPath:ro/var/run"},
            {"volume": host_path("/var/run", read_only=True)},
        ),
        (
            "the node's processes",
            {"volume/hostPath:ro/proc"},
            {"volume": host_path("/proc", read_only=True)},
        ),
        (
            "the node's network",
            {"host/network", "host/port/2020"},
            {"spec": {"hostNetwork": True}},
        ),
        (
            "reading anything",
            {"capability/DAC_READ_SEARCH"},
            {"container": add("DAC_READ_SEARCH")},
        ),
        ("a tag", {"image/unpinned"}, {"container": TAG}),
        (
            "first on the node",
            {"scheduling/priority/system-node-critical"},
            {"spec": {"priorityClassName": "system-node-critical"}},
        ),
    ),
    *of(
        "node-agent",
        ("a tag", {"image/unpinned"}, {"container": TAG}),
        ("the node's processes", {"host/pid"}, {"spec": {"hostPID": True}}),
        ("the node's root", {"volume/hostPath:rw/%2F"}, {"volume": host_path("/")}),
        ("installing software", {"volume/hostPath:rw/usr"}, {"volume": host_path("/usr")}),
        (
            "the runtime's socket",
            {"volume/hostPath:rw/run/containerd"},
            {"volume": host_path("/run/containerd")},
        ),
        (
            "the node's credentials",
            {"volume/hostPath:rw/etc/kubernetes"},
            {"volume": host_path("/etc/kubernetes")},
        ),
        (
            "the control plane's manifests",
            {"volume/hostPath:rw/etc/kubernetes/manifests"},
            {"volume": host_path("/etc/kubernetes/manifests")},
        ),
        ("all GPUs", {"gpu/env/NVIDIA_VISIBLE_DEVICES"}, {"container": ALL_GPUS}),
    ),
]


WORKLOAD_MISUSES = [
    *of(
        "isolated",
        ("no user namespace", {"run-as/host-users"}, {"spec": {"hostUsers": None}}),
        ("a tag", {"image/unpinned"}, {"container": TAG}),
        ("no memory limit", {"limits/unset/memory"}, {"container": NO_MEMORY}),
        ("a writable root", {"container/writable-root"}, {"container": WRITABLE}),
        ("a node by name", {"scheduling/node-name"}, {"spec": {"nodeName": "gpu-0"}}),
        ("all GPUs", {"gpu/env/NVIDIA_VISIBLE_DEVICES"}, {"container": ALL_GPUS}),
    ),
    *of(
        "restricted",
        ("a token", {"token/automount"}, {"spec": {"automountServiceAccountToken": True}}),
        ("a foreign audience", {"token/audience/vault"}, {"volume": FOREIGN}),
        ("pinned memory", {"capability/IPC_LOCK"}, {"container": add("IPC_LOCK")}),
        (
            "system priority",
            {"scheduling/priority/system-cluster-critical"},
            {"spec": {"priorityClassName": "system-cluster-critical"}},
        ),
        (
            "its own DNS",
            {"dns/policy/None", "dns/nameserver/192.0.2.1"},
            {"spec": {"dnsPolicy": "None", "dnsConfig": {"nameservers": ["192.0.2.1"]}}},
        ),
        (
            "a host alias",
            {"dns/host-alias/login.example.org"},
            {"spec": {"hostAliases": [{"ip": "192.0.2.1", "hostnames": ["login.example.org"]}]}},
        ),
    ),
    *of(
        "gpu-inference",
        ("a tag", {"image/unpinned"}, {"container": TAG}),
        ("all GPUs", {"gpu/env/NVIDIA_VISIBLE_DEVICES"}, {"container": ALL_GPUS}),
        ("the node's shared memory", {"host/ipc"}, {"spec": {"hostIPC": True}}),
        ("the node's network", {"host/network"}, {"spec": {"hostNetwork": True}}),
        (
            "weights from the node",
            {"volume/hostPath:ro/models"},
            {"volume": host_path("/models", read_only=True)},
        ),
        ("a token", {"token/automount"}, {"spec": {"automountServiceAccountToken": True}}),
        ("root", {"run-as/root"}, {"container": {"securityContext": {"runAsUser": 0}}}),
    ),
    *of(
        "gpu-training",
        (
            "privileged",
            {"container/privileged", "container/privilege-escalation"},
            {"container": PRIVILEGED},
        ),
        ("the node's network", {"host/network"}, {"spec": {"hostNetwork": True}}),
        ("the node's shared memory", {"host/ipc"}, {"spec": {"hostIPC": True}}),
        (
            "profiling the node",
            {"capability/SYS_ADMIN", "capability/SYS_PTRACE"},
            {"container": add("IPC_LOCK", "SYS_ADMIN", "SYS_PTRACE")},
        ),
        (
            "a device by its file",
            {"volume/hostPath:rw/dev/infiniband"},
            {"volume": host_path("/dev/infiniband")},
        ),
        (
            "a GPU by a mount",
            {"gpu/mount"},
            {
                "container": {
                    "volumeMounts": [
                        {"name": "m", "mountPath": "/var/run/nvidia-container-devices/all"}
                    ]
                },
                "spec": {"volumes": [{"name": "m", "emptyDir": {}}]},
            },
        ),
        (
            "IMEX channels",
            {"gpu/env/NVIDIA_IMEX_CHANNELS"},
            {"container": env("NVIDIA_IMEX_CHANNELS", "0")},
        ),
        (
            "no seccomp",
            {"seccomp/unconfined"},
            {"container": {"securityContext": {"seccompProfile": {"type": "Unconfined"}}}},
        ),
    ),
    *of(
        "notebook",
        (
            "sudo",
            {"container/privilege-escalation"},
            {"container": {"securityContext": {"allowPrivilegeEscalation": True}}},
        ),
        ("root", {"run-as/root"}, {"container": {"securityContext": {"runAsUser": 0}}}),
        ("a token", {"token/automount"}, {"spec": {"automountServiceAccountToken": True}}),
        (
            "a port of the node",
            {"host/port/8888"},
            {"container": {"ports": [{"containerPort": 8888, "hostPort": 8888}]}},
        ),
        ("no memory limit", {"limits/unset/memory"}, {"container": NO_MEMORY}),
        ("all GPUs", {"gpu/env/NVIDIA_VISIBLE_DEVICES"}, {"container": ALL_GPUS}),
        ("iptables", {"capability/NET_ADMIN"}, {"container": add("NET_ADMIN")}),
    ),
    *of(
        "baseline",
        ("the node's processes", {"host/pid"}, {"spec": {"hostPID": True}}),
        (
            "the runtime's socket",
            {"volume/hostPath:rw/run/containerd/containerd.sock"},
            {"volume": host_path("/run/containerd/containerd.sock")},
        ),
        ("raw packets", {"capability/NET_RAW"}, {"container": add("NET_RAW")}),
        (
            "the control plane's nodes",
            {"scheduling/tolerate/CriticalAddonsOnly"},
            {"spec": {"tolerations": [{"key": "CriticalAddonsOnly", "operator": "Exists"}]}},
        ),
        (
            "NFS of its choice",
            {"volume/nfs"},
            {"volume": {"nfs": {"server": "192.0.2.1", "path": "/"}}},
        ),
        ("a foreign audience", {"token/audience/vault"}, {"volume": FOREIGN}),
        ("a node by name", {"scheduling/node-name"}, {"spec": {"nodeName": "gpu-0"}}),
    ),
]


MISUSES = [*WORKLOAD_MISUSES, *AGENT_MISUSES]
MODELS = {
    "isolated": "argo-cd/repo-server.yaml",
    "restricted": "argo-cd/repo-server.yaml",
    "gpu-inference": "vllm/deployment.yaml",
    "gpu-training": "rdma-shared-device-plugin/test-pod.yaml",
    "notebook": "kubeflow-notebook/notebook.yaml",
    "baseline": "kube-state-metrics/deployment.yaml",
    "gpu-health": "dcgm-exporter/daemonset.yaml",
    "log-agent": "fluent-bit/daemonset.yaml",
    "node-agent": "nvidia-device-plugin/daemonset.yaml",
}
"""For each profile a Pod that it covers, to go astray from."""


def model(profile: str) -> Pod:
    """Return a Pod that a profile covers: an example of its page, changed as the page says."""
    example = MODELS[profile]
    page = read_page("restricted" if profile == "isolated" else profile)
    pod = copy.deepcopy(next(pod for name, pod in public_pods() if name == example))
    for name in page.tried[example]:
        changes.apply(name, pod)
    if profile == "isolated":
        pod["spec"]["hostUsers"] = False
    return pod


@pytest.mark.parametrize("misuse", MISUSES, ids=lambda misuse: f"{misuse.profile}: {misuse.what}")
def test_a_step_astray_is_refused_for_exactly_that(
    misuse: Misuse, uncovered: Callable[[str, Pod], set[str]]
) -> None:
    """The Pod is covered, then changed in one thing, and lacks what that thing needs alone."""
    pod = model(misuse.profile)
    assert uncovered(misuse.profile, pod) == set()
    misuse.apply(pod)
    assert uncovered(misuse.profile, pod) == misuse.needs


@pytest.mark.parametrize("misuse", MISUSES, ids=lambda misuse: f"{misuse.profile}: {misuse.what}")
def test_the_page_says_that_it_is_refused(misuse: Misuse) -> None:
    """Whoever is refused finds on the page what to do instead."""
    refused = PatternSet(read_page(misuse.profile).refused)
    assert [each for each in misuse.needs if not refused.covers(each)] == []


def test_each_profile_of_pods_has_five_misuses_or_more() -> None:
    """None is only praised."""
    counts = {profile: sum(misuse.profile == profile for misuse in MISUSES) for profile in MODELS}
    assert min(counts.values()) >= 5
    without = {"csi-drivers", "entering", "registries", "rights-manager", "storage-provisioner"}
    assert set(MODELS) == set(RECOMMENDED) - without
