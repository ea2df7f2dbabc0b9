"""Pod templates are found wherever kinds keep them, and only templates are."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.base.errors import InvalidObjectError
from core.kubernetes.pod_templates import (
    DEEPEST,
    LONGEST_PATH,
    MOST_PARTS,
    PodTemplate,
    find_objects_at,
    find_templates_by_shape,
    search_objects_at,
    search_templates_by_shape,
)

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
        ({"spec": {"driver": {"pod": TEMPLATE}}}, []),
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
    found = find_templates_by_shape(value)
    assert [each.path for each in found] == paths
    assert all(each.pod["spec"] == TEMPLATE["spec"] for each in found)
    assert all(each.partial for each in found)


SPEC: dict[str, Any] = {"containers": [{"name": "main", "image": "a"}, {"name": "beside"}]}


@pytest.mark.parametrize(
    ("value", "path", "place"),
    [
        ({"spec": SPEC}, "spec", "spec.hostPID"),
        ({"spec": {"podSpec": SPEC}}, "spec.podSpec", "spec.podSpec.hostPID"),
        (
            {"spec": {"driver": {"pod": {"spec": SPEC}}}},
            "spec.driver.pod",
            "spec.driver.pod.spec.hostPID",
        ),
        ({"workers": [{}, {"a": SPEC}]}, "workers[1].a", "workers[1].a.hostPID"),
    ],
)
def test_images_tell_pod_specs_whatever_their_field_is_called(
    value: dict[str, Any], path: str, place: str
) -> None:
    """A bare Pod spec, or a template in a field that is not called so; with the places of both."""
    (found,) = find_templates_by_shape(value)
    assert (found.path, found.place("spec.hostPID")) == (path, place)
    assert found.pod["spec"] == SPEC


def test_what_lies_too_deep_or_too_far_is_not_looked_at() -> None:
    """A search ends, whatever it is given."""
    deep: dict[str, Any] = {"template": TEMPLATE}
    for _ in range(DEEPEST + 1):
        deep = {"a": deep}
    assert find_templates_by_shape(deep) == []
    wide = {"a": [[] for _ in range(MOST_PARTS)], "template": TEMPLATE}
    assert find_templates_by_shape(wide) == []
    assert len(find_templates_by_shape({"a": [[] for _ in range(1000)], "template": TEMPLATE})) == 1


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
    for template in find_templates_by_shape(value):
        assert all("name" in container for container in template.pod["spec"]["containers"])


@given(
    st.lists(
        st.tuples(
            st.sampled_from(["", "a", "a.b", "a.b[0]", "a.b[0].c", "ab", "a.b[1]"]),
            st.sampled_from(["", "x", "y.z", "w[3]"]),
        ),
        max_size=5,
    ),
    st.sampled_from(["", "a", "a.b", "a.b[0]", "a.b[0].c.d", "a.bc", "ab.c", "a.b[10]", "q"]),
)
def test_the_longest_place_that_holds_a_path_counts(
    places: list[tuple[str, str]], path: str
) -> None:
    """Of several that are as long, the first."""
    fitting = [
        (inner, outer)
        for inner, outer in places
        if path.startswith(inner) and path[len(inner) :][:1] in {"", ".", "["}
    ]
    expected = f"spec.{path}" if path else "spec"
    if fitting:
        inner, outer = max(fitting, key=lambda each: len(each[0]))
        expected = outer + path[len(inner) :]
    assert PodTemplate("spec", {}, tuple(places)).place(path) == expected


def test_templates_below_long_names_are_left_to_their_pods() -> None:
    """Each path below repeats the name: thousands of them would be gigabytes."""
    found = find_templates_by_shape({"spec": {"n" * LONGEST_PATH: {"template": TEMPLATE}}})
    assert not found
    with pytest.raises(InvalidObjectError, match="has a name of more than 1,024 characters"):
        list(find_objects_at("Kind", {"spec": {"n" * (LONGEST_PATH + 1): {}}}, "spec.*.template"))


def test_search_pauses_in_what_holds_no_template() -> None:
    """Whoever searches can let others go on."""
    flat: dict[str, Any] = {"spec": {f"n{number}": {} for number in range(1_200)}}
    assert list(search_templates_by_shape(flat)) == [None]
    assert list(search_objects_at("Kind", flat, "spec.*.template")) == [None, None]
