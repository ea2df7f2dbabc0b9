"""What the DaemonSets of a node must not get, profile by profile."""

from tests.unit.policies.profiles.misuse import ALL_GPUS, PRIVILEGED, TAG, add, host_path, of

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
