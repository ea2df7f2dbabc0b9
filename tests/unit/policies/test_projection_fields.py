"""What of a Pod lands in its projection: all that rules read, at the path its author wrote."""

import json
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from core.pod import decode_pod
from policies.projection import HARMLESS_VOLUMES, encode, project

SCHEMA = json.loads(
    (Path(__file__).parents[3] / "policies/rego/schema/projection.json").read_text()
)

SECURITY_CONTEXT: dict[str, Any] = {
    "runAsUser": 0,
    "runAsNonRoot": False,
    "seccompProfile": {"type": "Localhost", "localhostProfile": "a.json"},
    "appArmorProfile": {"type": "Localhost", "localhostProfile": "b"},
    "seLinuxOptions": {"user": "u", "role": "r", "type": "t"},
    "windowsOptions": {"hostProcess": True},
}
CONTAINER_CONTEXT: dict[str, Any] = SECURITY_CONTEXT | {
    "privileged": False,
    "allowPrivilegeEscalation": False,
    "procMount": "Unmasked",
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
VOLUMES: list[dict[str, Any]] = [
    {"name": "scratch", "emptyDir": {}},
    {"name": "log", "hostPath": {"path": "/var/log", "type": "Directory"}},
    {"name": "share", "nfs": {"server": "s", "path": "/"}, "emptyDir": None},
    {"name": "odd", "hostPath": {}, "emptyDir": {}},
    {"name": "none"},
]
POD: dict[str, Any] = {
    "metadata": {
        "name": "p",
        "annotations": {
            "container.apparmor.security.beta.kubernetes.io/main": "unconfined",
            "other": "x",
        },
    },
    "spec": {
        "os": {"name": "linux"},
        "hostNetwork": True,
        "hostPID": True,
        "hostIPC": True,
        "hostUsers": False,
        "securityContext": SECURITY_CONTEXT | {"sysctls": [{"name": "kernel.msgmax"}]},
        "volumes": VOLUMES,
        "containers": [
            {
                "name": "main",
                "image": "registry.example/a:1",
                "securityContext": CONTAINER_CONTEXT,
                "ports": [{"containerPort": 1}, {"hostPort": 0}, {"hostPort": 80}],
                **HANDLERS,
            },
            {"name": "second", "volumeMounts": [{"name": "log", "readOnly": True}]},
        ],
        "initContainers": [{"name": "init", "ports": [{"hostPort": 81}]}],
        "ephemeralContainers": [{"name": "debug", "securityContext": CONTAINER_CONTEXT}],
    },
}


def projection(pod: dict[str, Any]) -> dict[str, Any]:
    """Give the projection of a Pod as policies see it."""
    found: dict[str, Any] = json.loads(encode(project(decode_pod(json.dumps(pod).encode()))))
    return found


def handler_hosts(container: str) -> list[dict[str, str]]:
    """Give the hosts of HANDLERS, with their paths."""
    paths = (
        "livenessProbe.httpGet readinessProbe.tcpSocket startupProbe.httpGet "
        "startupProbe.tcpSocket lifecycle.postStart.httpGet lifecycle.preStop.tcpSocket"
    ).split()
    return [
        {"path": f"{container}.{path}.host", "host": f"h{number}"}
        for number, path in enumerate(paths, 1)
    ]


def test_every_field_that_rules_read_is_there() -> None:
    """A Pod that sets them all gives them all, each with the path from the Pod's root."""
    found = projection(POD)
    assert found == {
        "os": "linux",
        "hostNetwork": True,
        "hostPID": True,
        "hostIPC": True,
        "hostUsers": False,
        "securityContext": SECURITY_CONTEXT | {"sysctls": [{"name": "kernel.msgmax"}]},
        "annotations": {"container.apparmor.security.beta.kubernetes.io/main": "unconfined"},
        "volumes": [
            {
                "path": "spec.volumes[1]",
                "name": "log",
                "types": ["hostPath"],
                "hostPath": {"path": "/var/log", "readOnly": True},
            },
            {"path": "spec.volumes[2]", "name": "share", "types": ["nfs"]},
            {
                "path": "spec.volumes[3]",
                "name": "odd",
                "types": ["hostPath", "emptyDir"],
                "hostPath": {"path": ""},
            },
        ],
        "containers": [
            {
                "path": "spec.containers[0]",
                "name": "main",
                "kind": "container",
                "image": "registry.example/a:1",
                "securityContext": CONTAINER_CONTEXT,
                "hostPorts": [{"path": "spec.containers[0].ports[2].hostPort", "port": 80}],
                "handlerHosts": handler_hosts("spec.containers[0]"),
            },
            {"path": "spec.containers[1]", "name": "second", "kind": "container"},
            {
                "path": "spec.initContainers[0]",
                "name": "init",
                "kind": "init",
                "hostPorts": [{"path": "spec.initContainers[0].ports[0].hostPort", "port": 81}],
            },
            {
                "path": "spec.ephemeralContainers[0]",
                "name": "debug",
                "kind": "ephemeral",
                "securityContext": CONTAINER_CONTEXT,
            },
        ],
    }
    jsonschema.validate(found, SCHEMA)


def properties(schema: dict[str, Any], path: str = "") -> set[str]:
    """Give the path of every property that a JSON schema has."""
    found = set()
    for name, child in schema.get("properties", {}).items():
        found |= {f"{path}/{name}"} | properties(child, f"{path}/{name}")
    return found | (properties(schema["items"], f"{path}[]") if "items" in schema else set())


def keys(value: object, path: str = "") -> set[str]:
    """Give the path of every key in a JSON value."""
    if isinstance(value, list):
        return {key for child in value for key in keys(child, f"{path}[]")}
    if not isinstance(value, dict):
        return set()
    found = {f"{path}/{name}" for name in value}
    return found | {key for name, child in value.items() for key in keys(child, f"{path}/{name}")}


def test_the_pod_above_leaves_out_no_field_of_the_schema() -> None:
    """A field added to the projection must be added to the test above."""
    assert {key for key in keys(projection(POD)) if "/annotations/" not in key} == properties(
        SCHEMA
    )


@pytest.mark.parametrize("pod", [{}, {"spec": {}}, {"metadata": {}, "spec": {"containers": []}}])
def test_an_empty_pod_is_an_empty_projection(pod: dict[str, Any]) -> None:
    """What is not there is left out; only the list of containers always is."""
    assert projection(pod) == {"containers": []}


def test_nulls_are_absent_fields() -> None:
    """As for kube-apiserver: null where a value may be absent changes nothing."""
    nulls = {
        "metadata": {"annotations": None, "ownerReferences": None, "labels": None},
        "spec": {
            "os": None,
            "hostNetwork": None,
            "hostPID": None,
            "hostIPC": None,
            "hostUsers": None,
            "securityContext": None,
            "volumes": None,
            "initContainers": None,
            "ephemeralContainers": None,
            "containers": [
                {
                    "name": "a",
                    "image": None,
                    "ports": None,
                    "volumeMounts": None,
                    "lifecycle": None,
                    "livenessProbe": None,
                    "securityContext": {
                        key: None for key in CONTAINER_CONTEXT if key != "capabilities"
                    }
                    | {"capabilities": {"add": None, "drop": None}},
                }
            ],
        },
    }
    expected = {
        "path": "spec.containers[0]",
        "name": "a",
        "kind": "container",
        "securityContext": {"capabilities": {}},
    }
    assert projection(nulls) == {"containers": [expected]}


@pytest.mark.parametrize("volume", sorted(HARMLESS_VOLUMES))
def test_harmless_volumes_are_left_out(volume: str) -> None:
    """Types that every Pod Security level allows are none of the rules' business."""
    assert projection({"spec": {"volumes": [{"name": "v", volume: {}}]}}) == {"containers": []}


@pytest.mark.parametrize(
    "volume", "hostPath nfs iscsi rbd azureFile azureDisk gitRepo flexVolume emptydir".split()
)
def test_other_volumes_are_there(volume: str) -> None:
    """What is not known to be harmless is shown, whatever it is called."""
    found = projection({"spec": {"volumes": [{"name": "v", volume: {}}]}})["volumes"]
    assert [entry["types"] for entry in found] == [[volume]]
