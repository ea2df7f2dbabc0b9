"""Runners, databases, agents of nodes, engines of data, and what is had by an exception."""

from typing import Final

from tests.unit.sandbox.workloads import (
    DIGEST,
    GPU,
    RUNC,
    SANDBOX,
    Fields,
    Workload,
    host_path,
    mounts,
    pod,
    shell,
)

_PRIVILEGED: Final[Fields] = {"securityContext": {"privileged": True}}
_DRIVER: Final = pod(
    "registry.k8s.io/csi/driver" + DIGEST,
    token=True,
    spec=host_path("/var/lib/kubelet"),
    **_PRIVILEGED,
    **mounts(),
)
_ISTIO: Final[Fields] = {
    "name": "istio-proxy",
    "image": "docker.io/istio/proxyv2" + DIGEST,
    "resources": {"limits": {"cpu": "2", "memory": "1Gi"}},
}
_ISTIO_TOKEN: Final[Fields] = {
    "volumes": [
        {
            "name": "istio-token",
            "projected": {"sources": [{"serviceAccountToken": {"audience": "istio-ca"}}]},
        }
    ]
}

RUNNERS: Final = (
    Workload(
        "GitHub's runner as its chart makes it",
        pod("ghcr.io/actions/actions-runner:latest", token=True, limits=None),
        "code/build code/public_image code/unpinned_image identity/token exposure/unlimited", 80,
        SANDBOX, "runs what pull requests say",
    ),
    Workload(
        "GitHub's runner with Docker in it",
        pod("ghcr.io/actions/actions-runner:latest", token=True, **_PRIVILEGED),
        "code/build code/public_image code/unpinned_image identity/token", 75, "privileged",
        "a privileged runner is root on the node for whoever opens a pull request",
    ),
    Workload("hardened runner of the site's own projects",
             pod("registry.example/ci/gitlab-runner" + DIGEST), "code/build", 40, RUNC,
             "colleagues' changes, no token; sites with public projects weigh the rule higher"),
    Workload(
        "Tekton's task", pod(token=True, labels={"tekton.dev/taskRun": "build-1"}),
        "code/build identity/token", 50, SANDBOX, "unmerged code beside a token",
    ),
    Workload(
        "image build with kaniko",
        pod("gcr.io/kaniko-project/executor:v1", token=True, limits=None),
        "code/build code/unpinned_image identity/token exposure/unlimited", 65, SANDBOX,
        "a Dockerfile is code, run as root",
    ),
    Workload(
        "runner on Windows",
        pod("registry.example/ci/actions-runner:1", token=True, spec={"os": {"name": "windows"}}),
        "code/build code/unpinned_image identity/token", 60, "windows",
        "no sandbox for Linux runs it: refused with the reason",
    ),
)  # fmt: skip

SERVICES: Final = (
    Workload("PostgreSQL", pod("postgres:17", token=True), "code/unpinned_image identity/token",
             20, RUNC, "an official image that runs its own code"),
    Workload(
        "Redis of a public chart", pod("docker.io/bitnami/redis:7", token=True, limits=None),
        "code/public_image code/unpinned_image identity/token exposure/unlimited", 40, RUNC,
        "all defaults, but no code of others",
    ),
    Workload(
        "Ray worker with a GPU", pod("docker.io/rayproject/ray:2.40", token=True, wants=GPU),
        "code/public_image code/unpinned_image identity/token", 35, RUNC,
        "runs its team's jobs; what a runtime_env installs is not in the object",
    ),
    Workload("Ray worker, hardened", pod("registry.example/ray/ray" + DIGEST, wants=GPU), "", 0,
             RUNC, "the same, pinned and without a token"),
    Workload("Flink task manager", pod("flink:1.20", token=True),
             "code/unpinned_image identity/token", 20, RUNC, "an official image, a team's job"),
    Workload("Spark executor", pod("registry.example/data/spark:3", token=True),
             "code/unpinned_image identity/token", 20, RUNC, "needs its token to find its driver"),
    Workload(
        "Airflow worker that clones its DAGs",
        pod("docker.io/apache/airflow:2", token=True, **shell("git clone $DAGS; airflow worker")),
        "code/installs code/public_image code/unpinned_image identity/token", 60, SANDBOX,
        "runs whatever the repository holds at that moment",
    ),
    Workload(
        "service in a mesh", pod(token=True, spec=_ISTIO_TOKEN, more=(_ISTIO,)),
        "code/public_image identity/token identity/workload_identity", 40, RUNC,
        "a mesh's sidecar alone must not tip an ordinary service",
    ),
    Workload("agent of a vault beside a service",
             pod(more=({**_ISTIO, "image": "registry.example/hashicorp/vault-agent" + DIGEST},)),
             "", 0, RUNC, "an agent, but nobody's model"),
)  # fmt: skip

NODES: Final = (
    Workload(
        "exporter of the node's metrics",
        pod("quay.io/prometheus/node-exporter:v1", limits=None, **mounts(read_only=True),
            spec={**host_path("/"), "hostNetwork": True, "hostPID": True}),
        "code/public_image code/unpinned_image exposure/unlimited", 30, RUNC,
        "its profile grants what it reads of the node; isolated it would see nothing",
    ),
    Workload(
        "agent of a monitoring service",
        pod("gcr.io/datadoghq/agent:7", token=True, spec=host_path("/proc"), **mounts()),
        "code/unpinned_image identity/token", 20, RUNC, "an agent of nodes",
    ),
    Workload("log collector",
             pod("registry.example/logs/fluent-bit" + DIGEST, token=True,
                 spec=host_path("/var/log"), **mounts(read_only=True)),
             "identity/token", 10, RUNC, "reads logs under a profile made for that"),
    Workload("CSI driver on each node", _DRIVER, "identity/token", 10, RUNC,
             "granted by the profile of storage drivers: RBAC has decided"),
    Workload(
        "CSI driver by an exception", _DRIVER,
        "identity/token privileges/container/privileged privileges/volume/host_path", 130,
        "privileged host-socket",
        "an exception is no review of the node's root: give it a profile, or excuse the sandbox",
        ("container/privileged", "volume/hostPath:rw/var/lib/kubelet"),
    ),
    Workload(
        "GPU device plugin",
        pod("nvcr.io/nvidia/k8s-device-plugin:v0.17", token=True, **_PRIVILEGED),
        "code/unpinned_image identity/token", 20, RUNC, "its maker's registry, its own profile",
    ),
)  # fmt: skip

EXCEPTIONS: Final = (
    Workload(
        "runner with the socket of Docker by an exception",
        pod("registry.example/ci/actions-runner" + DIGEST,
            spec=host_path("/var/run/docker.sock"), **mounts()),
        "code/build privileges/volume/host_path", 100, "host-socket",
        "the socket is root on the node, for whoever proposes a change",
        ("volume/hostPath:rw/var/run/docker.sock",),
    ),
    Workload(
        "the same, mounted read-only",
        pod("registry.example/ci/actions-runner" + DIGEST,
            spec=host_path("/run/containerd"), **mounts(read_only=True)),
        "code/build privileges/volume/host_path", 100, "host-socket",
        "a read-only mount keeps nobody from connecting", ("volume/hostPath:ro/run/containerd",),
    ),
    Workload(
        "prober that pings by an exception",
        pod("registry.example/net/prober" + DIGEST, token=True,
            securityContext={"capabilities": {"add": ["NET_RAW"]}}),
        "identity/token privileges/capability/add", 40, RUNC,
        "raw packets alone do not isolate; gVisor would take the capability away",
        ("capability/NET_RAW",),
    ),
    Workload(
        "profiler with SYS_PTRACE by an exception",
        pod(token=True, securityContext={"capabilities": {"add": ["SYS_PTRACE"]}}),
        "identity/token privileges/capability/add", 50, SANDBOX,
        "inside gVisor it traces its own processes and no others",
        ("capability/SYS_PTRACE",),
    ),
    Workload(
        "tool with SYS_ADMIN by an exception",
        pod(securityContext={"capabilities": {"add": ["SYS_ADMIN"]}}),
        "privileges/capability/add", 60, SANDBOX, "half of root's power, kept in the sandbox",
        ("capability/SYS_ADMIN",),
    ),
    Workload(
        "service as root by an exception", pod(securityContext={"runAsUser": 0}),
        "privileges/run_as/root", 20, RUNC, "root without capabilities beyond the usual ones",
        ("run-as/root",),
    ),
    Workload(
        "web server on port 80 by an exception",
        pod(securityContext={"capabilities": {"add": ["NET_BIND_SERVICE"]}}), "", 0, RUNC,
        "the capability that Pod Security restricted allows", ("capability/NET_BIND_SERVICE",),
    ),
    Workload(
        "network tool in the node's network by an exception",
        pod("docker.io/nicolaka/netshoot:v1", spec={"hostNetwork": True}),
        "code/public_image code/unpinned_image privileges/host/network", 65, "host-network",
        "a third party's tool on the node's loopback, which nobody granted",
        ("host/network",),
    ),
)  # fmt: skip

PLATFORMS: Final = (*RUNNERS, *SERVICES, *NODES, *EXCEPTIONS)
