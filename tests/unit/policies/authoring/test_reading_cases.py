"""A file of a case: read as it is written, or refused with file, line and field."""

from pathlib import Path

import pytest

from core.base.errors import BundleRefusedError
from policies.authoring.cases import find_cases, lines_of, read_case
from policies.site.choices import NO_CHOICES, Choice, Choices
from tests.unit.policies.authoring.conftest import write

CASE = """\
name: a Pod without a team is refused
why: Every Pod says whose it is.
object:
  apiVersion: v1
  kind: Pod
  metadata: {name: a}
expect: deny
findings:
- rule: labels/team
  path: metadata.labels
"""


def refusal(folder: Path, text: str) -> str:
    """Return what is said of a case that is refused, without its folder."""
    (folder / "a.yaml").write_text(text)
    with pytest.raises(BundleRefusedError) as refused:
        read_case(folder / "a.yaml", NO_CHOICES)
    return str(refused.value).removeprefix(f"{folder}/")


def test_a_case_is_read(tmp_path: Path) -> None:
    """With what it leaves out as it ordinarily is."""
    (tmp_path / "a.yaml").write_text(CASE)
    case = read_case(tmp_path / "a.yaml", NO_CHOICES)
    assert (case.said.name, case.said.expect) == ("a Pod without a team is refused", "deny")
    assert case.said.profile == "pss-privileged"
    assert case.said.namespace.name == "default"
    assert case.manifest.value["metadata"] == {"name": "a"}
    assert case.place("findings[0].path") == f"{tmp_path}/a.yaml:10"


def test_parameters_and_rules_stand_in_the_place_of_the_chosen(tmp_path: Path) -> None:
    """What the case does not speak of stays as --rules has it."""
    (tmp_path / "a.yaml").write_text(
        CASE
        + "parameters: {rules/labels/team: {keys: [b]}}\nrules: {labels/owner: {action: warn}}\n"
    )
    chosen = Choices(
        {
            "labels/team": Choice("warn", parameters={"keys": ["a"], "more": 1}),
            "labels/owner": Choice("off"),
            "labels/cost": Choice("off"),
        }
    )
    rules = read_case(tmp_path / "a.yaml", chosen).choices.rules
    assert rules["labels/team"] == Choice("warn", parameters={"keys": ["b"], "more": 1})
    assert rules["labels/owner"] == Choice("warn")
    assert rules["labels/cost"] == Choice("off")


def test_an_object_may_lie_in_a_file(tmp_path: Path) -> None:
    """Named from the case's own folder on, and below it it is no case itself."""
    inside = CASE.replace(
        "object:\n  apiVersion: v1\n  kind: Pod\n  metadata: {name: a}",
        "object: {file: objects/p.yaml}",
    )
    pod = "apiVersion: v1\nkind: Pod\nmetadata: {name: b}\n"
    folder = write(tmp_path, {"x/cases/a.yaml": inside, "x/cases/objects/p.yaml": pod})
    assert find_cases(folder) == [folder / "x/cases/a.yaml"]
    case = read_case(folder / "x/cases/a.yaml", NO_CHOICES)
    assert case.manifest.value["metadata"] == {"name": "b"}


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (CASE + "expected: x\n", "a.yaml:11: expected: there is no such field"),
        (
            CASE.replace("  path:", "  paths:"),
            "a.yaml:10: findings[0].paths: there is no such field",
        ),
        (CASE.replace("deny", "refuse"), "a.yaml:7: expect: Invalid enum value 'refuse'"),
        (CASE.replace("why: Every Pod says whose it is.\n", ""), "a.yaml:1: Object missing requi"),
        (CASE.replace("deny", "allow"), "a.yaml:7: expect: what is allowed has no findings"),
        (CASE.partition("findings")[0], "a.yaml:7: expect: say which findings are expected"),
        (CASE + "operation: UPDATE\n", "a.yaml:11: operation: an UPDATE has an oldObject"),
        (CASE + "groups: [a]\n", "a.yaml:11: groups: groups say nothing without 'as'"),
        (CASE.replace("  kind: Pod\n", ""), "a.yaml:3: object: has no apiVersion and kind"),
        (CASE + "---\n" + CASE, "a.yaml:1: 2 documents: write one file for each case"),
        (CASE + "name: again\n", "a.yaml:11: "),
        (CASE.replace("  metadata", " metadata"), "a.yaml:"),
        ("a: " + "[" * 100_000, "a.yaml:1: "),
    ],
)
def test_what_is_wrong_is_named_with_its_place(tmp_path: Path, text: str, said: str) -> None:
    """File, line and field, and what to write."""
    assert refusal(tmp_path, text).startswith(said)


def test_a_file_that_is_not_there_is_named_with_the_case(tmp_path: Path) -> None:
    """And the line that names it."""
    said = refusal(tmp_path, "name: a\nwhy: b\nexpect: allow\nobject: {file: nowhere.yaml}\n")
    assert said.startswith("a.yaml:4: object: ")
    assert "nowhere.yaml does not exist" in said


def test_lines_are_those_of_fields() -> None:
    """Also in lists, and none of what is no YAML."""
    assert lines_of("a:\n  b: 1\nc:\n- d: 2\n") == {
        "a": 1,
        "a.b": 2,
        "c": 3,
        "c[0]": 4,
        "c[0].d": 4,
    }
    assert lines_of("a: [") == {}
