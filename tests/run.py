"""`python -m tests.run`: all tests, beside one another; the few that fail, once more alone.

Why, and which: docs/adr/0057-a-second-try.md.
"""

import json
import subprocess
import sys
from pathlib import Path
from typing import Final

_ROOT: Final = Path(__file__).parents[1]
_FAILED: Final = ".pytest_cache/v/cache/lastfailed"
_BESIDE: Final = (
    "--numprocesses=auto",
    "--maxprocesses=4",
    "--dist=loadscope",
    "--no-loadscope-reorder",
)
_WITH_SERVERS: Final = ("tests/api/", "tests/compat/", "tests/node/")
MOST: Final = 3
"""More that fail have one cause, and it is not chance."""
_FAILURES: Final = 1  # pytest.ExitCode.TESTS_FAILED


def main(root: Path = _ROOT) -> int:
    """Run the tests of a project; give pytest's exit code."""
    failed = root / _FAILED
    failed.unlink(missing_ok=True)
    code = _pytest(root, *_BESIDE)
    if code != _FAILURES or not (again := worth_trying(sorted(json.loads(failed.read_bytes())))):
        return code
    print(f"\nonce more, by themselves: {' '.join(again)}", flush=True)
    code = _pytest(root, "--numprocesses=0", *again)
    if code == 0:
        print(f"\nFLAKY: {len(again)} failed beside the others and passed alone; mend them:")
        print("\n".join(again), flush=True)
    return code


def worth_trying(failed: list[str]) -> list[str]:
    """Return the tests to try again: all that failed, if they are few and all have real servers."""
    if len(failed) > MOST or not all(each.startswith(_WITH_SERVERS) for each in failed):
        return []
    return failed


def _pytest(root: Path, *arguments: str) -> int:
    return subprocess.run(
        [sys.executable, "-m", "pytest", *arguments], cwd=root, check=False
    ).returncode


if __name__ == "__main__":
    sys.exit(main())
