"""Runs a site's Rego tests a second time, compiled to WebAssembly, on the embedded engine."""

from collections.abc import Iterator, Sequence
from typing import Final

import msgspec

from core.base.errors import BundleRefusedError, PolicyError
from policies.authoring.compiled_policy import Compiled, compile_entries
from policies.authoring.rego_tests import Outcome, RegoTest
from policies.authoring.workspace import Workspace

_SECONDS: Final = 5.0
"""Of one test: its evaluation is no review's."""


class CompiledTest(msgspec.Struct, frozen=True):
    """What became of a Rego test on the embedded engine."""

    name: str
    place: str
    """File and line of the test."""
    passed: bool
    detail: str = ""
    cannot: bool = False
    """It cannot be compiled, so nothing is known; `detail` says why."""


def run_compiled(workspace: Workspace, tests: Sequence[RegoTest]) -> list[CompiledTest]:
    """Run those tests that OPA has run; each should end as it does there."""
    known = [test for test in tests if test.outcome in {Outcome.PASSED, Outcome.FAILED}]
    if not known:
        return []
    try:
        return list(_run(workspace, known))
    except BundleRefusedError:
        # Some cannot be compiled: which, is found by compiling each alone.
        return [result for test in known for result in _alone(workspace, test)]


def _alone(workspace: Workspace, test: RegoTest) -> Iterator[CompiledTest]:
    try:
        yield from list(_run(workspace, [test]))
    except BundleRefusedError as error:
        detail = str(error)
        yield CompiledTest(test.name, _place(test), passed=False, detail=detail, cannot=True)


def _run(workspace: Workspace, tests: Sequence[RegoTest]) -> Iterator[CompiledTest]:
    with compile_entries(workspace, [test.name for test in tests]) as compiled:
        for test in tests:
            yield _outcome(compiled, test)


def _outcome(compiled: Compiled, test: RegoTest) -> CompiledTest:
    try:
        passed, detail = _holds(compiled.evaluate(test.name, b"{}", _SECONDS)), ""
    except PolicyError as error:
        passed, detail = False, str(error)
    return CompiledTest(test.name, _place(test), passed=passed, detail=detail)


def _place(test: RegoTest) -> str:
    return f"{test.file}:{test.line}"


def _holds(answer: bytes) -> bool:
    """Say whether a test holds: `true`, or of one for each case, `true` for all."""
    results = msgspec.json.decode(answer)
    if not results:
        return False
    result = results[0]["result"]
    if isinstance(result, dict):
        return all(each is True for each in result.values())
    return result is True


def otherwise(tests: Sequence[RegoTest], compiled: Sequence[CompiledTest]) -> list[CompiledTest]:
    """Give those that end otherwise than with OPA."""
    passed = {test.name: test.outcome is Outcome.PASSED for test in tests}
    return [each for each in compiled if not each.cannot and each.passed != passed[each.name]]
