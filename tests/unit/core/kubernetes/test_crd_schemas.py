"""Pod templates are found wherever a definition's schema has them, and only there."""

import time
from typing import Any, Final

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.kubernetes.crds import DEEPEST, find_pod_templates, hides_fields
from core.kubernetes.pod_templates import find_templates_by_shape

Schema = dict[str, Any]

CONTAINERS: Final[Schema] = {
    "type": "array",
    "items": {
        "type": "object",
        "properties": {"name": {"type": "string"}, "image": {"type": "string"}},
    },
}
SPEC: Final[Schema] = {"type": "object", "properties": {"containers": CONTAINERS}}
TEMPLATE: Final[Schema] = {
    "type": "object",
    "properties": {"metadata": {"type": "object"}, "spec": SPEC},
}
POD_SPEC: Final = {"containers": [{"name": "main", "image": "a"}]}


def an_object(**properties: Schema) -> Schema:
    """Return the schema of an object."""
    return {"type": "object", "properties": properties}


def a_list(items: Schema) -> Schema:
    """Return the schema of a list."""
    return {"type": "array", "items": items}


def a_map(values: Schema) -> Schema:
    """Return the schema of a map."""
    return {"type": "object", "additionalProperties": values}


@pytest.mark.parametrize(
    ("schema", "paths"),
    [
        (an_object(spec=an_object(template=TEMPLATE)), ["spec.template"]),
        (an_object(template=TEMPLATE), ["template"]),
        (an_object(spec=SPEC), ["spec"]),
        (an_object(spec=an_object(podSpec=SPEC)), ["spec.podSpec"]),
        (an_object(spec=an_object(a=a_list(TEMPLATE))), ["spec.a[*]"]),
        (
            an_object(spec=an_object(replicas=a_map(an_object(template=TEMPLATE)))),
            ["spec.replicas.*.template"],
        ),
        (an_object(spec=an_object(a=a_list(a_list(TEMPLATE)))), ["spec.a[*][*]"]),
        (
            an_object(spec=an_object(b=TEMPLATE, a=an_object(inner=TEMPLATE))),
            ["spec.a.inner", "spec.b"],
        ),
        (an_object(metadata=TEMPLATE, status=an_object(template=TEMPLATE)), []),
        (an_object(spec=an_object(containers={"type": "array"})), []),
        (an_object(spec=an_object(containers=a_list(an_object(name={"type": "string"})))), []),
        ({"type": "object", "x-kubernetes-preserve-unknown-fields": True}, []),
    ],
)
def test_paths_of_templates(schema: Schema, paths: list[str]) -> None:
    """In the notation of the table of kinds, each once."""
    assert find_pod_templates(schema) == paths


@pytest.mark.parametrize(
    ("schema", "hides"),
    [
        (an_object(spec=an_object(a={"x-kubernetes-preserve-unknown-fields": True})), True),
        (an_object(spec=a_list({"x-kubernetes-preserve-unknown-fields": True})), True),
        (an_object(spec={"x-kubernetes-preserve-unknown-fields": False}), False),
        (an_object(status={"x-kubernetes-preserve-unknown-fields": True}), False),
        ({"type": "object", "x-kubernetes-preserve-unknown-fields": True}, True),
        (an_object(spec=an_object()), False),
        (None, False),
    ],
)
def test_whether_a_schema_hides_fields(schema: object, *, hides: bool) -> None:
    """Where an object may say what the schema does not name; not in its status."""
    assert hides_fields(schema) is hides


_steps = st.lists(st.sampled_from(["name", "list", "map"]), max_size=6)


@given(st.lists(_steps, min_size=1, max_size=4), st.booleans())
def test_what_a_schema_has_is_found_in_objects_of_it(ways: list[list[str]], bare: bool) -> None:  # noqa: FBT001
    """Both searches agree: as many templates in an object as its schema has paths."""
    schema: Schema = an_object()
    value: dict[str, Any] = {}
    for number, steps in enumerate(ways):
        part: Schema = SPEC if bare else TEMPLATE
        below: Any = POD_SPEC if bare else {"spec": POD_SPEC}
        for step in reversed(steps):
            if step == "list":
                part, below = a_list(part), [below]
            elif step == "map":
                part, below = a_map(part), {"key": below}
            else:
                part, below = an_object(inner=part), {"inner": below}
        schema["properties"][f"way{number}"] = part
        value[f"way{number}"] = below
    found = [each.path for each in find_templates_by_shape(value)]
    assert len(find_pod_templates(schema)) == len(found) == len(ways)


_json = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=3),
    lambda below: (
        st.lists(below, max_size=3)
        | st.dictionaries(
            st.sampled_from(
                ["properties", "items", "additionalProperties", "spec", "containers", "name"]
            ),
            below,
            max_size=4,
        )
    ),
    max_leaves=30,
)


@given(_json)
def test_anything_can_be_searched(schema: object) -> None:
    """A broken schema has no templates, and no search of it fails."""
    assert isinstance(find_pod_templates(schema), list)
    assert isinstance(hides_fields(schema), bool)


def test_a_schema_that_holds_itself_is_searched_to_the_end() -> None:
    """Kubernetes knows none; the search has an end all the same."""
    schema: Schema = an_object(spec=an_object())
    schema["properties"]["spec"]["properties"] |= {"a": schema, "b": schema, "t": TEMPLATE}
    assert "spec.t" in find_pod_templates(an_object(spec=schema["properties"]["spec"], t=TEMPLATE))


def test_a_template_below_all_depth_is_not_found() -> None:
    """No published definition nests so deep."""
    schema = TEMPLATE
    for _ in range(DEEPEST + 1):
        schema = an_object(a=schema)
    assert find_pod_templates(schema) == []


def test_two_megabytes_are_searched_whole_and_in_time() -> None:
    """More than etcd stores of one definition, the template last of all."""
    fields = {f"f{number}": {"type": "string"} for number in range(80_000)}
    schema = an_object(a=TEMPLATE, spec=an_object(**fields), z=TEMPLATE)
    began = time.process_time()
    assert find_pod_templates(schema) == ["a", "z"]
    assert time.process_time() - began < 5
