"""Hints of where a workload's code comes from: its image's name, its labels, its owner.

They are what honest authors write; a false name takes a hint away. So they only ever make an object
riskier, and who must be isolated whatever they say is told so by `sandbox: required`.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Final

from core.base.short_text_cache import cache_short_text
from core.kubernetes.object_meta import ObjectMeta, OwnerReference
from policies.projection.model import Container, Hint

NAMES: Final[Mapping[str, tuple[str, ...]]] = {
    # Code that a person types into a browser, and that nobody else has read.
    "notebook": (
        "notebook", "notebooks", "jupyter", "jupyterlab", "singleuser", "rstudio", "code-server",
        "openvscode", "vscode-server", "zeppelin", "marimo",
    ),
    # Code that a model writes and that is run as it comes.
    "generated": (
        "code-interpreter", "code-executor", "code-execution", "code-runner", "code-sandbox",
        "python-sandbox", "agent-sandbox", "sandbox-runtime", "ai-agent", "llm-agent",
        "coding-agent", "swe-agent", "open-interpreter", "openhands", "opendevin", "autogpt",
        "auto-gpt", "computer-use", "browser-use", "smolagents", "claude-code",
    ),
    # Where a model acts in training: its actions are commands, pages, programs.
    "environment": (
        "rl-env", "rl-envs", "rl-environment", "rl-environments", "rl-gym", "gymnasium", "swe-gym",
        "swe-bench", "terminal-bench", "osworld", "webarena", "android-world",
    ),
    # What builds and tests code of changes that are not merged.
    "build": (
        "actions-runner", "gitlab-runner", "buildkit", "buildkitd",
        "kaniko", "inbound-agent", "jnlp-slave", "tekton-pipelines", "woodpecker-agent",
        "drone-runner-kube", "buildkite-agent", "teamcity-agent",
    ),
}  # fmt: skip
"""The names of each kind. `agent` and `sandbox` alone are too common to say anything: agents of
nodes, of logs and of vaults; test environments that are called sandbox."""

KINDS: Final = (*NAMES, "workload-identity")
"""Kinds of hints."""

_VALUES: Final = (
    "app",
    "component",
    "k8s-app",
    "app.kubernetes.io/name",
    "app.kubernetes.io/component",
    "app.kubernetes.io/part-of",
    "app.kubernetes.io/managed-by",
)
"""Labels whose value names what a Pod is (kubernetes.io/docs, Recommended Labels)."""

_KEYS: Final[Mapping[str, tuple[str, str]]] = {
    "notebook-name": ("notebook", "notebook-name"),
    "hub.jupyter.org/username": ("notebook", "hub.jupyter.org"),
    "agents.x-k8s.io/sandbox-name-hash": ("generated", "agents.x-k8s.io"),
    "actions-ephemeral-runner": ("build", "actions-ephemeral-runner"),
    "tekton.dev/taskRun": ("build", "tekton.dev"),
}
"""Labels that a controller puts on its Pods: Kubeflow's notebooks, JupyterHub, agent-sandbox,
GitHub's runners, Tekton. Their values are not read."""

_IDENTITY: Final = "azure.workload.identity/use"
"""Azure's webhook gives a Pod with this label, of the value `true`, a token of Entra ID."""

_LABELS: Final = frozenset({*_VALUES, *_KEYS, _IDENTITY})
_AGENTS: Final = frozenset({"agents.x-k8s.io", "extensions.agents.x-k8s.io"})
"""API groups of kubernetes-sigs/agent-sandbox. A pool keeps Pods ready that a Sandbox takes over
later: then it is too late for a sandbox."""

_LONGEST_LABEL: Final = 63
"""Characters of a label's value (apimachinery, pkg/util/validation)."""

_MOST_REMEMBERED: Final = 4096


def _expression() -> str:
    kinds = (
        f"(?P<{kind}>{'|'.join(name.replace('-', '[-_.]?') for name in names)})"
        for kind, names in NAMES.items()
    )
    return rf"(?:(?<=^)|(?<=[/._-]))(?:{'|'.join(kinds)})(?=[0-9]?(?:[/._-]|$))"


_NAMED: Final = re.compile(_expression(), re.IGNORECASE | re.ASCII)

_ALL: Final = "|".join(name for names in NAMES.values() for name in names)
_SERVES: Final = re.compile(
    rf"(?:(?:{_ALL})-(?:controller|operator|webhook|culler|exporter|web-app)"
    r"|odh-notebook-controller|kf-notebook-controller|sandbox-router)"
)
"""The whole last part of a name: the program is of the kind's maker and runs nobody else's code.

Kubeflow's and Open Data Hub's controllers, agent-sandbox' router, GitHub's and GitLab's operators.
Not a part of it, and no proxy, hub, gateway or router besides: `jupyter-server-proxy` is an
extension that people build into their notebooks, and what is called `team-notebook-proxy` may be
either. JupyterHub's own hub and proxy have names that hint at nothing."""


def project_hints(containers: Iterable[Container], metadata: ObjectMeta) -> tuple[Hint, ...]:
    """Return the hints of a Pod: by its images, labels and owners."""
    found: list[Hint] = []
    for container in containers:
        if told := find_named_kinds(container.image_from):
            path = f"{container.path}.image"
            found += [Hint(path, kind, word, container.name) for kind, word in told]
    if metadata.labels and not _LABELS.isdisjoint(metadata.labels):
        found += _of_labels(metadata.labels)
    if metadata.owner_references:
        found += _of_owners(metadata.owner_references)
    return tuple(found)


def _of_labels(labels: Mapping[str, str]) -> Iterator[Hint]:
    for key in _VALUES:
        value = labels.get(key, "")
        if len(value) > _LONGEST_LABEL:
            continue  # kube-apiserver refuses it afterwards.
        for kind, word in find_named_kinds(value):
            yield Hint(f"metadata.labels[{key}]", kind, word)
    for key, (kind, word) in _KEYS.items():
        if key in labels:
            yield Hint(f"metadata.labels[{key}]", kind, word)
    if labels.get(_IDENTITY) == "true":
        yield Hint(f"metadata.labels[{_IDENTITY}]", "workload-identity", _IDENTITY)


def _of_owners(owners: Iterable[OwnerReference]) -> Iterator[Hint]:
    for index, owner in enumerate(owners):
        group = owner.api_version.partition("/")[0]
        if group in _AGENTS and owner.kind.startswith("Sandbox"):
            yield Hint(f"metadata.ownerReferences[{index}].kind", "generated", "agents.x-k8s.io")


@cache_short_text(_MOST_REMEMBERED, longest=512)
def find_named_kinds(text: str) -> tuple[tuple[str, str], ...]:
    """Return kind and word of each kind that an image's repository, or a label's value, names.

    The host of a registry says nothing.

    >>> find_named_kinds("quay.io/jupyter/scipy-notebook")
    (('notebook', 'jupyter'),)
    """
    text = text.partition("/")[2] or text
    if _SERVES.fullmatch(text.rpartition("/")[2].lower()):
        return ()
    found: dict[str, str] = {}
    for match in _NAMED.finditer(text):
        found.setdefault(match.lastgroup or "", match[0].lower())
    return tuple(found.items())
