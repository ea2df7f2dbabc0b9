"""Pod templates are found wherever kinds keep them, and only templates are."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.templates import find_templates

TEMPLATE: dict[str, Any] = {"spec": {"containers": [{"name": "main"}]}}


@pytest.mark.parametrize(
    ("value", "paths"),
    [
        ({"spec": {"template": TEMPLATE}}, ["spec.template"]),
        ({"template": TEMPLATE}, ["template"]),
        (
            {"spec": {"jobTemplate": {"spec": {"template": TEMPLATE}}}},
            ["spec.jobTemplate.spec.template"],
        ),
        (
            {
                "spec": {
                    "pytorchReplicaSpecs": {
                        "Master": {"template": TEMPLATE},
                        "Worker": {"replicas": 8, "template": TEMPLATE},
                    }
                }
            },
            [
                "spec.pytorchReplicaSpecs.Master.template",
                "spec.pytorchReplicaSpecs.Worker.template",
            ],
        ),
        (
            {"spec": {"replicatedJobs": [{"template": {"spec": {"template": TEMPLATE}}}]}},
            ["spec.replicatedJobs[0].template.spec.template"],
        ),
        (
            {"spec": {"leaderWorkerTemplate": {"workerTemplate": TEMPLATE}}},
            ["spec.leaderWorkerTemplate.workerTemplate"],
        ),
        (
            {
                "spec": {
                    "headGroupSpec": {"template": TEMPLATE},
                    "workerGroupSpecs": [{"template": TEMPLATE}],
                }
            },
            ["spec.headGroupSpec.template", "spec.workerGroupSpecs[0].template"],
        ),
        (
            {"spec": {"tasks": [{"template": TEMPLATE}, {"template": TEMPLATE}]}},
            ["spec.tasks[0].template", "spec.tasks[1].template"],
        ),
        ({"spec": {"containers": [{"name": "overlay"}]}}, []),
        ({"spec": {"template": {"spec": {"containers": []}}}}, []),
        ({"spec": {"template": {"spec": {"containers": ["main"]}}}}, []),
        ({"spec": {"template": "text"}}, []),
        ({"spec": {"volumeClaimTemplates": [{"spec": {"resources": {}}}]}}, []),
        ({"metadata": {"template": TEMPLATE}, "status": {"template": TEMPLATE}}, []),
        ({"data": {"template": "spec: {}"}}, []),
    ],
)
def test_templates_of_a_kind(value: dict[str, Any], paths: list[str]) -> None:
    """Each by its path, in the order in which they stand."""
    found = find_templates(value)
    assert [path for path, _ in found] == paths
    assert all(template == TEMPLATE for _, template in found)


_json = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=3),
    lambda below: (
        st.lists(below, max_size=3)
        | st.dictionaries(
            st.sampled_from(["spec", "template", "containers", "name", "x"]), below, max_size=3
        )
    ),
    max_leaves=20,
)


@given(st.dictionaries(st.sampled_from(["spec", "template", "x"]), _json, max_size=3))
def test_any_object_can_be_searched(value: dict[str, Any]) -> None:
    """Whatever the shape: what is found has containers that have names."""
    for _, template in find_templates(value):
        assert all("name" in container for container in template["spec"]["containers"])
