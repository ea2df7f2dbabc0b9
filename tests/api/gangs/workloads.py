"""Workloads that are gangs, with whatever of a Pod policies see in their templates."""

from tests.api.gangs.conftest import TRAIN
from tests.harness.programs.client import Json

MEMBERS = 64
_LABELS = {"app": "gang"}


def job(name: str) -> Json:
    """Return an Indexed Job of 64 Pods at once."""
    spec = {
        "completions": MEMBERS,
        "parallelism": MEMBERS,
        "completionMode": "Indexed",
        "template": _template(restartPolicy="Never"),
    }
    return _workload("batch/v1", "Job", name, spec)


def stateful_set(name: str) -> Json:
    """Return a StatefulSet of 64 Pods at once, each with a claim of its own."""
    claim = {
        "metadata": {"name": "data"},
        "spec": {
            "accessModes": ["ReadWriteOnce"],
            "resources": {"requests": {"storage": "1Gi"}},
        },
    }
    template = _template()
    mount = {"name": "data", "mountPath": "/data"}
    template["spec"]["containers"][0]["volumeMounts"].append(mount)
    spec = {
        "replicas": MEMBERS,
        "podManagementPolicy": "Parallel",
        "serviceName": name,
        "selector": {"matchLabels": _LABELS},
        "template": template,
        "volumeClaimTemplates": [claim],
    }
    return _workload("apps/v1", "StatefulSet", name, spec)


def _workload(api_version: str, kind: str, name: str, spec: Json) -> Json:
    metadata = {"name": name, "namespace": TRAIN}
    return {"apiVersion": api_version, "kind": kind, "metadata": metadata, "spec": spec}


def _template(**spec: str) -> Json:
    token = {"audience": "vault", "path": "token"}
    container = {
        "name": "trainer",
        "image": "registry.example/train:1",
        "env": [{"name": "NVIDIA_VISIBLE_DEVICES", "value": "all"}],
        "resources": {"limits": {"cpu": "1", "memory": "1Gi"}},
        "securityContext": {"capabilities": {"add": ["IPC_LOCK"]}},
        "volumeMounts": [{"name": "logs", "mountPath": "/logs"}],
    }
    volumes = [
        {"name": "logs", "hostPath": {"path": "/var/log/train"}},
        {"name": "vault", "projected": {"sources": [{"serviceAccountToken": token}]}},
    ]
    aliases = [{"ip": "10.0.0.9", "hostnames": ["store.example"]}]
    whole: Json = {"containers": [container], "volumes": volumes, "hostAliases": aliases, **spec}
    return {"metadata": {"labels": _LABELS}, "spec": whole}
