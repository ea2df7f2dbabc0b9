"""The table of what the back-stop holds agrees with the rules of privileges, one by one."""

from pathlib import Path

import pytest

from docs.generate.backstop import FILE, text
from docs.generate.rules import read_metadata
from identity.subjects import _NO_WORKLOADS
from policies.backstop.policy import NO_WORKLOADS
from policies.backstop.rules import COVERED, UNCOVERED
from tests.harness.evidence import ROOT

REGO = ROOT / "policies" / "rego"
RULES = {
    folder.relative_to(REGO).as_posix(): folder
    for folder in sorted((REGO / "privileges").glob("*/*"))
    if folder.is_dir()
}
GRAVE = {"critical", "high"}


def severity(folder: Path) -> str:
    """Return what the METADATA says."""
    return str(read_metadata(folder / f"{folder.name}.rego")["custom"]["severity"])


def test_every_rule_is_held_or_listed_with_a_reason() -> None:
    """None is forgotten, none is both, and none is listed that there is not."""
    held = {each.rule for each in COVERED}
    listed = {f"privileges/{rule}" for rule in UNCOVERED}
    lacking = sorted(set(RULES) - held - listed)
    assert not lacking, (
        f"put them into COVERED or UNCOVERED of policies/backstop/rules.py: {lacking}"
    )
    assert held | listed == set(RULES)
    assert not held & listed
    assert all(UNCOVERED.values())


@pytest.mark.parametrize("held", COVERED, ids=lambda held: held.rule)
def test_what_is_held_is_grave_and_named_as_in_its_rule(held: object) -> None:
    """The privileges are those of the METADATA: what profiles cover is counted by them."""
    rule = next(each for each in COVERED if each == held)
    custom = read_metadata(RULES[rule.rule] / f"{RULES[rule.rule].name}.rego")["custom"]
    assert list(rule.patterns) == custom["privileges"]
    assert custom["severity"] in GRAVE


def test_what_is_called_mild_is_mild() -> None:
    """A rule that becomes grave must be looked at again."""
    mild = {rule for rule, reason in UNCOVERED.items() if reason.startswith("of medium or low")}
    grave = {rule for rule in mild if severity(RULES[f"privileges/{rule}"]) in GRAVE}
    assert grave == set()


def test_the_shipped_policy_is_fresh() -> None:
    """It is what the table and the METADATA say now."""
    assert FILE.read_text() == text(), "run: python -m docs.generate.backstop"


def test_owners_that_are_no_workloads_are_the_gates() -> None:
    """The policy asks for the service account where the gate does."""
    assert set(NO_WORKLOADS) == set(_NO_WORKLOADS)
