"""OPA's own judgement of the library: its tests, what they cover, its format."""

import json
import subprocess

import pytest

from policies import BUILT_IN_REGO, LIBRARY
from tests.tools.provide import provide
from tests.unit.policies.library.library_rules import RULES

COVERED = 95
"""Per cent of the lines of each rule."""


def opa(*arguments: str) -> str:
    """Run OPA on the library and what it leans on; its output, which fails the test if OPA does."""
    folders = [str(BUILT_IN_REGO / "lib"), str(LIBRARY)]
    command = [str(provide("opa")), *arguments, "--ignore", "*.yaml", *folders]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr + done.stdout
    return done.stdout


def test_rego_tests_pass() -> None:
    """Every `test_` rule holds, and all of them ran."""
    written = sum(path.read_text().count("\ntest_") for path in LIBRARY.rglob("*_test.rego"))
    results = json.loads(opa("test", "-f", "json"))
    ran = [one for one in results if one["package"].startswith("data.sallyport.rules.")]
    assert [one["name"] for one in ran if one.get("fail")] == []
    assert len(ran) == written


@pytest.mark.parametrize("rule", RULES)
def test_refused_and_admitted_are_tested(rule: str) -> None:
    """Each rule has tests of both, and none of another name."""
    text = (LIBRARY / rule / f"{rule.rpartition('/')[2]}_test.rego").read_text()
    named = [line.split()[0] for line in text.splitlines() if line.startswith("test_")]
    assert any(name.startswith("test_refused_") for name in named)
    assert any(name.startswith("test_admitted_") for name in named)
    assert all(name.startswith(("test_refused_", "test_admitted_")) for name in named)


def test_tests_reach_the_lines_of_each_rule() -> None:
    """At least 95 of 100."""
    files = json.loads(opa("test", "--coverage", "-f", "json"))["files"]
    reached = {
        rule: files[str(LIBRARY / rule / f"{rule.rpartition('/')[2]}.rego")]["coverage"]
        for rule in RULES
    }
    assert {rule: share for rule, share in reached.items() if share < COVERED} == {}


def test_rego_is_formatted() -> None:
    """As `opa fmt` writes it."""
    done = subprocess.run(
        [provide("opa"), "fmt", "--diff", "--fail", LIBRARY],
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stdout) == (0, "")
