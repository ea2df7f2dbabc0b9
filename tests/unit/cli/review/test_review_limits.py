"""`sallyport review` of what the gate refuses for its size, or warns of for its fields."""

import json
from pathlib import Path
from typing import Any

import pytest

from admission.objects.size_limits import MAX_POD_VALUES
from tests.unit.cli.conftest import Run
from tests.unit.cli.manifests import cluster, pod, write
from tests.unit.cli.profile.workload_files import deployment


def reviewed(run: Run, *arguments: object) -> dict[str, Any]:
    """Return the only element that review prints."""
    found: list[dict[str, Any]] = json.loads(run("review", "-o", "json", *arguments).out)
    (element,) = found
    return element


def test_what_holds_more_values_than_are_judged_is_an_error(run: Run, tmp_path: Path) -> None:
    """As the gate says it: with the limit, and never "allowed"."""
    made = pod()
    made["spec"]["containers"][0]["args"] = ["a"] * (MAX_POD_VALUES + 1)
    file = tmp_path / "a.json"
    file.write_text(json.dumps(made))
    done = run("review", file)
    assert done.code == 2
    assert "more than 40,000 are not judged" in done.out


PATH = "spec.containers[0].securityContext.writableCgroups"


def newer(**spec: Any) -> dict[str, Any]:
    """Return a Pod with a field of a later Kubernetes, in namespace train."""
    made = pod(namespace="train", **spec)
    made["spec"]["containers"][0]["securityContext"]["writableCgroups"] = True
    return made


def world(folder: Path, rule: str) -> Path:
    """Write a cluster whose namespace train has a rule for fields that the gate does not know."""
    return cluster(folder, marks={"sallyport.dev/when-field-unknown": rule})


def test_unknown_fields_warn_as_the_gate_warns(run: Run, tmp_path: Path) -> None:
    """With their places; nobody knows whether one is misspelt, which kube-apiserver drops."""
    file = write(tmp_path / "a.yaml", newer(example=1))
    assert run("review", file).code == 0
    element = reviewed(run, file)
    assert (element["verdict"], element["notes"]) == ("warn", [])
    found = [(each["rule"], each["path"], each["action"]) for each in element["findings"]]
    assert found == [("field/unknown", "spec.example", "warn"), ("field/unknown", PATH, "warn")]
    assert "misspelt" in element["findings"][0]["remedy"]
    assert reviewed(run, write(tmp_path / "a.yaml", pod()))["findings"] == []


@pytest.mark.parametrize("command", ["review", "explain"])
@pytest.mark.parametrize("made", [newer(), deployment(namespace="train", writableCgroups=True)])
def test_unknown_fields_are_refused_where_a_namespace_refuses_them(
    run: Run, tmp_path: Path, command: str, made: dict[str, Any]
) -> None:
    """The exit code is that of a refusal, of a Pod and of a workload."""
    file = write(tmp_path / "a.yaml", made)
    for rule, code in (("refuse", 1), ("warn", 0)):
        done = run(command, file, "--as", "dana", "--cluster", world(tmp_path / rule, rule))
        assert (done.code, "writableCgroups" in done.out) == (code, True), done.out


@pytest.mark.parametrize("command", ["review", "explain"])
def test_unknown_fields_are_refused_where_the_settings_refuse_them(
    run: Run, tmp_path: Path, command: str
) -> None:
    """As the gate that has these settings; a namespace's own rule goes before."""
    config = write(tmp_path / "config.yaml", "when_field_unknown: refuse\n")
    file = write(tmp_path / "a.yaml", newer())
    assert run(command, file, "--config", config).code == 1
    folder = world(tmp_path / "c", "warn")
    assert run(command, file, "--as", "dana", "--config", config, "--cluster", folder).code == 0


def test_many_unknown_fields_make_a_short_answer(run: Run, tmp_path: Path) -> None:
    """The first are named, the others counted."""
    made = pod()
    made["spec"] |= {f"field{number}": 1 for number in range(100)}
    findings = reviewed(run, write(tmp_path / "a.yaml", made))["findings"]
    assert len(findings) == 9
    assert "or more others" in findings[-1]["message"]


def test_explain_says_which_field_is_unknown_and_what_to_do(run: Run, tmp_path: Path) -> None:
    """Of an object that is admitted with a warning."""
    done = run("explain", write(tmp_path / "a.yaml", newer()))
    assert done.code == 0
    headline = " ".join(done.out.split())
    assert f"; {PATH} has a meaning that this gate does not know" in headline
    assert "Do this: have what no rule has judged reviewed:" in headline


def test_profile_commands_tell_unknown_fields(run: Run, tmp_path: Path) -> None:
    """No profile says anything of them: `check` warns, `suggest` says it beside the profile."""
    file = write(tmp_path / "a.yaml", newer())
    checked = run("profile", "check", "restricted", file)
    assert checked.code == 0, checked.out
    assert f"{PATH}: has a meaning that this gate does not know" in checked.out
    assert "older catalogue" not in checked.out
    suggested = run("profile", "suggest", file)
    assert suggested.code == 0
    assert f"No rule has judged this. Pod train/good: {PATH}: has a meaning" in suggested.err


def test_profile_commands_refuse_unknown_fields_where_the_settings_do(
    run: Run, tmp_path: Path
) -> None:
    """A profile cannot make them good."""
    config = write(tmp_path / "config.yaml", "when_field_unknown: refuse\n")
    file = write(tmp_path / "a.yaml", newer())
    assert run("profile", "check", "restricted", file, "--config", config).code == 1
    suggested = run("profile", "suggest", file, "--config", config)
    assert suggested.code == 1
    assert f"No profile can cover this. Pod train/good: {PATH}: " in suggested.err
