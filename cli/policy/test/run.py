"""Runs all tests of policy authors: Rego tests, cases, and both once more on another engine."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

import msgspec

from cli import exits
from cli.policy.shared.cases import Group, JudgedCase, judge_cases
from cli.policy.shared.flags import tell
from core.decision.decision import Verdict
from policies.authoring.examples import read_all, with_examples
from policies.authoring.parity import Difference, find_differences
from policies.authoring.rego_tests import (
    CompiledTest,
    Coverage,
    Outcome,
    RegoTest,
    explain_failures,
    files_below,
    find_different_results,
    measure_coverage,
    run_compiled_tests,
    run_tests,
)
from policies.authoring.workspace import Workspace
from policies.site.choices import Choices

FORMAT: Final = 1


class Tested(msgspec.Struct, kw_only=True, rename="camel"):
    """What `sallyport policy test -o json` prints."""

    format: int = FORMAT
    passed: bool = False
    tests: list[RegoTest] = []
    coverage: list[Coverage] = []
    uncovered: list[Coverage] = []
    """The files below --coverage-min."""
    compiled: list[CompiledTest] = []
    """The same tests on the embedded engine."""
    otherwise: list[CompiledTest] = []
    """Those of them that end otherwise there."""
    cases: list[JudgedCase] = []
    compared: int = 0
    """Inputs that both engines were asked."""
    differences: list[Difference] = []
    report: str = ""
    """OPA's own, of the tests that failed."""


@dataclass
class _Tester:
    """Collects what becomes of each group of cases."""

    tested: Tested = field(default_factory=Tested)
    with_tests: bool = True

    def examine(self, group: Group) -> None:
        """Add what a group's cases came to; the first brings the Rego tests."""
        if self.with_tests:
            self.with_tests = False
            self._run_tests(group.workspace)
        self.tested.cases += group.judged
        if group.asked:
            tell(f"{len(group.asked)} inputs: asking OPA what the embedded engine was asked")
            self.tested.compared += len(group.asked)
            self.tested.differences += find_differences(group.workspace, group.asked)

    def _run_tests(self, workspace: Workspace) -> None:
        tested = self.tested
        tested.tests = run_tests(workspace)
        tell(f"{len(tested.tests)} Rego tests: run by OPA, then compiled")
        tested.report = explain_failures(workspace, tested.tests)
        if not tested.report:  # Where a test fails, OPA prints that in the coverage's place.
            tested.coverage = measure_coverage(workspace)
        tested.compiled = run_compiled_tests(workspace, tested.tests)
        tested.otherwise = find_different_results(tested.tests, tested.compiled)


def run_all(opa: Path, sites: Sequence[Path], choices: Choices, coverage_min: float) -> Tested:
    """Test the rules of folders.

    Raises:
        BundleRefusedError: the Rego, or a case, is broken; the message has file, line and fix.
    """
    choices = with_examples(sites, choices)
    cases = read_all(sites, choices)
    tell(f"{len(cases)} cases: building and judging")
    tester = _Tester()
    judge_cases(opa, sites, choices, cases, tester.examine)
    tested = tester.tested
    tested.cases.sort(key=lambda case: case.place)
    tested.uncovered = files_below(tested.coverage, coverage_min)
    tested.passed = exit_code(tested) == exits.ADMITTED
    return tested


def exit_code(tested: Tested) -> int:
    """Return the exit code: what could not be judged weighs more than what failed."""
    unjudged = any(case.got == Verdict.ERROR.value for case in tested.cases)
    broken = any(test.outcome is Outcome.ERROR for test in tested.tests)
    if unjudged or broken:
        return exits.NOT_JUDGED
    failed = any(test.outcome is Outcome.FAILED for test in tested.tests)
    wrong = any(not case.passed for case in tested.cases)
    differing = tested.differences or tested.otherwise or tested.uncovered
    return exits.REFUSED if failed or wrong or differing else exits.ADMITTED
