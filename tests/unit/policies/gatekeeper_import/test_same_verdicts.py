"""What a template says under Gatekeeper it says here: the same messages on the same objects."""

from pathlib import Path

import pytest

from policies.gatekeeper_import.importer import ConvertedRules
from tests.unit.policies.gatekeeper_import.converted_templates import (
    NAMES,
    Said,
    rules_of,
    said_by_opa,
)

OUT_OF_REACH = {"selectors", "anonymous"}
"""Whose Constraint leaves out some of what it allows."""


def test_there_are_enough_templates() -> None:
    """Of the kinds that the public library has."""
    assert len(NAMES) >= 20
    page = Path(__file__).parents[4] / "docs" / "policies" / "import.md"
    assert f"{len(NAMES)} templates by" in page.read_text()


def test_all_of_them_are_carried_over(made: ConvertedRules) -> None:
    """Each with its Constraint."""
    refused = [(each.name, each.why) for each in made.outcomes if each.refused]
    assert refused == []
    assert sorted(rules_of(made)) == NAMES


@pytest.mark.parametrize("name", NAMES)
def test_samples_are_judged_as_they_should_be(name: str, said: Said) -> None:
    """What is allowed has no finding of the rule, what is disallowed has one."""
    assert not any(said.get((name, "allowed"), []))
    assert said[name, "disallowed"]
    assert all(said[name, "disallowed"])


@pytest.mark.parametrize("name", NAMES)
def test_messages_are_those_of_the_templates_own_rego(name: str, said: Said) -> None:
    """Run by OPA as it stands, with what Gatekeeper would have shown it."""
    found = said_by_opa(name)
    assert said[name, "disallowed"] == found[name, "disallowed"]
    if name not in OUT_OF_REACH:
        assert said.get((name, "allowed")) == found.get((name, "allowed"))
