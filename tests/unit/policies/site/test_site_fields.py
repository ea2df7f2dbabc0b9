"""Of an object, rules are shown what they declare, and never what nobody may see."""

import json
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.base.errors import BundleRefusedError, EvaluationError
from policies.bundle.format import Rule
from policies.site.fields import (
    MOST_BYTES,
    NO_FIELDS,
    DeclaredFields,
    check_field,
    schema_of,
    tree_of,
)


def rule(*fields: str, kinds: tuple[str, ...] = ("Pod",), name: str = "x") -> Rule:
    """Return a site's rule that declares fields."""
    said = {"title": "", "description": "", "message": "", "remedy": "", "since": 1}
    return Rule(f"rules/acme/{name}", **said, site=True, kinds=list(kinds), fields=list(fields))  # type: ignore[arg-type]


def shown(value: dict[str, Any], *fields: str) -> Any:
    """Return what a rule of these fields is shown of a Pod."""
    return json.loads(DeclaredFields([rule(*fields)]).fields("Pod", value))


POD = {
    "metadata": {"name": "a", "labels": {"team": "x", "controller-uid": "1"}},
    "spec": {
        "replicas": 0,
        "priority": None,
        "containers": [
            {"name": "a", "image": "i", "resources": {"limits": {"cpu": "1"}}, "args": ["s"]},
            {"name": "b", "env": [{"name": "N", "value": "s", "valueFrom": {"x": "y"}}]},
            "nonsense",
        ],
    },
}


def test_only_what_is_declared_is_shown() -> None:
    """As deep as it is declared; what is absent or null is absent, what is false or 0 is there."""
    assert shown(POD) == {}
    assert shown(POD, "metadata.labels") == {"metadata": {"labels": {"team": "x"}}}
    assert shown(POD, "spec.replicas", "spec.priority", "spec.x") == {"spec": {"replicas": 0}}
    assert shown(POD, "spec.containers[].image") == {
        "spec": {"containers": [{"image": "i"}, {}, None]}
    }
    assert shown(POD, "metadata.labels['team']", "metadata.labels['b.c/d']") == {
        "metadata": {"labels": {"team": "x"}}
    }


def test_of_json_only_what_is_declared_is_read() -> None:
    """As of an object that was read whole; also where an object has another shape."""
    reads = DeclaredFields([rule("metadata.labels", "spec.containers[].image")])
    fitting = {"metadata": {"labels": {"a": "b"}, "name": "x"}, "spec": {"containers": [{}]}}
    for value in (POD, fitting, {}, {"metadata": "x"}, {"spec": {"containers": {"a": "b"}}}):
        assert reads.fields_of("Pod", json.dumps(value).encode()) == reads.fields("Pod", value)
    for text in (b"[]", b"{", b"null"):
        with pytest.raises(msgspec.DecodeError):
            reads.fields_of("Pod", text)


def test_what_contains_another_stands_for_both() -> None:
    """In either order."""
    both = ["spec.containers[]", "spec.containers[].image"]
    assert tree_of(both) == tree_of(reversed(both)) == {"spec": {"containers": {"[]": None}}}


@pytest.mark.parametrize("field", ["spec", "spec.containers", "spec.containers[].env[].value"])
def test_values_and_commands_are_never_shown(field: str) -> None:
    """Not where the whole is declared, and not where they are declared themselves."""
    text = json.dumps(shown(POD, field))
    assert '"s"' not in text
    assert "value" not in text.replace("valueFrom", "")


@pytest.mark.parametrize(
    "variables",
    [
        {"TOKEN": "s"},
        [[{"name": "TOKEN", "value": "s"}]],
        ["TOKEN=s"],
        "TOKEN=s",
    ],
)
@pytest.mark.parametrize("key", ["env", "envVars", "environment"])
def test_variables_of_any_shape_have_no_values(key: str, variables: object) -> None:
    """As kinds that nobody knows may have them."""
    made = {"spec": {"driver": {key: variables, "arguments": ["s"]}}}
    assert '"s"' not in json.dumps(shown(made, "spec"))
    assert "=s" not in json.dumps(shown(made, "spec"))


def test_copies_of_the_whole_object_are_never_shown() -> None:
    """That tools keep in annotations."""
    copies = ["kubectl.kubernetes.io/last-applied-configuration", "kapp.k14s.io/original"]
    made = {"metadata": {"annotations": {**dict.fromkeys(copies, "s"), "a": "b"}}}
    assert shown(made, "metadata.annotations") == {"metadata": {"annotations": {"a": "b"}}}


@pytest.mark.parametrize(
    ("kind", "field"),
    [("Secret", "data"), ("Pod", "metadata['managedFields']"), ("Pod", ""), ("x/", "spec")],
)
def test_a_bundle_that_was_not_built_here_declares_no_more(kind: str, field: str) -> None:
    """What the build refuses is refused at load too."""
    with pytest.raises(BundleRefusedError, match="rules/acme/x: custom"):
        DeclaredFields([rule(field, kinds=(kind,))])


def test_what_is_nested_too_deep_is_an_error() -> None:
    """That refuses, and names the kind."""
    deep: Any = "x"
    for _ in range(5000):
        deep = {"a": deep}
    with pytest.raises(EvaluationError, match="of the Pod cannot be copied"):
        DeclaredFields([rule("spec")]).fields("Pod", {"spec": deep})


def test_kinds_have_fields_of_their_own() -> None:
    """Those of all rules that are asked about a kind, and no other's."""
    reads = DeclaredFields(
        [
            rule("metadata.labels", name="a"),
            rule("spec.type", kinds=("Service",), name="b"),
            rule("spec.ports", kinds=("Service", "Pod"), name="c"),
        ]
    )
    assert reads.kinds == {"Pod", "Service"}
    made = {"metadata": {"labels": {"a": "b"}}, "spec": {"type": "t", "ports": [1]}}
    assert json.loads(reads.fields("Service", made)) == {"spec": {"type": "t", "ports": [1]}}
    assert reads.fields("Ingress", made) == NO_FIELDS
    assert (reads.reads("Pod"), reads.reads("Ingress")) == (True, False)


def test_more_than_a_rule_is_shown_is_an_error() -> None:
    """And no part of it is judged as if it were all."""
    reads = DeclaredFields([rule("metadata.annotations")])
    with pytest.raises(EvaluationError, match="take more than"):
        reads.fields("Pod", {"metadata": {"annotations": {"a": "x" * MOST_BYTES}}})


@pytest.mark.parametrize(
    "field",
    [
        "",
        ".",
        "spec.",
        "[]",
        "a b",
        "spec[0]",
        "spec['']",
        "metadata",
        "['metadata']",
        "data",
        "status.x",
    ],
)
def test_paths_that_are_none_are_refused(field: str) -> None:
    """Or lead to what no rule is shown."""
    with pytest.raises(ValueError, match=r"custom\.fields: "):
        check_field(field, "Pod")


_JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-5, 5) | st.text(max_size=3),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(["a", "b", "env", "value", "command", "args"]), inner)
    ),
    max_leaves=12,
)
_FIELDS = st.lists(st.sampled_from(["a", "a.b", "a[].b", "a.env", "b[]", "b.a.b"]), min_size=1)


def _has(value: Any, *keys: str) -> bool:
    if isinstance(value, list):
        return any(_has(each, *keys) for each in value)
    if not isinstance(value, dict):
        return False
    return any(key in keys and each for key, each in value.items()) or any(
        _has(each, *keys) for each in value.values()
    )


@given(st.dictionaries(st.sampled_from(["a", "b", "c"]), _JSON), _FIELDS)
def test_any_object_has_fields(value: dict[str, Any], fields: list[str]) -> None:
    """Whatever its shape: equal objects give equal bytes, and commands are left out."""
    reads = DeclaredFields([rule(*fields)])
    found = reads.fields("Pod", value)
    assert found == reads.fields("Pod", dict(reversed(value.items())))
    assert found == reads.fields_of("Pod", json.dumps(value).encode())
    assert "c" not in json.loads(found)
    assert not _has(json.loads(found), "command", "args")


def test_the_schema_knows_what_is_declared_and_no_more() -> None:
    """So that a field that nobody declared is an error of the build."""
    schema = schema_of([rule("metadata.labels", "spec.ports[].port")])
    assert schema["properties"]["metadata"]["properties"] == {"labels": {}}
    ports = schema["properties"]["spec"]["properties"]["ports"]
    assert ports["items"]["properties"] == {"port": {}}
    assert ports["items"]["additionalProperties"] is False
