"""`make bench-one-client`: what a webhook adds to a Pod's creation, through a real kube-apiserver.

One client asks for one Pod after another (dry runs, so that etcd has no part in it), with no
webhook, with ours, with OPA's server, with Kubernetes' own check, in turn and in rounds.
"""

import argparse
import asyncio
import base64
import os
import statistics
import time
from collections.abc import Mapping, Sequence
from typing import Any, Final

from bench.contenders import start_go_check, start_opa
from bench.reviews import make_pod
from bench.rig import UNCACHED, Rig, rig, say
from bench.servers import CLIENT_CORE
from tests.harness.apiserver import ApiServer
from tests.harness.client import Client, Outcome, connect
from tests.harness.evidence import record
from tests.tools.provide import CannotProvideError, provide

NOTHING: Final = "nothing"
OURS: Final = "Sallyport"
OURS_GANG: Final = "Sallyport, remembered"
OPA: Final = "OPA, review"
GO_CHECK: Final = "Go check"

_NAME: Final = "bench.sallyport.test"
_SETTLE_S: Final = 3.0
_WARM: Final = 20
_NAMESPACE: Final = "train"

Json = dict[str, Any]


async def _register(client: Client, url: str, ca_pem: bytes) -> Json:
    rule = {"apiGroups": [""], "apiVersions": ["v1"], "resources": ["pods"]}
    webhook = {
        "name": _NAME,
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
        "metadata": {"name": _NAME},
        "webhooks": [webhook],
    }
    await client.apply([item])
    return item


async def _round(client: Client, url: str | None, ca_pem: bytes, count: int) -> list[float]:
    """Return the ms of each creation while this webhook, or none, is registered."""
    item = await _register(client, url, ca_pem) if url else None
    await asyncio.sleep(_SETTLE_S)  # kube-apiserver follows registrations with a delay.
    times = [await _create(client, number) for number in range(_WARM + count)]
    if item is not None:
        await client.delete(item)
        await asyncio.sleep(_SETTLE_S)
    return times[_WARM:]


async def _create(client: Client, number: int) -> float:
    pod = make_pod(number, _NAMESPACE)
    start = time.perf_counter()
    answer = await client.dry_run_create(pod, _NAMESPACE)
    seconds = time.perf_counter() - start
    if answer.outcome is not Outcome.ALLOWED:
        raise SystemExit(f"the Pod is not admitted: {answer.message}")
    return 1000 * seconds


def _start(running: Rig, apiserver: ApiServer) -> dict[str, str | None]:
    """Start the webhooks; give the URL of each."""
    gates = {OURS: running.gate("gate", UNCACHED), OURS_GANG: running.gate("gang")}
    urls: dict[str, str | None] = {NOTHING: None}
    urls |= {name: f"https://127.0.0.1:{gate.port}/validate" for name, gate in gates.items()}
    urls[OPA] = f"https://127.0.0.1:{start_opa(running).port}/v0/data/bench/response"
    try:
        program = provide("pod-security-webhook")
    except CannotProvideError as error:
        say(f"NOT MEASURED: the Go check: {error}")
        return urls
    server = start_go_check(running, program, apiserver)
    return urls | {GO_CHECK: f"https://127.0.0.1:{server.port}/"}


async def _measure(
    running: Rig, apiserver: ApiServer, rounds: int, count: int
) -> Mapping[str, Sequence[float]]:
    times: dict[str, list[float]] = {}
    ca_pem = running.pair.ca.read_bytes()
    async with connect(apiserver) as client:
        await client.create_namespace(_NAMESPACE)
        urls = _start(running, apiserver)
        for number in range(rounds):
            # Each goes first as often as the others.
            order = list(urls.items())
            for name, url in order[number % len(order) :] + order[: number % len(order)]:
                times.setdefault(name, []).extend(await _round(client, url, ca_pem, count))
            say(f"round {number + 1} of {rounds}")
    return {name: times[name] for name in urls}


def _report(times: Mapping[str, Sequence[float]]) -> list[str]:
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


def main() -> None:
    """Measure, and print or write docs/evidence/one-client.md."""
    parser = argparse.ArgumentParser(prog="make bench-one-client", description=__doc__)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--count", type=int, default=200, help="Pods asked for in a round of each")
    parser.add_argument("--record", action="store_true", help="write its page of docs/evidence")
    options = parser.parse_args()
    # All but the webhooks runs on the clients' core.
    os.sched_setaffinity(0, {CLIENT_CORE})
    load = os.getloadavg()[0]
    with rig() as running:
        folder = running.folder / "apiserver"
        folder.mkdir()
        apiserver = ApiServer(folder)
        running.stack.callback(apiserver.stop)
        measured = asyncio.run(_measure(running, apiserver, options.rounds, options.count))
    text = [
        f"- {options.rounds} rounds of {options.count} dry-run creations of an 11 KB Pod with each "
        "webhook, one client, one after another; the webhook on one core, kube-apiserver, etcd and "
        f"the client on the other (load of the machine before: {load:.2f})",
        "- All webhooks admit it. `Sallyport` evaluates every review, logs, records and ships; "
        f"`{OURS_GANG}` has the default memory; OPA's server has the same rules",
        *_report(measured),
    ]
    if options.record:
        record("one-client", text)
    print("\n".join(text))


if __name__ == "__main__":
    main()
