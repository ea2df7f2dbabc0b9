"""Server programs as children of the test run: started, awaited, ended by their pid."""

import ctypes
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Final

POLL_S: Final = 0.05
STOP_TIMEOUT_S: Final = 15.0
_PR_SET_PDEATHSIG: Final = 1  # linux/prctl.h


class ServerFailedError(Exception):
    """A server program did not come up; the message ends with the tail of its log."""


def _die_with_parent() -> None:
    """Ask Linux to kill this process when the thread that started it ends."""
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)


class ServerProcess:
    """One running program, its output in one log file.

    On Linux it also ends when the thread that started it does, so that a test run that is
    killed leaves nothing behind; so start it from a thread that lives long enough.
    """

    def __init__(
        self,
        name: str,
        command: Sequence[str | Path],
        log: Path,
        environment: Mapping[str, str] | None = None,
        *,
        user: str | None = None,
    ) -> None:
        """Start `command`, as another user if one is named.

        `environment` is added to this process's own.
        """
        self.name = name
        self.log = log
        with log.open("ab") as output:
            self._process = subprocess.Popen(
                command,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                env={**os.environ, **(environment or {})},
                user=user,
                preexec_fn=_die_with_parent if sys.platform == "linux" else None,  # noqa: PLW1509 -- one system call, and nothing else is known to outlive a SIGKILL of pytest
            )

    @property
    def pid(self) -> int:
        """The process id."""
        return self._process.pid

    @property
    def alive(self) -> bool:
        """Whether the program still runs."""
        return self._process.poll() is None

    def wait_until(self, ready: Callable[[], bool], timeout_s: float) -> None:
        """Return once `ready()`; raise ServerFailedError if it ends or takes too long."""
        deadline = time.monotonic() + timeout_s
        while not ready():
            if not self.alive:
                raise self._failure(f"ended with exit code {self._process.returncode}")
            if time.monotonic() > deadline:
                raise self._failure(f"was not ready after {timeout_s:g} s")
            time.sleep(POLL_S)

    def stop(self) -> None:
        """End the program: SIGTERM, and SIGKILL if it is still there after 15 seconds."""
        if not self.alive:
            return
        self._process.terminate()
        try:
            self._process.wait(STOP_TIMEOUT_S)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()

    def log_tail(self, lines: int = 30) -> str:
        """Return the last lines of the log."""
        return "\n".join(self.log.read_text(errors="replace").splitlines()[-lines:])

    def _failure(self, what: str) -> ServerFailedError:
        return ServerFailedError(f"{self.name} {what}; {self.log} ends with:\n{self.log_tail()}")
