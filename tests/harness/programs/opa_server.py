"""OPA's own server as a child of the test run, on a socket or on a port."""

import socket
from collections.abc import Sequence
from pathlib import Path
from typing import Self

from tests.harness.programs.availability import require
from tests.harness.programs.ports import free_ports
from tests.harness.programs.process import ServerProcess

_START_S = 60.0


class OpaProgram:
    """`opa run --server`; it can be ended and started again at the same place."""

    def __init__(
        self, folder: Path, *arguments: str | Path, loads: Sequence[Path] = (), tls: bool = False
    ) -> None:
        """Say how it is started: with these flags and bundles; with `tls`, on a port."""
        self._socket = folder / "opa.sock"
        self._log = folder / "opa.log"
        self._port = free_ports(1)[0] if tls else 0
        place = f"https://127.0.0.1:{self._port}" if tls else f"unix://{self._socket}"
        self.url = place
        self._command: list[str | Path] = [
            require("opa"),
            *("run", "--server", "--addr", place, "--log-level", "error", "--skip-version-check"),
            *arguments,
            *loads,
        ]
        self._process: ServerProcess | None = None

    @property
    def pid(self) -> int:
        """Its process id; it runs."""
        assert self._process is not None
        return self._process.pid

    def start(self) -> None:
        """Start it, and wait until it listens."""
        self._socket.unlink(missing_ok=True)
        self._process = ServerProcess("opa", self._command, self._log)
        self._process.wait_until(self._listens, _START_S)

    def stop(self) -> None:
        """End it; it forgets all that was put there."""
        if self._process is not None:
            self._process.stop()

    def __enter__(self) -> Self:
        """Start it."""
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        """End it."""
        self.stop()

    def _listens(self) -> bool:
        kind = socket.AF_INET if self._port else socket.AF_UNIX
        with socket.socket(kind) as trial:
            try:
                trial.connect(("127.0.0.1", self._port) if self._port else str(self._socket))
            except OSError:
                return False
        return True
