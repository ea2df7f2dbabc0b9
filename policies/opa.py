"""Runs OPA's compiler."""

import subprocess
from pathlib import Path

from core.errors import BundleRefusedError


def run_opa(opa: Path, folder: Path, *arguments: str | Path) -> bytes:
    """Run OPA in `folder`, so that no path of this machine gets into a bundle; give its output.

    Raises:
        BundleRefusedError: OPA refuses the policies; the message has file, line and reason.
    """
    command: list[str | Path] = [opa.resolve(), *arguments]
    done = subprocess.run(command, cwd=folder, capture_output=True, check=False)
    if done.returncode:
        text = (done.stderr or done.stdout).decode(errors="replace").strip()
        raise BundleRefusedError(f"opa {arguments[0]} refused the policies:\n{text}")
    return done.stdout
