"""The time of each stage of one review, in this process."""

import asyncio
import statistics
import time
from collections.abc import Callable
from typing import Any

from bench.reviews import make_review
from bench.servers import ROOT
from cli.parts import make_engine, make_judge
from cli.settings import Settings
from core.pod import decode_pod
from kube.folder import FolderCluster, read_profiles
from policies import SHIPPED_PROFILES
from policies.projection import encode, project
from webhooks.answer import encode_answer
from webhooks.wire import decode_review

_TIMES = 2000


def time_stages() -> dict[str, float]:
    """Give the median µs of each stage, and of the judge as a whole."""
    body = make_review(2, compliant=True)
    settings = Settings()
    engine = make_engine(None, settings.evaluation)
    shipped = read_profiles([SHIPPED_PROFILES])
    cluster = FolderCluster(ROOT / "examples" / "cluster", shipped=shipped)
    judge = make_judge(cluster, engine, settings)
    request = decode_review(body)
    pod = decode_pod(request.object or b"")
    projection = project(pod)
    encoded = encode(projection)
    runner = asyncio.Runner()
    decision = runner.run(judge.validate(request, budget=5))
    stages: dict[str, Callable[[], Any]] = {
        "decode AdmissionReview": lambda: decode_review(body),
        "decode Pod": lambda: decode_pod(request.object or b""),
        "project": lambda: project(pod),
        "encode projection": lambda: encode(projection),
        "evaluate policies": lambda: engine.evaluate(encoded),
        "encode answer": lambda: encode_answer(request, decision, []),
    }
    result = {name: _median(stage) for name, stage in stages.items()}
    result["judge, all of it"] = runner.run(_median_async(judge, request))
    runner.close()
    engine.close()
    return result


def _median(stage: Callable[[], Any]) -> float:
    times = []
    for _ in range(_TIMES):
        start = time.perf_counter()
        stage()
        times.append(time.perf_counter() - start)
    return statistics.median(times) * 1e6


async def _median_async(judge: Any, request: Any) -> float:
    times = []
    for _ in range(_TIMES):
        start = time.perf_counter()
        await judge.validate(request, budget=5)
        times.append(time.perf_counter() - start)
    return statistics.median(times) * 1e6
