"""What a site writes to have rules of the library, and what it may leave out."""

import re
from pathlib import Path
from typing import Any

import pytest

from core.base.errors import BundleRefusedError
from core.decision.decision import Verdict
from policies.site.choices import Choice, read_choices
from tests.unit.policies.library.library_rules import RULES, example, folder, make, own, reviewing

PAGE = Path(__file__).parents[4] / "docs" / "policies" / "library.md"


def test_what_the_page_shows_can_be_built_and_refuses(tmp_path: Path) -> None:
    """Its file of choices, word for word; a rule that only warns admits."""
    (shown,) = re.findall(r"```yaml\n(.*?)```", PAGE.read_text(), re.DOTALL)
    file = tmp_path / "rules.yaml"
    file.write_text(shown)
    rules = read_choices(file).rules
    with reviewing(make(tmp_path / "bundle.tar.gz", rules)) as reviewer:
        service, job = reviewer.review(
            example("services/types", "fail.yaml"), example("jobs/ttl", "fail.yaml")
        )
    assert (service.verdict, len(own("services/types", service))) == (Verdict.DENY, 1)
    assert (job.verdict, len(own("jobs/ttl", job))) == (Verdict.WARN, 1)


def test_what_a_parameter_leaves_out_is_no_error_of_the_build(tmp_path: Path) -> None:
    """Nothing in a list, and in no item what items may leave out."""
    rules = {
        "labels/required": Choice(parameters={"labels": [{"key": "team"}]}),
        "registries/allowed": Choice(
            parameters={"registries": [{"images": ["registry.example/trainer"]}]}
        ),
        "images/forbidden": Choice(parameters={"tags": [], "images": []}),
        "priority/by_group": Choice(parameters={"classes": {}}),
        "api/deprecated": Choice(parameters={"versions": {}}),
    }
    with reviewing(make(tmp_path / "bundle.tar.gz", rules)) as reviewer:
        passed, failed = reviewer.review(
            example("labels/required", "pass.yaml"), example("images/forbidden", "fail.yaml")
        )
    assert passed.verdict is Verdict.ALLOW
    assert {finding.rule for finding in failed.findings} == {
        "rules/labels/required",
        "rules/registries/allowed",
    }


PATTERNS: dict[str, dict[str, Any]] = {
    "labels/required": {"labels": [{"key": "team", "pattern": "[a-z"}]},
    "labels/owner": {"pattern": "[a-z"},
    "annotations/required": {"annotations": [{"key": "team", "pattern": "[a-z"}]},
    "annotations/forbidden": {"annotations": [{"key": "team", "pattern": "[a-z"}]},
    "ingress/paths": {"pattern": "[a-z"},
}


@pytest.mark.parametrize("rule", PATTERNS)
def test_a_pattern_that_is_none_is_refused_when_the_bundle_is_made(
    rule: str, tmp_path: Path
) -> None:
    """Not when objects are reviewed, all of which it would refuse."""
    with pytest.raises(BundleRefusedError, match="RE2") as refused:
        make(tmp_path / "bundle.tar.gz", {rule: Choice(parameters=PATTERNS[rule])})
    assert str(refused.value).startswith(f"--rules: rules.{rule}.parameters.")
    assert "'[a-z': error parsing regexp: missing ]" in str(refused.value)
    assert not (tmp_path / "bundle.tar.gz").exists()


def test_every_pattern_of_the_library_is_checked() -> None:
    """A parameter by which rules match has the format of a regular expression."""
    reads = {
        rule
        for rule in RULES
        for text in [(folder(rule) / f"{rule.rpartition('/')[2]}.rego").read_text()]
        if "parameters.pattern" in text or re.search(r"\b(label|wanted|banned)\.pattern", text)
    }
    assert reads == PATTERNS.keys()
