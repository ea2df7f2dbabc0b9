"""What workloads must not get, profile by profile."""

from tests.unit.policies.profiles.misuse import (
    ALL_GPUS,
    FOREIGN,
    NO_MEMORY,
    PRIVILEGED,
    TAG,
    WRITABLE,
    add,
    env,
    host_path,
    of,
)

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
