"""Hints of where code comes from: found in names that people give, and silent about the rest."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.kubernetes.pod import decode_pod
from policies.projection.hints import KINDS, NAMES, find_named_kinds
from policies.projection.model import encode
from policies.projection.pods import project

IMAGES = {
    "quay.io/jupyter/scipy-notebook": "notebook",
    "quay.io/jupyterhub/k8s-singleuser-sample": "notebook",
    "registry.example/research/jupyterlab": "notebook",
    "docker.io/codercom/code-server": "notebook",
    "registry.example/agents/code-interpreter": "generated",
    "registry.example/agents/code_executor2": "generated",
    "docker.io/sweagent/swe-agent": "generated",
    "ghcr.io/openhands/runtime": "generated",
    "registry.example/rl/rl-env": "environment",
    "registry.example/rl/swe-bench.eval": "environment",
    "registry.example/rl/gymnasium": "environment",
    "ghcr.io/actions/actions-runner": "build",
    "gcr.io/kaniko-project/kaniko/executor": "build",
    "docker.io/jenkins/inbound-agent": "build",
}

ORDINARY = [
    "docker.io/library/python",
    "registry.example/research/trainer",
    # Agents of nodes, and what only manages others' code.
    "gcr.io/datadoghq/agent",
    "registry.example/node-agent",
    "docker.io/hashicorp/vault-agent",
    "registry.example/env/sandbox",
    "quay.io/jupyterhub/k8s-hub",
    "registry.example/kubeflow/notebook-controller",
    "registry.k8s.io/agent-sandbox/agent-sandbox-controller",
    "ghcr.io/actions/actions-runner-controller",
    # A registry's host says nothing, nor does a part of a word.
    "jupyter.example/research/trainer",
    "registry.example/research/notebooklike",
    "registry.example/research/agymnasium",
]


SERVERS = [
    # JupyterHub's, Kubeflow's, Open Data Hub's.
    "quay.io/jupyterhub/k8s-hub",
    "docker.io/jupyterhub/jupyterhub",
    "quay.io/jupyterhub/configurable-http-proxy",
    "quay.io/jupyterhub/k8s-image-awaiter",
    "quay.io/jupyterhub/k8s-secret-sync",
    "ghcr.io/kubeflow/kubeflow/notebook-controller",
    "ghcr.io/kubeflow/kubeflow/jupyter-web-app",
    "quay.io/opendatahub/odh-notebook-controller",
    "quay.io/opendatahub/kf-notebook-controller",
    # Those of other kinds, and a site's own of such a name.
    "registry.k8s.io/agent-sandbox/agent-sandbox-controller",
    "registry.example/agent-sandbox/sandbox-router",
    "docker.io/summerwind/actions-runner-controller",
    "registry.gitlab.com/gitlab-org/gitlab-runner-operator",
    "registry.example/platform/notebook-operator",
    "registry.example/platform/Notebook-Exporter",
    "registry.example/platform/jupyterlab-culler",
    "registry.example/platform/code-interpreter-webhook",
]

NO_SERVERS = {
    # With such an ending, or a part of such a name, it may be a notebook all the same.
    "registry.example/team/x-notebook-proxy": "notebook",
    "registry.example/team/notebook-proxy": "notebook",
    "registry.example/team/jupyter-server-proxy": "notebook",
    "registry.example/team/jupyter-remote-desktop-proxy": "notebook",
    "registry.example/team/notebook-hub": "notebook",
    "registry.example/team/notebook-gateway": "notebook",
    "registry.example/team/notebook-router": "notebook",
    "registry.example/team/notebook-manager": "notebook",
    "registry.example/team/notebook-operator-tests": "notebook",
    "registry.example/team/my-notebook-controller": "notebook",
    "registry.example/team/jupyter.controller": "notebook",
    "registry.example/notebook-controller/trainer": "notebook",
    "registry.example/team/code-interpreter-proxy": "generated",
    "registry.example/team/rl-env-manager": "environment",
    "registry.example/team/actions-runner-controller-runner": "build",
}


@pytest.mark.parametrize("source", SERVERS)
def test_what_only_serves_such_workloads_tells_nothing(source: str) -> None:
    """Told by the whole last part of the name."""
    assert find_named_kinds(source) == ()


@pytest.mark.parametrize("source", NO_SERVERS)
def test_nobody_gets_a_hint_away_by_an_ending(source: str) -> None:
    """Neither by a word that makers use, nor by one among others."""
    assert NO_SERVERS[source] in dict(find_named_kinds(source))


@pytest.mark.parametrize("source", IMAGES)
def test_images_of_each_kind_are_told(source: str) -> None:
    """Names that projects and people give their images."""
    assert IMAGES[source] in dict(find_named_kinds(source))


@pytest.mark.parametrize("source", ORDINARY)
def test_ordinary_images_tell_nothing(source: str) -> None:
    """A word within another, a host, and controllers of such workloads."""
    assert find_named_kinds(source) == ()


def hints(metadata: dict[str, Any], image: str = "registry.example/a") -> list[dict[str, str]]:
    """Return the hints of a Pod with one container."""
    pod = {"metadata": metadata, "spec": {"containers": [{"name": "a", "image": image}]}}
    found = json.loads(encode(project(decode_pod(json.dumps(pod).encode()))))
    listed: list[dict[str, str]] = found.get("hints", [])
    return listed


@pytest.mark.parametrize(
    ("label", "value", "kind"),
    [
        ("app", "jupyter", "notebook"),
        ("app.kubernetes.io/name", "Code-Interpreter", "generated"),
        ("app.kubernetes.io/managed-by", "tekton-pipelines", "build"),
        ("component", "singleuser-server", "notebook"),
        ("notebook-name", "anything", "notebook"),
        ("agents.x-k8s.io/sandbox-name-hash", "0a1b", "generated"),
        ("actions-ephemeral-runner", "True", "build"),
        ("azure.workload.identity/use", "true", "workload-identity"),
    ],
)
def test_labels_are_told_with_their_path(label: str, value: str, kind: str) -> None:
    """Of recommended labels the value counts; of a controller's, that it is there."""
    (hint,) = hints({"labels": {label: value}})
    assert (hint["path"], hint["kind"]) == (f"metadata.labels[{label}]", kind)
    assert "container" not in hint


@pytest.mark.parametrize(
    "labels",
    [
        {"app": "trainer", "team": "jupyter"},
        {"app": "node-agent"},
        {"env": "sandbox"},
        {"azure.workload.identity/use": "false"},
    ],
)
def test_other_labels_tell_nothing(labels: dict[str, str]) -> None:
    """A team that is called so, and a label that is off."""
    assert hints({"labels": labels}) == []


@pytest.mark.parametrize(
    ("owner", "told"),
    [
        ({"apiVersion": "agents.x-k8s.io/v1beta1", "kind": "Sandbox"}, True),
        ({"apiVersion": "extensions.agents.x-k8s.io/v1alpha1", "kind": "SandboxWarmPool"}, True),
        ({"apiVersion": "agents.x-k8s.io/v1", "kind": "Other"}, False),
        ({"apiVersion": "example.com/v1", "kind": "Sandbox"}, False),
        ({"apiVersion": "batch/v1", "kind": "Job"}, False),
    ],
)
def test_owner_of_agent_sandbox_is_told(owner: dict[str, str], *, told: bool) -> None:
    """By group and kind; its name and uid stay out, so that a gang is one."""
    found = hints({"ownerReferences": [owner | {"name": "canary", "uid": "canary"}]})
    assert [hint["kind"] for hint in found] == (["generated"] if told else [])
    assert "canary" not in json.dumps(found)


@given(text=st.text(max_size=63))
def test_words_are_of_the_closed_list(text: str) -> None:
    """No text of an object's gets out by way of a hint."""
    words = {name.replace("-", "") for names in NAMES.values() for name in names}
    for kind, word in find_named_kinds(f"a/{text}"):
        assert kind in KINDS
        assert word.translate({ord(c): None for c in "-_."}) in words


@pytest.mark.parametrize("kind", NAMES)
def test_every_name_of_the_list_is_told(kind: str) -> None:
    """None is shadowed by another kind's."""
    for name in NAMES[kind]:
        assert dict(find_named_kinds(f"registry.example/a/{name}")) == {kind: name}
