"""What fuzzers found stays mended, and each finds nothing new in a short run.

`make fuzz` runs them for long.
"""

import json
import platform
import subprocess
import sys
from pathlib import Path
from typing import Final

import pytest

from tests.fuzz.json_mutations import ODD_VALUES, mutate_json
from tests.fuzz.seeds import seeds_of
from tests.fuzz.targets import TARGETS
from tests.harness.evidence import ROOT

RUNS: Final = 1500
SECONDS: Final = 20
"""The longest of a short run."""


@pytest.mark.parametrize("target", sorted(TARGETS))
def test_kept_inputs_are_read_or_refused(target: str) -> None:
    """Each of the corpus, and nothing at all."""
    inputs = [*seeds_of(target), b""]
    assert len(inputs) > 2
    for content in inputs:
        TARGETS[target](content)


@pytest.mark.skipif(
    (sys.platform, platform.machine()) != ("linux", "x86_64"), reason="atheris has no wheel for it"
)
@pytest.mark.parametrize("target", sorted(TARGETS))
def test_a_short_run_finds_nothing(target: str, tmp_path: Path) -> None:
    """Guided by coverage, from the corpus on."""
    flags = ["--runs", str(RUNS), "--seconds", str(SECONDS), "--corpus", str(tmp_path / "new")]
    done = subprocess.run(
        [sys.executable, "-m", "tests.fuzz", target, *flags],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    said = done.stderr[-3000:]
    assert done.returncode == 0, said
    assert "Done " in said


def test_mutated_json_is_json() -> None:
    """Or what the fuzzer makes of bytes, where it was none."""
    content = json.dumps({"a": [1, {"b": "c"}, None], "d": {"e": [[]]}}).encode()
    otherwise: list[bytes] = []

    def noted(data: bytes, most: int) -> bytes:
        otherwise.append(data)
        return data[:most]

    made = {mutate_json(content, 4096, seed, noted) for seed in range(500)}
    assert len(made) > 300
    for each in made:
        json.loads(each)
    assert mutate_json(b"\xff{", 4096, 1, noted) == b"\xff{"
    assert otherwise[-1] == b"\xff{"


def test_mutated_json_does_not_grow_without_end() -> None:
    """However often it is changed again."""
    value = b"[[1, 2, 3], [4]]"
    for seed in range(300):
        value = mutate_json(value, 65536, seed, lambda data, most: data[:most])
        assert len(value) <= 65536


def test_mutations_leave_the_values_that_they_insert_as_they_are() -> None:
    """A list that stands in two places can be put into itself, and then has no end."""
    before = json.dumps(ODD_VALUES)
    for seed in range(300):
        mutate_json(b'{"a": [[]], "b": {}}', 4096, seed, lambda data, most: data[:most])
    assert json.dumps(ODD_VALUES) == before
