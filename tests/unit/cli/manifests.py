"""Manifests and clusters to review, as files."""

import copy
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any

import yaml

GOOD: dict[str, Any] = {
    "apiVersion": "v1",
    "kind": "Pod",
    "metadata": {"name": "good"},
    "spec": {
        "automountServiceAccountToken": False,
        "hostUsers": False,
        "securityContext": {"runAsNonRoot": True, "seccompProfile": {"type": "RuntimeDefault"}},
        "containers": [
            {
                "name": "main",
                "image": f"registry.example/a@sha256:{64 * 'a'}",
                "resources": {"limits": {"cpu": "1", "memory": "1Gi"}},
                "securityContext": {
                    "readOnlyRootFilesystem": True,
                    "allowPrivilegeEscalation": False,
                    "capabilities": {"drop": ["ALL"]},
                },
            }
        ],
    },
}
"""A Pod that needs nothing."""

NO_MARKS: Mapping[str, str] = MappingProxyType({})
CONFIG_MAP = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "c"}, "data": {}}
BROKEN = "apiVersion: v1\nkind: Pod\n  metadata: {\n"


def pod(name: str = "good", *, namespace: str | None = None, **spec: Any) -> dict[str, Any]:
    """Return a Pod like GOOD."""
    made = copy.deepcopy(GOOD)
    made["metadata"]["name"] = name
    if namespace:
        made["metadata"]["namespace"] = namespace
    made["spec"] |= spec
    return made


BAD = pod("bad", hostNetwork=True)


def write(path: Path, *documents: object) -> Path:
    """Write documents as YAML; text is written as it is."""
    path.parent.mkdir(parents=True, exist_ok=True)
    texts = [text if isinstance(text, str) else yaml.safe_dump(text) for text in documents]
    path.write_text("---\n".join(texts))
    return path


def cluster(folder: Path, *, mode: str = "enforce", marks: Mapping[str, str] = NO_MARKS) -> Path:
    """Write a cluster in which researchers, and train's account trainer, may use `net`.

    `marks` are further labels of its namespace, train.
    """
    profile = {"rank": 50, "catalogue": 2, "privileges": ["image/from/**", "host/network"]}
    group = "rbac.authorization.k8s.io"
    rule = {"apiGroups": ["sallyport.dev"], "resources": ["containerprofiles"], "verbs": ["use"]}
    write(
        folder / "cluster.yaml",
        {
            "apiVersion": "v1",
            "kind": "Namespace",
            "metadata": {"name": "train", "labels": {"sallyport.dev/mode": mode, **marks}},
        },
        {
            "apiVersion": "sallyport.dev/v1alpha1",
            "kind": "ContainerProfile",
            "metadata": {"name": "net"},
            "spec": profile,
        },
        {
            "apiVersion": f"{group}/v1",
            "kind": "ClusterRole",
            "metadata": {"name": "use-net"},
            "rules": [rule | {"resourceNames": ["net"]}],
        },
        {
            "apiVersion": f"{group}/v1",
            "kind": "ClusterRoleBinding",
            "metadata": {"name": "use-net"},
            "roleRef": {"apiGroup": group, "kind": "ClusterRole", "name": "use-net"},
            "subjects": [
                {"kind": "Group", "name": "researchers", "apiGroup": group},
                {"kind": "User", "name": "dana", "apiGroup": group},
                {"kind": "ServiceAccount", "name": "trainer", "namespace": "train"},
            ],
        },
    )
    return folder
