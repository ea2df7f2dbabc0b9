"""What `sallyport verify` asks for: it is never written, and no image is ever pulled."""

from typing import Any, Final

from core.base import names

_IMAGE: Final = "sallyport.invalid/verify"
"""A name that no registry has (RFC 6761)."""
_LABELS: Final = {"app": "sallyport-verify"}

MARKS: Final = {"metadata": {"labels": {names.MODE_LABEL: "verify"}}}
"""A mark that no namespace has: setting it takes the right to exempt, whatever is there now."""


def deployment(namespace: str) -> dict[str, Any]:
    """Give one that needs nothing: whoever may run anything may run it."""
    container = {
        "name": "verify",
        "image": _IMAGE,
        "securityContext": {
            "allowPrivilegeEscalation": False,
            "capabilities": {"drop": ["ALL"]},
            "readOnlyRootFilesystem": True,
        },
        "resources": {
            "requests": {"cpu": "10m", "memory": "16Mi"},
            "limits": {"cpu": "10m", "memory": "16Mi"},
        },
    }
    spec = {
        "automountServiceAccountToken": False,
        "securityContext": {
            "runAsNonRoot": True,
            "runAsUser": 65532,
            "seccompProfile": {"type": "RuntimeDefault"},
        },
        "containers": [container],
    }
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": "sallyport-verify", "namespace": namespace},
        "spec": {
            "replicas": 0,
            "selector": {"matchLabels": _LABELS},
            "template": {"metadata": {"labels": _LABELS}, "spec": spec},
        },
    }


def pod(namespace: str) -> dict[str, Any]:
    """Give one that nobody may run: it asks its runtime for the node's network (rules/runtime)."""
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {
            "name": "sallyport-verify",
            "namespace": namespace,
            "annotations": {"dev.gvisor.flag.network": "host"},
        },
        "spec": {
            "containers": [
                {"name": "verify", "image": _IMAGE, "securityContext": {"privileged": True}}
            ]
        },
    }
