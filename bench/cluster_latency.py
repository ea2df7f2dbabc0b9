"""What the whole suite adds to a Pod's creation through a real kube-apiserver.

    python -m bench.cluster_latency [--record]

The chart's webhooks, three gates behind a Service, two controls and an auditor, all recording;
against a namespace whose name the registrations leave out, for which kube-apiserver calls nobody.
Each client asks in both by turns, so that whatever the machine does befalls both. Then the same
while two gates are killed and started again.
"""

import argparse
import asyncio
import os
import statistics
import time
from collections import Counter
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

import aiohttp

from bench.rig import say
from kube.client.connector import Connector
from tests.api.chaos.cluster import Cluster
from tests.api.chaos.load import TRAIN
from tests.harness import rbac
from tests.harness.client import connect
from tests.harness.evidence import record
from tests.harness.helm import Helm
from tests.harness.pods import RESTRICTED
from tests.tools.provide import provide

PLAIN: Final = "plain"
"""The namespace that is left out."""

CLIENTS: Final = (1, 16)
_CREATED: Final = 201
_WARM: Final = 20
_NUMBERS: Final = count()


@dataclass
class Measured:
    """Milliseconds of what was admitted, and what else came of it, by namespace."""

    times: dict[str, list[float]] = field(default_factory=lambda: {TRAIN: [], PLAIN: []})
    failed: Counter[str] = field(default_factory=Counter)

    def add(self, other: "Measured") -> None:
        """Take in another round's."""
        for namespace, times in other.times.items():
            self.times[namespace] += times
        self.failed += other.failed

    def quantile(self, namespace: str, percent: int) -> float:
        """Return a percentile in ms."""
        return statistics.quantiles(self.times[namespace], n=100, method="inclusive")[percent - 1]


async def _client(session: aiohttp.ClientSession, pairs: int, into: Measured) -> None:
    """Ask in both namespaces, now in the one first, now in the other."""
    for number in range(pairs):
        for namespace in (TRAIN, PLAIN) if number % 2 else (PLAIN, TRAIN):
            pod = RESTRICTED.pod()
            pod["metadata"] = {"name": f"pod-{next(_NUMBERS)}", "namespace": namespace}
            start = time.perf_counter()
            async with session.post(f"/api/v1/namespaces/{namespace}/pods", json=pod) as answer:
                await answer.read()
            took = 1000 * (time.perf_counter() - start)
            if answer.status == _CREATED:
                into.times[namespace].append(took)
            else:
                into.failed[namespace] += 1


async def _round(cluster: Cluster, clients: int, pairs: int) -> Measured:
    found = Measured()
    server = cluster.server
    headers = {"Authorization": f"Bearer {server.user('alice').token}"}
    async with aiohttp.ClientSession(
        server.url, connector=Connector(server.ssl_context, clients), headers=headers
    ) as session:
        await _client(session, _WARM, Measured())
        await asyncio.gather(*(_client(session, pairs, found) for _ in range(clients)))
    return found


async def _killing(cluster: Cluster, clients: int, pairs: int) -> Measured:
    """A round during which two gates are killed, one after the other, and started again."""
    asking = asyncio.create_task(_round(cluster, clients, pairs))
    found = Measured()
    for number in (0, 1):
        await asyncio.sleep(1)
        cluster.gates.kill(number)
        while not cluster.gates.replicas[number].endpoint:  # noqa: ASYNC110 (as probed)
            await asyncio.sleep(0.1)
        if asking.done():  # Load goes on until both are back.
            found.add(asking.result())
            asking = asyncio.create_task(_round(cluster, clients, pairs))
    found.add(await asking)
    return found


async def _prepare(cluster: Cluster) -> None:
    async with connect(cluster.server) as client:
        await client.create_namespace(PLAIN)
        may = rbac.rule([""], "pods", "create")
        await client.apply(rbac.grant("pods", may, rbac.user("alice"), namespace=PLAIN))
        await client.wait_until_can("create", {"resource": "pods", "namespace": PLAIN})


Run = Callable[[Cluster, int, int], Awaitable[Measured]]
RUNS: Final[dict[str, Run]] = {"all well": _round, "two gates killed": _killing}


async def _measure(cluster: Cluster, rounds: int, pairs: int) -> dict[tuple[str, int], Measured]:
    await _prepare(cluster)
    found: dict[tuple[str, int], Measured] = {}
    for name, run in RUNS.items():
        for number in range(rounds):
            for clients in CLIENTS:
                measured = await run(cluster, clients, max(pairs // clients, 10))
                found.setdefault((name, clients), Measured()).add(measured)
            say(f"{name}: round {number + 1} of {rounds}")
    return found


def _lines(found: dict[tuple[str, int], Measured]) -> list[str]:
    lines = [
        "",
        "| | Clients | Pairs | p50 without | p50 with | added | p99 without | p99 with | added | "
        "failed |",
        "|---|---:|---:|---:|---:|---:|---:|---:|---:|---:|",
    ]
    for (name, clients), each in found.items():
        cells = [name, str(clients), str(len(each.times[TRAIN]))]
        for percent in (50, 99):
            without, with_all = (each.quantile(where, percent) for where in (PLAIN, TRAIN))
            cells += [f"{value:.2f}" for value in (without, with_all, with_all - without)]
        lines.append("| " + " | ".join([*cells, str(each.failed[TRAIN])]) + " |")
    unexpected = sum(each.failed[PLAIN] for each in found.values())
    return [*lines, "", f"- Failed without webhooks: {unexpected}"]


def main() -> None:
    """Measure, and print or write docs/evidence/added-latency.md."""
    parser = argparse.ArgumentParser(prog="python -m bench.cluster_latency", description=__doc__)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--pairs", type=int, default=800, help="of a round, by all clients")
    parser.add_argument("--record", action="store_true", help="write its page of docs/evidence")
    options = parser.parse_args()
    load = os.getloadavg()[0]
    with TemporaryDirectory(prefix="sallyport-bench-") as scratch:
        folder = Path(scratch)
        helm = Helm(provide("helm"), folder)
        values = {"webhooks": {"excludedNamespaces": [PLAIN]}, "gate": {"replicas": 3}}
        (folder / "cluster").mkdir()
        with Cluster(folder / "cluster", helm, values) as cluster:
            found = asyncio.run(_measure(cluster, options.rounds, options.pairs))
    text = [
        f"- {options.rounds} rounds of {options.pairs} pairs of creations (milliseconds), stored "
        "in etcd without fsync; each pair in a namespace that is judged and in one that is left "
        "out, in turn, by the same client",
        "- Both webhooks (`/mutate`, then `/validate`) of the chart; three gates behind a Service, "
        "two controls, an auditor; every decision recorded and shipped; everything on the same "
        f"cores as kube-apiserver and the clients (load of the machine before: {load:.2f})",
        "- Between kube-apiserver and the gates lie two forwarders of the tests (the Service's "
        "name, and its choice of a gate), in Python: what a cluster's network does in the kernel",
        "- Killed by SIGKILL, one after the other, started again within a second; `failed` are "
        "creations refused because the gate that was asked was gone (Fail)",
        *_lines(found),
    ]
    if options.record:
        record("added-latency", text)
    print("\n".join(text))


if __name__ == "__main__":
    main()
