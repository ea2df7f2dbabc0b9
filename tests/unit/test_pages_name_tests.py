"""Tests and pages that docs/threat-model.md, docs/evidence and the guide name: they exist."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.harness.evidence import ROOT

EVIDENCE = ROOT / "docs" / "evidence"
PAGE = (ROOT / "docs" / "threat-model.md").read_text()
SECTIONS = dict(re.findall(r"^## (T\d+) .*\n((?:(?!## ).*\n)*)", PAGE, re.MULTILINE))
LINKED = ("disaster.md", "upgrade.md", "sizing.md", "alerts.md", "certificates.md", "rollout.md")
TESTS = sorted((ROOT / "tests").rglob("test_*.py"))
ROWS = [line for line in (EVIDENCE / "README.md").read_text().splitlines() if line[:1] == "|"]
TARGETS = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))


def problem(name: str, beside: Path | None = None) -> str:
    """Say what is wrong with a name of a test, a file or folder of tests; empty if nothing is.

    `beside` is the folder in which a file without one is looked for first.
    """
    path, _, function = name.partition("::")
    if path.startswith("tests/"):
        found = list(ROOT.glob(path))
    else:
        found = [each for each in TESTS if each.match(path)]
        found = [each for each in found if each.parent == beside] or found
    if not found:
        return f"{name} is not there"
    if len(found) > 1 and "*" not in path:
        return f"{name} might be {len(found)} files: name its folder"
    if not all(each.is_file() or any(each.rglob("test_*.py")) for each in found):
        return f"{name} holds no test"
    if function and function not in functions(found[0]):
        return f"{name}: the file has no such test"
    return ""


def functions(file: Path) -> set[str]:
    """Name the tests of a file."""
    made = (ast.FunctionDef, ast.AsyncFunctionDef)
    return {each.name for each in ast.parse(file.read_text()).body if isinstance(each, made)}


def problems_of(row: str) -> Iterator[str]:
    """Say what is wrong with the tests that a row of the evidence names."""
    beside = None
    for name in re.findall(r"`((?:tests/|test_)[^`]*)`", row):
        said = problem(name, beside)
        if said:
            yield said
        path = ROOT / name.partition("::")[0]
        if name.startswith("tests/"):
            beside = path.parent if path.suffix else path


def test_every_threat_is_there() -> None:
    """SIG Security names eighteen."""
    assert list(SECTIONS) == [f"T{number}" for number in range(1, 19)]


@pytest.mark.parametrize("threat", SECTIONS)
def test_each_says_what_is_done_what_proves_it_and_what_is_left(threat: str) -> None:
    """A proof is a test that is there, or the evidence of one; one at least is a test."""
    text = SECTIONS[threat]
    assert [text.count(f"**{word}**") for word in ("Done", "Proof", "Left")] == [1, 1, 1]
    proofs = re.findall(r"^- `([^`]+)`$", text.partition("**Proof**")[2], re.MULTILINE)
    tests = [proof for proof in proofs if proof.startswith("tests/")]
    assert tests
    assert [said for proof in tests if (said := problem(proof))] == []
    assert all((ROOT / proof).is_file() for proof in proofs if proof not in tests)


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.split("|")[1].strip()[:60])
def test_each_row_of_the_evidence_names_what_is_there(row: str) -> None:
    """Its tests, its pages, and what is to be run."""
    assert list(problems_of(row)) == []
    linked = re.findall(r"\]\(([^)#]+)", row)
    assert [page for page in linked if not (EVIDENCE / page).is_file()] == []
    assert set(re.findall(r"`make ([a-z-]+)", row)) <= TARGETS


def test_no_page_of_the_evidence_is_forgotten() -> None:
    """Each is linked: nobody finds the others."""
    linked = {page for row in ROWS for page in re.findall(r"\]\(([^)#]+)", row)}
    assert {path.name for path in EVIDENCE.glob("*.md")} - {"README.md"} <= linked


@pytest.mark.parametrize(
    "name",
    [
        "tests/unit/nowhere",
        "tests/unit/test_nowhere.py",
        "test_nowhere.py",
        "test_faults.py",
        "tests/harness",
        "tests/unit/test_pages_name_tests.py::test_nowhere",
        "tests/**/test_nowhere_*.py",
    ],
)
def test_a_name_of_nothing_is_found(name: str) -> None:
    """Else the tests above could not fail."""
    assert problem(name)


def test_a_file_is_looked_for_beside_the_one_named_before() -> None:
    """Rows name a folder once."""
    assert problem("test_faults.py", ROOT / "tests" / "api" / "admission") == ""


@pytest.mark.parametrize("page", LINKED)
def test_links_of_the_guide_lead_somewhere(page: str) -> None:
    """A page that is needed at night must not send anybody nowhere."""
    text = (ROOT / "docs" / "operate" / page).read_text()
    for target in re.findall(r"\]\(([^)#]+)(?:#[^)]*)?\)", text):
        assert "://" in target or (ROOT / "docs" / "operate" / target).exists(), target
    for test in re.findall(r"`(tests/[^`]+)`", text):
        assert problem(test) == "", test
