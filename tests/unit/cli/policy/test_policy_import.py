"""`sallyport policy import gatekeeper`: what is written, what is said, how it ends."""

import json
from pathlib import Path

import pytest
import yaml

from tests.tools.provide import provide
from tests.unit.cli.conftest import Done, Run
from tests.unit.policies.gatekeeper_import.converted_templates import TEMPLATES
from tests.unit.policies.gatekeeper_import.made_templates import (
    constraint,
    policy,
    template,
    written,
)

LABELS = TEMPLATES / "labels"
BAD = template(policy("data.inventory.x", "bad"), "Bad")


def carry(run: Run, folder: Path, *arguments: object) -> Done:
    """Import what is named into `folder`/rules."""
    given = ["--into", folder / "rules", "--opa", provide("opa")]
    return run("policy", "import", "gatekeeper", *arguments, *given)


def test_imported_template_judges_its_examples_as_they_say(run: Run, tmp_path: Path) -> None:
    """From templates to a refusal, as the page says it."""
    done = carry(run, tmp_path, LABELS / "policy.yaml")
    assert done.code == 0, done.err
    assert "2 of 2 carried over." in done.out
    built = ["--site", tmp_path / "rules", "--rules", tmp_path / "rules" / "rules.yaml"]
    bundle = tmp_path / "b.tar.gz"
    done = run("policy", "build", *built, "--output", bundle, "--opa", provide("opa"))
    assert done.code == 0, done.err
    flags = ["--bundle", bundle, "--profile", "pss-privileged", "-o", "json"]
    assert run("review", *flags, LABELS / "allowed.yaml").code == 0
    done = run("review", *flags, LABELS / "disallowed.yaml")
    assert done.code == 1
    found = json.loads(done.out)[0]["findings"]
    assert [each["rule"] for each in found] == ["rules/gatekeeper/wantedlabels_labels"]
    assert found[0]["path"] == "metadata.labels"


def test_some_refused_is_exit_code_1(run: Run, tmp_path: Path) -> None:
    """The rest is written, and the report says what was not and why."""
    path = written(tmp_path, BAD, template(policy("true")), constraint())
    done = carry(run, tmp_path, path, "-o", "json")
    assert done.code == 1
    report = json.loads(done.out)
    outcomes = {each["name"]: each for each in report["outcomes"]}
    assert "data.inventory: reads other objects" in outcomes["bad"]["why"]
    assert outcomes["one"]["rule"] == "rules/gatekeeper/probe_one"
    rules = yaml.safe_load((tmp_path / "rules" / "rules.yaml").read_text())
    assert rules["rules"]["gatekeeper/probe_one"]["action"] == "deny"
    done = carry(run, tmp_path, path, "--replace")
    assert "ConstraintTemplate/bad is refused: " in done.out


def test_nothing_is_written_where_all_is_refused(run: Run, tmp_path: Path) -> None:
    """Not even the folder."""
    assert carry(run, tmp_path, written(tmp_path, BAD)).code == 1
    assert not (tmp_path / "rules").exists()


@pytest.mark.parametrize(
    ("text", "code", "said"),
    [
        ("a: [1\n", 2, "given.yaml:2: is no YAML"),
        ("apiVersion: v1\nkind: Pod\n", 64, "no ConstraintTemplate and no Constraint in"),
    ],
)
def test_unreadable_template_is_named_with_file_and_line(
    run: Run, tmp_path: Path, text: str, code: int, said: str
) -> None:
    """With file and line."""
    done = carry(run, tmp_path, written(tmp_path, text))
    assert done.code == code
    assert said in done.err


def test_a_file_that_is_not_there_is_wrong_use(run: Run, tmp_path: Path) -> None:
    """Named."""
    done = carry(run, tmp_path, tmp_path / "absent.yaml")
    assert done.code == 64
    assert "absent.yaml" in done.err


def test_an_import_is_written_anew_only_when_it_is_asked_for(run: Run, tmp_path: Path) -> None:
    """And what else the rules file says stays."""
    path = written(tmp_path, template(policy("true")), constraint())
    rules = tmp_path / "mine.yaml"
    rules.write_text("rules: {labels/required: {action: warn}, gatekeeper/old: {action: deny}}\n")
    assert carry(run, tmp_path, path, "--rules", rules).code == 0
    done = carry(run, tmp_path, path, "--rules", rules)
    assert done.code == 64
    assert "is there already: give --replace" in done.err
    assert carry(run, tmp_path, path, "--rules", rules, "--replace").code == 0
    found = yaml.safe_load(rules.read_text())["rules"]
    assert sorted(found) == ["gatekeeper/probe_one", "labels/required"]


def test_comments_are_never_lost(run: Run, tmp_path: Path) -> None:
    """YAML is written without them."""
    rules = tmp_path / "mine.yaml"
    rules.write_text("rules: {} # why\n")
    path = written(tmp_path, template(policy("true")), constraint())
    done = carry(run, tmp_path, path, "--rules", rules)
    assert done.code == 64
    assert "has comments, which would be lost" in done.err
    assert not (tmp_path / "rules").exists()


@pytest.mark.parametrize("words", [[], ["gatekeeper"]])
def test_help_has_examples_and_exit_codes(run: Run, words: list[str]) -> None:
    """As every command's."""
    text = run("policy", "import", *words, "--help").out
    assert "Examples" in text
    assert "Exit codes" in text
    assert "64" in text
