"""More privileges never make an object look safer: signals are added, none goes."""

import copy
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.kubernetes.pod import decode_pod
from policies.engine.embedded_engine import EmbeddedEngine
from policies.engine.interface import PolicyAnswer
from policies.projection.model import encode
from policies.projection.pods import project
from tests.harness.worlds.gangs import gangs, projection, recorded
from tests.harness.worlds.pods import BASES, MUTATIONS

Fields = dict[str, Any]

CODE: list[Fields] = [
    {},
    {"image": "quay.io/jupyter/base-notebook:1"},
    {"image": "registry.example/a@sha256:" + 64 * "a"},
    {"command": ["bash", "-c", "pip install a; curl b | sh"]},
    {"stdin": True, "tty": True},
    {"resources": {"limits": {"cpu": "1", "memory": "1Gi"}}},
]
ADDED: list[tuple[str, Fields]] = [
    *(("spec", {field: True}) for field in ("hostNetwork", "hostPID", "hostIPC")),
    ("spec", {"shareProcessNamespace": True}),
    ("spec", {"volumes": [{"name": "h", "hostPath": {"path": "/"}}]}),
    ("spec", {"nodeName": "node-1"}),
    ("container", {"securityContext": {"privileged": True}}),
    ("container", {"securityContext": {"capabilities": {"add": ["SYS_ADMIN"]}}}),
    ("container", {"securityContext": {"seccompProfile": {"type": "Unconfined"}}}),
    ("container", {"securityContext": {"procMount": "Unmasked", "runAsUser": 0}}),
    ("container", {"ports": [{"containerPort": 1, "hostPort": 1}]}),
    ("container", {"env": [{"name": "NVIDIA_VISIBLE_DEVICES", "value": "all"}]}),
    ("container", {"volumeDevices": [{"name": "b", "devicePath": "/dev/b"}]}),
]
"""Changes that add privileges to any Pod of BASES but Windows'."""


def ask(engine: EmbeddedEngine, pod: Fields) -> PolicyAnswer:
    """Return what the policies say of a Pod."""
    return engine.evaluate(encode(project(decode_pod(json.dumps(pod).encode()))))


@given(
    base=st.sampled_from(BASES),
    before=st.lists(st.sampled_from(MUTATIONS), max_size=3),
    change=st.sampled_from(MUTATIONS),
)
def test_a_change_that_only_adds_privileges_takes_no_signal_away(
    builtin_engine: EmbeddedEngine, base: Any, before: list[Any], change: Any
) -> None:
    """For every change of the agreement's generator, on Pods that others have changed already."""
    pod = base.pod()
    for mutation in before:
        mutation.apply(base, pod)
    old = ask(builtin_engine, pod)
    changed = copy.deepcopy(pod)
    change.apply(base, changed)
    new = ask(builtin_engine, changed)
    if set(old.needs) <= set(new.needs):
        assert set(old.signals) <= set(new.signals)


@pytest.mark.parametrize(("place", "fields"), ADDED, ids=str)
@pytest.mark.parametrize("code", CODE, ids=str)
def test_each_privilege_leaves_the_signals_alone(
    builtin_engine: EmbeddedEngine, code: Fields, place: str, fields: Fields
) -> None:
    """The test above is not vacuous: these add privileges to Pods that have signals, or none."""
    pod = BASES[0].pod()
    container = pod["spec"]["containers"][0]
    container |= code
    old = ask(builtin_engine, pod)
    (pod["spec"] if place == "spec" else container).update(fields)
    new = ask(builtin_engine, pod)
    assert set(new.needs) - set(old.needs)
    assert set(old.signals) <= set(new.signals)


@pytest.mark.parametrize("gang", [folder.name for folder in gangs()])
def test_members_of_a_gang_have_the_same_signals(builtin_engine: EmbeddedEngine, gang: str) -> None:
    """They share their projections, hints included; of each class all are judged alike."""
    pods = recorded(gang)
    by_projection = {projection(pod): ask(builtin_engine, pod).signals for pod in pods}
    assert len(by_projection) <= 2
    for pod in pods:
        assert ask(builtin_engine, pod).signals == by_projection[projection(pod)]


def test_a_gang_of_an_owner_that_is_told_shares_a_projection() -> None:
    """Of the owner only its kind counts; of labels no number of the member's."""

    def member(index: int) -> Fields:
        return {
            "metadata": {
                "name": f"env-{index}",
                "labels": {
                    "app": "rl-env",
                    "agents.x-k8s.io/sandbox-name-hash": f"{index:08x}",
                    "apps.kubernetes.io/pod-index": str(index),
                },
                "ownerReferences": [
                    {
                        "apiVersion": "agents.x-k8s.io/v1beta1",
                        "kind": "Sandbox",
                        "name": f"env-{index}",
                        "uid": f"uid-{index}",
                    }
                ],
            },
            "spec": {
                "containers": [{"name": "a", "image": "a", "args": ["serve", "--seed", str(index)]}]
            },
        }

    assert len({projection(member(index)) for index in range(50)}) == 1
