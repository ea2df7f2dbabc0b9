"""What an OPA server costs beside the embedded engine, measured by turns in one run."""

import asyncio
import json
import statistics
import time
from itertools import islice
from pathlib import Path

import pytest

from core.kubernetes.pod import decode_pod
from policies import BUILT_IN_BUNDLE
from policies.bundle.format import read_bundle
from policies.clients.opa_server.engine import OpaServerEngine
from policies.engine.embedded_engine import EmbeddedEngine, EvaluationLimits
from policies.engine.interface import Engine, PolicyAnswer
from policies.engine.opa_endpoint import OpaServer
from policies.projection.model import encode
from policies.projection.pods import project
from tests.harness.evidence import record
from tests.harness.programs.opa_server import OpaProgram
from tests.harness.sizes import PROOF, size
from tests.harness.worlds.pods import pods

ROUNDS = size(1, 7)
PODS = size(20, 400)
AT_ONCE = (1, 16)
LIMITS = EvaluationLimits(seconds=10.0)


async def _timed(
    engine: Engine, projections: list[bytes], at_once: int
) -> tuple[float, list[PolicyAnswer]]:
    """Return how many are evaluated a second, so many at a time, and what was answered."""
    said: dict[bytes, PolicyAnswer] = {}

    async def some(own: list[bytes]) -> None:
        for projection in own:
            said[projection] = await engine.ask(projection)

    start = time.perf_counter()
    await asyncio.gather(*(some(projections[n::at_once]) for n in range(at_once)))
    return len(projections) / (time.perf_counter() - start), [said[it] for it in projections]


def _resident_mib(pid: int) -> float:
    text = Path(f"/proc/{pid}/status").read_text()
    return int(text.partition("VmRSS:")[2].split()[0]) / 1024


@pytest.mark.proof
def test_both_engines_answer_the_same_pods_by_turns(tmp_path: Path) -> None:
    """Each Pod is another one, so nothing is remembered; the medians of all rounds count."""
    made = islice(pods(1), PODS)
    projections = [encode(project(decode_pod(json.dumps(pod).encode()))) for _, pod in made]
    projections = list(dict.fromkeys(projections))
    bundle = read_bundle(BUILT_IN_BUNDLE)
    embedded = EmbeddedEngine(bundle, LIMITS)
    speeds: dict[tuple[str, int], list[float]] = {}
    with OpaProgram(tmp_path) as server:
        before = _resident_mib(server.pid)
        start = time.perf_counter()
        opa = OpaServerEngine(bundle, OpaServer(server.url), LIMITS)
        put_s = time.perf_counter() - start
        held = _resident_mib(server.pid) - before
        for _ in range(ROUNDS):
            for at_once in AT_ONCE:
                answers = []
                for name, engine in (("embedded", embedded), ("opa", opa)):
                    speed, said = asyncio.run(_timed(engine, projections, at_once))
                    speeds.setdefault((name, at_once), []).append(speed)
                    answers.append(said)
                assert answers[0] == answers[1]
        opa.close()
    embedded.close()
    if PROOF:
        _record(speeds, len(projections), put_s, held)


def _record(
    speeds: dict[tuple[str, int], list[float]], count: int, put_s: float, held: float
) -> None:
    medians = {key: statistics.median(found) for key, found in speeds.items()}
    rows = [
        f"| {at_once} | {medians['embedded', at_once]:.0f} | {medians['opa', at_once]:.0f} "
        f"| {medians['embedded', at_once] / medians['opa', at_once]:.1f} |"
        for at_once in AT_ONCE
    ]
    record(
        "engine-cost",
        [
            f"- {count} different Pods, evaluated by the embedded engine and by OPA 1.22.0 on a "
            f"socket of the same machine, by turns; medians of {ROUNDS} rounds. The machine was "
            "shared",
            f"- The built-in policies were put on the server in {put_s:.1f} s, and took "
            f"{held:.0f} MiB of it",
            "",
            "| At once | Embedded, evaluations/s | OPA server, evaluations/s | Ratio |",
            "| --- | --- | --- | --- |",
            *rows,
        ],
    )
