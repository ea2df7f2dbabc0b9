"""When a bundle was built, as it says itself: the same sources give the same bytes."""

import os
import shutil
import subprocess
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

from core.base.errors import SettingsError

UNTIMED: Final = (
    "it does not say when it was built, so that control cannot tell whether it is older than what "
    "is in force: build it with --built-at, or from a git repository"
)
"""Said of a bundle that is signed."""

_FLAG: Final = "--built-at"
_VARIABLE: Final = "SOURCE_DATE_EPOCH"
"""https://reproducible-builds.org/specs/source-date-epoch/"""

_SECONDS: Final = 30.0
_AHEAD_S: Final = 24 * 3600
"""So much later than this machine's clock a time may be, and no more: nothing that was built
before it would be taken by itself again."""

_GIT: Final = ("-c", "protocol.allow=never", "-c", "log.showSignature=false")
_COMMITTED: Final = ("log", "-1", "--format=%ct", "HEAD", "--")


def built_at(given: int | None, sources: Sequence[Path]) -> int:
    """Return Unix seconds: of the flag, of SOURCE_DATE_EPOCH, or of the commit that is checked out.

    Of several repositories the latest commit's; 0 where there is none, or no source.

    Raises:
        SettingsError: it is no such time, or one that lies ahead.
    """
    if given is not None:
        return _checked(given, _FLAG)
    if not sources:
        return 0
    if text := os.environ.get(_VARIABLE):
        return _checked(_seconds(text), _VARIABLE)
    return max((_committed(source) for source in sources), default=0)


def _seconds(text: str) -> int:
    try:
        return int(text)
    except ValueError:
        raise SettingsError(f"{_VARIABLE}: {text!r}: give Unix seconds, a whole number") from None


def _checked(seconds: int, named: str) -> int:
    if not 0 <= seconds <= time.time() + _AHEAD_S:
        raise SettingsError(
            f"{named}: {seconds}: give Unix seconds of a time that is not ahead: control would "
            "take nothing that was built before it"
        )
    return seconds


def _committed(source: Path) -> int:
    """Return when the commit was made that is checked out around a source; 0 where there is none.

    The repository is the nearest folder with a `.git`, as in `cli.review.git_revision`.
    """
    program, folder = shutil.which("git"), source.resolve()
    top = next((it for it in (folder, *folder.parents) if (it / ".git").exists()), None)
    if program is None or top is None:
        return 0
    command = [program, f"--git-dir={top / '.git'}", *_GIT, *_COMMITTED]
    try:
        done = subprocess.run(
            command,
            capture_output=True,
            env=_environment(),
            timeout=_SECONDS,
            check=True,
            text=True,
        )
        return _checked(int(done.stdout), f"{top}: the time of its commit")
    except (OSError, ValueError, subprocess.SubprocessError):
        return 0


def _environment() -> Mapping[str, str]:
    """Return this process's, without what git sets for its hooks."""
    kept = {key: value for key, value in os.environ.items() if not key.startswith("GIT_")}
    return kept | {"GIT_NO_LAZY_FETCH": "1", "LC_ALL": "C"}
