"""What does not land in the projection: everything that no rule reads, secrets above all."""

import copy
import itertools
import json
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.kubernetes.pod import decode_pod
from policies.projection.model import encode
from policies.projection.pods import project
from tests.harness.worlds.pods import pods

SCHEMA = json.loads(
    (Path(__file__).parents[4] / "policies/rego/schema/projection.json").read_text()
)
PODS = [pod for _, pod in itertools.islice(pods(seed=7), 1500)]
CANARY = "canary-9f2c"

TEXTS = st.text(max_size=8).map(lambda text: f"{CANARY}{text}")
MAPS = st.dictionaries(TEXTS, TEXTS, max_size=3)
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | TEXTS,
    lambda child: st.lists(child, max_size=3) | st.dictionaries(TEXTS, child, max_size=3),
    max_leaves=6,
)
CONTAINER_NOISE = st.fixed_dictionaries(
    {},
    optional={
        "env": st.lists(st.fixed_dictionaries({"name": TEXTS, "value": TEXTS}), max_size=2),
        "envFrom": VALUES,
        "args": st.lists(TEXTS),
        "command": st.lists(TEXTS),
        "workingDir": TEXTS,
        "resizePolicy": VALUES,
        "terminationMessagePath": TEXTS,
        "imagePullPolicy": TEXTS,
        "unheardOf": VALUES,
    },
)
HANDLER_NOISE = st.fixed_dictionaries(
    {"exec": st.fixed_dictionaries({"command": st.lists(TEXTS, max_size=2)})},
    optional={"initialDelaySeconds": st.integers(), "grpc": VALUES},
)
HTTP_NOISE = st.fixed_dictionaries(
    {"path": TEXTS, "port": TEXTS, "scheme": TEXTS, "httpHeaders": VALUES}
)
POD_NOISE = st.fixed_dictionaries(
    {},
    optional={
        "nodeSelector": MAPS,
        "affinity": st.fixed_dictionaries({"nodeAffinity": VALUES, "podAffinity": VALUES}),
        "imagePullSecrets": VALUES,
        "hostname": TEXTS,
        "subdomain": TEXTS,
        "schedulerName": TEXTS,
        "unheardOf": VALUES,
    },
)
METADATA_NOISE = st.fixed_dictionaries(
    {},
    optional={
        "labels": MAPS,
        "managedFields": VALUES,
        "finalizers": VALUES,
        "resourceVersion": TEXTS,
        "generateName": TEXTS,
    },
)


def projected(pod: dict[str, Any]) -> bytes:
    """Return the bytes that policies get."""
    return encode(project(decode_pod(json.dumps(pod).encode())))


def containers(pod: dict[str, Any]) -> list[dict[str, Any]]:
    """Return all containers of a Pod."""
    return [
        container
        for field in ("containers", "initContainers", "ephemeralContainers")
        for container in pod["spec"].get(field) or ()
    ]


@given(data=st.data())
def test_noise_never_changes_the_projection(data: st.DataObject) -> None:
    """Environment, commands, probes' bodies, labels and all the rest leave its bytes alone."""
    pod = data.draw(st.sampled_from(PODS))
    noisy = copy.deepcopy(pod)
    noisy["metadata"] |= data.draw(METADATA_NOISE)
    noisy["metadata"]["annotations"] = (noisy["metadata"].get("annotations") or {}) | data.draw(
        MAPS
    )
    noisy["spec"] |= data.draw(POD_NOISE)
    noisy["status"] = data.draw(VALUES)
    for container in containers(noisy):
        container.update(data.draw(CONTAINER_NOISE))
        probe = container["livenessProbe"] = container.get("livenessProbe") or {}
        probe |= data.draw(HANDLER_NOISE)
        probe["httpGet"] = probe.get("httpGet", {}) | data.draw(HTTP_NOISE)
    found = projected(noisy)
    assert found == projected(pod)
    assert CANARY.encode() not in found


def test_what_tells_the_pods_of_a_gang_apart_stays_out() -> None:
    """Names, ordinals, claims of their own, the token's volume: one projection for all."""

    def member(index: int) -> dict[str, Any]:
        token = f"kube-api-access-{index}abcd"
        return {
            "metadata": {
                "name": f"llama-{index}",
                "labels": {"apps.kubernetes.io/pod-index": str(index)},
                "annotations": {"batch.kubernetes.io/job-completion-index": str(index)},
            },
            "spec": {
                "hostname": f"llama-{index}",
                "containers": [
                    {
                        "name": "trainer",
                        "image": "registry.example/trainer:1",
                        "env": [{"name": "RANK", "value": str(index)}],
                        "volumeMounts": [{"name": token, "mountPath": "/var/run/secrets"}],
                    }
                ],
                "volumes": [
                    {"name": token, "projected": {"sources": [{"serviceAccountToken": {}}]}},
                    {"name": "data", "persistentVolumeClaim": {"claimName": f"data-{index}"}},
                    {"name": "shm", "emptyDir": {"medium": "Memory"}},
                ],
            },
        }

    assert len({projected(member(index)) for index in range(50)}) == 1


@pytest.mark.parametrize(
    ("name", "value", "asks"),
    [
        ("NVIDIA_VISIBLE_DEVICES", "all", True),
        ("NVIDIA_VISIBLE_DEVICES", "void,0", True),
        ("NVIDIA_VISIBLE_DEVICES", "VOID", True),
        ("NVIDIA_VISIBLE_DEVICES", " void", True),
        ("NVIDIA_VISIBLE_DEVICES", "$(X)", True),
        ("NVIDIA_VISIBLE_DEVICES", "void", False),
        ("NVIDIA_VISIBLE_DEVICES", "none", False),
        ("NVIDIA_VISIBLE_DEVICES", "", False),
        ("NVIDIA_MIG_CONFIG_DEVICES", "all", True),
        ("CUDA_VERSION", "10.1", True),
        ("ACME_VISIBLE_DEVICES", "0", True),
        ("CUDA_VISIBLE_DEVICES", "0", False),
        ("ROCR_VISIBLE_DEVICES", "0", False),
        ("NVIDIA_DRIVER_CAPABILITIES", "all", False),
        ("NVIDIA_API_KEY", CANARY, False),
    ],
)
def test_of_the_environment_only_names_that_ask_for_devices(
    name: str, value: str, *, asks: bool
) -> None:
    """A key of an API that begins like a toolkit's variable is nobody's business."""
    made = {"spec": {"containers": [{"name": "a", "env": [{"name": name, "value": value}]}]}}
    found = json.loads(projected(made))["containers"][0].get("env", [])
    assert found == ([{"path": "spec.containers[0].env[0]", "name": name}] if asks else [])
    by_reference = {"name": name, "valueFrom": {"secretKeyRef": {"name": CANARY}}}
    made["spec"]["containers"][0]["env"] = [by_reference]
    found = projected(made)
    assert CANARY.encode() not in found
    assert ('"env"' in found.decode()) is (asks or name == "NVIDIA_VISIBLE_DEVICES")


def test_every_value_outside_the_schema_stays_out() -> None:
    """With a secret in each place that Kubernetes has for one, none reaches policies."""
    secrets = {
        "env": [{"name": CANARY, "value": CANARY, "valueFrom": {"secretKeyRef": {"key": CANARY}}}],
        "envFrom": [{"secretRef": {"name": CANARY}}],
        "args": [CANARY],
        "command": [CANARY],
        "livenessProbe": {"httpGet": {"path": CANARY, "httpHeaders": [{"value": CANARY}]}},
        "lifecycle": {"postStart": {"exec": {"command": [CANARY]}}},
        "volumeMounts": [{"name": "v", "mountPath": CANARY, "subPath": CANARY}],
    }
    volumes = [
        {"name": "v", "secret": {"secretName": CANARY}},
        {"name": "w", "azureFile": {"secretName": CANARY, "shareName": CANARY}},
        {"name": "x", "flexVolume": {"options": {"password": CANARY}}},
        {"name": "y", "hostPath": {"path": "/x", CANARY: CANARY}},
    ]
    pod = {
        "metadata": {"annotations": {"token": CANARY}, "labels": {CANARY: CANARY}},
        "spec": {
            "containers": [{"name": "a"} | secrets],
            "initContainers": [{"name": "b"} | secrets],
            "ephemeralContainers": [{"name": "c"} | secrets],
            "volumes": volumes,
            "securityContext": {"sysctls": [{"name": "kernel.msgmax", "value": CANARY}]},
            "serviceAccountName": CANARY,
            "imagePullSecrets": [{"name": CANARY}],
        },
    }
    found = projected(pod)
    assert CANARY.encode() not in found
    assert json.loads(found)["volumes"] == [
        {"path": "spec.volumes[1]", "types": ["azureFile"]},
        {"path": "spec.volumes[2]", "types": ["flexVolume"]},
        {
            "path": "spec.volumes[3]",
            "types": ["hostPath"],
            "hostPath": {"path": "/x"},
        },
    ]


def test_projections_of_generated_pods_follow_the_schema() -> None:
    """For 1,500 Pods of the agreement's generator, the projection is what the schema says."""
    validator = jsonschema.Draft7Validator(SCHEMA)
    for pod in PODS:
        errors = list(validator.iter_errors(json.loads(projected(pod))))
        assert errors == [], pod


def test_the_generator_reaches_what_pod_security_looks_at() -> None:
    """The test above is not vacuous: each part of the projection occurs that it changes."""
    seen = {key for pod in PODS for key in json.loads(projected(pod))}
    assert seen >= {
        "annotations",
        "containers",
        "hostIPC",
        "hostNetwork",
        "hostPID",
        "hostUsers",
        "os",
        "securityContext",
        "volumes",
    }
    assert seen <= set(SCHEMA["properties"])


@pytest.mark.parametrize(
    "key",
    ["container.apparmor.security.beta.kubernetes.io", "x.apparmor.security.beta.kubernetes.io/c"],
)
def test_annotations_that_only_look_like_apparmors_stay_out(key: str) -> None:
    """The whole prefix counts."""
    assert (
        projected({"metadata": {"annotations": {key: CANARY}}})
        == b'{"containers":[],"weighed":true}'
    )
