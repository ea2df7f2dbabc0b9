"""Training, inference, notebooks, agents, environments: most of what such a cluster runs."""

from typing import Final

from tests.unit.sandbox.workloads import DIGEST, GPU, RDMA, RUNC, SANDBOX, Workload, pod, shell

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
