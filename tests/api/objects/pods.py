"""A Pod that the profile `restricted` covers, to which tests add one thing."""

from typing import Final

from tests.harness.programs.client import Json

TRAIN: Final = "train"
"""The namespace in which people of these tests work."""

REGISTRY: Final = "registry.example.org"
"""The only registry from which they may have images."""

DIGEST: Final = "sha256:" + "a1" * 32

_VOLUME: Final = "volume"


def container(name: str) -> Json:
    """Return a container that needs no privilege but its image's."""
    return {
        "name": name,
        "image": f"{REGISTRY}/trainer@{DIGEST}",
        "securityContext": {
            "allowPrivilegeEscalation": False,
            "capabilities": {"drop": ["ALL"]},
            "readOnlyRootFilesystem": True,
        },
    }


def pod(name: str = "pod", namespace: str = TRAIN) -> Json:
    """Return a new Pod that `restricted` covers; its container is `main`."""
    main = {**container("main"), "resources": {"limits": {"memory": "1Gi"}}}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "namespace": namespace},
        "spec": {
            "automountServiceAccountToken": False,
            "securityContext": {
                "runAsNonRoot": True,
                "seccompProfile": {"type": "RuntimeDefault"},
            },
            "containers": [main],
        },
    }


def with_volume(source: Json, namespace: str, *, read_only: bool = False) -> Json:
    """Return a Pod that mounts one more volume."""
    made = pod(namespace=namespace)
    add_volume(made, source)
    mount = {"name": _VOLUME, "mountPath": "/mnt", "readOnly": read_only}
    made["spec"]["containers"][0]["volumeMounts"] = [mount]
    return made


def with_claim(name: str, namespace: str, *, read_only: bool = False) -> Json:
    """Return a Pod that mounts a claim."""
    source = {"persistentVolumeClaim": {"claimName": name}}
    return with_volume(source, namespace, read_only=read_only)


def add_volume(to: Json, source: Json) -> str:
    """Give a Pod a volume that nothing mounts; return its name."""
    to["spec"]["volumes"] = [{"name": _VOLUME, **source}]
    return _VOLUME
