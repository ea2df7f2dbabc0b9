"""A clock of day that a test moves, for programs that it starts."""

import shutil
import struct
import subprocess
from pathlib import Path

import pytest

_SOURCE = Path(__file__).with_name("clock.c")


class ShiftedClock:
    """Moves the clock of each program that is started with `environment`; nobody else's."""

    def __init__(self, folder: Path) -> None:
        """Build the library."""
        compiler = shutil.which("cc")
        if compiler is None:
            pytest.skip("NOT TESTED: a C compiler builds what moves a program's clock")
        library, self._file = folder / "clock.so", folder / "clock.offset"
        command: list[str | Path] = [compiler, "-O2", "-shared", "-fPIC", "-o", library, _SOURCE]
        subprocess.run(command, check=True)
        self.environment = {"LD_PRELOAD": str(library), "SHIFTED_CLOCK": str(self._file)}
        self._file.write_bytes(struct.pack("=q", 0))

    def shift(self, seconds: int) -> None:
        """Have the programs' clocks be off by so much from now on."""
        with self._file.open("r+b", buffering=0) as file:  # In place: it is mapped.
            file.write(struct.pack("=q", seconds))
