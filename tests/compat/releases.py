"""Releases of this repository, each as a folder of its own code, and programs run with it."""

import io
import json
import os
import subprocess
import sys
import tarfile
from pathlib import Path
from typing import Any, Final

import pytest

from tests.harness.evidence import ROOT
from tests.tools.provide import provide

HERE: Final = Path(__file__).parent
GOLDEN: Final = HERE / "golden"
NEXT: Final = "next"
"""What will be released: recorded anew with each change (`python -m tests.compat.recording`)."""

_BUILD: Final = """
import sys
from pathlib import Path
from policies.build import build
build(*map(Path, sys.argv[1:]))
"""
"""With the names of BEFORE."""

BEFORE: Final = "c684ebd"
"""The release before: there is no tag yet, so the last commit before the weights of models."""


def code_of(commit: str, folder: Path) -> Path:
    """Put the files of a commit into a folder, with its built-in policies compiled by itself."""
    done = subprocess.run(
        ["git", "-C", ROOT, "archive", commit],  # noqa: S607
        capture_output=True,
        check=False,
    )
    if done.returncode:
        pytest.skip(f"NOT TESTED: {commit} is not in this clone: git fetch --unshallow")
    with tarfile.open(fileobj=io.BytesIO(done.stdout)) as archive:
        archive.extractall(folder, filter="data")
    bundle = folder / "policies" / "compiled" / "builtin.tar.gz"
    run(folder, "-c", _BUILD, str(provide("opa")), str(folder / "policies" / "rego"), str(bundle))
    return folder


def environment(code: Path) -> dict[str, str]:
    """Return what has a program of the virtual environment run with the code of a folder."""
    return {"PYTHONPATH": str(code)}


def run(code: Path, *command: str | Path) -> str:
    """Run a program of this folder with the code of a release; give what it prints."""
    done = subprocess.run(
        [sys.executable, *command],
        env={**os.environ, **environment(code)},
        cwd=code,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def understood_by(code: Path, folder: Path) -> dict[str, Any]:
    """Return what a release understands of the documents of a folder."""
    found: dict[str, Any] = json.loads(run(code, program_of(code), "read", folder))
    return found


def program_of(code: Path) -> Path:
    """Return the release's own `documents.py`; the release before has none: it is kept here."""
    own = code / "tests" / "compat" / "documents.py"
    return own if own.exists() else GOLDEN / BEFORE / "documents.txt"


def released() -> list[str]:
    """Name the releases whose documents are kept."""
    return sorted(path.name for path in GOLDEN.iterdir() if path.is_dir())
