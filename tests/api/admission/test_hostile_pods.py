"""Reviews of Pods that no kube-apiserver would send: each refused, the gate as it was before."""

import asyncio
import copy
import json
import random
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.api.admission.objects import BAD, GOOD, new_namespace
from tests.harness.evidence import record
from tests.harness.load.reviews import pod_review, post
from tests.harness.programs.client import Client, Json
from tests.harness.programs.guarded_apiserver import Installation
from tests.harness.sizes import PROOF, size

ALICE = "alice@example.com"
COUNT = size(ci=240, proof=10_000)
AT_ONCE = 8
MAX_GROWTH_MIB = size(ci=80, proof=40)
"""After a warm-up with the largest Pods there are. The WebAssembly instances never give back
what they took (at most 64 MiB each, policies/engine/embedded_engine.py), so it must be taken before
the first measurement; what may still grow is the allocator's slack under AT_ONCE such reviews, and
what is remembered of access reviews (20,000 answers, some 5 MiB)."""
WARM_UPS = 8
"""Their highest is what it takes when it is warm, and the lowest of the last quarter what it took
afterwards: the allocator gives back and takes 50 MiB by turns, and a leak is never given back."""
MOST_CONTAINERS = 3_000
MOST_PORTS = 20_000
WRONG: list[Any] = [None, True, -1, 1.5, 2**70, "x", "\u0000", "x" * 100_000, [], [[]], [{}], {}]


def places(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Yield the path of every value in a document."""
    yield path
    items = value.items() if isinstance(value, dict) else enumerate(value)
    for key, inner in items if isinstance(value, dict | list) else ():
        yield from places(inner, (*path, key))


def replaced(document: Json, path: tuple[Any, ...], wrong: Any) -> Json:
    """Return the document with another value at one place."""
    changed = copy.deepcopy(document)
    place: Any = changed
    for key in path[:-1]:
        place = place[key]
    place[path[-1]] = wrong
    return changed


def bad() -> Json:
    """Return a Pod with several things wrong."""
    pod = BAD()
    pod["metadata"]["annotations"] = {"container.apparmor.security.beta.kubernetes.io/x": "y"}
    pod["spec"]["volumes"] = [{"name": "v", "hostPath": {"path": "/../.."}}]
    return pod


def crowded(containers: int) -> Json:
    """Return a bad Pod with the same container over and over."""
    pod = bad()
    pod["spec"]["containers"] *= containers
    return pod


def ported(ports: int) -> Json:
    """Return a bad Pod that takes that many ports of its node."""
    pod = bad()
    taken = [{"containerPort": 1, "hostPort": port} for port in range(1, ports)]
    pod["spec"]["containers"][0]["ports"] = taken
    return pod


def hostile(chance: random.Random) -> Json:
    """Return a bad Pod with something else wrong, or with far too much of it."""
    kind = chance.random()
    if kind < 0.9:
        pod = bad()
        paths = [path for path in places(pod) if path]
        return replaced(pod, chance.choice(paths), chance.choice(WRONG))
    if kind < 0.95:
        return crowded(chance.randrange(2, MOST_CONTAINERS))
    return ported(MOST_PORTS)


def largest() -> list[Json]:
    """Return AT_ONCE Pods, of each kind the largest that `hostile` makes."""
    text = replaced(bad(), ("spec", "nodeName"), "x" * 100_000)
    kinds = [crowded(MOST_CONTAINERS), ported(MOST_PORTS), text, bad()]
    return kinds * (AT_ONCE // len(kinds))


def rss_mib(pid: int) -> float:
    """Return a process's resident memory."""
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("VmRSS")) / 1024


@pytest.mark.proof
async def test_no_hostile_pod_is_let_in(installation: Installation, admin: Client) -> None:
    """A 4xx or a refusal for each, no crash, no growth; a good review is answered as before."""
    namespace = await new_namespace(admin)
    ca_pem, shown = installation.apiserver.authority.pem, installation.apiserver.webhook_client
    url = f"{installation.gate.url}/validate?timeout=10s"
    chance = random.Random(20261121)  # noqa: S311 (the same Pods each time)
    outcomes: Counter[str] = Counter()

    async def send(pod: Json) -> None:
        body = pod_review(pod, namespace, ALICE, name="hostile")
        status, review = await post(url, body, ca_pem, 60, shown)
        if status != 200:
            assert 400 <= status < 500, (status, review)
            outcomes[f"status {status}"] += 1
            return
        response = review["response"]
        assert response["allowed"] is False, json.dumps(pod)[:2000]
        outcomes[response["auditAnnotations"]["verdict"]] += 1

    async def good() -> bool:
        _, review = await post(url, pod_review(GOOD(), namespace, ALICE), ca_pem, shown=shown)
        return bool(review["response"]["allowed"])

    async def after(pods: list[Json]) -> float:
        await asyncio.gather(*(send(pod) for pod in pods))
        return rss_mib(installation.gate.pid)

    assert await good()
    warm = max([await after(largest()) for _ in range(WARM_UPS)])
    outcomes.clear()
    rounds = COUNT // AT_ONCE
    taken = [await after([hostile(chance) for _ in range(AT_ONCE)]) for _ in range(rounds)]
    growth = min(taken[-rounds // 4 :]) - warm
    assert await good()
    assert outcomes["deny"] > 0
    assert outcomes["error"] > 0
    assert growth < MAX_GROWTH_MIB
    if PROOF:
        lines = [f"- {outcome}: {count}" for outcome, count in sorted(outcomes.items())]
        growing = f"- memory: {warm:.0f} MiB after the largest Pods, then {growth:+.1f} MiB"
        record("hostile-pods", [f"- {sum(outcomes.values())} reviews", *lines, growing])
