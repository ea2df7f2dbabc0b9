"""Reviews over HTTP to two gates while bundles are activated by command: none fails or mixes.

The whole way: published as ConfigMaps, loaded by both gates, activated by control's loop.
"""

import asyncio
import itertools
import os
import re
import socket
import statistics
import time
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Final

import pytest

from policies.bundle.format import read_bundle
from tests.api.policies.published import Field, controlling, in_force, open_field, until
from tests.harness.evidence import record
from tests.harness.load.bundle_swaps import Answered, Answers, Loading
from tests.harness.load.reviews import pod_review
from tests.harness.programs.apiserver import ApiServer
from tests.harness.programs.client import Client
from tests.harness.sizes import PROOF, size
from tests.harness.worlds.swap_bundles import endless, good, pods

SECONDS: Final = size(ci=0, proof=60)
"""In which bundles are activated in turn; each is once at least."""

RATE: Final = size(ci=60, proof=1050)
"""Reviews a second that are asked for, both gates together."""

KINDS_OF_PODS: Final = 80
GATES: Final = 2


@dataclass(frozen=True)
class Swap:
    """One activation; times by `time.perf_counter`."""

    began: float
    """When the command was given."""
    old: str
    new: str
    settled: float
    """When both gates had shown the new revision."""


@pytest.fixture
async def field(apiserver: ApiServer, client: Client, tmp_path: Path) -> AsyncIterator[Field]:
    """Two gates in a namespace."""
    async with open_field(apiserver, client, tmp_path) as made:
        for _ in range(GATES):
            made.gate()
        yield made


async def activate(field: Field, file: Path, old: str) -> Swap:
    """Have a bundle published and in force in all gates."""
    began, new = time.perf_counter(), read_bundle(file).revision
    done = await field.policy("activate", str(file))
    assert done.returncode == 0, done.stderr
    await until(lambda: {in_force(gate) for gate in field.gates} == {new})
    return Swap(began, old, new, time.perf_counter())


async def refuse(field: Field, file: Path, why: str) -> str:
    """Have a bundle published that gates refuse; give what the command says."""
    done = await field.policy("activate", str(file))
    assert done.returncode == 1, done.stderr
    revision = read_bundle(file).revision
    assert re.search(rf"refused: \S+ refuses {revision}: .*{why}", done.stderr)
    return done.stderr.strip().splitlines()[-1].replace(socket.gethostname(), "GATE")


def heard(answers: list[Answered], since: int, revision: str) -> bool:
    """Return whether every gate has answered by a revision since there were so many answers."""
    gates = {each.gate for each in answers[since:] if each.revision == revision}
    return len(gates) == GATES


def lasted(swap: Swap, end: float, answers: list[Answered]) -> float:
    """Return for how many seconds the old bundle was still heard after the new one first was.

    Once a gate answers by the new one, whatever it is sent later is answered by it too.
    """
    within = [each for each in answers if swap.began <= each.sent < end]
    assert {each.revision for each in within} <= {swap.old, swap.new}
    began = []
    for gate in range(GATES):
        own = [each for each in within if each.gate == gate]
        began.append(min(each.received for each in own if each.revision == swap.new))
        late = [each for each in own if each.revision == swap.old and each.sent > began[-1]]
        assert late == []
    assert [each for each in within if each.sent > swap.settled and each.revision == swap.old] == []
    heard = [each.received for each in within if each.revision == swap.old]
    return max(0.0, max(heard, default=0.0) - min(began))


@pytest.mark.proof
async def test_no_review_fails_or_mixes_while_bundles_are_activated(
    field: Field, tmp_path: Path
) -> None:
    """Both gates switch; a bundle that one of them refuses changes nothing."""
    files = {word: good(tmp_path, word) for word in ("first", "second")}
    revisions = {word: read_bundle(path).revision for word, path in files.items()}
    broken = endless(tmp_path)
    bodies = [pod_review(each, field.namespace, "alice") for each in pods(KINDS_OF_PODS)]
    ports = [gate.port for gate in field.gates]
    swaps: list[Swap] = []
    async with controlling(field):
        await activate(field, files["first"], "")
        load = Loading(ports, tmp_path / "ca.crt", bodies, RATE)
        load.words = {revision: word for word, revision in revisions.items()}
        async with load:
            still = load.turn()
            await asyncio.sleep(max(2.0, SECONDS / 2))
            swapping = load.turn()
            end, old = time.monotonic() + SECONDS, "first"
            for word in itertools.cycle(("second", "first")):
                since = len(swapping.all)
                swaps.append(await activate(field, files[word], revisions[old]))
                await until(partial(heard, swapping.all, since, revisions[word]))
                old = word
                if len(swaps) > 1 and time.monotonic() > end:
                    break
            refusing = load.turn()
            said = await refuse(field, broken.file, broken.why)
            assert {in_force(gate) for gate in field.gates} == {revisions[old]}
    for answers in (still, swapping, refusing):
        assert answers.wrong == []
    assert set(refusing.revisions) == {revisions[old]}
    ends = [*(swap.began for swap in swaps[1:]), swapping.ended]
    times = [lasted(swap, end, swapping.all) for swap, end in zip(swaps, ends, strict=True)]
    if PROOF:
        parts = {"without a swap": still, "activated in turn": swapping, "endless": refusing}
        record("published-swap", _page(parts, swaps, times, said.replace(str(tmp_path), "…")))


def _page(
    parts: dict[str, Answers], swaps: list[Swap], times: list[float], said: str
) -> Iterator[str]:
    took = [swap.settled - swap.began for swap in swaps]
    yield (
        f"- Connections over TLS to {GATES} `sallyport gate`, {KINDS_OF_PODS} different Pods, "
        f"{RATE} reviews a second asked for, both together; a real kube-apiserver with etcd; all "
        f"on the same machine, beside other work (load {os.getloadavg()[1]:.1f})"
    )
    yield from (
        "",
        "`sallyport policy activate FILE` again and again, each time the other of two bundles; "
        "control's loop activates it when both gates have it. Each answer must be a refusal that "
        "names one revision, with exactly the two findings of that bundle.",
        "",
        "| | Reviews | A second | Failed or mixed | p50 ms | p99 ms | Longest ms |",
        "|---|---|---|---|---|---|---|",
    )
    yield from (answers.row(name) for name, answers in parts.items())
    yield from (
        "",
        f"Activated: {len(swaps)}. From the command to the new bundle in both gates: median "
        f"{statistics.median(took):.1f} s, longest {max(took):.1f} s. From the first answer by the "
        f"new bundle to the last by the old one, in either gate: median "
        f"{1000 * statistics.median(times):.0f} ms, longest {1000 * max(times):.0f} ms. No gate "
        "that had answered by the new one answered anything sent later by the old one.",
        "",
        "The endless bundle passes the command, which has no inputs of lately, and is refused by "
        f"the gates: `{said}`. All stays as it was.",
        "",
        "Made by `tests/api/policies/test_published_swap.py`.",
    )
