"""Runs OPA where its exit code is an answer and no failure."""

import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from core.base.errors import BundleRefusedError

_LONGEST_S: Final = 600.0
"""Of one run: longer than the tests of a thousand rules."""


@dataclass(frozen=True)
class Ran:
    """How a program ended."""

    code: int
    out: bytes
    err: str

    @property
    def said(self) -> str:
        """What it says to people."""
        return (self.err or self.out.decode(errors="replace")).strip()


def run(program: Path, folder: Path, *arguments: str, stdin: bytes = b"") -> Ran:
    """Run a program in a folder.

    Raises:
        BundleRefusedError: it cannot be run, or takes longer than ten minutes.
    """
    command = [str(program.resolve()), *arguments]
    try:
        done = subprocess.run(
            command, cwd=folder, input=stdin, capture_output=True, check=False, timeout=_LONGEST_S
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise BundleRefusedError(f"{program.name} {arguments[0]}: {error}") from error
    return Ran(done.returncode, done.stdout, done.stderr.decode(errors="replace"))
