"""What is shipped for authors passes what authors are told to run: lint, tests, cases, parity."""

from pathlib import Path

import pytest

from cli.policy.test.run import run_all
from policies import LIBRARY
from policies.authoring.lint.linter import lint
from policies.site.choices import NO_CHOICES, Choices, read_choices
from tests.tools.provide import provide

EXAMPLES = Path(__file__).parents[4] / "examples"
RULES = EXAMPLES / "site-rules"
SHIPPED = {
    "library": (LIBRARY, NO_CHOICES),
    "rules": (RULES / "acme", read_choices(RULES / "rules.yaml")),
    "signals": (EXAMPLES / "site-signals" / "customer_data", NO_CHOICES),
}


@pytest.mark.parametrize(("folder", "choices"), SHIPPED.values(), ids=SHIPPED)
def test_lint_finds_nothing(folder: Path, choices: Choices) -> None:
    """No error and no warning, and nothing that a comment lets be."""
    assert lint(provide("opa"), [folder], choices, None) == []
    rego = [path.read_text() for path in folder.rglob("*.rego")]
    assert not any("lint:ignore" in text for text in rego)


@pytest.mark.parametrize(("folder", "choices"), SHIPPED.values(), ids=SHIPPED)
def test_its_tests_and_cases_hold_on_both_engines(folder: Path, choices: Choices) -> None:
    """Every Rego test that is written runs, and is compiled too; every rule has its cases."""
    tested = run_all(provide("opa"), [folder], choices, 95.0)
    written = sum(
        text.count("\ntest_") for text in map(Path.read_text, folder.rglob("*_test.rego"))
    )
    assert tested.passed
    assert len(tested.tests) == len(tested.compiled) == written
    assert not any(each.cannot for each in tested.compiled)
    assert len(tested.cases) >= 2
    assert tested.compared > 0
