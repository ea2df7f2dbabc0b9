"""`make check`: every check that needs no running program, each timed, all of them run."""

import json
import os
import re
import shutil
import subprocess
import sys
import time
import tomllib
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from pathlib import Path

from tests.tools.packed_folder import pack_whole, unpack_whole
from tests.tools.provide import CannotProvideError, cache_folder, provide

ROOT = Path(__file__).parents[1]
BIN = Path(sys.executable).parent
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())
ROOMS: list[str] = PROJECT["tool"]["hatch"]["build"]["targets"]["wheel"]["packages"]
CODE = [*ROOMS, "bench", "deploy", "docs", "examples", "tests"]

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

CHOSEN = {
    "atheris": "UNKNOWN",
    "email-validator": "The Unlicense (Unlicense)",
    "furl": "Public Domain",
    "ilcli": "Apache License 2.0",
    "orderedmultidict": "Freely Distributable",
    "orjson": "MPL-2.0 AND (Apache-2.0 OR MIT)",
    "paramiko": "LGPL-2.1",
    "pillow": "MIT-CMU",
    "pyphen": "GNU General Public License v2 or later (GPLv2+); GNU Lesser General Public License"
    " v2 or later (LGPLv2+); Mozilla Public License 1.1 (MPL 1.1)",
}
"""Looked at one by one: what only the tests' compliance-trestle needs, Pillow's own words for MIT,
pyphen, of whose three licences the MPL is taken, and atheris, whose LICENSE is Apache-2.0."""

LONG = 500
"""Lines; what is longer is worth a look."""

REGO = ROOT / "policies" / "rego"
REGO_CHECK = ("check", "--strict", "-s", "schema", "--ignore", "*.yaml", "--ignore", "*.json")
"""OPA finds nothing unused, no deprecated built-in, no field that the projection does not have.

Without the examples and the schema, which lie beside the rules and are no data of theirs.
"""


def tool(*command: str) -> Callable[[], str]:
    """Return a check that runs a program of the environment; its output where it fails."""
    return lambda: complaint(BIN / command[0], command[1:], ROOT)


def opa(*arguments: str) -> Callable[[], str]:
    """Return a check that runs OPA in the folder of the Rego; its output where it fails."""

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
        and CHOSEN.get(package["Name"]) != package["License"]
        and not LICENCES.issuperset(re.split(r"; | AND | OR ", package["License"]))
    ]
    return "\n".join(bad)


def types() -> str:
    """Check the types, in a new clone with what mypy has learnt in another one.

    mypy looks at the content of each file that it knows, so that what is taken up may be old.
    Whatever it complains of so it must find without that, too.
    """
    known, kept = ROOT / ".mypy_cache", cache_folder() / "mypy.tar"
    new = not known.exists()
    taken_up = new and unpack_whole(kept, known)
    problem = complaint(BIN / "mypy", CODE, ROOT)
    if problem and taken_up:
        shutil.rmtree(known)
        problem = complaint(BIN / "mypy", CODE, ROOT)
    if new and not problem:
        pack_whole(known, kept)
    return problem


CHECKS: dict[str, Callable[[], str]] = {
    "mypy": types,
    "ruff": tool("ruff", "check", *CODE),
    "format": tool("ruff", "format", "--check", *CODE),
    "imports": tool("lint-imports"),
    "rego format": opa("fmt", "--diff", "--fail", "."),
    "rego": opa(*REGO_CHECK, "."),
    "licences": licences,
    "names page": tool("python", "-m", "docs.generate.names", "--check"),
    "rule pages": tool("python", "-m", "docs.generate.rules", "--check"),
    "library": tool("python", "-m", "docs.generate.library", "--check"),
    "schemas": tool("python", "-m", "docs.generate.schemas", "--check"),
    "back-stop": tool("python", "-m", "docs.generate.backstop", "--check"),
    "chart": tool("python", "-m", "docs.generate.chart", "--check"),
    "dashboard": tool("python", "-m", "docs.generate.dashboard", "--check"),
    "azure rules": tool("python", "-m", "docs.generate.azure_rules", "--check"),
    "risk table": tool("python", "-m", "docs.generate.risk_table", "--check"),
    "AKS networks": tool("python", "-m", "docs.generate.egress_networks", "--check"),
    "built-ins": tool("python", "-m", "docs.generate.builtins", "--check"),
    "detections": tool("python", "-m", "docs.generate.detections", "--check"),
    "SIEM queries": tool("python", "-m", "docs.generate.siem", "--check"),
    "decisions": tool("python", "-m", "docs.generate.adr_index", "--check"),
    "docs": tool("python", "-m", "docs.generate.site", "--check"),
}
"""Types come first: nothing takes as long, and it keeps one processor busy."""


def long_files() -> list[tuple[int, str]]:
    """Return the Python files of more than `LONG` lines, with their number, longest first.

    Nothing fails for it: a file has one subject, whole, and some subjects are long.
    """
    folders = (ROOT / folder for folder in CODE)
    lengths = (
        (len(path.read_text().splitlines()), path.relative_to(ROOT).as_posix())
        for folder in folders
        for path in folder.rglob("*.py")
    )
    return sorted((each for each in lengths if each[0] > LONG), reverse=True)


def timed(check: Callable[[], str]) -> tuple[str, float]:
    """Return what a check has found, and the seconds that it took."""
    start = time.monotonic()
    return check(), time.monotonic() - start


def main() -> int:
    """Run all checks, as many at once as there are processors; give the number that failed."""
    failed = 0
    with ThreadPoolExecutor(os.cpu_count()) as side_by_side:
        running = {side_by_side.submit(timed, check): name for name, check in CHECKS.items()}
        for done in as_completed(running):
            problem, seconds = done.result()
            word = "FAILED" if problem else "ok"
            print(f"check {running[done]:<12} {word:<7} {seconds:5.1f} s", flush=True)
            if problem:
                print(problem)
                failed += 1
    if long := long_files():
        print(f"{len(long)} files are longer than {LONG} lines; nothing fails for it:")
        print("\n".join(f"{lines:>6} {path}" for lines, path in long), flush=True)
    return failed


if __name__ == "__main__":
    sys.exit(main())
