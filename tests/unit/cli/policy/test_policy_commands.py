"""`sallyport policy new`, `lint`, `bench`, `schema` and `test --watch`, as an author runs them."""

import json
import signal
import subprocess
import sys
from pathlib import Path
from typing import IO, Any

import jsonschema
import pytest

from tests.tools.provide import provide
from tests.unit.cli.conftest import Run
from tests.unit.cli.policy.author_folder import RULE

ROOT = Path(__file__).parents[4]


def schema_of(command: str) -> Any:
    """Return the schema of what `sallyport policy COMMAND -o json` prints."""
    return json.loads((ROOT / f"docs/reference/policy-{command}.schema.json").read_text())


def test_what_new_writes_is_found_good(author: Run, tmp_path: Path) -> None:
    """By the test command; then the same name is taken."""
    folder = tmp_path / "mine"
    done = author("new", "limits/set", "--field", "spec.containers[].resources", "--into", folder)
    assert done.code == 0
    assert len(done.out.splitlines()) == 5
    assert author("new", "data/lab", "--signal", "--into", folder).code == 0
    done = author("test", folder, "--coverage-min", "100")
    assert done.code == 0, done.out
    assert "4 Rego tests (4 also compiled), 4 cases" in done.out
    done = author("new", "limits/set", "--into", folder)
    assert done.code == 64
    assert "is there already" in done.err


def test_new_says_for_programs_what_it_wrote(author: Run, tmp_path: Path) -> None:
    """Its id and its files; what is no folder is wrong usage."""
    done = author("new", "data/lab", "--signal", "--into", tmp_path, "-o", "json")
    said = json.loads(done.out)
    assert (done.code, said["id"], len(said["files"])) == (0, "sandbox/data/lab", 5)
    assert all(Path(file).is_file() for file in said["files"])
    done = author("new", "labels/team", "--into", said["files"][0])
    assert (done.code, f"--into {said['files'][0]}: is no folder" in done.err) == (64, True)


def test_lint_exits_1_for_errors_alone(author: Run, acme: Path) -> None:
    """Warnings are told, and pass."""
    done = author("lint", acme)
    assert (done.code, done.out) == (0, "0 errors, 0 warnings\n")
    assert "regal is not on PATH" in done.err
    (acme / "team.rego").write_text(RULE.replace("remedy: Set it.", "remedy: The label."))
    done = author("lint", acme, "-o", "lines")
    assert done.code == 0
    place = f"{acme}/team.rego:12:5"
    said = "warning: the remedy does not begin with what to do [remedy-verb]"
    assert done.out == f"{place}: {said}\n"
    (acme / "team_test.rego").unlink()
    done = author("lint", acme, "-o", "json")
    assert done.code == 1
    said = json.loads(done.out)
    assert (said["format"], [it["id"] for it in said["problems"]]) == (
        1,
        ["remedy-verb", "untested"],
    )
    jsonschema.validate(json.loads(done.out), schema_of("lint"))


def test_bench_gives_each_rule_with_its_share(author: Run, acme: Path) -> None:
    """As a drawing, and as JSON."""
    done = author("bench", acme, "--rounds", "3")
    assert done.code in {0, 1}
    assert "rules/labels/team" in done.out
    assert "100 %" in done.out or "0 %" in done.out
    said = json.loads(author("bench", acme, "--rounds", "3", "-o", "json").out)
    assert said["format"] == 1
    costs = said["costs"]
    assert [it["rule"] for it in costs] == ["rules/labels/team"]
    assert costs[0]["inputs"] == 6
    assert costs[0]["byContainers"].keys() == {"1", "10", "100"}
    jsonschema.validate(said, schema_of("bench"))


def test_schema_makes_opa_find_what_is_misspelt(author: Run, acme: Path, tmp_path: Path) -> None:
    """Without the bundle: as an editor runs `opa check`."""
    schema = tmp_path / "schema"
    done = author("schema", acme, "--output", schema, "--example", tmp_path / "input.json")
    assert done.code == 0
    names = ["judge.json", "projection.json", "fields.json"]
    assert done.out.splitlines() == [
        *(f"{schema}/{name}" for name in names),
        f"{tmp_path}/input.json",
    ]
    example = json.loads((tmp_path / "input.json").read_text())
    assert example["fields"] == {"metadata": {"labels": {}}}
    assert example["projection"]["containers"][0]["image"] == ""

    def check() -> subprocess.CompletedProcess[str]:
        command: list[str | Path] = [provide("opa"), "check", "--strict", "-s", schema]
        command.append(acme / "team.rego")
        return subprocess.run(command, capture_output=True, text=True, check=False)

    assert check().returncode == 0
    (acme / "team.rego").write_text(RULE.replace("metadata.labels[", "metadata.label["))
    assert "undefined ref: input.fields.metadata.label" in check().stderr


def test_watch_begins_again_and_ends_with_0_on_ctrl_c(acme: Path) -> None:
    """A process of its own, told by the signal of a terminal; broken Rego does not end it."""
    command = [sys.executable, "-c", "from cli.main import main; main()", "policy", "lint"]
    command += [str(acme), "--watch", "-o", "lines", "--opa", str(provide("opa"))]
    with subprocess.Popen(
        command,
        cwd=ROOT,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stderr is not None
        assert process.stdout is not None
        try:
            _until_waiting(process.stderr)
            (acme / "team.rego").write_text("package nonsense if\n")
            _until_waiting(process.stderr)
            process.send_signal(signal.SIGINT)
            out = process.stdout.read()
            assert process.wait(60) == 0
        finally:
            process.kill()
    assert f"{acme}/team.rego:1:" in out


def _until_waiting(stream: IO[str]) -> None:
    for line in stream:
        if line.startswith("waiting for changes"):
            return
    pytest.fail("it ended")
