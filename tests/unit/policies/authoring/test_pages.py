"""The pages for authors say what there is: ids of the lint, fields of a case, flags of commands."""

import re
from pathlib import Path

import msgspec

from policies.authoring.cases import CaseFile, read_case
from policies.authoring.lint.problems import __file__ as lint_file
from policies.site.choices import NO_CHOICES

ROOT = Path(__file__).parents[4]
PAGES = ROOT / "docs" / "policies"


def test_the_lint_page_has_each_id_once() -> None:
    """As the code spells it."""
    page = (PAGES / "lint.md").read_text()
    code = "".join(path.read_text() for path in Path(lint_file).parent.glob("*.py"))
    ids = set(re.findall(r'"((?:[a-z]+-)+[a-z]+|untested)",\n', code))
    ids |= set(re.findall(r'rule, "(no-[a-z]+-case)"', code))
    rows = re.findall(r"^\| `([a-z-]+)` \|", page, re.MULTILINE)
    assert len(ids) >= 12
    assert sorted(rows) == sorted({*ids, "case"})


def test_the_page_of_cases_has_each_field() -> None:
    """All that a file may have, and nothing else."""
    page = (PAGES / "testing.md").read_text().partition("## A case")[2]
    named = re.findall(r"^\| ((?:`\w+`(?:, )?)+) \|", page, re.MULTILINE)
    fields = {field.encode_name for field in msgspec.structs.fields(CaseFile)}
    assert {word for row in named for word in re.findall(r"\w+", row)} == fields


def test_the_case_of_the_page_can_be_read(tmp_path: Path) -> None:
    """As it stands there."""
    page = (PAGES / "testing.md").read_text()
    case = tmp_path / "a.yaml"
    case.write_text(page.partition("```yaml\n")[2].partition("```")[0])
    said = read_case(case, NO_CHOICES).said
    assert (said.expect, said.findings[0].rule) == ("deny", "labels/team")
