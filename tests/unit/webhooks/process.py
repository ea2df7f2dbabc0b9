"""A gate in a process of its own, for signals and memory.

`python -m tests.unit.webhooks.process FOLDER` runs one.
"""

import argparse
import asyncio
import datetime as dt
import os
import signal
import sys
from asyncio.subprocess import PIPE, Process
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

import uvloop

from certs.self_signed_pair import make_pair
from tests.unit.webhooks.connection import Connection
from tests.unit.webhooks.judge import PrivilegedJudge
from webhooks.app import AdmissionApp
from webhooks.health import build_status_app
from webhooks.limits import ServerSettings
from webhooks.log import LogSettings, configure_logs, get_logger
from webhooks.metrics import Metrics
from webhooks.readiness import Readiness
from webhooks.server import Addresses, ServedApp, serve
from webhooks.tls import PairWatcher, TlsSettings

ROOT = Path(__file__).parents[3]


@dataclass
class GateProcess:
    """A gate in a process of its own, on uvloop as in production."""

    process: Process
    admission: tuple[str, int]
    status: tuple[str, int]
    ca: Path
    log: Path

    async def connect(self) -> Connection:
        """Open a connection to the admission listener."""
        return await Connection.open(self.admission, self.ca)

    async def ready(self) -> bool:
        """Ask `/readyz`; a listener that is gone is not ready."""
        try:
            connection = await Connection.open(self.status, None)
        except OSError:
            return False
        try:
            return (await connection.get("/readyz")).status == 200
        except (OSError, EOFError):
            return False
        finally:
            await connection.close()

    def rss(self) -> int:
        """Return the resident memory, in bytes."""
        pages = Path(f"/proc/{self.process.pid}/statm").read_text().split()[1]
        return int(pages) * os.sysconf("SC_PAGE_SIZE")

    def terminate(self) -> None:
        """Send SIGTERM."""
        self.process.send_signal(signal.SIGTERM)


@asynccontextmanager
async def gate_process(folder: Path, *arguments: str) -> AsyncIterator[GateProcess]:
    """Run a gate as a process; it is killed at the end if it is still there."""
    folder.mkdir(exist_ok=True)  # noqa: ASYNC240  A test may wait for a folder.
    command = (sys.executable, "-m", "tests.unit.webhooks.process", str(folder), *arguments)
    process = await asyncio.create_subprocess_exec(*command, stdout=PIPE, cwd=ROOT)
    try:
        assert process.stdout
        ports = (await asyncio.wait_for(process.stdout.readline(), 60)).split()
        admission, status = (("127.0.0.1", int(port)) for port in ports)
        yield GateProcess(process, admission, status, folder / "ca.crt", folder / "log")
    finally:
        with suppress(ProcessLookupError):
            process.kill()
        await process.wait()


def main() -> int:
    """Run a gate until a signal; print its addresses as the first line."""
    parser = argparse.ArgumentParser()
    parser.add_argument("folder", type=Path)
    parser.add_argument("--port", type=int, default=0)
    parser.add_argument("--drain", type=float, default=0.0)
    parser.add_argument("--finish", type=float, default=10.0)
    parser.add_argument("--delay", type=float, default=0.0)
    parser.add_argument("--ready-after", type=float, default=0.0)
    options = parser.parse_args()
    return uvloop.run(_run(options))


async def _run(options: argparse.Namespace) -> int:
    log = os.open(options.folder / "log", os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    configure_logs(LogSettings(descriptor=log, level="info"))
    files = make_pair(options.folder, ["127.0.0.1"], dt.timedelta(days=30))
    logger = get_logger()
    pair = PairWatcher(TlsSettings(files.certificate, files.key), logger)
    judge = PrivilegedJudge(delay=options.delay, lacks=["policies are loading"], early=True)

    def announce(addresses: Addresses) -> None:
        # From here, and not from the start: a busy machine may take long to open the port.
        asyncio.get_running_loop().call_later(options.ready_after, judge.lacks.clear)
        sys.stdout.write(f"{addresses.served[1]} {addresses.status[1]}\n")
        sys.stdout.flush()

    readiness = Readiness({"certificate": pair.missing, "policies": judge.missing})
    metrics = Metrics("1.2.3")
    app = AdmissionApp(judge, readiness, metrics, logger)
    return await serve(
        ServedApp(
            app,
            "webhooks",
            "the webhook address",
            app.max_body_bytes,
            app.count_dropped,
            app.answer,
        ),
        build_status_app(readiness, metrics.registry),
        ServerSettings(
            port=options.port,
            status_port=0,
            drain_seconds=options.drain,
            finish_seconds=options.finish,
        ),
        pair,
        readiness,
        logger,
        on_started=announce,
    )


if __name__ == "__main__":
    sys.exit(main())
