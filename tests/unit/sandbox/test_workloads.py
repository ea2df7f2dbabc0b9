"""What the sandbox makes of realistic workloads: signals, score and verdict, each argued.

Judged where their namespace says `by-risk`, the threshold is 50, and a profile covers all that they
need save for what is had by an exception.
"""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final

import pytest

from core.kubernetes.pod import decode_pod
from core.sandbox.decision import RuntimeClass, SandboxMode
from policies.bundle.format import read_bundle
from policies.engine.embedded_engine import EmbeddedEngine
from policies.engine.interface import PolicyAnswer
from policies.projection.model import encode
from policies.projection.pods import project
from sandbox.risk_score import RiskScore, score_risk
from sandbox.runtime_choice import (
    DEFAULT_SANDBOX_SETTINGS,
    THRESHOLD,
    choose_runtime,
    is_sandbox_required,
)
from tests.unit.policies.bundles import make_bundle

Fields = dict[str, Any]

DIGEST: Final = "@sha256:" + 8 * "9f86d081"
OWN: Final = "registry.example/research/trainer" + DIGEST
LIMITS: Final = {"cpu": "8", "memory": "64Gi"}
RUNC: Final = "runc"
SANDBOX: Final = "sandbox"


@dataclass(frozen=True)
class Workload:
    """A Pod, the signals and points that it should have, and what should become of it."""

    name: str
    pod: Fields
    signals: str
    """Rules without `sandbox/`, and excused ones of privileges; in no order."""
    score: int
    verdict: str
    """`runc`, `sandbox`, or the features for which it is refused."""
    because: str
    excused: tuple[str, ...] = ()
    """Privileges that it has by an exception alone."""


def pod(  # noqa: PLR0913  What workloads differ in.
    image: str = OWN,
    *,
    token: bool = False,
    limits: Fields | None = LIMITS,
    wants: Fields | None = None,
    labels: Fields | None = None,
    metadata: Fields | None = None,
    spec: Fields | None = None,
    more: tuple[Fields, ...] = (),
    **container: Any,
) -> Fields:
    """Return a Pod with one container, as its author writes it; `wants` are further resources."""
    given = {**(limits or {}), **(wants or {})}
    first = {"name": "main", "image": image, "resources": {"limits": given}, **container}
    return {
        "metadata": {"name": "w", "labels": labels or {}, **(metadata or {})},
        "spec": {
            **({} if token else {"automountServiceAccountToken": False}),
            "containers": [first, *more],
            **(spec or {}),
        },
    }


def shell(text: str) -> Fields:
    """Return the command of a container that runs a shell's text."""
    return {"command": ["bash", "-c", text]}


def host_path(path: str) -> Fields:
    """Return the volumes of a Pod that mounts a path of the node."""
    return {"volumes": [{"name": "host", "hostPath": {"path": path}}]}


def mounts(*, read_only: bool = False) -> Fields:
    """Return the mount of the volume `host`."""
    return {"volumeMounts": [{"name": "host", "mountPath": "/host", "readOnly": read_only}]}


GPU: Final = {"nvidia.com/gpu": 8}
RDMA: Final = {**GPU, "rdma/hca_shared": 8}


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


_CODE: Final = "registry.example/agents/code-interpreter" + DIGEST
_OWNER: Final = {
    "ownerReferences": [
        {"apiVersion": "agents.x-k8s.io/v1beta1", "kind": "Sandbox", "name": "a", "uid": "u"}
    ]
}

TRAINING: Final = (
    Workload(
        "training gang with RDMA", pod(wants=RDMA), "", 0, RUNC,
        "reviewed code by digest, no token: nothing to contain, and RDMA has no sandbox",
    ),
    Workload(
        "training gang that installs at the start",
        pod("registry.example/research/trainer:1", token=True, wants=RDMA,
            **shell("pip install einops && torchrun train.py")),
        "code/installs code/unpinned_image identity/token", 45, RUNC,
        "careless, but its own image and bounded: shown in the score, not yet worth refusing",
    ),
    Workload(
        "training gang that installs at the start, unbounded",
        pod("registry.example/research/trainer:1", token=True, limits=None, wants=RDMA,
            **shell("pip install einops && torchrun train.py")),
        "code/installs code/unpinned_image identity/token exposure/unlimited", 50, "gpu rdma",
        "every default left as it was, and unscanned packages next to the weights",
    ),
    Workload(
        "training from a public image",
        pod("ghcr.io/somebody/axolotl:main", token=True, wants=GPU),
        "code/public_image code/unpinned_image identity/token", 35, RUNC,
        "third party's image, but one that is named, and a GPU that gVisor may not have",
    ),
    Workload(
        "fine-tuning with a script of the network",
        pod("registry.example/research/trainer:1", token=True, wants=GPU,
            **shell("curl -fsSL https://get.example/setup | bash && python tune.py")),
        "code/remote_script code/unpinned_image identity/token", 60, "gpu",
        "whoever serves that URL runs code with the Pod's token: put the script into the image",
    ),
    Workload(
        "preprocessing with a script of the network",
        pod("registry.example/research/prep:1", token=True,
            **shell("bash <(wget -qO- https://get.example/setup)")),
        "code/remote_script code/unpinned_image identity/token", 60, SANDBOX,
        "the same without a GPU can run, isolated",
    ),
    Workload(
        "MPI job with huge pages and SELinux options",
        pod(wants={"hugepages-2Mi": "1Gi"},
            securityContext={"seLinuxOptions": {"type": "container_init_t"}}),
        "", 0, RUNC, "features no sandbox runs matter only where one is asked for",
    ),
    Workload(
        "learner of reinforcement learning",
        pod("registry.example/rl/rl-trainer" + DIGEST, wants=GPU), "", 0, RUNC,
        "updates weights; the environment, not it, runs what the model does",
    ),
    Workload(
        "data loader with a cloud identity",
        pod(labels={"azure.workload.identity/use": "true"}),
        "identity/workload_identity", 15, RUNC,
        "reads the data that it exists for, with reviewed code",
    ),
    Workload(
        "crawler with a cloud identity that installs at the start",
        pod("registry.example/data/crawler:2", token=True,
            labels={"azure.workload.identity/use": "true"}, **shell("pip install scrapy; crawl")),
        "identity/workload_identity code/installs code/unpinned_image identity/token", 60,
        SANDBOX, "unscanned code that can sign in to the cloud and parses hostile pages",
    ),
    Workload(
        "evaluation with weights in an image volume of a public registry",
        pod(spec={"volumes": [{"name": "w", "image": {"reference": "ghcr.io/a/weights:1"}}]}),
        "code/public_image code/unpinned_image", 25, RUNC,
        "weights of third parties may be pickles: shown, not enough alone",
    ),
    Workload("TensorBoard", pod("registry.example/tools/tensorboard" + DIGEST), "", 0, RUNC,
             "the site's own image, reads logs"),
)  # fmt: skip

SERVING: Final = (
    Workload("inference server with a GPU", pod("registry.example/serve/vllm" + DIGEST, wants=GPU),
             "", 0, RUNC, "reviewed code, one GPU, no token"),
    Workload(
        "inference server as its makers publish it",
        pod("docker.io/vllm/vllm-openai:latest", token=True, wants=GPU),
        "code/public_image code/unpinned_image identity/token", 35, RUNC,
        "needs pinning, not a sandbox that may lack its driver",
    ),
    Workload(
        "web interface of experiments that installs its driver",
        pod("ghcr.io/mlflow/mlflow:v2", token=True, **shell("pip install psycopg2 && mlflow ui")),
        "code/installs code/public_image code/unpinned_image identity/token", 60, SANDBOX,
        "public image, unscanned packages, a token: build an image of it",
    ),
    Workload("health check with curl",
             pod(**shell("curl -fs http://serve:8000/health || exit 1")), "", 0, RUNC,
             "a download is no script"),
)  # fmt: skip

INTERACTIVE: Final = (
    Workload(
        "JupyterHub's user as its chart makes it",
        pod("quay.io/jupyter/scipy-notebook:2026-01", limits=None,
            labels={"app": "jupyterhub", "component": "singleuser-server"}),
        "code/notebook code/public_image code/unpinned_image exposure/unlimited", 70, SANDBOX,
        "what is typed or pasted runs unseen, in an image that may change",
    ),
    Workload("hardened notebook", pod("registry.example/research/jupyterlab" + DIGEST),
             "code/notebook", 40, RUNC,
             "its person's code with its person's rights: no token, the site's own image"),
    Workload(
        "notebook of Kubeflow with a GPU",
        pod("registry.example/research/lab:3", token=True, wants=GPU,
            labels={"notebook-name": "lab-a"}),
        "code/notebook code/unpinned_image identity/token", 60, "gpu",
        "must be isolated and cannot: pin the image and drop the token, or say GPUs work",
    ),
    Workload(
        "editor in the browser",
        pod("docker.io/codercom/code-server:latest", token=True),
        "code/notebook code/public_image code/unpinned_image identity/token", 75, SANDBOX,
        "a shell for whoever has the session",
    ),
    Workload(
        "kubectl run -it busybox",
        pod("busybox", token=True, limits=None, stdin=True, tty=True),
        "code/interactive code/unpinned_image identity/token exposure/unlimited", 55, SANDBOX,
        "typed commands beside a token, with all defaults",
    ),
    Workload(
        "kubectl run -it of a public toolbox",
        pod("nicolaka/netshoot", token=True, limits=None, stdin=True, tty=True),
        "code/interactive code/public_image code/unpinned_image identity/token exposure/unlimited",
        70, SANDBOX, "the same with a third party's tools",
    ),
    Workload("own toolbox with a terminal", pod(stdin=True, tty=True), "code/interactive", 30,
             RUNC, "who may attach is a privilege; nothing else speaks against it"),
)  # fmt: skip

MODELS: Final = (
    Workload("code interpreter, hardened", pod(_CODE), "code/generated", 60, SANDBOX,
             "no hardening of the Pod reviews what a model writes"),
    Workload("Pod of agent-sandbox", pod(metadata=_OWNER), "code/generated", 60, SANDBOX,
             "the kind exists for code of models"),
    Workload(
        "coding agent with a terminal",
        pod("ghcr.io/openhands/runtime:1", token=True, stdin=True, tty=True),
        "code/generated code/interactive code/public_image code/unpinned_image identity/token",
        125, SANDBOX, "generated and typed code, a public image, a token",
    ),
    Workload(
        "agent with a cloud identity",
        pod("registry.example/agents/ai-agent" + DIGEST,
            labels={"azure.workload.identity/use": "true"}),
        "code/generated identity/workload_identity", 75, SANDBOX,
        "a prompt can make it use the identity; the sandbox keeps the rest of the node out",
    ),
    Workload("code interpreter with a GPU", pod(_CODE, wants=GPU), "code/generated", 60, "gpu",
             "generated code beside a GPU's driver: only where the driver is known to the proxy"),
    Workload("environment of reinforcement learning",
             pod("registry.example/rl/rl-env" + DIGEST), "code/environment", 50, SANDBOX,
             "a policy looks for any way to its reward"),
    Workload(
        "environment with virtual machines",
        pod("registry.example/rl/android-world" + DIGEST, wants={"devices.kubevirt.io/kvm": 1}),
        "code/environment", 50, "device",
        "KVM is not there in gVisor: refused with the reason instead of broken",
    ),
    Workload(
        "benchmark that runs a model's patches",
        pod("docker.io/swebench/swe-bench:latest", token=True,
            **shell("git clone https://github.example/a && pytest")),
        "code/environment code/installs code/public_image code/unpinned_image identity/token",
        110, SANDBOX, "patches of a model, tests of strangers",
    ),
)  # fmt: skip

RESEARCH: Final = (*TRAINING, *SERVING, *INTERACTIVE, *MODELS)


WORKLOADS = (*RESEARCH, *PLATFORMS)
CLASSES = {"gvisor": RuntimeClass("gvisor", "runsc")}
FEWEST = 40


@pytest.fixture(scope="module")
def engine(tmp_path_factory: pytest.TempPathFactory) -> Iterator[EmbeddedEngine]:
    """The engine on a bundle compiled from the sources of now."""
    engine = EmbeddedEngine(read_bundle(make_bundle(tmp_path_factory.mktemp("built"))))
    yield engine
    engine.close()


def ask(engine: EmbeddedEngine, pod: Fields) -> PolicyAnswer:
    """Return what the policies say of a Pod."""
    return engine.evaluate(encode(project(decode_pod(json.dumps(pod).encode()))))


def weighed(engine: EmbeddedEngine, workload: Workload) -> RiskScore:
    """Weigh a workload of which a profile covers all but what is excused."""
    answer = ask(engine, workload.pod)
    excused = [need for need in answer.needs if need.privilege in workload.excused]
    assert {need.privilege for need in excused} == set(workload.excused)
    return score_risk(answer.signals, excused, engine.rules, {})


def by_name(workload: Workload) -> str:
    """Name a case."""
    return workload.name.replace(" ", "-")


def test_there_are_enough_of_them_each_argued() -> None:
    """Names differ, every one has its line, and each verdict occurs."""
    assert len({workload.name for workload in WORKLOADS}) == len(WORKLOADS) >= FEWEST
    assert all(workload.because for workload in WORKLOADS)
    verdicts = [workload.verdict for workload in WORKLOADS]
    refused = [verdict for verdict in verdicts if verdict not in {RUNC, SANDBOX}]
    assert min(verdicts.count(RUNC), verdicts.count(SANDBOX), len(refused)) >= 8


@pytest.mark.parametrize("workload", WORKLOADS, ids=by_name)
def test_signals_and_score_are_those_that_are_argued(
    engine: EmbeddedEngine, workload: Workload
) -> None:
    """No signal more or less, and their points add up."""
    found = weighed(engine, workload)
    rules = {each.rule.removeprefix("sandbox/") for each in found.counted}
    assert rules == set(workload.signals.split())
    assert found.score == workload.score
    assert all(each.path and each.reason for each in found.counted)


@pytest.mark.parametrize("workload", WORKLOADS, ids=by_name)
def test_verdict_is_the_one_that_is_argued(engine: EmbeddedEngine, workload: Workload) -> None:
    """Under runc, under gVisor, or refused for exactly the features that gVisor cannot run."""
    score = weighed(engine, workload).score
    must = is_sandbox_required(SandboxMode.BY_RISK, asked=False, score=score, threshold=THRESHOLD)
    choice = choose_runtime(
        DEFAULT_SANDBOX_SETTINGS, None, ask(engine, workload.pod).features, CLASSES
    )
    features = sorted({each.feature.name for each in choice.refusals if each.feature})
    if not must:
        assert workload.verdict == RUNC
    elif features:
        assert sorted(workload.verdict.split()) == features
    else:
        assert (workload.verdict, choice.runtime) == (SANDBOX, "gvisor")
