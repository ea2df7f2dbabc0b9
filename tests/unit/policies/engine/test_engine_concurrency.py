"""Many evaluations at once: from threads, and beside an event loop that must go on."""

import asyncio
import itertools
import json
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from core.base.errors import EvaluationError
from core.kubernetes.pod import decode_pod
from policies.bundle.format import read_bundle
from policies.engine.embedded_engine import EmbeddedEngine, EvaluationLimits
from policies.projection.model import encode
from policies.projection.pods import project
from tests.harness.worlds.pods import pods

SMALL = b'{"containers":[],"hostPID":true,"automount":false,"hostUsers":false}'

LARGE: dict[str, Any] = {
    "hostNetwork": True,
    "containers": [
        {
            "path": f"spec.containers[{number}]",
            "name": f"c{number}",
            "image": "registry.example/" + "a" * 200,
            "securityContext": {"capabilities": {"add": ["A/B", "C D"], "drop": ["ALL"]}},
        }
        for number in range(2000)
    ],
}


def test_threads_get_the_answers_that_one_thread_gets(builtin_engine: EmbeddedEngine) -> None:
    """Eight threads on an engine of two instances: each Pod's needs are its own."""
    given = [
        encode(project(decode_pod(json.dumps(pod).encode())))
        for _, pod in itertools.islice(pods(seed=11), 400)
    ]
    expected = [builtin_engine.evaluate(projection) for projection in given]
    assert len({str(needs) for needs in expected}) > 50
    with ThreadPoolExecutor(8) as threads:
        for _ in range(3):
            assert list(threads.map(builtin_engine.evaluate, given)) == expected


def test_evaluations_that_fail_together_leave_a_sound_engine(built: Path) -> None:
    """Instances are thrown away and made anew in many threads at once, and none harms another."""
    engine = EmbeddedEngine(read_bundle(built), EvaluationLimits(seconds=0.02, concurrent=4))
    endless = {"path": "v", "types": ["hostPath"], "hostPath": {"path": "/".join(["é"] * 1000)}}
    slow = json.dumps({"containers": [], "volumes": [endless] * 30}).encode()

    def fail(_: int) -> bool:
        try:
            engine.evaluate(slow)
        except EvaluationError:
            return True
        return False

    with ThreadPoolExecutor(6) as threads:
        assert all(threads.map(fail, range(150)))
    assert [need.privilege for need in engine.evaluate(SMALL).needs] == ["host/pid"]
    engine.close()


async def test_large_projections_leave_the_event_loop_free(built: Path) -> None:
    """While more than there are threads wait, small ones are answered; the loop waits for none."""
    limits = EvaluationLimits(seconds=5.0)
    engine = EmbeddedEngine(read_bundle(built), limits)
    raw = json.dumps(LARGE).encode()
    start = time.monotonic()
    alone = await engine.ask(raw)
    took = time.monotonic() - start
    pauses = []

    async def watch() -> None:
        while True:
            before = time.monotonic()
            await asyncio.sleep(0.001)
            pauses.append(time.monotonic() - before)
            assert len((await engine.ask(SMALL)).needs) == 1

    watching = asyncio.create_task(watch())
    together = await asyncio.gather(*(engine.ask(raw) for _ in range(limits.concurrent + 2)))
    assert all(answer == alone for answer in together)
    watching.cancel()
    engine.close()
    assert len(alone.needs) >= 2 * len(LARGE["containers"])
    assert took > 0.05
    assert len(pauses) >= 3
    assert max(pauses) < took


async def test_one_small_projection_after_the_other_is_evaluated_in_place(
    builtin_engine: EmbeddedEngine,
) -> None:
    """A Pod's projection costs no hop to another thread: the answer is there at once."""
    with pytest.raises(StopIteration) as done:
        builtin_engine.ask(SMALL).send(None)
    assert [need.privilege for need in done.value.value.needs] == ["host/pid"]
