"""The probe: a real shell connects to real sockets, on loopback; it never guesses."""

import os
import shutil
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Final

import pytest

from egress.analysis.probe_program import NO_TOOL, probe_command, read_probe_output
from egress.analysis.verification import Probe

TOOLS: Final = {"python3": ["python3"], "bash": ["bash", "timeout"]}


@pytest.fixture
def probes() -> Iterator[list[Probe]]:
    """Something that listens, something that does not, and a name that there is not."""
    with ExitStack() as stack:
        listening, closed = (stack.enter_context(socket.socket()) for _ in range(2))
        for each in (listening, closed):
            each.bind(("127.0.0.1", 0))
        listening.listen(8)
        yield [
            Probe("127.0.0.1", listening.getsockname()[1], "listens", "open"),
            Probe("127.0.0.1", closed.getsockname()[1], "does not", "closed"),
            Probe("no-such-name.invalid", 80, "nobody", "closed"),
        ]


def _run(probes: list[Probe], path: Path) -> subprocess.CompletedProcess[str]:
    command = probe_command(probes, 2)
    shell = shutil.which(command[0])
    assert shell
    environment = {"PATH": str(path), "HOME": os.environ.get("HOME", "/")}
    return subprocess.run(
        [shell, *command[1:]], capture_output=True, text=True, env=environment, check=False
    )


@pytest.mark.parametrize("tool", TOOLS)
def test_each_tool_says_what_it_found(probes: list[Probe], tmp_path: Path, tool: str) -> None:
    """Open is open, refused is refused, and a name that there is not is no closed port."""
    for name in TOOLS[tool]:
        found = sys.executable if name == "python3" else shutil.which(name)
        assert found
        (tmp_path / name).write_text(f'#!/bin/sh\nexec {found} "$@"\n')
        (tmp_path / name).chmod(0o700)
    done = _run(probes, tmp_path)
    assert read_probe_output(done.stdout, 3) == (tool, ["open", "refused", "noname"])
    assert done.returncode == 0


def test_nothing_to_connect_with_is_told(probes: list[Probe], tmp_path: Path) -> None:
    """By an exit code of its own."""
    done = _run(probes, tmp_path)
    assert done.returncode == NO_TOOL
    assert read_probe_output(done.stdout, 3) == ("", ["untried"] * 3)


@pytest.mark.parametrize(
    ("answer", "found"),
    [
        ("", ["untried", "untried"]),
        ("tool nc\n0 open\nend", ["open", "untried"]),
        ("tool nc\n0 what\n7 open\nx y\n1 timeout\n", ["error", "timeout"]),
    ],
)
def test_what_was_not_said_was_not_tried(answer: str, found: list[str]) -> None:
    """A probe that broke off has closed nothing."""
    assert read_probe_output(answer, 2)[1] == found
