"""Rules without tests, and rules without a case that fails and one that passes."""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path, PurePosixPath
from typing import Final

import msgspec

from core.base.errors import BundleRefusedError
from policies.authoring.cases import ExpectedFinding, PolicyCase, find_unrelated_rules
from policies.authoring.examples import find_all, read_case_file
from policies.authoring.lint.problems import Level, Problem, problem_of
from policies.authoring.lint.syntax import RegoSource, refs
from policies.site.choices import NO_CHOICES

_SETS: Final = ("deny", "warn", "signals")


def find_untested(
    rule: str, sources: Sequence[RegoSource], tests: Sequence[RegoSource]
) -> Iterator[Problem]:
    """Find the sets of a rule that no Rego test of the folders asks for."""
    path = ("data", "sallyport", *rule.split("/"))
    asked = {test.steps(ref) for test in tests for ref in refs(test.rules)}
    for name in _SETS:
        source = next((each for each in sources if name in each.names), None)
        if source is not None and not any(it[: len(path) + 1] == (*path, name) for it in asked):
            head = next(it["head"] for it in source.rules if it["head"]["ref"][0]["value"] == name)
            yield source.problem(
                head,
                "untested",
                f"no Rego test asks for {name} of {rule}",
                f"add {Path(source.file).stem}_test.rego: one test where something is found, one "
                "where nothing is",
            )


class CaseCoverage:
    """The cases of the folders, as far as they can be read."""

    def __init__(self, sites: Sequence[Path], files: Mapping[str, PurePosixPath]) -> None:
        self.problems: list[Problem] = []
        self._cases: list[tuple[PolicyCase, frozenset[str]]] = []
        for site in sites:
            for path in find_all(site):
                try:
                    case = read_case_file(path, site, NO_CHOICES)
                except BundleRefusedError as error:
                    self.problems.append(problem_of(str(error), "case", str(path)))
                else:
                    self._cases.append((case, find_unrelated_rules(case.folder, sites, files)))

    def lacking(self, rule: str, owner: RegoSource) -> Iterator[Problem]:
        """Yield a problem for each case that a rule lacks: one that fails, one that passes."""
        about = [case for case, not_about in self._cases if rule not in not_about]
        finding = [case for case in about if _shows(case, rule)]
        if not finding:
            yield _missing(owner, rule, "no-failing-case", "is found", "deny")
        if len(finding) == len(about):
            yield _missing(owner, rule, "no-passing-case", "is not", "allow")


def _shows(case: PolicyCase, rule: str) -> bool:
    """Return whether a case shows an object in which a rule finds something."""
    expected = [*case.said.findings, *(case.said.signals or ())]
    if case.example and not expected:
        return case.said.expect != "allow"
    return any(_names(each, rule) for each in expected)


def _names(expected: ExpectedFinding, rule: str) -> bool:
    return expected.rule in {rule, rule.partition("/")[2]}


def _missing(owner: RegoSource, rule: str, id_: str, what: str, expect: str) -> Problem:
    found = owner.problem(
        {"location": owner.tree["package"].get("location")},
        id_,
        f"no case shows an object in which {rule} {what}",
        f"add cases/NAME.yaml beside it, with expect: {expect} (docs/policies/testing.md)",
    )
    return msgspec.structs.replace(found, level=Level.ERROR)
