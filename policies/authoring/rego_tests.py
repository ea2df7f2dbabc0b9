"""Runs a site's Rego tests, with `opa test` and compiled to WebAssembly, and their coverage."""

import enum
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, Final

import msgspec

from core.base.errors import BundleRefusedError, PolicyError
from policies.authoring.compiled_policy import CompiledPolicy, compile_entries
from policies.authoring.workspace import (
    SITE_FILES,
    TEST_SUFFIX,
    ProgramResult,
    Workspace,
    run_program,
)

_FAILED: Final = 2
"""Exit code of `opa test` where a test fails (cmd/test.go of OPA)."""


_IN_PART: Final = "with keyword cannot partially replace virtual document"
_WHOLE: Final = (
    "the parameters of a rule are replaced as one: "
    'with data.sallyport.parameters.<category>.<name> as {"<parameter>": …}'
)

_SECONDS: Final = 5.0
"""Of one test: its evaluation is no review's."""


class Outcome(enum.Enum):
    """How a test ended."""

    PASSED = "passed"
    FAILED = "failed"
    ERROR = "error"
    """It could not be evaluated."""
    SKIPPED = "skipped"
    """Its name begins with `todo_`."""


class RegoTest(msgspec.Struct, frozen=True):
    """One test."""

    name: str
    """`site.labels_test.test_refused`."""
    file: str
    line: int
    outcome: Outcome
    detail: str = ""


class Coverage(msgspec.Struct, frozen=True):
    """What the tests reach of a file."""

    file: str
    percent: float
    uncovered: list[str] = []
    """Lines: `12`, `14-16`."""


class _Location(msgspec.Struct):
    file: str
    row: int


class _Sub(msgspec.Struct):
    fail: bool = False


class _Result(msgspec.Struct):
    location: _Location
    package: str
    name: str
    fail: bool = False
    skip: bool = False
    error: Any = None
    sub_results: dict[str, Any] = {}


class _At(msgspec.Struct):
    row: int


class _Range(msgspec.Struct):
    start: _At
    end: _At


class _File(msgspec.Struct):
    coverage: float = 0.0
    covered: list[_Range] = []
    not_covered: list[_Range] = []


class _Covered(msgspec.Struct):
    files: dict[str, _File] = {}


_RESULTS: Final = msgspec.json.Decoder(list[_Result])
_COVERED: Final = msgspec.json.Decoder(_Covered)


def run_tests(workspace: Workspace) -> list[RegoTest]:
    """Run the tests, ordered by file and line.

    Raises:
        BundleRefusedError: they cannot be compiled; the message has file and line.
    """
    ran = run_program(workspace.opa, workspace.folder, "test", "-b", "rego", "-f", "json")
    try:
        results = _RESULTS.decode(ran.out or b"[]")
    except msgspec.MsgspecError as error:
        raise _not_run(workspace, ran) from error
    if ran.code not in {0, _FAILED}:
        raise _not_run(workspace, ran)
    tests = [_test(workspace, each) for each in results]
    return sorted(tests, key=lambda test: (test.file, test.line, test.name))


def _not_run(workspace: Workspace, ran: ProgramResult) -> BundleRefusedError:
    hint = f"\n{_WHOLE}" if _IN_PART in ran.said else ""
    said = workspace.places.named(ran.said)
    return BundleRefusedError(f"the Rego tests cannot be run:\n{said}{hint}")


def _test(workspace: Workspace, result: _Result) -> RegoTest:
    outcome = Outcome.PASSED
    if result.skip:
        outcome = Outcome.SKIPPED
    elif result.error:
        outcome = Outcome.ERROR
    elif result.fail:
        outcome = Outcome.FAILED
    detail = _worded(result.error) if result.error else _failing(result.sub_results)
    return RegoTest(
        f"{result.package.removeprefix('data.')}.{result.name}",
        workspace.places.named(result.location.file),
        result.location.row,
        outcome,
        workspace.places.named(detail),
    )


def _worded(error: Any) -> str:
    return str(error.get("message", error)) if isinstance(error, dict) else str(error)


def _failing(results: dict[str, Any]) -> str:
    failing = [name for name, each in results.items() if each.get("fail")]
    return f"fails for: {', '.join(failing)}" if failing else ""


def explain_failures(workspace: Workspace, tests: Iterable[RegoTest]) -> str:
    """Return OPA's own report of the tests that failed, with the values of what was compared."""
    if all(test.outcome in {Outcome.PASSED, Outcome.SKIPPED} for test in tests):
        return ""
    said = run_program(workspace.opa, workspace.folder, "test", "-b", "rego", "--var-values")
    text = said.out.decode(errors="replace").strip()
    return workspace.places.named(text.partition("\nSUMMARY\n")[0].removeprefix("FAILURES\n"))


def measure_coverage(workspace: Workspace) -> list[Coverage]:
    """Return the coverage of each of the sites' files by its tests, ordered by file.

    Raises:
        BundleRefusedError: the tests cannot be run.
    """
    ran = run_program(
        workspace.opa, workspace.folder, "test", "-b", "rego", "-f", "json", "--coverage"
    )
    try:
        files = _COVERED.decode(ran.out).files
    except msgspec.MsgspecError as error:
        said = workspace.places.named(ran.said)
        raise BundleRefusedError(f"coverage cannot be measured:\n{said}") from error
    staged = _sources(workspace.folder)
    found = [_coverage(workspace, file, files.get(file, _File())) for file in staged]
    return sorted(found, key=lambda each: each.file)


def _sources(folder: Path) -> list[str]:
    paths = [path.relative_to(folder).as_posix() for path in folder.glob(f"{SITE_FILES}**/*.rego")]
    return [path for path in paths if not path.endswith(f"{TEST_SUFFIX}.rego")]


def _coverage(workspace: Workspace, name: str, file: _File) -> Coverage:
    reached = bool(file.covered or file.not_covered)
    return Coverage(
        workspace.places.named(name),
        round(file.coverage, 1) if reached else 0.0,
        [_lines(each) for each in file.not_covered] if reached else ["all"],
    )


def _lines(lines: _Range) -> str:
    first, last = lines.start.row, lines.end.row
    return str(first) if first == last else f"{first}-{last}"


def files_below(coverage: Sequence[Coverage], least: float) -> list[Coverage]:
    """Return the files of which less is reached."""
    return [each for each in coverage if each.percent < least]


class CompiledTest(msgspec.Struct, frozen=True):
    """What became of a Rego test on the embedded engine."""

    name: str
    place: str
    """File and line of the test."""
    passed: bool
    detail: str = ""
    cannot: bool = False
    """It cannot be compiled, so nothing is known; `detail` says why."""


def run_compiled_tests(workspace: Workspace, tests: Sequence[RegoTest]) -> list[CompiledTest]:
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


def _outcome(compiled: CompiledPolicy, test: RegoTest) -> CompiledTest:
    try:
        passed, detail = _holds(compiled.evaluate(test.name, b"{}", _SECONDS)), ""
    except PolicyError as error:
        passed, detail = False, str(error)
    return CompiledTest(test.name, _place(test), passed=passed, detail=detail)


def _place(test: RegoTest) -> str:
    return f"{test.file}:{test.line}"


def _holds(answer: bytes) -> bool:
    """Return whether a test holds: `true`, or of one for each case, `true` for all."""
    results = msgspec.json.decode(answer)
    if not results:
        return False
    result = results[0]["result"]
    if isinstance(result, dict):
        return all(each is True for each in result.values())
    return result is True


def find_different_results(
    tests: Sequence[RegoTest], compiled: Sequence[CompiledTest]
) -> list[CompiledTest]:
    """Return the tests that end otherwise than with OPA."""
    passed = {test.name: test.outcome is Outcome.PASSED for test in tests}
    return [each for each in compiled if not each.cannot and each.passed != passed[each.name]]
