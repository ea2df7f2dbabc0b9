"""`make test`: the tests, and the static checks beside them.

With `--since REV` only the tests that the changes since REV reach (tests/reach.py), for the inner
loop. Without it all of them, as CI runs them: docs/adr/0058-a-test-that-fails-has-failed.md.
"""

import argparse
import os
import subprocess
import sys
import threading
from collections import defaultdict
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import takewhile
from pathlib import Path
from typing import Final
from xml.etree import ElementTree as ET

from tests.reach import Graph, changed_since
from tests.tools.everything import needs, provide_all

ROOT: Final = Path(__file__).parents[1]
RESULTS: Final = "build/tests.xml"
"""What each test took, as JUnit writes it. Git ignores the folder."""
CHECKS: Final = (sys.executable, "tests/check.py")
_BESIDE: Final = (
    "--numprocesses=auto",
    "--maxprocesses=4",
    "--dist=loadscope",
    "--no-loadscope-reorder",
)
_NICE: Final = 10
"""Of the checks: they end long before the tests, which must not wait for them."""
_SLOWEST: Final = 10
_USAGE: Final = 2


def main(arguments: Sequence[str] | None = None) -> int:
    """Run what the command line says; 0 if no test and no check fails."""
    parser = argparse.ArgumentParser(prog="python -m tests.run", description=__doc__)
    parser.add_argument("--since", metavar="REV", help="only what the changes since REV reach")
    since = parser.parse_args(arguments).since
    if since is None:
        problems = provide_all(needs())
        for problem in problems:
            _say(f"MISSING {problem}")
        if problems and os.environ.get("CI") == "true":
            return 1  # Elsewhere the tests that need it are skipped, and say so.
        return run(ROOT, CHECKS)
    try:
        chosen = choose(ROOT, since)
    except subprocess.CalledProcessError:
        return _USAGE  # Git has said why.
    if chosen and (missing := [need.name for need in needs() if not need.is_cached()]):
        _say(f"`make tools` has not built these; a test that needs one does: {', '.join(missing)}")
    return run(ROOT, CHECKS, chosen)


def choose(root: Path, since: str) -> list[str]:
    """Return the test files that the changes since a revision reach, and say how many.

    Raises:
        subprocess.CalledProcessError: Git knows no such revision.
    """
    changed = changed_since(root, since)
    graph = Graph(root)
    chosen = sorted(graph.reached(changed))
    reached = f"{len(chosen)} of {len(graph.tests)} test files"
    _say(f"{len(changed)} files changed since {since}: {reached}")
    return chosen


def run(root: Path, checks: Sequence[str], chosen: Sequence[str] | None = None) -> int:
    """Run test files of a project, all by default, and its checks beside them; 1 if any fails."""
    failed = []
    with _beside(root, checks) as beside:
        if chosen != [] and _test(root, chosen or ()) != 0:
            failed.append("tests")
    if beside.returncode != 0:
        failed.append("checks")
    _say(f"FAILED: {', '.join(failed)}" if failed else "tests and checks pass")
    return int(bool(failed))


@contextmanager
def _beside(root: Path, checks: Sequence[str]) -> Iterator[subprocess.Popen[str]]:
    """Run the checks meanwhile; print what they say in one piece, once they have ended."""
    with subprocess.Popen(
        checks, cwd=root, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    ) as process:
        os.setpriority(os.PRIO_PROCESS, process.pid, _NICE)
        waiting = threading.Thread(target=lambda: _write(f"\n{process.communicate()[0]}"))
        waiting.start()
        try:
            yield process
        except BaseException:
            process.terminate()
            raise
        finally:
            waiting.join()


def _test(root: Path, chosen: Sequence[str]) -> int:
    """Run pytest; return its exit code, and say which folders took longest."""
    results = root / RESULTS
    results.unlink(missing_ok=True)
    command = [sys.executable, "-m", "pytest", *_BESIDE, f"--junitxml={results}", *chosen]
    code = subprocess.run(command, cwd=root, check=False).returncode
    if results.exists():
        _write("slowest folders, seconds of all their tests:\n")
        _write("".join(f"{seconds:8.1f} {folder}\n" for folder, seconds in slowest(results)))
    return code


def slowest(results: Path) -> list[tuple[str, float]]:
    """Return the folders whose tests took longest together, in seconds."""
    seconds: defaultdict[str, float] = defaultdict(float)
    for case in ET.parse(results).iter("testcase"):  # noqa: S314 -- pytest wrote it just now
        parts = case.get("classname", "").split(".")
        folder = takewhile(lambda part: not part.startswith("test_"), parts)
        seconds["/".join(folder)] += float(case.get("time", 0))
    return sorted(seconds.items(), key=lambda each: each[1], reverse=True)[:_SLOWEST]


def _say(message: str) -> None:
    _write(f"make test: {message}\n")


def _write(text: str) -> None:
    sys.stdout.write(text)
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main())
