"""A sweep in a process of its own: `python -m tests.harness.programs.sweeper FOLDER`.

What it is to do stands in FOLDER/asked; what it records goes into FOLDER/frames, how it fares
into FOLDER/samples (a JSON line a time).
"""

import asyncio
import json
import math
import os
import resource
import sys
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from prometheus_client import CollectorRegistry

from admission.gather import Gatherer
from admission.judge import Judge
from audit.ledger.records.frames import encode_frame
from audit.ledger.records.recorder import FrameAppender, LedgerRecorder
from audit.ledger.spool.segments import HEADER, cut_tail
from control.sweep.cursor import CursorStore
from control.sweep.loop import Sweep, SweepParts
from control.sweep.metrics import SweepMetrics
from control.sweep.report_writer import ReportWriter
from control.sweep.settings import SweepSettings
from core.people.subject import Subject
from identity.subjects import Controllers
from kube.client.connection import Connection
from kube.client.objects import Objects
from kube.cluster.live import LiveCluster
from kube.leader.lease import Leadership
from policies import BUILT_IN_BUNDLE
from policies.bundle.format import read_bundle
from policies.engine.embedded_engine import EmbeddedEngine

CLUSTER: Final = "test-cluster"
NAMESPACE: Final = "sallyport-system"
_SAMPLE_S: Final = 0.25


def lasting() -> Leadership:
    """Return the leadership of the only process there is."""
    return Leadership(1, math.inf, time.monotonic)


@dataclass(frozen=True)
class FrameFile:
    """Takes frames into a file, each in one write; a kill may leave the last one cut short."""

    file: int

    def append(self, kind: int, frame_id: bytes, payload: bytes) -> None:
        """Write a frame."""
        os.write(self.file, encode_frame(kind, frame_id, payload))


def open_frames(path: Path) -> int:
    """Open a segment to append frames to, without what a killed process left of its last one.

    SIGKILL may end a write between two pages (Linux, mm/filemap.c, generic_perform_write). The
    next process records the same again.
    """
    if path.exists():
        cut_tail(path)
    file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    if not os.fstat(file).st_size:
        os.write(file, HEADER)
    return file


def label(subject: Subject) -> str:
    """Name a subject as a record does."""
    return subject.label


@asynccontextmanager
async def open_parts(
    kubeconfig: Path, spool: FrameAppender, settings: SweepSettings, sweep_id: str
) -> AsyncIterator[tuple[SweepParts, CollectorRegistry]]:
    """Yield all that a sweep works with, its ids given, and the registry of its metrics."""
    registry = CollectorRegistry()
    metrics = SweepMetrics(registry)
    connection, cluster = Connection(kubeconfig), LiveCluster(kubeconfig)
    engine = EmbeddedEngine(read_bundle(BUILT_IN_BUNDLE))
    await connection.open()
    await cluster.start()
    try:
        await cluster.wait(60)
        objects = Objects(connection)
        parts = SweepParts(
            objects,
            Judge(Gatherer(cluster, engine, Controllers())),
            LedgerRecorder(spool, lambda: CLUSTER, label),
            CursorStore(objects, NAMESPACE, CLUSTER),
            ReportWriter(objects, metrics),
            metrics,
            settings,
            severity_of=lambda rule: engine.rules[rule].severity if rule in engine.rules else "",
            new_id=lambda _: sweep_id,
        )
        yield parts, registry
    finally:
        await cluster.stop()
        await connection.close()
        engine.close()


async def sweep(folder: Path, kubeconfig: Path, sweep_id: str, settings: SweepSettings) -> None:
    """Sweep once."""
    file = open_frames(folder / "frames")
    opening = open_parts(kubeconfig, FrameFile(file), settings, sweep_id)
    async with opening as (parts, registry):
        sampling = asyncio.create_task(_sample(folder / "samples", registry))
        await Sweep(parts).run(lasting())
        _write_sample(folder / "samples", registry)
        sampling.cancel()


async def _sample(path: Path, registry: CollectorRegistry) -> None:
    while True:
        _write_sample(path, registry)
        await asyncio.sleep(_SAMPLE_S)


def _write_sample(path: Path, registry: CollectorRegistry) -> None:
    used = resource.getrusage(resource.RUSAGE_SELF)
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    sample = {
        "seen": registry.get_sample_value("sallyport_sweep_progress_objects"),
        "rss_mib": pages * resource.getpagesize() / 2**20,
        "cpu_s": used.ru_utime + used.ru_stime,
    }
    with path.open("a") as lines:
        lines.write(json.dumps(sample) + "\n")


def main() -> None:
    """Sweep as it was asked."""
    folder = Path(sys.argv[1])
    asked = json.loads((folder / "asked").read_text())
    settings = SweepSettings(**asked["settings"])
    asyncio.run(sweep(folder, Path(asked["kubeconfig"]), asked["sweep"], settings))


if __name__ == "__main__":
    main()
