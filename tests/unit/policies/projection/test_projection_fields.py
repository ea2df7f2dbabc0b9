"""What of a Pod lands in its projection: all that rules read, at the path its author wrote."""

from typing import Any

import jsonschema

from tests.unit.policies.projection.whole_pod import (
    CONTAINER_CONTEXT,
    GROUPS,
    IMAGE,
    NO_IMAGE,
    POD,
    PUBLIC_IMAGE,
    SCHEMA,
    SECURITY_CONTEXT,
    handler_hosts,
    projection_of_update,
)

ANTI = "spec.affinity.podAntiAffinity.requiredDuringSchedulingIgnoredDuringExecution"


def test_every_field_that_rules_read_is_there() -> None:
    """A Pod that sets them all gives them all, each with the path from the Pod's root."""
    found = projection_of_update(POD)
    assert found == {
        "os": "linux",
        "hostNetwork": True,
        "hostPID": True,
        "hostIPC": True,
        "hostUsers": False,
        "automount": False,
        "nodeName": "node-1",
        "tolerations": [
            {
                "path": "spec.tolerations[1]",
                "key": "node.kubernetes.io/not-ready",
                "operator": "Exists",
            },
            {"path": "spec.tolerations[2]", "operator": "Exists"},
        ],
        "antiAffinity": [
            {"path": f"{ANTI}[1]", "key": "kubernetes.io/hostname", "elsewhere": True},
            {"path": f"{ANTI}[2]", "key": "zone"},
        ],
        "priorityClass": "system-node-critical",
        "shareProcessNamespace": True,
        "dnsPolicy": "None",
        "nameservers": ["192.0.2.1"],
        "hostAliases": [{"path": "spec.hostAliases[0]", "hostnames": ["kubernetes.default"]}],
        "securityContext": SECURITY_CONTEXT | GROUPS | {"sysctls": [{"name": "kernel.msgmax"}]},
        "annotations": {
            "container.apparmor.security.beta.kubernetes.io/main": "unconfined",
            "container.seccomp.security.alpha.kubernetes.io/main": "unconfined",
            "dev.gvisor.flag.debug": "",
            "irq-load-balancing.crio.io": "",
        },
        "volumes": [
            {
                "path": "spec.volumes[1]",
                "types": ["hostPath"],
                "hostPath": {"path": "/var/log", "readOnly": True},
            },
            {"path": "spec.volumes[2]", "types": ["nfs"]},
            {
                "path": "spec.volumes[3]",
                "types": ["hostPath", "emptyDir"],
                "hostPath": {"path": ""},
            },
            {
                "path": "spec.volumes[5]",
                "types": ["csi"],
                "csi": {"driver": "secrets-store.csi.k8s.io"},
            },
            {
                "path": "spec.volumes[6]",
                "types": ["image"],
                "image": {"reference": IMAGE, "from": "registry.example/a", "pinned": True},
            },
            {
                "path": "spec.volumes[7]",
                "types": ["projected"],
                "tokens": [
                    {"path": "spec.volumes[7].projected.sources[0].serviceAccountToken.audience"},
                    {
                        "path": "spec.volumes[7].projected.sources[1].serviceAccountToken.audience",
                        "audience": "vault",
                    },
                ],
                "certificates": [
                    {
                        "path": "spec.volumes[7].projected.sources[2].podCertificate.signerName",
                        "signer": "a.example/signer",
                    }
                ],
            },
            {
                "path": "spec.volumes[9]",
                "types": ["image"],
                "image": {
                    "reference": PUBLIC_IMAGE,
                    "from": "docker.io/somebody/jupyter",
                    "public": True,
                },
            },
        ],
        "hints": [
            {
                "path": "spec.containers[1].image",
                "kind": "notebook",
                "word": "jupyter",
                "container": "second",
            },
            {"path": "metadata.labels[component]", "kind": "notebook", "word": "singleuser"},
            {
                "path": "metadata.ownerReferences[0].kind",
                "kind": "generated",
                "word": "agents.x-k8s.io",
            },
        ],
        "resources": ["hugepages-2Mi"],
        "resourceClaims": True,
        "containers": [
            {
                "path": "spec.containers[0]",
                "name": "main",
                "kind": "container",
                "image": IMAGE,
                "imageFrom": "registry.example/a",
                "pinned": True,
                "securityContext": CONTAINER_CONTEXT,
                # In the node's network the port of a container is one of the node.
                "hostPorts": [
                    {"path": "spec.containers[0].ports[0].hostPort", "port": 1},
                    {"path": "spec.containers[0].ports[2].hostPort", "port": 80},
                ],
                "handlerHosts": handler_hosts("spec.containers[0]"),
                "unlimited": ["cpu"],
                "env": [
                    {
                        "path": "spec.containers[0].env[1]",
                        "name": "NVIDIA_VISIBLE_DEVICES",
                    },
                    {
                        "path": "spec.containers[0].env[2]",
                        "name": "X_VISIBLE_DEVICES",
                    },
                ],
                "mounts": [
                    {
                        "path": "spec.containers[0].volumeMounts[1].mountPath",
                        "mountPath": "/var/run/nvidia-container-devices/all",
                    }
                ],
                "blockDevices": ["spec.containers[0].volumeDevices[0]"],
                "recursiveReadOnly": ["spec.containers[0].volumeMounts[0].recursiveReadOnly"],
                "interactive": True,
                "installs": ["pip"],
                "scripts": ["curl"],
                "resources": ["nvidia.com/gpu", "rdma/hca"],
                "shares": True,
            },
            {
                "path": "spec.containers[1]",
                "name": "second",
                "kind": "container",
                "unlimited": ["cpu"],
                "image": PUBLIC_IMAGE,
                "imageFrom": "docker.io/somebody/jupyter",
                "public": True,
                "shares": True,
            },
            {
                "path": "spec.initContainers[0]",
                "name": "init",
                "kind": "init",
                "unlimited": ["cpu"],
                **NO_IMAGE,
                "hostPorts": [{"path": "spec.initContainers[0].ports[0].hostPort", "port": 81}],
                "shares": True,
            },
            {
                "path": "spec.ephemeralContainers[0]",
                "name": "debug",
                "kind": "ephemeral",
                **NO_IMAGE,
                "securityContext": CONTAINER_CONTEXT,
                "added": True,
                "target": True,
                "shares": True,
            },
        ],
    }
    jsonschema.validate(found, SCHEMA)


def properties(schema: dict[str, Any], path: str = "") -> set[str]:
    """Return the path of every property that a JSON schema has."""
    found = set()
    for name, child in schema.get("properties", {}).items():
        found |= {f"{path}/{name}"} | properties(child, f"{path}/{name}")
    return found | (properties(schema["items"], f"{path}[]") if "items" in schema else set())


def keys(value: object, path: str = "") -> set[str]:
    """Return the path of every key in a JSON value."""
    if isinstance(value, list):
        return {key for child in value for key in keys(child, f"{path}[]")}
    if not isinstance(value, dict):
        return set()
    found = {f"{path}/{name}" for name in value}
    return found | {key for name, child in value.items() for key in keys(child, f"{path}/{name}")}


def test_the_pod_above_leaves_out_no_field_of_the_schema() -> None:
    """A field added to the projection must be added to the test above."""
    seen = {key for key in keys(projection_of_update(POD)) if "/annotations/" not in key}
    # The IDs are the namespace's: test_projection_shared_volumes.py.
    # Of PersistentVolumes: tests/unit/admission/objects/test_privileged_objects.py.
    apart = ("/object", "/ids", "/volumes[]/secrets", "/volumes[]/options")
    others = {key for key in properties(SCHEMA) if key.startswith(apart)}
    assert seen == properties(SCHEMA) - others - {"/weighed"}
