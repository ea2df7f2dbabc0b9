"""What a Constraint says of where it holds, and what it does, is the rule's."""

from pathlib import Path
from typing import Any

import pytest

from policies.gatekeeper_import.constraint_match import Match, read_match
from policies.gatekeeper_import.importer import ConvertedRules, ImportOutcome
from policies.gatekeeper_import.templates import Constraint
from tests.unit.policies.gatekeeper_import.converted_templates import carried
from tests.unit.policies.gatekeeper_import.made_templates import (
    constraint,
    policy,
    template,
    written,
)

PODS = [{"apiGroups": [""], "kinds": ["Pod"]}]


def match_of(spec: dict[str, Any]) -> Match:
    """Read the match of a Constraint about Pods."""
    given = spec | {"match": {"kinds": PODS} | spec.get("match", {})}
    return read_match(Constraint("Probe", "one", "f.yaml:1", given))


def one(folder: Path, *texts: str) -> tuple[ConvertedRules, ImportOutcome]:
    """Carry a template and Constraints over; give the last outcome."""
    made = carried(written(folder, template(policy("input.review.object.spec.hostPID")), *texts))
    return made, made.outcomes[-1]


@pytest.mark.parametrize(
    ("spec", "action", "note"),
    [
        ({}, "deny", ""),
        ({"enforcementAction": "warn"}, "warn", ""),
        ({"enforcementAction": "dryrun"}, "warn", "dryrun told nobody"),
        (
            {
                "enforcementAction": "scoped",
                "scopedEnforcementActions": [
                    {"action": "warn", "enforcementPoints": [{"name": "*"}]},
                    {"action": "deny", "enforcementPoints": [{"name": "audit.gatekeeper.sh"}]},
                ],
            },
            "warn",
            "only that of the webhook counts: warn",
        ),
    ],
)
def test_actions(spec: dict[str, Any], action: str, note: str) -> None:
    """What differs is told."""
    found = match_of(spec)
    assert found.action == action
    assert note in " ".join(found.notes)


@pytest.mark.parametrize(
    ("kinds", "named"),
    [
        (PODS, ["Pod"]),
        ([{"apiGroups": ["*"], "kinds": ["Deployment"]}], ["apps/Deployment"]),
        ([{"kinds": ["Ingress"]}], ["networking.k8s.io/Ingress"]),
        ([{"apiGroups": ["extensions"], "kinds": ["Ingress"]}], ["networking.k8s.io/Ingress"]),
        ([{"apiGroups": ["example.org"], "kinds": ["Route"]}], ["example.org/Route"]),
        ([{"apiGroups": ["", "apps"], "kinds": ["Pod"]}], ["Pod", "apps/Pod"]),
    ],
)
def test_kinds_get_their_group(kinds: list[Any], named: list[str]) -> None:
    """That of today."""
    assert list(match_of({"match": {"kinds": kinds}}).kinds) == named


def test_a_group_with_a_version_names_nothing() -> None:
    """As in Gatekeeper; the other kinds stay, and the report says so."""
    wrong = {"apiGroups": ["apps/v1"], "kinds": ["Deployment"]}
    match = match_of({"match": {"kinds": [{"apiGroups": ["batch"], "kinds": ["Job"]}, wrong]}})
    assert list(match.kinds) == ["batch/Job"]
    assert match.notes == ("spec.match.kinds: no group is called apps/v1: it names no kind",)


@pytest.mark.parametrize(
    ("spec", "named"),
    [
        ({"match": {"kinds": []}}, "spec.match.kinds names no kind"),
        (
            {"match": {"kinds": [{"apiGroups": ["apps/v1"], "kinds": ["Deployment"]}]}},
            "names no kind that there is",
        ),
        ({"match": {"kinds": [{"kinds": ["*"]}]}}, "names every kind"),
        ({"match": {"kinds": [{"apiGroups": ["*"], "kinds": ["Route"]}]}}, "must name its group"),
        ({"match": {"kinds": [{"kinds": ["PodExecOptions"]}]}}, "when a Pod is entered"),
        (
            {"match": {"kinds": [{"apiGroups": ["sallyport.dev"], "kinds": ["AccessGrant"]}]}},
            "is guarded by Sallyport itself",
        ),
        ({"match": {"source": "Generated"}}, "spec.match.source is Generated"),
        ({"match": {"newField": 1}}, "spec.match.newField is not known here"),
        ({"match": {"namespaces": ["A b"]}}, "spec.match.namespaces: 'A b' is no name"),
        ({"match": {"labelSelector": {"other": {}}}}, "spec.match.labelSelector.other"),
        (
            {
                "match": {
                    "namespaceSelector": {"matchExpressions": [{"key": "a", "operator": "Is"}]}
                }
            },
            "spec.match.namespaceSelector.matchExpressions[0].operator is none of",
        ),
        ({"enforcementAction": "explode"}, "spec.enforcementAction 'explode' is none of"),
    ],
)
def test_what_cannot_be_carried_over_is_refused(
    tmp_path: Path, spec: dict[str, Any], named: str
) -> None:
    """By the name of its field."""
    made, outcome = one(tmp_path, constraint(**spec))
    assert outcome.refused
    assert named in outcome.why
    assert outcome.why.startswith(f"{tmp_path}/given.yaml:")
    assert next(iter(made.choices.values())).action == "off"  # The template alone.


def test_namespaces_and_parameters_go_into_the_rules_file(tmp_path: Path) -> None:
    """Where a site looks for them."""
    match = {"namespaces": ["tr*"], "excludedNamespaces": ["kube-*"]}
    made, outcome = one(tmp_path, constraint(match=match, parameters={"a": [1]}))
    choice = made.choices["gatekeeper/probe_one"]
    assert (choice.namespaces, choice.excluded_namespaces) == (["tr*"], ["kube-*"])
    assert choice.parameters == {"parameters": {"a": [1]}}
    assert outcome.rule == "rules/gatekeeper/probe_one"


def test_two_constraints_are_two_rules(tmp_path: Path) -> None:
    """Names that differ in what a package cannot have stay two."""
    made, _ = one(tmp_path, constraint(name="a-b"), constraint(name="a.b"), constraint(name="a-b"))
    assert len(made.choices) == 2
    assert "the Constraint was read before" in made.outcomes[-1].why


def test_a_template_without_a_constraint_is_off(tmp_path: Path) -> None:
    """As it was under Gatekeeper; its rule is there to be switched on."""
    made, outcome = one(tmp_path)
    assert {name: each.action for name, each in made.choices.items()} == {
        "gatekeeper/probe_probe": "off"
    }
    assert "has no Constraint: its rule is off" in outcome.differs[0]


def test_a_template_for_two_engines_is_told(tmp_path: Path) -> None:
    """Which of the two Gatekeeper asks, its own flags say."""
    rego = {"engine": "Rego", "source": {"rego": policy("true"), "version": "v0"}}
    code = [{"engine": "K8sNativeValidation", "source": {"validations": []}}, rego]
    given = written(tmp_path, template("", code=code), constraint())
    _, outcome = carried(given).outcomes
    assert not outcome.refused
    assert any("the other engine's: K8sNativeValidation" in each for each in outcome.differs)
