"""`make bench`: contenders in turn, in rounds; medians, ratios, and whether the floors hold."""

import argparse
import json
import os
from typing import Any, Final

from bench.contender import Contender
from bench.contenders import contenders, validate_order
from bench.floors import floors, report
from bench.reviews import Pods
from bench.rig import Rig, rig, say
from bench.stages import time_stages
from tests.harness.evidence import record

_HOW: Final = (
    "one core for the server, one for the client, TLS, HTTP/1.1 keep-alive, 16 connections; a "
    "five-container Pod of 11 KB in a review of 20 KB, 256 different ones, half of them refused; "
    "access reviews answered from the folder's RBAC, logs on, decisions recorded and shipped to an "
    "auditor that runs on the client's core"
)
_WHO: Final = (
    "`Sallyport` evaluates every review (`evaluation.remembered` 0); `Sallyport, gang` has the "
    "default memory and gets the Pods of one Indexed Job; `Go check` is the webhook of "
    "k8s.io/pod-security-admission at the level restricted; `OPA, review` has the same rules, "
    "`OPA, projection` gets the small input that Sallyport makes. `a core/s` is what the CPU of a "
    "review leaves room for, where the load's own core is the limit"
)
_CHURN: Final = Pods(distinct=6000)
"""More different projections than are remembered: the memory is full, and every answer new."""


def _memory(rig: Rig, reviews: int) -> dict[str, float]:
    """Return a gate's resident memory at rest, and after half and all of so many reviews."""
    server = rig.gate("memory")
    gate = Contender("memory", server, validate_order(rig, server, pods=_CHURN))
    at_rest, half, sent = server.rss_mib(), 0.0, 0.0
    while sent < reviews:
        sent += gate.measure(15)["requests"]
        half = half or (server.rss_mib() if sent >= reviews / 2 else 0.0)
        say(f"memory: {sent:.0f} of {reviews} reviews, {server.rss_mib():.0f} MiB")
    return {"rest_mib": at_rest, "half_mib": half, "after_mib": server.rss_mib(), "reviews": sent}


def _table(measured: list[Contender]) -> list[str]:
    heads = f"{'reviews/s':>10}{'CPU ms':>9}{'p50 ms':>9}{'p99 ms':>9}{'a core/s':>10}"
    lines = [f"{'':18}{heads}{'CPU / ours':>12}"]
    ours = measured[0].median("cpu_ms")
    for each in measured:
        rate, cpu, p50, p99 = (
            each.median(name) for name in ("reviews_per_second", "cpu_ms", "p50_ms", "p99_ms")
        )
        lines.append(f"{each.name:18}{rate:10.0f}{cpu:9.3f}{p50:9.1f}{p99:9.1f}{cpu / ours:15.2f}x")
    return lines


def _measure(options: argparse.Namespace, running: Rig) -> dict[str, Any]:
    before = os.getloadavg()[0]
    measured = contenders(running)
    for contender in measured:
        contender.measure(2)
    for number in range(options.rounds):
        for contender in measured:
            contender.rounds.append(contender.measure(options.seconds))
        say(f"round {number + 1} of {options.rounds}")
    measures = {c.name: {k: c.median(k) for k in c.rounds[0]} for c in measured}
    rss = {c.name: c.server.rss_mib() for c in measured}
    memory = _memory(running, options.reviews)
    return {
        "contenders": measures,
        "rss_mib": rss,
        "stages_us": time_stages(),
        "memory": memory,
        "floors": report(floors(measures, memory)),
        "table": _table(measured),
        "load_before": before,
    }


def _text(result: dict[str, Any]) -> list[str]:
    memory = result["memory"]
    return [
        "",
        "```text",
        *result["table"],
        "",
        *result["floors"],
        "",
        "Stages of one review, µs (median):",
        *(f"  {name:28}{value:8.1f}" for name, value in result["stages_us"].items()),
        "",
        "Resident after the rounds, MiB: "
        + ", ".join(f"{name} {value:.0f}" for name, value in result["rss_mib"].items()),
        f"Resident with the memory of evaluations full: {memory['rest_mib']:.0f} MiB at rest, "
        f"{memory['half_mib']:.0f} after half, {memory['after_mib']:.0f} after "
        f"{memory['reviews']:.0f} reviews",
        f"Load of the machine before: {result['load_before']:.2f}",
        "```",
    ]


def main() -> None:
    """Measure, and print a table or JSON."""
    parser = argparse.ArgumentParser(prog="make bench", description=__doc__)
    parser.add_argument("-o", "--output", choices=("table", "json"), default="table")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=4.0)
    parser.add_argument("--reviews", type=int, default=200_000, help="for the memory's flatness")
    parser.add_argument("--record", action="store_true", help="write docs/evidence/bench.md")
    options = parser.parse_args()
    with rig() as running:
        result = _measure(options, running)
    text = _text(result)
    if options.record:
        how = f"- {options.rounds} rounds of {options.seconds:g} s each; {_HOW}"
        record("bench", [how, f"- {_WHO}", *text])
    print(json.dumps(result, indent=2) if options.output == "json" else "\n".join(text))


if __name__ == "__main__":
    main()
