"""What webhooks add to a Pod's creation through a real kube-apiserver, as its client sees it.

Once one webhook after the other, on a core of its own, asked by one client; once the whole suite
as its chart installs it, also while gates are killed.
"""

import argparse
import asyncio
import base64
import os
import statistics
import time
from collections import Counter
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final

import aiohttp

from bench.contenders import start_go_check, start_opa
from bench.reviews import make_pod
from bench.server_rig import CLIENT_CORE, UNCACHED, Rig, print_progress, rig
from network.connector import Connector
from tests.api.chaos.cluster import Cluster
from tests.api.chaos.load import TRAIN
from tests.harness.evidence import record
from tests.harness.programs.apiserver import ApiServer
from tests.harness.programs.client import Client, Outcome, connect
from tests.harness.programs.helm import Helm
from tests.harness.worlds import rbac
from tests.harness.worlds.pods import RESTRICTED
from tests.tools.provide import CannotProvideError, provide

Json = dict[str, Any]

_WARM: Final = 20
"""Creations, or pairs of them, before those that are measured."""

NOTHING: Final = "nothing"
OURS: Final = "Sallyport"
OURS_GANG: Final = "Sallyport, remembered"
OPA: Final = "OPA, review"
GO_CHECK: Final = "Go check"

_WEBHOOK: Final = "bench.sallyport.test"
_SETTLE_S: Final = 3.0

PLAIN: Final = "plain"
"""A namespace whose name the webhooks' registrations leave out: nobody is called for it."""

CLIENTS: Final = (1, 16)
_CREATED: Final = 201
_NUMBERS: Final = count()


async def _register(client: Client, url: str, ca_pem: bytes) -> Json:
    rule = {"apiGroups": [""], "apiVersions": ["v1"], "resources": ["pods"]}
    webhook = {
        "name": _WEBHOOK,
        "clientConfig": {"url": url, "caBundle": base64.b64encode(ca_pem).decode()},
        "rules": [{**rule, "operations": ["CREATE"]}],
        "sideEffects": "None",
        "admissionReviewVersions": ["v1"],
        "failurePolicy": "Fail",
        "matchPolicy": "Equivalent",
    }
    item: Json = {
        "apiVersion": "admissionregistration.k8s.io/v1",
        "kind": "ValidatingWebhookConfiguration",
        "metadata": {"name": _WEBHOOK},
        "webhooks": [webhook],
    }
    await client.apply([item])
    return item


async def _create_with(client: Client, url: str | None, ca_pem: bytes, count: int) -> list[float]:
    """Return the ms of each creation while this webhook, or none, is registered."""
    item = await _register(client, url, ca_pem) if url else None
    await asyncio.sleep(_SETTLE_S)  # kube-apiserver follows registrations with a delay.
    times = [await _create_pod(client, number) for number in range(_WARM + count)]
    if item is not None:
        await client.delete(item)
        await asyncio.sleep(_SETTLE_S)
    return times[_WARM:]


async def _create_pod(client: Client, number: int) -> float:
    pod = make_pod(number, TRAIN)
    start = time.perf_counter()
    answer = await client.dry_run_create(pod, TRAIN)
    seconds = time.perf_counter() - start
    if answer.outcome is not Outcome.ALLOWED:
        raise SystemExit(f"the Pod is not admitted: {answer.message}")
    return 1000 * seconds


def _start_webhooks(running: Rig, apiserver: ApiServer) -> dict[str, str | None]:
    """Start the webhooks; give the URL of each."""
    gates = {OURS: running.gate("gate", UNCACHED), OURS_GANG: running.gate("gang")}
    urls: dict[str, str | None] = {NOTHING: None}
    urls |= {name: f"https://127.0.0.1:{gate.port}/validate" for name, gate in gates.items()}
    urls[OPA] = f"https://127.0.0.1:{start_opa(running).port}/v0/data/bench/response"
    try:
        program = provide("pod-security-webhook")
    except CannotProvideError as error:
        print_progress(f"NOT MEASURED: the Go check: {error}")
        return urls
    server = start_go_check(running, program, apiserver)
    return urls | {GO_CHECK: f"https://127.0.0.1:{server.port}/"}


async def _measure_webhooks(
    running: Rig, apiserver: ApiServer, rounds: int, count: int
) -> Mapping[str, Sequence[float]]:
    times: dict[str, list[float]] = {}
    ca_pem = running.pair.ca.read_bytes()
    async with connect(apiserver) as client:
        await client.create_namespace(TRAIN)
        urls = _start_webhooks(running, apiserver)
        for number in range(rounds):
            # Each goes first as often as the others.
            order = list(urls.items())
            for name, url in order[number % len(order) :] + order[: number % len(order)]:
                times.setdefault(name, []).extend(await _create_with(client, url, ca_pem, count))
            print_progress(f"round {number + 1} of {rounds}")
    return {name: times[name] for name in urls}


def _webhook_lines(times: Mapping[str, Sequence[float]]) -> list[str]:
    base = statistics.median(times[NOTHING])
    lines = ["", "| Webhook | p50 ms | p90 ms | added to the p50 |", "|---|---:|---:|---:|"]
    for name, each in times.items():
        p90 = statistics.quantiles(each, n=10)[-1]
        p50 = statistics.median(each)
        added = f"{p50 - base:.2f}" if name != NOTHING else "–"
        lines.append(f"| {name} | {p50:.2f} | {p90:.2f} | {added} |")
    ours, opa = statistics.median(times[OURS]) - base, statistics.median(times[OPA]) - base
    verdict = "holds" if ours < opa else "DOES NOT HOLD"
    return [
        *lines,
        "",
        f"- Ours, every review evaluated, adds less than OPA's server: **{verdict}** "
        f"({ours:.2f} ms against {opa:.2f} ms)",
    ]


def measure_one_client(parser: argparse.ArgumentParser, arguments: Sequence[str]) -> None:
    """Measure what each webhook adds; print it, or write docs/evidence/one-client.md.

    One client asks for one Pod after another (dry runs, so that etcd has no part in it), with no
    webhook, with ours, with OPA's server, with Kubernetes' own check, in turn and in rounds.
    """
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--count", type=int, default=200, help="Pods asked for in a round of each")
    parser.add_argument("--record", action="store_true", help="write its page of docs/evidence")
    options = parser.parse_args(arguments)
    # All but the webhooks runs on the clients' core.
    os.sched_setaffinity(0, {CLIENT_CORE})
    load = os.getloadavg()[0]
    with rig() as running:
        folder = running.folder / "apiserver"
        folder.mkdir()
        apiserver = ApiServer(folder)
        running.stack.callback(apiserver.stop)
        measured = asyncio.run(_measure_webhooks(running, apiserver, options.rounds, options.count))
    text = [
        f"- {options.rounds} rounds of {options.count} dry-run creations of an 11 KB Pod with each "
        "webhook, one client, one after another; the webhook on one core, kube-apiserver, etcd and "
        f"the client on the other (load of the machine before: {load:.2f})",
        "- All webhooks admit it. `Sallyport` evaluates every review, logs, records and ships; "
        f"`{OURS_GANG}` has the default memory; OPA's server has the same rules",
        *_webhook_lines(measured),
    ]
    if options.record:
        record("one-client", text)
    print("\n".join(text))


@dataclass
class CreationTimes:
    """By namespace: milliseconds of each Pod that was created, and how many were not."""

    times: dict[str, list[float]] = field(default_factory=lambda: {TRAIN: [], PLAIN: []})
    failed: Counter[str] = field(default_factory=Counter)

    def add(self, other: "CreationTimes") -> None:
        """Take in another round's."""
        for namespace, times in other.times.items():
            self.times[namespace] += times
        self.failed += other.failed

    def quantile(self, namespace: str, percent: int) -> float:
        """Return a percentile in ms."""
        return statistics.quantiles(self.times[namespace], n=100, method="inclusive")[percent - 1]


async def _create_pairs(session: aiohttp.ClientSession, pairs: int, into: CreationTimes) -> None:
    """Create Pods in both namespaces, now in the one first, now in the other."""
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


async def _measure_round(cluster: Cluster, clients: int, pairs: int) -> CreationTimes:
    found = CreationTimes()
    server = cluster.server
    headers = {"Authorization": f"Bearer {server.user('alice').token}"}
    async with aiohttp.ClientSession(
        server.url, connector=Connector(server.ssl_context, clients), headers=headers
    ) as session:
        await _create_pairs(session, _WARM, CreationTimes())
        await asyncio.gather(*(_create_pairs(session, pairs, found) for _ in range(clients)))
    return found


async def _measure_killing(cluster: Cluster, clients: int, pairs: int) -> CreationTimes:
    """Measure a round during which two gates are killed, one after the other, and start again."""
    load = asyncio.create_task(_measure_round(cluster, clients, pairs))
    found = CreationTimes()
    for number in (0, 1):
        await asyncio.sleep(1)
        cluster.gates.kill(number)
        while not cluster.gates.replicas[number].endpoint:  # noqa: ASYNC110 (as probed)
            await asyncio.sleep(0.1)
        if load.done():  # Load goes on until both are back.
            found.add(load.result())
            load = asyncio.create_task(_measure_round(cluster, clients, pairs))
    found.add(await load)
    return found


async def _prepare_namespaces(cluster: Cluster) -> None:
    async with connect(cluster.server) as client:
        await client.create_namespace(PLAIN)
        may = rbac.rule([""], "pods", "create")
        await client.apply(rbac.grant("pods", may, rbac.user("alice"), namespace=PLAIN))
        await client.wait_until_can("create", {"resource": "pods", "namespace": PLAIN})


Run = Callable[[Cluster, int, int], Awaitable[CreationTimes]]
RUNS: Final[dict[str, Run]] = {"all well": _measure_round, "two gates killed": _measure_killing}


async def _measure_runs(
    cluster: Cluster, rounds: int, pairs: int
) -> dict[tuple[str, int], CreationTimes]:
    await _prepare_namespaces(cluster)
    found: dict[tuple[str, int], CreationTimes] = {}
    for name, run in RUNS.items():
        for number in range(rounds):
            for clients in CLIENTS:
                measured = await run(cluster, clients, max(pairs // clients, 10))
                found.setdefault((name, clients), CreationTimes()).add(measured)
            print_progress(f"{name}: round {number + 1} of {rounds}")
    return found


def _latency_lines(found: dict[tuple[str, int], CreationTimes]) -> list[str]:
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


def measure_cluster(parser: argparse.ArgumentParser, arguments: Sequence[str]) -> None:
    """Measure what the whole suite adds; print it, or write docs/evidence/added-latency.md.

    The chart's webhooks, three gates behind a Service, two controls and an auditor, all recording;
    against a namespace that is left out. Each client asks in both by turns, so that whatever the
    machine does befalls both. Then the same while two gates are killed and started again.
    """
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--pairs", type=int, default=800, help="of a round, by all clients")
    parser.add_argument("--record", action="store_true", help="write its page of docs/evidence")
    options = parser.parse_args(arguments)
    load = os.getloadavg()[0]
    with TemporaryDirectory(prefix="sallyport-bench-") as scratch:
        folder = Path(scratch)
        helm = Helm(provide("helm"), folder)
        values = {"webhooks": {"excludedNamespaces": [PLAIN]}, "gate": {"replicas": 3}}
        (folder / "cluster").mkdir()
        with Cluster(folder / "cluster", helm, values) as cluster:
            found = asyncio.run(_measure_runs(cluster, options.rounds, options.pairs))
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
        *_latency_lines(found),
    ]
    if options.record:
        record("added-latency", text)
    print("\n".join(text))
