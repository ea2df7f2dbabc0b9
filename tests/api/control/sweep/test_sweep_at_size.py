"""A large cluster is swept in minutes of one core and little memory, and a kill costs nothing."""

import asyncio
import hashlib
import json
import os
import random
import signal
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import msgspec
import pytest

from audit.ledger.records.frames import FrameKind, read_frames
from audit.ledger.spool.segments import HEADER_BYTES
from core.decision.sweep_document import SweepDocument, decode_sweep
from tests.api.control.sweep.conftest import SWEEP, SweptCluster, forget
from tests.api.control.sweep.sweep_run import essence, said
from tests.harness.evidence import ROOT, record
from tests.harness.programs.client import Client
from tests.harness.programs.etcd import put_pods
from tests.harness.programs.process import ServerProcess
from tests.harness.sizes import PROOF, size
from tests.harness.worlds.running_pods import PODS_PER_NAMESPACE, namespace_name, running_pods

PODS: Final = size(ci=2_000, proof=100_000)
KILLS: Final = size(ci=2, proof=4)
MOST_CPU_S: Final = 180.0
"""For 100,000 Pods, on one core."""
FLAT_MIB: Final = 24.0
"""What the second half of a sweep may take beyond the first half's most."""
SETTINGS: Final = {
    "interval_s": 3600.0,
    "pods_per_second": 100_000.0,  # As fast as it can: the rate has tests of its own.
    "core_share": 1.0,
    "page_size": size(ci=100, proof=500),
    "store_every_s": size(ci=0, proof=2),
}


class Sweeper:
    """Sweeps in processes of their own, all of which record into one file."""

    def __init__(self, folder: Path, kubeconfig: Path) -> None:
        folder.mkdir()
        self.folder = folder
        asked = {"kubeconfig": str(kubeconfig), "sweep": SWEEP, "settings": SETTINGS}
        (folder / "asked").write_text(json.dumps(asked))

    @property
    def recorded(self) -> int:
        """Bytes that were recorded."""
        frames = self.folder / "frames"
        return frames.stat().st_size if frames.exists() else 0

    def start(self) -> ServerProcess:
        """Start a process; it goes on where the last one was."""
        command: list[str | Path] = [
            sys.executable,
            "-m",
            "tests.harness.programs.sweeper",
            self.folder,
        ]
        environment = {"PYTHONPATH": str(ROOT)}
        return ServerProcess("sweeper", command, self.folder / "log", environment)

    async def finish(self) -> None:
        """Sweep to the end."""
        process = self.start()
        await ended(process)
        assert self.samples()[-1]["seen"] == PODS, process.log_tail()

    async def kill_at(self, size: int) -> bool:
        """Sweep until so much was recorded, and kill it then; False if it ended before."""
        process = self.start()
        while self.recorded < size:
            if not process.alive:
                return False
            await asyncio.sleep(0.005)
        os.kill(process.pid, signal.SIGKILL)
        await ended(process)
        return True

    def samples(self) -> list[dict[str, float]]:
        """Return what the processes said of themselves."""
        return [json.loads(line) for line in (self.folder / "samples").read_text().splitlines()]


async def ended(process: ServerProcess) -> None:
    """Wait until a process has ended."""
    while process.alive:  # noqa: ASYNC110 -- another process has no event of ours
        await asyncio.sleep(0.02)


@dataclass(frozen=True)
class Recorded:
    """What a store would have of a sweep."""

    decisions: dict[bytes, bytes]
    """Digests of the decisions by id, of all that depends on the Pod and the cluster alone."""
    projections: frozenset[bytes]
    sweep: SweepDocument
    repeated: int
    """Decisions that were recorded more than once."""


def read(sweeper: Sweeper) -> Recorded:
    """Read what was recorded, each once; an id must always mean the same decision."""
    decisions: dict[bytes, bytes] = {}
    projections, sweeps, repeated = set(), [], 0
    content = memoryview((sweeper.folder / "frames").read_bytes())
    for frame, _ in read_frames(content, HEADER_BYTES):
        if frame.kind == FrameKind.SWEEP:
            sweeps.append(decode_sweep(frame.payload))
        elif frame.kind == FrameKind.PROJECTION:
            projections.add(frame.id)
        else:
            digest = hashlib.sha256(msgspec.json.encode(essence(frame.payload))).digest()
            repeated += frame.id in decisions
            assert decisions.setdefault(frame.id, digest) == digest
    (sweep,) = sweeps
    return Recorded(decisions, frozenset(projections), sweep, repeated)


@pytest.fixture
async def sweeper(cluster: SweptCluster, admin: Client, tmp_path: Path) -> Sweeper:
    """Something to sweep with, and all the Pods."""
    for index in range(-(-PODS // PODS_PER_NAMESPACE)):
        labels = {"sallyport.dev/mode": "warn"} if index % 7 == 3 else {}
        await admin.create_namespace(namespace_name(index), labels)
    await put_pods(cluster.server.etcd_url, running_pods(PODS))
    return Sweeper(tmp_path / "undisturbed", cluster.kubeconfig)


@pytest.mark.proof
async def test_a_large_cluster_is_swept_and_a_kill_costs_nothing(
    cluster: SweptCluster, admin: Client, sweeper: Sweeper, tmp_path: Path
) -> None:
    """CPU below the limit, memory flat; killed at random places, exactly the same is recorded."""
    await sweeper.finish()
    undisturbed, found = read(sweeper), await said(admin)
    samples = sweeper.samples()
    sweeping = [sample for sample in samples if sample["seen"] > 0]
    cpu = samples[-1]["cpu_s"]
    half = len(sweeping) // 2
    first, second = (
        max(s["rss_mib"] for s in part) for part in (sweeping[: half + 1], sweeping[half:])
    )
    assert (cpu - samples[0]["cpu_s"]) / PODS * 100_000 < MOST_CPU_S
    assert second < first + FLAT_MIB
    assert undisturbed.sweep.interruptions == 0

    await forget(admin)
    killed = Sweeper(tmp_path / "killed", cluster.kubeconfig)
    rng = random.Random(7)  # noqa: S311 -- must repeat, need not be secret
    places = sorted(rng.uniform(0.05, 0.95) for _ in range(KILLS))
    kills = [await killed.kill_at(int(place * sweeper.recorded)) for place in places]
    assert all(kills)
    await killed.finish()
    resumed = read(killed)
    assert resumed.decisions == undisturbed.decisions
    assert resumed.projections == undisturbed.projections
    assert await said(admin) == found
    same = {"finished": "", "interruptions": 0}
    assert msgspec.structs.replace(resumed.sweep, **same) == msgspec.structs.replace(
        undisturbed.sweep, **same
    )
    if PROOF:
        sizes = [samples[0], sweeping[half], samples[-1]]
        record(f"sweep-{PODS}", evidence(undisturbed, resumed, sizes, len(found)))


def evidence(
    undisturbed: Recorded, resumed: Recorded, sizes: list[dict[str, float]], namespaces: int
) -> list[str]:
    """Return the lines of the evidence."""
    start, middle, end = (f"{sample['rss_mib']:.0f}" for sample in sizes)
    verdicts = ", ".join(f"{word} {count}" for word, count in undisturbed.sweep.verdicts.items())
    cpu = sizes[-1]["cpu_s"] - sizes[0]["cpu_s"]
    return [
        f"- {PODS} Pods of 6 to 10 KB in {-(-PODS // PODS_PER_NAMESPACE)} namespaces, written as "
        "JSON into etcd (as kube-apiserver's decoder takes it) and listed by the real "
        "kube-apiserver, 500 a page; the sweep as a process of its own with the rights it needs",
        f"- Verdicts: {verdicts}; {PODS - undisturbed.sweep.objects} finished or being deleted",
        f"- {cpu:.1f} CPU seconds of one core for the sweep, start of the process apart "
        f"({cpu / PODS * 1e6:.0f} µs a Pod); limit {MOST_CPU_S:.0f}",
        f"- Memory at start, middle, end: {start}, {middle}, {end} MiB",
        f"- Recorded: {len(undisturbed.decisions)} decisions, {len(undisturbed.projections)} "
        f"projections, {namespaces} Reports",
        f"- Killed (SIGKILL) at {KILLS} random places and started again: exactly the same "
        f"decisions, projections, Reports and totals; {resumed.repeated} decisions were recorded "
        f"twice under one id; interruptions counted: {resumed.sweep.interruptions}",
    ]
