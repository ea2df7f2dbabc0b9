"""The module of the Azure side, by OpenTofu and Terraform themselves; run by `make proof`.

Providers come as the tool's own configuration says: by default from its registry. Where there is
no tool or no way to the providers, the test is skipped with what it was told.
"""

import json
import os
import re
import shutil
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
import yaml

from tests.harness.evidence import record
from tests.harness.hcl import MODULE
from tests.harness.programs.availability import require, skip_or_fail
from tests.harness.programs.helm import IMAGE, Helm
from tests.tools.provide import CannotProvideError, provide

pytestmark = pytest.mark.skipif(
    os.environ.get("SALLYPORT_PROOF") != "1",
    reason="a proof: set SALLYPORT_PROOF=1 (make proof)",
)

_FOLDERS = (".", "examples/complete", "examples/risk-only")
_TESTS = 16


@dataclass(frozen=True)
class Tool:
    """OpenTofu or Terraform, in a copy of the module."""

    program: str
    module: Path

    def run(self, folder: str, *arguments: str) -> str:
        """Run it and give what it says, or fail with that."""
        code, said = self.try_to(folder, *arguments)
        assert code == 0, said
        return said

    def try_to(self, folder: str, *arguments: str) -> tuple[int, str]:
        """Run it; give the exit code and what it says."""
        done = subprocess.run(
            [self.program, *arguments],
            cwd=self.module / folder,
            env={**os.environ, "CHECKPOINT_DISABLE": "1", "TF_IN_AUTOMATION": "1"},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            check=False,
        )
        return done.returncode, done.stdout


def test_the_tools_accept_the_module(tmp_path: Path) -> None:
    """Formatted, valid, its own tests pass, and Helm takes the values that come out."""
    named = os.environ.get("SALLYPORT_TOFU")
    programs = [named] if named else [one for one in ("tofu", "terraform") if shutil.which(one)]
    if not programs:
        pytest.skip("NOT TESTED: neither tofu nor terraform is on PATH; or set SALLYPORT_TOFU")
    helm = helm_in(tmp_path / "helm")
    lines: list[str] = []
    for program in programs:
        copy = tmp_path / Path(program).name
        shutil.copytree(MODULE, copy, ignore=shutil.ignore_patterns(".terraform*"))
        lines += proven(Tool(program, copy), helm)
    if any("unauthenticated" in line for line in lines):
        lines.append(
            "- Unauthenticated providers are not those of the registry: docs/operate/terraform.md, "
            "What was tried, says what they were"
        )
    record("terraform", [*lines, "- Applied to Azure: never"])


def test_opentofu_finds_it_formatted(tmp_path: Path) -> None:
    """By OpenTofu built from its Go module, if none is there; that needs no provider."""
    program = require("tofu")
    copy = tmp_path / "module"
    shutil.copytree(MODULE, copy, ignore=shutil.ignore_patterns(".terraform*"))
    tool = Tool(str(program), copy)
    tool.run(".", "fmt", "-check", "-recursive")
    (copy / "main.tf").write_text("locals {\na   =  1\n}\n")
    code, said = tool.try_to(".", "fmt", "-check", "-recursive")
    assert (code, "main.tf" in said) == (3, True), said


def proven(tool: Tool, helm: Helm) -> Iterator[str]:
    """Yield what one tool says, as lines of evidence."""
    yield f"- {tool.run('.', 'version').splitlines()[0]}"
    tool.run(".", "fmt", "-check", "-recursive")
    formatted = [*tool.module.rglob("*.tf"), *tool.module.rglob("*.hcl")]
    yield f"  - Formatted: {len(formatted)} files"
    for folder in _FOLDERS:
        code, said = tool.try_to(folder, "init", "-backend=false", "-input=false", "-no-color")
        if code:
            pytest.skip(f"NOT TESTED: {tool.program} has no providers here: {said[-500:]}")
        if folder == ".":
            yield from (f"  - {one}" for one in re.findall(r"Installed (hashicorp/\S+ .*)", said))
        tool.run(folder, "validate", "-no-color")
    yield f"  - Valid: the module, {' and '.join(_FOLDERS[1:])}"
    said = tool.run(".", "test", "-no-color")
    passed = re.search(r"(\d+) passed, 0 failed", said)
    assert passed is not None, said
    assert int(passed[1]) == _TESTS
    yield f"  - Its tests: {passed[0]}"
    rendered = [len(helm.template(values).splitlines()) for values in values_of(tool)]
    assert len(rendered) == 3
    yield f"  - Values that came out, rendered by the chart: {len(rendered)} sets"


def values_of(tool: Tool) -> Iterator[dict[str, object]]:
    """Yield the chart's values of each applied test."""
    said = tool.run(".", "test", "-json", "-verbose", "-filter=tests/applied.tftest.hcl")
    for line in said.splitlines():
        told = json.loads(line)
        if told.get("type") == "test_state":
            values = told["test_state"]["outputs"]["helm_values"]["value"]
            yield {**yaml.safe_load(values["prod"]), **IMAGE}


def helm_in(folder: Path) -> Helm:
    """Return the real Helm."""
    folder.mkdir()
    try:
        return Helm(provide("helm"), folder)
    except CannotProvideError as error:
        skip_or_fail(error)
