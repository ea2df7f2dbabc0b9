"""Each rule's two examples, through the path that `sallyport review` and the gate share."""

from pathlib import Path

import pytest

from core.decision.decision import Verdict
from policies.bundle.format import read_bundle
from tests.harness.sizes import size
from tests.unit.policies.library.library_rules import (
    RULES,
    Reviewer,
    choice,
    example,
    folder,
    make,
    moved,
    own,
    reviewing,
)

FILES = {"pass.yaml", "fail.yaml", "message.txt"}
ALONE = RULES[: size(ci=2, proof=len(RULES))]
"""A build takes two seconds."""


@pytest.mark.parametrize("rule", RULES)
def test_a_rule_has_all_that_its_page_needs(rule: str) -> None:
    """Rego, its tests, both examples and the message; choices where a parameter must be given."""
    name = rule.rpartition("/")[2]
    wanted = FILES | {f"{name}.rego", f"{name}_test.rego"}
    there = {path.name for path in folder(rule).iterdir()}
    assert there - {"rules.yaml"} == wanted


def test_all_stand_in_one_bundle(all_apart: Path) -> None:
    """With METADATA that the gate reads."""
    rules = read_bundle(all_apart).rules
    assert {f"rules/{rule}" for rule in RULES} <= rules.keys()
    assert all(rules[f"rules/{rule}"].site for rule in RULES)


@pytest.mark.parametrize("rule", RULES)
def test_passing_example_is_admitted_without_findings(rule: str, reviewer: Reviewer) -> None:
    """Without a word."""
    (found,) = reviewer.review(moved(rule, example(rule, "pass.yaml")))
    assert (found.verdict, found.findings) == (Verdict.ALLOW, [])


@pytest.mark.parametrize("rule", RULES)
def test_what_fails_is_refused_by_this_rule_alone(rule: str, reviewer: Reviewer) -> None:
    """With the words that its page shows."""
    (found,) = reviewer.review(moved(rule, example(rule, "fail.yaml")))
    assert found.verdict is Verdict.DENY
    assert {finding.rule for finding in found.findings} == {f"rules/{rule}"}
    said = "".join(f"{line}\n" for line in own(rule, found))
    assert said == (folder(rule) / "message.txt").read_text()


@pytest.mark.proof
@pytest.mark.parametrize("rule", ALONE)
def test_a_rule_stands_alone(rule: str, tmp_path: Path) -> None:
    """No rule leans on the fields or the packages of another."""
    with reviewing(make(tmp_path / "bundle.tar.gz", {rule: choice(rule)})) as alone:
        passed, failed = alone.review(example(rule, "pass.yaml"), example(rule, "fail.yaml"))
    assert (passed.verdict, passed.findings) == (Verdict.ALLOW, [])
    assert {finding.rule for finding in failed.findings} == {f"rules/{rule}"}
