"""OPA's own judgement of the Rego: its tests. Format and strict check are tests/check.py's."""

import json
import subprocess
from pathlib import Path

import jsonschema
import pytest

from tests.check import REGO, REGO_CHECK
from tests.tools.provide import provide


def run(*arguments: str) -> str:
    """Run OPA in the folder of the Rego; its output, which fails the test if OPA does."""
    command = [str(provide("opa")), *arguments]
    done = subprocess.run(command, cwd=REGO, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr + done.stdout
    return done.stdout


def test_rego_tests_pass() -> None:
    """Every `test_` rule holds, and all of them ran."""
    written = sum(path.read_text().count("\ntest_") for path in REGO.rglob("*_test.rego"))
    results = json.loads(run("test", "-b", "-f", "json", "."))
    assert [result["name"] for result in results if result.get("fail")] == []
    assert len(results) == written


def test_check_knows_the_schema(tmp_path: Path) -> None:
    """The strict check of `make check` refuses a rule that reads an unknown field."""
    source = (REGO / "privileges/host/network/network.rego").read_text()
    (tmp_path / "network.rego").write_text(source.replace("input.hostNetwork", "input.hostNetwrk"))
    with pytest.raises(AssertionError, match=r"undefined ref: input\.hostNetwrk"):
        run(*REGO_CHECK, str(tmp_path))


def test_schema_is_a_json_schema() -> None:
    """The published schema is valid draft-07, and its objects refuse unknown fields."""
    schema = json.loads((REGO / "schema/projection.json").read_text())
    jsonschema.Draft7Validator.check_schema(schema)
    assert schema["additionalProperties"] is False
