"""A gate on loopback for tests, in their own event loop: real TLS, real uvicorn, a small judge."""

import asyncio
import datetime as dt
import json
import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import structlog

from certs.self_signed_pair import PairFiles, make_pair
from tests.unit.webhooks.connection import Answer, Connection
from tests.unit.webhooks.judge import PrivilegedJudge
from webhooks.app import AdmissionApp, Recorder
from webhooks.health import build_status_app
from webhooks.limits import AppSettings, ServerSettings
from webhooks.log import LineWriter, LogSettings, configure_logs, get_logger
from webhooks.metrics import Metrics, MetricSources
from webhooks.readiness import Readiness
from webhooks.server import Addresses, ServedApp, StopRequest, serve
from webhooks.tls import PairWatcher, TlsSettings


@dataclass
class Gate:
    """A running gate, and what it is made of."""

    judge: PrivilegedJudge
    app: AdmissionApp
    readiness: Readiness
    pair: PairWatcher
    files: PairFiles
    metrics: Metrics
    writer: LineWriter
    stop: StopRequest
    addresses: Addresses
    log: Path

    async def connect(self) -> Connection:
        """Open a connection to the admission listener."""
        return await Connection.open(self.addresses.served, self.files.ca)

    async def post(self, path: str, body: bytes, headers: str = "") -> Answer:
        """Send one review on a connection of its own."""
        connection = await self.connect()
        try:
            return await connection.post(path, body, headers)
        finally:
            await connection.close()

    async def status(self, path: str) -> Answer:
        """Ask the status listener."""
        connection = await Connection.open(self.addresses.status, None)
        try:
            return await connection.get(path)
        finally:
            await connection.close()

    async def scrape(self) -> str:
        """Return `/metrics`."""
        answer = await self.status("/metrics")
        assert answer.status == 200
        return answer.body.decode()

    def text(self) -> str:
        """Return the log so far, once all of it is written."""
        assert self.writer.flush()
        return self.log.read_text()

    def lines(self) -> list[dict[str, Any]]:
        """Return its lines."""
        return [json.loads(line) for line in self.text().splitlines()]


@asynccontextmanager
async def running_gate(  # noqa: PLR0913, PLR0917  Each is what some test changes.
    folder: Path,
    judge: PrivilegedJudge | None = None,
    server: ServerSettings | None = None,
    app_settings: AppSettings | None = None,
    client_ca: Path | None = None,
    recorder: Recorder | None = None,
    client_names: frozenset[str] = frozenset(),
) -> AsyncIterator[Gate]:
    """Run a gate in this event loop, on free ports."""
    judge = judge or PrivilegedJudge()
    log = folder / "log"
    descriptor = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    writer = configure_logs(LogSettings(descriptor=descriptor))
    # A logger that keeps this gate's settings would speak to no later test of the process.
    structlog.configure(cache_logger_on_first_use=False)
    files = make_pair(folder / "pair", ["localhost", "127.0.0.1"], dt.timedelta(days=30))
    logger = get_logger()
    tls = TlsSettings(files.certificate, files.key, client_ca=client_ca, poll_seconds=0.05)
    pair = PairWatcher(tls, logger)
    readiness = Readiness({"certificate": pair.missing, "policies": judge.missing})
    metrics = Metrics("1.2.3")
    metrics.watch(_sources(readiness, pair, writer))
    app = AdmissionApp(judge, readiness, metrics, logger, app_settings, recorder)
    status = build_status_app(readiness, metrics.registry)
    settings = server or ServerSettings(port=0, status_port=0, drain_seconds=0.0)
    stop, started = StopRequest(), asyncio.get_running_loop().create_future()
    told = started.set_result
    served = ServedApp(
        app,
        "webhooks",
        "the webhook address",
        app.max_body_bytes,
        app.count_dropped,
        app.answer,
        client_names,
    )
    serving = serve(served, status, settings, pair, readiness, logger, stop=stop, on_started=told)
    run = asyncio.create_task(serving)
    await asyncio.wait([run, started], return_when=asyncio.FIRST_COMPLETED)
    if run.done():
        run.result()
    try:
        yield Gate(judge, app, readiness, pair, files, metrics, writer, stop, started.result(), log)
    finally:
        stop.ask()
        await run
        writer.close()
        os.close(descriptor)


def _sources(readiness: Readiness, pair: PairWatcher, writer: LineWriter) -> MetricSources:
    return MetricSources(
        missing=readiness.missing,
        access_reviews=lambda: {"hit": 3, "miss": 2, "error": 1},
        policy_revision=lambda: "4f0c2a9e11aa",
        profiles_revision=lambda: "77aa01b2c3d4",
        certificate_not_after=lambda: pair.not_after,
        certificate_reloads=lambda: pair.reloads,
        log_lines_dropped=lambda: writer.dropped,
    )
