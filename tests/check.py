"""`make check`: every check that needs no running program, each timed, all of them run."""

import json
import re
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from tests.tools.provide import CannotProvideError, provide

ROOT = Path(__file__).parents[1]
BIN = Path(sys.executable).parent
ROOMS = "admission audit certs cli control core egress identity kube policies sandbox webhooks"
CODE = [*ROOMS.split(), "bench", "docs", "tests"]

LICENCES = {
    "Apache-2.0",
    "Apache-2.0 WITH LLVM-exception",
    "Apache Software License",
    "BSD License",
    "BSD-2-Clause",
    "BSD-3-Clause",
    "ISC",
    "ISC License (ISCL)",
    "LGPL-3.0-only",  # psycopg: imported, never changed, replaceable.
    "MIT",
    "MIT License",
    "MIT-0",
    "Mozilla Public License 2.0 (MPL 2.0)",
    "MPL-2.0",
    "PSF-2.0",
    "Python Software Foundation License",
}
"""Licences that dependencies may have, as their packages state them."""

REGO = ROOT / "policies" / "rego"
REGO_CHECK = ("check", "--strict", "-s", "schema", "--ignore", "*.yaml", "--ignore", "*.json")
"""OPA finds nothing unused, no deprecated built-in, no field that the projection does not have.

Without the examples and the schema, which lie beside the rules and are no data of theirs.
"""


def tool(*command: str) -> Callable[[], str]:
    """Give a check that runs a program of the environment; its output where it fails."""
    return lambda: complaint(BIN / command[0], command[1:], ROOT)


def opa(*arguments: str) -> Callable[[], str]:
    """Give a check that runs OPA in the folder of the Rego; its output where it fails."""

    def run() -> str:
        try:
            program = provide("opa")
        except CannotProvideError as error:
            return str(error)
        return complaint(program, arguments, REGO)

    return run


def complaint(program: Path, arguments: Sequence[str], folder: Path) -> str:
    """Run a program; give its output if it fails, and nothing if it does not."""
    done = subprocess.run(
        [program, *arguments], cwd=folder, capture_output=True, text=True, check=False
    )
    return "" if done.returncode == 0 else (done.stdout + done.stderr).strip() or "failed"


def licences() -> str:
    """Refuse dependencies whose licence is not on the list."""
    done = subprocess.run(
        [BIN / "pip-licenses", "--format=json", "--from=mixed"],
        capture_output=True,
        text=True,
        check=True,
    )
    bad = [
        f"{package['Name']} {package['Version']}: {package['License']}"
        for package in json.loads(done.stdout)
        if package["Name"] != "sallyport"
        and not LICENCES.issuperset(re.split(r"; | AND | OR ", package["License"]))
    ]
    return "\n".join(bad)


CHECKS: dict[str, Callable[[], str]] = {
    "ruff": tool("ruff", "check", *CODE),
    "format": tool("ruff", "format", "--check", *CODE),
    "imports": tool("lint-imports"),
    "mypy": tool("mypy", *CODE),
    "rego format": opa("fmt", "--diff", "--fail", "."),
    "rego": opa(*REGO_CHECK, "."),
    "licences": licences,
    "names page": tool("python", "docs/make_names.py", "--check"),
    "rule pages": tool("python", "docs/make_rules.py", "--check"),
    "schemas": tool("python", "docs/make_schemas.py", "--check"),
    "chart": tool("python", "docs/make_chart.py", "--check"),
    "risk table": tool("python", "docs/make_risk_table.py", "--check"),
}


def main() -> int:
    """Run all checks; give the number that failed."""
    failed = 0
    for name, check in CHECKS.items():
        start = time.monotonic()
        problem = check()
        word = "FAILED" if problem else "ok"
        print(f"check {name:<12} {word:<7} {time.monotonic() - start:5.1f} s", flush=True)
        if problem:
            print(problem)
            failed += 1
    return failed


if __name__ == "__main__":
    sys.exit(main())
