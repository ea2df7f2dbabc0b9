"""The servers under load, each a process on core 0, and the rig that starts them.

A rig has what all of them share: a folder, a certificate, an auditor, the example cluster.
"""

import datetime as dt
import os
import shutil
import signal
import socket
import ssl
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

from certs.self_signed_pair import PairFiles, make_pair
from tests.harness.evidence import ROOT
from tests.harness.programs.ports import free_ports
from tests.harness.programs.recorded_gate import PROGRAM, Certificates

SERVER_CORE: Final = 0
CLIENT_CORE: Final = 1
_TICKS: Final = os.sysconf("SC_CLK_TCK")
_STARTING_SECONDS: Final = 120.0
_NONE: Final[Mapping[str, str]] = {}

UNCACHED: Final[Mapping[str, str]] = {"SALLYPORT_EVALUATION__REMEMBERED": "0"}
"""Every review is evaluated, as if no Pod had a gang."""

FEW_REMEMBERED: Final[Mapping[str, str]] = {"SALLYPORT_EVALUATION__REMEMBERED": "32"}
"""Fewer than the different Pods: each is new when it comes again, its requester is not."""

_EXAMPLE: Final = ROOT / "examples" / "cluster"
_GANG: Final = ROOT / "bench" / "gang.yaml"


@dataclass(frozen=True)
class Server:
    """A running server."""

    pid: int
    port: int

    def cpu_seconds(self) -> float:
        """Return the CPU time that the process has used, all its threads."""
        fields = Path(f"/proc/{self.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / _TICKS

    def rss_mib(self) -> float:
        """Return the resident memory of the process."""
        lines = Path(f"/proc/{self.pid}/status").read_text().splitlines()
        return next(int(line.split()[1]) for line in lines if line.startswith("VmRSS")) / 1024


def free_port() -> int:
    """Return a TCP port of loopback that is free now."""
    return free_ports(1)[0]


@contextmanager
def run_server(  # noqa: PLR0913, PLR0917  What a process is started with.
    command: Sequence[str | Path],
    port: int,
    ca: Path | None,
    log: Path,
    environment: Mapping[str, str] = _NONE,
    folder: Path = ROOT,
) -> Iterator[Server]:
    """Start a server, wait until it takes connections (TLS with a CA), end it by its pid.

    Without a CA it runs on the clients' core: it is not what is measured.
    """
    core = CLIENT_CORE if ca is None else SERVER_CORE
    status = {"SALLYPORT_STATUS__PORT": str(free_port())}
    environment = {**os.environ, "GOMAXPROCS": "1", **status, **environment}
    with log.open("wb") as out:
        process = subprocess.Popen(
            ["taskset", "-c", str(core), *command],
            stdout=out,
            stderr=subprocess.STDOUT,
            cwd=folder,
            env=environment,
        )
    try:
        _wait(process, port, ca, log)
        yield Server(process.pid, port)
    finally:
        process.send_signal(signal.SIGTERM)
        try:
            process.wait(10)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def _wait(process: subprocess.Popen[bytes], port: int, ca: Path | None, log: Path) -> None:
    context = ssl.create_default_context(cafile=str(ca)) if ca else None
    end = time.monotonic() + _STARTING_SECONDS
    while time.monotonic() < end:
        if process.poll() is not None:
            break
        try:
            with socket.create_connection(("127.0.0.1", port), 1) as raw:
                if context is not None:
                    context.wrap_socket(raw, server_hostname="127.0.0.1").close()
                return
        except OSError:
            time.sleep(0.05)
    raise SystemExit(f"{process.args!r} did not start:\n{log.read_text()[-2000:]}")


def stage_cluster(folder: Path) -> Path:
    """Copy the example cluster into a folder that must not exist, with the gang's Job; give it."""
    shutil.copytree(_EXAMPLE, folder)
    shutil.copy(_GANG, folder)
    return folder


def gate_command(
    cert: Path,
    key: Path,
    port: int,
    where: Sequence[str | Path],
    program: Sequence[str | Path] = (PROGRAM,),
) -> list[str | Path]:
    """Return the command of the real gate; `where` is its flag for a folder or a kubeconfig."""
    return [*program, "gate", *where, *("--cert", cert, "--key", key, "--port", str(port))]


def start_auditor(stack: ExitStack, folder: Path) -> tuple[Certificates, dict[str, str]]:
    """Start an auditor with a SQLite ledger; give its CA's files, and a gate's settings for it."""
    files, port = Certificates(folder), free_port()
    settings = files.auditor(port, f"sqlite:///{folder / 'ledger.db'}")
    auditor = run_server([PROGRAM, "auditor"], port, None, folder / "auditor.log", settings)
    stack.enter_context(auditor)
    return files, files.shipping(port, folder / "spool")


@dataclass(frozen=True)
class Rig:
    """Starts servers; all end with `stack`."""

    stack: ExitStack
    folder: Path
    pair: PairFiles
    shipping: Mapping[str, str]
    """The settings by which a gate records, and ships to the auditor; without the spool's place."""
    cluster: Path
    """A folder with the example cluster, and the gang's Job."""

    def start(
        self,
        name: str,
        command: Sequence[str | Path],
        port: int,
        environment: Mapping[str, str] = _NONE,
    ) -> Server:
        """Start a server; its log is `name`.log."""
        log = self.folder / f"{name}.log"
        return self.stack.enter_context(run_server(command, port, self.pair.ca, log, environment))

    def gate(
        self,
        name: str,
        environment: Mapping[str, str] = _NONE,
        where: Sequence[str | Path] | None = None,
        program: Sequence[str | Path] = (PROGRAM,),
    ) -> Server:
        """Start the gate as it runs in a cluster: it logs, records, and ships to an auditor.

        `where` is its flag for a folder of YAML, or for a kubeconfig; None: the example cluster.
        """
        port = free_port()
        where = where or ("--cluster", self.cluster)
        command = gate_command(self.pair.certificate, self.pair.key, port, where, program)
        own = {
            "SALLYPORT_SPOOL__FOLDER": str(self.folder / f"{name}-spool"),
            "SALLYPORT_LISTEN__DRAIN_SECONDS": "0",
        }
        return self.start(name, command, port, {**self.shipping, **own, **environment})


@contextmanager
def rig() -> Iterator[Rig]:
    """Yield a rig; all that it started has ended afterwards."""
    with TemporaryDirectory(prefix="sallyport-bench-") as scratch, ExitStack() as stack:
        folder = Path(scratch)
        pair = make_pair(folder, ["127.0.0.1"], dt.timedelta(days=1))
        record = folder / "record"
        record.mkdir()
        _, shipping = start_auditor(stack, record)
        yield Rig(stack, folder, pair, shipping, stage_cluster(folder / "cluster"))


def print_progress(text: str) -> None:
    """Print to stderr how far the measurement is."""
    print(text, file=sys.stderr, flush=True)
