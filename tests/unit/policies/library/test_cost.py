"""All rules of the library at once: a Pod that keeps them, and what they cost it."""

import asyncio
import json
import os
import statistics
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import yaml

from core.kubernetes.pod import decode_pod
from policies.bundle.format import read_bundle
from policies.engine.embedded_engine import EmbeddedEngine
from policies.engine.interface import Judgement, ShownFields
from policies.projection.model import Context, encode, encode_context
from policies.projection.pods import project
from policies.site.choices import Choice
from policies.site.fields import POD
from tests.harness.evidence import record
from tests.harness.sizes import PROOF, size
from tests.unit.policies.library.library_rules import RULES, choice, make

POD_OF_ALL = yaml.safe_load((Path(__file__).parent / "compliant.yaml").read_text())
CONTEXT = encode_context(
    Context("CREATE", namespace="research", requester="human", groups=("researchers",))
)
DAY_ONE = (
    "labels/required",
    "cost/center",
    "registries/allowed",
    "images/forbidden",
    "priority/by_group",
    "env/secret",
    "resources/required",
    "storage/classes",
    "ports/host_range",
    "pods/service_account",
)
"""What a site may begin with."""


@dataclass(frozen=True)
class Measured:
    """One bundle."""

    engine: EmbeddedEngine
    size: int
    """Bytes."""
    rules: int
    """Rules that are asked about Pods, besides the built-in ones."""

    async def judged(self, made: Any) -> Judgement:
        """Do what a review does of a Pod that is not remembered, from its JSON on."""
        raw = json.dumps(made).encode()
        projection = encode(project(decode_pod(raw)))
        answer = await self.engine.ask(projection)
        shown = ShownFields(POD, self.engine.reads.fields(POD, made))
        return await self.engine.judge(projection, answer, CONTEXT, shown)


@pytest.fixture(scope="module")
def measure(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Callable[..., Measured]]:
    """Open a bundle of these rules."""
    opened = []

    def open_one(rules: Mapping[str, Choice]) -> Measured:
        bundle = make(tmp_path_factory.mktemp("cost") / "bundle.tar.gz", rules)
        engine = EmbeddedEngine(read_bundle(bundle))
        opened.append(engine)
        asked = [one for one in engine.rules.values() if one.site and POD in one.kinds]
        return Measured(engine, bundle.stat().st_size, len(asked))

    yield open_one
    for engine in opened:
        engine.close()


@pytest.mark.proof
def test_a_pod_can_keep_all_rules_at_once(measure: Callable[..., Measured]) -> None:
    """With nothing denied and nothing warned of; the proof says what it costs."""
    everything = measure({rule: choice(rule) for rule in RULES})
    assert asyncio.run(everything.judged(POD_OF_ALL)) == Judgement(())
    assert everything.rules >= size(ci=20, proof=20)
    if PROOF:
        day_one = measure({rule: choice(rule) for rule in DAY_ONE})
        _record(measure({}), day_one, everything)


def _record(none: Measured, day_one: Measured, everything: Measured) -> None:
    rounds = 2000
    bundles = {"none": none, "ten for day one": day_one, "all": everything}
    costs = asyncio.run(_costs(list(bundles.values()), rounds))
    base = statistics.median(costs[0])
    rows = []
    for (name, one), times in zip(bundles.items(), costs, strict=True):
        p50 = statistics.median(times)
        p99 = statistics.quantiles(times, n=100)[-1]
        rows.append(
            f"| {name} | {one.rules} | {one.size / 1024:.0f} KiB | {p50:.0f} µs | {p99:.0f} µs "
            f"| {p50 - base:.0f} µs | {p50 / base:.2f} |"
        )
    record(
        "library-cost",
        [
            f"- Other work was running on it: load average {os.getloadavg()[0]:.1f} at the end",
            f"- {rounds} rounds in turns, CPU time of the thread; a Pod of four containers that "
            "keeps all rules, nothing remembered: projection, `needs`, declared fields, `judge`",
            "",
            "| Rules of the library | asked about Pods | bundle | p50 | p99 | added | ratio |",
            "|---|---|---|---|---|---|---|",
            *rows,
            "",
            f"The library has {len(RULES)} rules; those that are not asked about Pods cost a Pod "
            "nothing. A gang is judged once: its other Pods are remembered.",
        ],
    )


async def _costs(bundles: list[Measured], rounds: int) -> list[list[float]]:
    """Return the microseconds of each round of each bundle; the first rounds warm up."""
    costs: list[list[float]] = [[] for _ in bundles]
    for number in range(rounds + 50):
        for one, times in zip(bundles, costs, strict=True):
            start = time.thread_time_ns()
            await one.judged(POD_OF_ALL)
            if number >= 50:
                times.append((time.thread_time_ns() - start) / 1000)
    return costs
