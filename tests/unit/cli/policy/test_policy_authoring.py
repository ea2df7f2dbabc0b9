"""`sallyport policy test`, as an author runs it."""

import json
from pathlib import Path
from typing import Any

from tests.unit.cli.conftest import Run
from tests.unit.cli.policy.author_folder import ADMITTED, FILES, POD, REFUSED, RULE, TEST
from tests.unit.policies.authoring.conftest import write

ROOT = Path(__file__).parents[4]


def test_all_that_passes_is_0(author: Run, acme: Path) -> None:
    """Tests, both engines, coverage and cases are in the table."""
    done = author("test", acme, "--coverage-min", "100")
    assert done.code == 0, done.out
    assert "passed  a Pod without its team is refused" in done.out
    assert "100 %" in done.out
    ended = "2 Rego tests (2 also compiled), 2 cases, 4 inputs asked of both engines: 0 failed"
    assert ended in done.out
    assert "2 cases: building and judging\n" in done.err


def test_a_case_that_is_otherwise_is_1_with_its_diff(author: Run, acme: Path) -> None:
    """At the line of what was expected, on both sides what differs."""
    case = acme / "cases" / "refused.yaml"
    case.write_text(REFUSED.replace("has team", "has no team"))
    done = author("test", acme)
    assert done.code == 1
    assert f"{case}:5: a Pod without its team is refused: is otherwise" in done.out
    assert "- rule: labels/team, path: metadata.labels, message: has no team" in done.out
    assert "+ rule: rules/labels/team, path: metadata.labels, message: has team" in done.out


def test_a_rego_test_that_fails_is_1_with_its_values(author: Run, acme: Path) -> None:
    """As OPA reports it; the compiled one fails as well, so the engines do not differ."""
    (acme / "team_test.rego").write_text(TEST.replace('"value": "team"', '"value": "owner"'))
    done = author("test", acme)
    assert done.code == 1
    assert "failed  sallyport.rules.labels.team_test.test_refused" in done.out
    assert f"{acme}/team_test.rego:5" in done.out
    assert "1 failed, 0 differ" in done.out


def test_too_little_coverage_is_1(author: Run, acme: Path) -> None:
    """With the lines that no test reaches."""
    (acme / "team_test.rego").write_text(TEST.partition("\ntest_refused")[0] + "\ntest_a if true\n")
    done = author("test", acme, "--coverage-min", "90")
    assert done.code == 1
    assert f"{acme}/team.rego: 0 % covered, less than --coverage-min" in done.out


def test_what_cannot_be_judged_is_2(author: Run, acme: Path) -> None:
    """An object that is none is no denial."""
    broken = REFUSED.replace("containers: [{name: a, image: a}]", "containers: 1")
    (acme / "cases" / "refused.yaml").write_text(broken)
    done = author("test", acme)
    assert done.code == 2
    assert "error" in done.out
    assert "refused.yaml:3: a Pod without its team is refused: could not be judged" in done.out


def test_a_case_with_an_unknown_field_holds_and_says_so(author: Run, acme: Path) -> None:
    """A rule may read it; kube-apiserver drops one that is misspelt, and the case with it."""
    newer = REFUSED.replace("spec: {containers", "spec: {example: 1, containers")
    (acme / "cases" / "refused.yaml").write_text(newer)
    done = author("test", acme)
    assert done.code == 0, done.out
    says = "a Pod without its team is refused: spec.example: has a meaning that this gate"
    assert says in " ".join(done.out.split())


def test_a_kind_that_no_rule_is_asked_about_cannot_be_judged(author: Run, acme: Path) -> None:
    """It would be admitted without a look."""
    service = "{apiVersion: v1, kind: Service, metadata: {name: a}}"
    (acme / "cases" / "admitted.yaml").write_text(
        ADMITTED.splitlines()[0]
        + f"""
why: b
object: {service}
expect: allow
"""
    )
    done = author("test", acme)
    assert done.code == 2
    assert "a Service is not of a kind that is judged" in done.out


def test_broken_rego_is_2_with_its_place(author: Run, acme: Path) -> None:
    """By the author's own file name."""
    (acme / "team.rego").write_text(RULE.replace("input.fields.metadata", "input.fields.metdata"))
    done = author("test", acme)
    assert (done.code, done.out) == (2, "")
    assert f"{acme}/team.rego:" in done.err
    assert "undefined ref: input.fields.metdata" in done.err


def test_rego_that_cannot_be_read_is_2_with_its_place(author: Run, acme: Path) -> None:
    """As a line for people, where OPA was asked for JSON."""
    (acme / "team.rego").write_text(RULE.replace("some name in", "some name"))
    done = author("test", acme)
    assert (done.code, done.out) == (2, "")
    assert f"{acme}/team.rego:24:" in done.err
    assert "{" not in done.err.partition("team.rego:24:")[2].splitlines()[0]


def test_a_broken_case_is_2_with_its_place(author: Run, acme: Path) -> None:
    """And nothing is run."""
    (acme / "cases" / "refused.yaml").write_text(REFUSED + "expects: x\n")
    done = author("test", acme)
    assert (done.code, done.out) == (2, "")
    assert f"{acme}/cases/refused.yaml:9: expects: there is no such field" in done.err


def test_no_folder_is_64(author: Run, tmp_path: Path) -> None:
    """For each of the commands that take one."""
    for command in ("test", "lint", "bench"):
        done = author(command, tmp_path / "none")
        assert (done.code, done.out) == (64, "")
        assert f"{tmp_path}/none: no such folder" in done.err
    output = ("--output", tmp_path / "b.tar.gz")
    done = author("build", "--site", tmp_path / "none", *output)
    assert (done.code, f"--site {tmp_path}/none: no such folder" in done.err) == (64, True)
    done = author("build", "--rules", tmp_path / "none", *output)
    assert (done.code, f"--rules {tmp_path}/none: no such file" in done.err) == (64, True)


def test_json_says_all(author: Run, acme: Path) -> None:
    """What was run, where, and whether it passed."""
    done = author("test", acme, "-o", "json")
    said: dict[str, Any] = json.loads(done.out)
    assert (done.code, said["passed"], said["compared"]) == (0, True, 4)
    assert [it["outcome"] for it in said["tests"]] == ["passed", "passed"]
    assert [it["passed"] for it in said["compiled"]] == [True, True]
    assert said["coverage"] == [{"file": f"{acme}/team.rego", "percent": 100.0, "uncovered": []}]
    assert {it["got"] for it in said["cases"]} == {"allow", "deny"}


def test_a_case_chooses_its_own_parameters_action_and_namespace(author: Run, acme: Path) -> None:
    """Each is judged with its own choice, beside those that have none."""
    warned = REFUSED.replace("deny", "warn") + "rules: {labels/team: {action: warn}}\n"
    other = REFUSED.replace("has team", "has owner")
    other += "parameters: {labels/team: {names: [owner]}}\n"
    elsewhere = ADMITTED.replace("labels: {team: b}", "generateName: b")
    elsewhere += "rules: {labels/team: {namespaces: [team-*]}}\nnamespace: {name: lab}\n"
    labelled = POD.replace("name: a}, spec", "name: a, labels: {team: b}}, spec")
    update = REFUSED + f"oldObject: {labelled}\nnamespace: {{name: lab, labels: {{a: b}}}}\n"
    files = {"warned": warned, "other": other, "elsewhere": elsewhere, "update": update}
    write(acme / "cases", {f"{name}.yaml": text for name, text in files.items()})
    done = author("test", acme)
    assert done.code == 0, done.out
    assert "6 cases" in done.out


def test_cases_of_one_rule_say_nothing_of_others(author: Run, tmp_path: Path) -> None:
    """Else each new rule would break the cases of all that are there."""
    folder = tmp_path / "acme"
    write(folder / "team", FILES)
    other = RULE.replace("labels.team", "labels.owner").replace("[team]", "[owner]")
    write(folder / "owner", {"owner.rego": other})
    assert author("test", folder).code == 0
    write(folder, {"cases/both.yaml": REFUSED.replace("its team", "anything")})
    done = author("test", folder)
    assert done.code == 1
    assert "+ rule: rules/labels/owner, path: metadata.labels" in done.out
