"""What cannot be carried over is refused by name, with its file and line, and nothing is made."""

from pathlib import Path

import pytest

from policies.gatekeeper_import.importer import ConvertedRules
from tests.unit.policies.gatekeeper_import.converted_templates import carried
from tests.unit.policies.gatekeeper_import.made_templates import (
    constraint,
    policy,
    template,
    written,
)

OBJECT = "input.review.object"


def refused(folder: Path, *texts: str) -> str:
    """Return why the first of some objects is refused."""
    made = carried(written(folder, *texts))
    assert made.outcomes[0].refused
    assert (made.files, made.choices) == ({}, {})
    return made.outcomes[0].why


@pytest.mark.parametrize(
    ("condition", "named"),
    [
        ('data.inventory.cluster["v1"].Namespace[_]', "data.inventory: reads other objects"),
        ("data.lib.absent.f(1)", "data.lib.absent.f: the template's libs do not have it"),
        ("data.other.thing", "data.other.thing: reads what no rule is shown"),
        ('external_data({"provider": "p", "keys": []})', "external_data: asks a provider outside"),
        ('http.send({"method": "get", "url": "x"})', "calls what policies may not call here: http"),
        ("time.now_ns() > 1", "calls what policies may not call here: time.now_ns"),
        ("input.review.oldObject.spec.x", "reads input.review.oldObject.spec.x: a rule sees what"),
        ('input.review.userInfo.username == "a"', "reads input.review.userInfo.username: a rule"),
        ("input.review.uid", "reads input.review.uid: no rule is shown that"),
        ("count(input.review) > 1", "reads input.review: no rule is shown that"),
        (f"{OBJECT}.spec.containers[_].command[_]", "containers[_].command[_], which is shown to"),
        (f"count({OBJECT}.spec.containers[_].args) > 1", "containers[_].args, which is shown to"),
        (f'{OBJECT}.spec.containers[_].env[_].value == "x"', "containers[_].env[_].value, which"),
        (f"{OBJECT}.status.phase", "reads input.review.object.status.phase: Pod: status.phase"),
        (f"{OBJECT}.data[_]", "reads input.review.object.data[_]: Pod: data"),
        (f"{OBJECT}.metadata.managedFields[_]", "metadata.managedFields of Pod is shown to no"),
        (f'{OBJECT}.metadata.labels["job-index"]', "labels.job-index, which is shown to no rule"),
        (f"f(1) with input as {OBJECT}", "replaces its input or functions by `with`"),
        (f"{OBJECT}.spec.x ==", "the Rego cannot be read"),
    ],
)
def test_what_no_rule_may_read_is_named(tmp_path: Path, condition: str, named: str) -> None:
    """Never is it shown as absent."""
    rego = policy(condition) + "\nf(x) = x { true }\n"
    why = refused(tmp_path, template(rego), constraint())
    assert named in why
    assert why.startswith(f"{tmp_path}/given.yaml:")


def test_it_is_named_through_locals_helpers_and_libraries(tmp_path: Path) -> None:
    """Also what a library reads of a container that it is given."""
    lib = "package lib.look\n\nfirst(c) = v {\n  some i\n  v := c.env[i].value\n}\n"
    rego = "package probe\nimport data.lib.look\n" + policy(
        f'cs := {OBJECT}.spec.containers\nlook.first(cs[_]) == "x"'
    ).removeprefix("package probe")
    assert "containers[_].env[_].value, which is shown to no rule" in refused(
        tmp_path, template(rego, libs=(lib,))
    )


@pytest.mark.parametrize(
    ("text", "named"),
    [
        (
            template("", code=[{"engine": "K8sNativeValidation", "source": {}}]),
            "has no Rego, only K8sNativeValidation",
        ),
        (template(""), "spec.targets[0] has no rego and no code"),
        (
            template(policy("true")).replace("name: probe", "name: other"),
            "metadata.name is 'other'",
        ),
        (template(policy("true"), target="x.y"), "spec.targets[0].target is 'x.y'"),
        (template("package probe\n\nallow { true }\n"), "has no rule violation"),
        (template(policy("true"), libs=("package other\n",)), "does not begin with lib"),
        (
            template("", code=[{"engine": "Rego", "source": {"version": "v7", "rego": "x"}}]),
            "source.version is 'v7'",
        ),
    ],
)
def test_templates_of_another_shape_are_refused(tmp_path: Path, text: str, named: str) -> None:
    """With what is wrong."""
    assert named in refused(tmp_path, text)


def test_a_place_is_that_of_the_line_in_the_file(tmp_path: Path) -> None:
    """Of the reference itself, below the head of the template."""
    text = template(policy("input.parameters.on\ndata.inventory.cluster"))
    line = 1 + text[: text.index("data.inventory")].count("\n")
    assert refused(tmp_path, text).startswith(f"{tmp_path}/given.yaml:{line}: data.inventory")


def test_what_can_be_carried_over_is_in_spite_of_others(tmp_path: Path) -> None:
    """Each is refused for itself, and its Constraint with it."""
    made: ConvertedRules = carried(
        written(
            tmp_path,
            template(policy("data.inventory.x", "bad"), "Bad"),
            template(policy(f"{OBJECT}.spec.hostPID")),
            constraint("Bad"),
            constraint(),
            constraint("Unknown"),
        )
    )
    found = [(each.kind, each.name, each.outcome) for each in made.outcomes]
    assert found == [
        ("ConstraintTemplate", "bad", "refused"),
        ("ConstraintTemplate", "probe", "carried-over"),
        ("Bad", "one", "refused"),
        ("Probe", "one", "carried-over"),
        ("Unknown", "one", "refused"),
    ]
    assert "its template was refused" in made.outcomes[2].why
    assert "there is no template of this kind" in made.outcomes[4].why
    assert list(made.choices) == ["gatekeeper/probe_one"]
    assert sorted(made.files) == [
        "gatekeeper/probe/policy.rego",
        "gatekeeper/probe_one.rego",
        "gatekeeper/shared.rego",
    ]
