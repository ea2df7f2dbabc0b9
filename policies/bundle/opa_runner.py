"""Runs OPA's compiler, and reads the errors that it prints."""

import subprocess
from pathlib import Path
from typing import Any, Final

import msgspec

from core.base.errors import BundleRefusedError

PARSE: Final = ("parse", "-f", "json", "--json-include", "locations")
"""What prints the syntax tree of a file of Rego as JSON, with the place of each node."""


def run_opa(opa: Path, folder: Path, *arguments: str | Path) -> bytes:
    """Run OPA in `folder`, so that no path of this machine gets into a bundle; give its output.

    Raises:
        BundleRefusedError: OPA refuses the policies; the message has file, line and reason.
    """
    command: list[str | Path] = [opa.resolve(), *arguments]
    done = subprocess.run(command, cwd=folder, capture_output=True, check=False)
    if done.returncode:
        text = errors_in(done.stderr or done.stdout)
        raise BundleRefusedError(f"opa {arguments[0]} refused the policies:\n{text}")
    return done.stdout


def parse_file(opa: Path, folder: Path, file: str) -> bytes:
    """Return the JSON of the syntax tree of a file, by its path below `folder`.

    Raises:
        BundleRefusedError: OPA cannot read it; the message has file, line and reason.
    """
    return run_opa(opa, folder, *PARSE, file)


def errors_in(printed: bytes) -> str:
    """Return OPA's errors, a line for each.

    It says it as JSON where that was asked for.
    """
    text = printed.decode(errors="replace").strip()
    try:
        errors: Any = msgspec.json.decode(text)["errors"]
        return "\n".join(map(_worded, errors))
    except (msgspec.DecodeError, LookupError, TypeError):
        return text


def _worded(error: Any) -> str:
    at = error.get("location") or {}
    place = f"{at['file']}:{at['row']}:{at['col']}: " if at.get("file") else ""
    return f"{place}{error['message']}"
