"""Which connections a Pod can make, tried from its own network."""

import json
import math
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from tests.harness.evidence import ROOT
from tests.harness.programs.client import Json
from tests.harness.programs.node.node import Node
from tests.harness.programs.probing.client import OPEN
from tests.harness.programs.probing.held import ALIVE
from tests.harness.programs.probing.server import banner
from tests.harness.programs.process import ServerProcess

START_TIMEOUT_S: Final = 60.0
_PROBE_TIMEOUT_S: Final = 120.0
ENVIRONMENT: Final = {"PYTHONPATH": str(ROOT)}
"""What the programs need: the mounts of a node have another working folder."""


@dataclass(frozen=True, order=True)
class Target:
    """One end that a Pod may try to reach."""

    what: str
    """For people."""
    address: str
    port: int
    protocol: str = "TCP"
    server: str = ""
    """The name of the `Listening` that must answer; empty for a server that is not one."""

    @property
    def says(self) -> str:
        """What it says to whoever reaches it."""
        if not self.server:
            return ""
        return banner(self.server, self.address.partition("%")[0], self.port, self.protocol)

    def __str__(self) -> str:
        """Write it as `what, protocol address port`."""
        return f"{self.what}: {self.protocol} {self.address} {self.port}"


def probe(node: Node, pod: Json, targets: Sequence[Target]) -> dict[Target, str]:
    """Try each target from a Pod's network, all at once; give `open`, or why not, of each."""
    module = ["-m", "tests.harness.programs.probing.client"]
    done = subprocess.run(
        node.command_in(pod, sys.executable, *module),
        input=json.dumps(_written(targets)),
        env={**os.environ, **ENVIRONMENT},
        capture_output=True,
        text=True,
        check=False,
        timeout=_PROBE_TIMEOUT_S,
    )
    assert done.returncode == 0, done.stderr
    return dict(zip(targets, json.loads(done.stdout), strict=True))


def _written(targets: Iterable[Target]) -> list[tuple[str, str, int, str]]:
    """Write targets as the programs read them."""
    return [(each.protocol, each.address, each.port, each.says) for each in targets]


def opened(found: dict[Target, str]) -> set[Target]:
    """Return the targets that were reached."""
    return {target for target, outcome in found.items() if outcome == OPEN}


def serve_in(node: Node, pod: Json, name: str, places: Iterable[str]) -> ServerProcess:
    """Have a program answer in a Pod's network, at places written `TCP,10.0.0.1,80`."""
    ready = node.folder / f"{name}.ready"
    command = server_command(ready, name, places)
    running = node.start(name, node.command_in(pod, *command), ENVIRONMENT)
    running.wait_until(ready.exists, START_TIMEOUT_S)
    return running


def serve_on(node: Node, name: str, places: Iterable[str]) -> ServerProcess:
    """Have a program answer on the node itself, as `serve_in`."""
    ready = node.folder / f"{name}.ready"
    command = node.command(*server_command(ready, name, places))
    running = node.start(name, command, ENVIRONMENT)
    running.wait_until(ready.exists, START_TIMEOUT_S)
    return running


def server_command(ready: Path, name: str, places: Iterable[str]) -> list[str | Path]:
    """Return what runs such a program; it needs `ENVIRONMENT`."""
    return [sys.executable, "-m", "tests.harness.programs.probing.server", ready, name, *places]


@dataclass
class Watched:
    """What became of targets, round by round. Made by `watching`."""

    rounds: list[tuple[float, dict[Target, str]]]
    """When each began (Unix s), and what became of each target."""

    def opened(self, since: float = 0.0, until: float = math.inf) -> list[set[Target]]:
        """Return what was open in each of the rounds that began in this time."""
        return [opened(found) for began, found in self.rounds if since <= began <= until]


@contextmanager
def watching(node: Node, pod: Json, targets: Sequence[Target]) -> Iterator[Watched]:
    """Try targets from a Pod's network again and again while the context lasts.

    All of it is in what was yielded once the context has been left.
    """
    found = Watched([])
    command = node.command_in(pod, sys.executable, "-m", "tests.harness.programs.probing.watching")
    environment = {**os.environ, **ENVIRONMENT}
    # Into a file: nobody reads meanwhile, and a pipe would fill.
    with (
        tempfile.TemporaryFile("w+") as said,
        subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=said, text=True, env=environment
        ) as process,
    ):
        assert process.stdin is not None
        process.stdin.write(json.dumps(_written(targets)) + "\n")
        process.stdin.flush()
        try:
            yield found
        finally:
            process.communicate()
        said.seek(0)
        for line in said:
            began, outcomes = json.loads(line)
            found.rounds.append((began, dict(zip(targets, outcomes, strict=True))))


class HeldConnection:
    """A connection of a Pod that stays open. Made by `held`."""

    def __init__(self, process: "subprocess.Popen[str]") -> None:
        self._process = process

    def lives(self) -> bool:
        """Send something over it and say whether that came back."""
        assert self._process.stdin is not None
        self._process.stdin.write("\n")
        self._process.stdin.flush()
        return self.read() == ALIVE

    def read(self) -> str:
        """Return the next line that its program prints; empty once it has ended."""
        assert self._process.stdout is not None
        return self._process.stdout.readline().rstrip("\n")


@contextmanager
def held(node: Node, pod: Json, target: Target) -> Iterator[HeldConnection]:
    """Hold a connection from a Pod's network open while the context lasts."""
    where = (target.protocol, target.address, str(target.port))
    with subprocess.Popen(
        node.command_in(pod, sys.executable, "-m", "tests.harness.programs.probing.held", *where),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, **ENVIRONMENT},
    ) as process:
        connection = HeldConnection(process)
        assert connection.read() == ALIVE, f"{target} was not reached"
        yield connection
