"""The answer comes before the caller's time is over, also where the cluster is slow."""

import asyncio
import time

import pytest

from core.decision.decision import Verdict
from core.decision.namespaces import Mode, Namespace
from core.decision.request import Request
from policies.engine.embedded_engine import EmbeddedEngine
from tests.unit.admission.counting_cluster import Watched
from tests.unit.admission.world import (
    NAMESPACE,
    Folder,
    decide,
    judge_of,
    pod,
    request,
)

BUDGET = 0.3
MARGIN = 1.0
"""For a busy machine; to wait for the slow cluster would take 60 s."""


class SlowNamespaces(Watched):
    """A cluster that takes its time over namespaces."""

    async def namespace(self, name: str) -> Namespace:
        """Answer much too late."""
        await asyncio.sleep(60)
        return await self.inner.namespace(name)


@pytest.mark.parametrize(
    "asked",
    [
        request(pod()),
        request(pod(hostNetwork=True)),
        request(pod(owner=("batch/v1", "Job"))),
        request(
            {"metadata": {"name": "train", "labels": {"control-plane": "1"}}},
            kind=NAMESPACE,
            namespace="train",
            name="train",
        ),
    ],
)
async def test_slow_access_reviews_end_in_a_deadline_error(
    engine: EmbeddedEngine, folder: Folder, asked: Request
) -> None:
    """Within the budget and a small margin, and with its own kind."""
    cluster = Watched(folder.cluster(), delay=60)
    start = time.monotonic()
    decision = await decide(cluster, engine, asked, budget=BUDGET)
    assert BUDGET * 0.9 < time.monotonic() - start < BUDGET + MARGIN
    assert (decision.verdict, decision.allowed, decision.error_kind) == (
        Verdict.ERROR,
        False,
        "deadline",
    )
    assert decision.reason == "the 0.3 s that kube-apiserver gave were not enough"


async def test_slow_namespace_ends_in_a_deadline_error_that_enforces(
    engine: EmbeddedEngine, folder: Folder
) -> None:
    """Who never learned the mode refuses."""
    folder.namespace("train", mode="audit")
    cluster = SlowNamespaces(folder.cluster())
    decision = await decide(cluster, engine, request(pod()), budget=BUDGET, mode=Mode.AUDIT)
    assert (decision.allowed, decision.mode, decision.error_kind) == (False, "enforce", "deadline")


@pytest.mark.parametrize(("label", "allowed"), [("enforce", False), ("warn", True)])
async def test_deadline_follows_the_mode_once_it_is_known(
    engine: EmbeddedEngine, folder: Folder, label: str, *, allowed: bool
) -> None:
    """As any other error does."""
    folder.namespace("train", mode=label)
    cluster = Watched(folder.cluster(), delay=60)
    decision = await decide(cluster, engine, request(pod()), budget=BUDGET)
    assert (decision.verdict, decision.allowed) == (Verdict.ERROR, allowed)


async def test_cluster_that_answers_in_time_is_heard(
    engine: EmbeddedEngine, folder: Folder
) -> None:
    """The tests above are not vacuous."""
    cluster = Watched(folder.cluster(), delay=0.05)
    decision = await decide(cluster, engine, request(pod()), budget=2.0)
    assert decision.verdict is Verdict.ALLOW


async def test_large_pod_is_not_waited_for_past_the_budget(
    engine: EmbeddedEngine, folder: Folder
) -> None:
    """Its evaluation, in another thread, is left behind when the time is over."""
    made = pod()
    container = made["spec"]["containers"][0]
    capabilities = {"add": [f"é{number}" for number in range(250)]}
    made["spec"]["containers"] = [
        container | {"name": f"c{number}", "securityContext": {"capabilities": capabilities}}
        for number in range(120)
    ]
    start = time.monotonic()
    decision = await decide(folder.cluster(), engine, request(made), budget=0.1)
    assert time.monotonic() - start < 0.1 + MARGIN
    assert decision.error_kind == "deadline"


async def test_mutating_pass_keeps_to_its_budget(engine: EmbeddedEngine, folder: Folder) -> None:
    """It admits without a note."""
    judge = judge_of(Watched(folder.cluster(), delay=60), engine)
    start = time.monotonic()
    decision = await judge.mutate(request(pod()), budget=BUDGET)
    assert time.monotonic() - start < BUDGET + MARGIN
    assert (decision.allowed, decision.recorded) == (True, {})
