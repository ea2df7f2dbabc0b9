"""A rule declares the fields that its template reads: all of them, and no more than is known."""

import textwrap
from collections.abc import Sequence

import pytest

from policies.gatekeeper_import.declared_fields import NeededFields, needed_fields
from policies.gatekeeper_import.input_reads import follow
from policies.gatekeeper_import.syntax import Mistake, parse_rego
from tests.tools.provide import provide

POD = ["Pod"]
SPEC = "input.review.object.spec"
CONTAINERS = f"{SPEC}.containers"


def needs(body: str, more: str = "", kinds: Sequence[str] = POD, imports: str = "") -> NeededFields:
    """Return what a violation with this body needs."""
    rule = f'violation[{{"msg": "x"}}] {{\n{body}\n}}\n'
    text = f"package p\n\n{imports}\n\n{rule}\n{textwrap.dedent(more)}"
    tree = parse_rego(provide("opa"), text, legacy=True)
    assert not isinstance(tree, Mistake), tree
    return needed_fields(follow([tree]), kinds)


@pytest.mark.parametrize(
    ("body", "fields"),
    [
        (f"{SPEC}.hostPID", ["spec.hostPID"]),
        (f"not {SPEC}.hostPID", ["spec.hostPID"]),
        (f"c := {CONTAINERS}[_]; c.image", ["spec.containers[].image"]),
        (f"c = {CONTAINERS}[_]; c.image == `x`", ["spec.containers[].image"]),
        (f"cs := {CONTAINERS}; c := cs[i]; c.tty", ["spec.containers[].tty"]),
        (f"{CONTAINERS}[_]", ["spec.containers"]),
        (f"count({CONTAINERS}) > 1", ["spec.containers"]),
        (f"x := [c | c := {CONTAINERS}[_]]; x[_].tty", ["spec.containers[].tty"]),
        (f"x := {{c.name | c := {CONTAINERS}[_]}}; count(x) > 1", ["spec.containers[].name"]),
        (f"startswith({CONTAINERS}[_].image, `x`)", ["spec.containers[].image"]),
        (f"object.get({SPEC}, `hostIPC`, false)", ["spec.hostIPC"]),
        (f"object.get({SPEC}, [`a`, `b`], 1) == 2", ["spec.a.b"]),
        (f"fs := [`a`, `b`]; f := fs[_]; {SPEC}[f]", ["spec.a", "spec.b"]),
        (f"{SPEC}[input.parameters.field]", ["spec"]),
        (f"{CONTAINERS}[_][input.parameters.field]", ["spec.containers"]),
        (f"walk({SPEC}, [path, value]); value == 1", ["spec"]),
        ("input.review.object.metadata.labels[x]", ["metadata.labels"]),
        ("input.review.object.metadata.labels.team", ["metadata.labels.team"]),
        ("input.review.object.metadata.labels[`a/b`]", ["metadata.labels['a/b']"]),
        (f"[a, b] := [{SPEC}.x, {SPEC}.y]; a == b", ["spec.x", "spec.y"]),
        (f"x := {{`k`: {SPEC}.y}}; x.k.z", ["spec.y.z"]),
        ("input.review.kind.kind == `Pod`; input.review.operation == `CREATE`", []),
        ("input.review.object.kind == `Pod`; input.review.object.metadata.namespace", []),
        ("input.parameters.x", []),
        ("input.review.object.spec.unknown[_].x", ["spec.unknown"]),
    ],
)
def test_references_are_followed(body: str, fields: list[str]) -> None:
    """Through locals, comprehensions, patterns and what built-in functions are given."""
    assert list(needs(body).fields) == fields


@pytest.mark.parametrize(
    ("body", "more", "fields"),
    [
        ("f(input.review.object.spec)", "f(s) { s.hostPID }", ["spec.hostPID"]),
        (f"f(`tty`, {CONTAINERS}[_])", "f(k, c) { c[k] }", ["spec.containers[].tty"]),
        ("cs[_].tty", f"cs[c] {{ c := {CONTAINERS}[_] }}", ["spec.containers[].tty"]),
        ("cs[c]; c.tty", f"cs[c] {{ c := {CONTAINERS}[_] }}", ["spec.containers[].tty"]),
        ("all_of.spec.x", "all_of = input.review.object", ["spec.x"]),
        ("f(input.review)", "f(r) = o { o := r.object.spec.x }", ["spec.x"]),
        (
            "f(1) == 2",
            f"f(x) = {SPEC}.a {{ x == 1 }} else = {SPEC}.b {{ x == 2 }}",
            ["spec.a", "spec.b"],
        ),
        (f"f({SPEC}.mode)", "f(`on`) { true }\nf(`off`) { true }", ["spec.mode"]),
        ("g(input.review.object)", "g(o) { f(o.spec) }\nf(s) { s.z == 1 }", ["spec.z"]),
        ("true", f"unused {{ {SPEC}.hostPID }}", []),
        (
            "all_have",
            f"all_have {{ x := {SPEC}; x.a; x[`b`] == x[`c`] }}",
            [f"spec.{x}" for x in "abc"],
        ),
        ("m[`a`].x", f"m[k] = v {{ v := {SPEC}[k] }}", ["spec"]),
    ],
)
def test_rules_and_functions_are_followed(body: str, more: str, fields: list[str]) -> None:
    """With what each is given; what nothing asks for is not declared."""
    assert list(needs(body, more).fields) == fields


@pytest.mark.parametrize(
    ("imports", "body", "fields"),
    [
        ("import input.review.object as it", "it.spec.hostPID", ["spec.hostPID"]),
        ("import input.review", "review.object.spec.hostPID", ["spec.hostPID"]),
        ("", 'input["review"]["object"]["spec"]["hostPID"]', ["spec.hostPID"]),
        ("import future.keywords", f"some c in {CONTAINERS}; c.tty", ["spec.containers[].tty"]),
        (
            "import future.keywords",
            f"every c in {CONTAINERS} {{ c.image == `x` }}",
            ["spec.containers[].image"],
        ),
        (
            "import future.keywords",
            f"some name, value in {SPEC}.nodeSelector; value == `x`",
            ["spec.nodeSelector"],
        ),
        ("", f"x := {SPEC}; walk(x, [path, value]); value == 1", ["spec"]),
        ("", f"a := {CONTAINERS}[_]; b := {SPEC}.first; a == b", ["spec.containers", "spec.first"]),
        ("", f"x := {SPEC}.mode; y := x; x = input.parameters.mode; y", ["spec.mode"]),
    ],
)
def test_imports_and_keywords_are_followed(imports: str, body: str, fields: list[str]) -> None:
    """As what they stand for."""
    assert list(needs(body, imports=imports).fields) == fields


def test_very_many_fields_become_the_one_that_contains_them() -> None:
    """A rule may declare so many and no more."""
    body = "; ".join(f"{SPEC}.x{number}" for number in range(45))
    assert needs(f"{body}; input.review.object.metadata.labels.a").fields == (
        "metadata.labels",
        "spec",
    )


def test_lists_are_lists_only_where_that_is_known() -> None:
    """Of a kind that Kubernetes does not have, the field above is declared whole."""
    body = f"{SPEC}.rules[_].host"
    assert needs(body, kinds=["networking.k8s.io/Ingress"]).fields == ("spec.rules[].host",)
    assert needs(body, kinds=["example.org/Route"]).fields == ("spec.rules",)


def test_the_whole_object_is_what_kinds_have() -> None:
    """Without what is shown to no rule; and it is told."""
    found = needs("json.marshal(input.review.object) != ``")
    assert {"spec", "metadata.labels", "rules"} <= set(found.fields)
    assert not {"status", "data"} & set(found.fields)
    assert any("values of environment variables" in each for each in found.notes)


def test_parts_of_the_request_are_named() -> None:
    """They need no field."""
    found = needs(
        "input.review.userInfo.groups[_] == `a`; input.review.name != input.review.namespace"
    )
    assert found.review == {"groups", "name", "namespace"}
    assert found.fields == ()
