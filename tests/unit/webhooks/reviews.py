"""AdmissionReviews as kube-apiserver sends them."""

import json
from typing import Any


def review(*, bad: bool = False, padding: int = 0, **changes: Any) -> dict[str, Any]:
    """Return an AdmissionReview as kube-apiserver sends it; `changes` are to its request."""
    container = {
        "name": "train",
        "image": "registry.example/train:1",
        "securityContext": {"privileged": True} if bad else {"readOnlyRootFilesystem": True},
    }
    request = {
        "uid": "705ab4f5-6393-11e8-b7cc-42010a800002",
        "kind": {"group": "", "version": "v1", "kind": "Pod"},
        "resource": {"group": "", "version": "v1", "resource": "pods"},
        "requestKind": {"group": "", "version": "v1", "kind": "Pod"},
        "requestResource": {"group": "", "version": "v1", "resource": "pods"},
        "name": "llama-0",
        "namespace": "train",
        "operation": "CREATE",
        "userInfo": {
            "username": "canary-user@example.com",
            "uid": "canary-uid",
            "groups": ["canary-group", "system:authenticated"],
            "extra": {"canary-key": ["canary-extra"]},
        },
        "object": {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {"name": "llama-0", "namespace": "train", "creationTimestamp": None},
            "spec": {
                "containers": [
                    container | {"env": [{"name": "canary-env", "value": "canary-value"}]}
                ],
                "nodeSelector": {f"key-{i}": "v" * 20 for i in range(padding // 36)},
            },
        },
        "oldObject": None,
        "dryRun": False,
        "options": {"kind": "CreateOptions", "apiVersion": "meta.k8s.io/v1"},
    }
    return {
        "kind": "AdmissionReview",
        "apiVersion": "admission.k8s.io/v1",
        "request": request | changes,
    }


def encode(document: Any) -> bytes:
    """Return a document as JSON."""
    return json.dumps(document).encode()
