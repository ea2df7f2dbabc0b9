"""Prints what `sallyport policy test` found, for people."""

from collections.abc import Iterator

from rich.console import Console
from rich.table import Table
from rich.text import Text

from cli.policy.test.run import Tested
from core.base.safe_text import safe_line, safe_text
from policies.authoring.rego_tests import Outcome

_COLOURS = {"passed": "green", "skipped": "yellow", "failed": "red", "error": "magenta"}


def print_tested(tested: Tested, console: Console) -> None:
    """Print a table of tests and cases, one of coverage, what failed and why, and the sum."""
    rows = list(_rows(tested))
    if rows:
        _print_table(console, ("RESULT", "WHAT", "WHERE"), rows)
    if tested.coverage:
        console.print()
        _print_table(
            console,
            ("COVERED", "FILE", "LINES THAT NO REGO TEST REACHES"),
            [(f"{it.percent:g} %", it.file, ", ".join(it.uncovered)) for it in tested.coverage],
        )
    for line in _failures(tested):
        console.print(Text(safe_text(line)))
    console.print()
    console.print(Text(_sum(tested), style="green" if tested.passed else "red"))


def _print_table(
    console: Console, columns: tuple[str, ...], rows: list[tuple[str, str, str]]
) -> None:
    table = Table(box=None, pad_edge=False, header_style="bold")
    for column in columns:
        table.add_column(column, overflow="fold")
    for first, *rest in rows:
        table.add_row(Text(first, style=_COLOURS.get(first, "")), *map(Text, map(safe_line, rest)))
    console.print(table)


def _rows(tested: Tested) -> Iterator[tuple[str, str, str]]:
    for test in tested.tests:
        yield test.outcome.value, test.name, f"{test.file}:{test.line}"
    for case in tested.cases:
        word = "passed" if case.passed else "error" if case.got == "error" else "failed"
        yield word, case.name, case.place


def _failures(tested: Tested) -> Iterator[str]:
    if tested.report:
        yield f"\n{tested.report}"
    for test in tested.tests:
        if test.outcome is Outcome.ERROR:
            yield f"\n{test.file}:{test.line}: {test.name} could not be evaluated: {test.detail}"
    for case in tested.cases:
        if not case.passed:
            could = "could not be judged" if case.got == "error" else "is otherwise"
            yield f"\n{case.place}: {case.name}: {could}\n{_indented(case.detail)}"
        yield from (f"\n{case.place}: {case.name}: {note}" for note in case.notes)
    yield from _differing(tested)
    for file in tested.uncovered:
        yield f"\n{file.file}: {file.percent:g} % covered, less than --coverage-min"


def _differing(tested: Tested) -> Iterator[str]:
    for compiled in tested.otherwise:
        detail = compiled.detail or "it passes in one alone"
        yield f"\n{compiled.place}: {compiled.name}: OPA and the embedded engine differ: {detail}"
    for compiled in tested.compiled:
        if compiled.cannot:
            yield f"\n{compiled.place}: {compiled.name} cannot be compiled: {compiled.detail}"
    for each in tested.differences:
        yield (
            f"\n{each.about}: the engines differ on {each.entrypoint}"
            f"\n  - embedded: {each.embedded}\n  + opa: {each.opa}"
        )


def _indented(text: str) -> str:
    return "\n".join(f"  {line}" for line in text.splitlines())


def _sum(tested: Tested) -> str:
    failed = sum(test.outcome in {Outcome.FAILED, Outcome.ERROR} for test in tested.tests)
    failed += sum(not case.passed for case in tested.cases)
    compiled = sum(not each.cannot for each in tested.compiled)
    parts = [
        f"{len(tested.tests)} Rego tests ({compiled} also compiled)",
        f"{len(tested.cases)} cases",
        f"{tested.compared} inputs asked of both engines",
    ]
    differing = len(tested.differences) + len(tested.otherwise)
    return f"{', '.join(parts)}: {failed} failed, {differing} differ"
