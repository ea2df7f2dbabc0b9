"""What a review costs: contenders in turn, in rounds; medians, ratios, and whether the floors hold.

Once beside Kubernetes' own check, OPA's server and a null handler; once with everything of the
product switched on. A floor is reported and never a timed test: machines differ.
"""

import argparse
import json
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from bench.contenders import (
    GANG_GATE,
    GO_CHECK,
    UNCACHED_GATE,
    Contender,
    start_contenders,
    start_null,
    validate_order,
)
from bench.paired_gates import ask_by_risk, guard_weights, store_people_at_risk
from bench.review_stages import time_stages
from bench.reviews import GANG, Pods
from bench.server_rig import FEW_REMEMBERED, Rig, print_progress, rig
from policies import BUILT_IN_REGO
from policies.build.builder import build
from policies.site.choices import read_choices
from tests.harness.evidence import ROOT, record
from tests.tools.provide import provide

_WARM_UP_S: Final = 2.0

Measures = Mapping[str, Mapping[str, float]]
"""By contender: the median of each measure."""

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
"""More different projections than are remembered: the memory fills, and every answer is new."""

_SIGNALS: Final = ROOT / "examples/site-signals/customer_data"
_RULES: Final = """\
rules:
  labels/required:
    parameters:
      labels: [{key: training.example/a}]
  images/forbidden:
    parameters:
      images: [docker.io]
      tags: [latest]
  ports/host_range:
    parameters:
      ranges: [{from: 9100, to: 9199}]
"""
_EVERYTHING: Final = (
    "the namespace asks for a sandbox by risk; the Pods' claim holds weights, under a grant that "
    "two people approved; 20,000 people are at risk, of whom nobody asks; the site's bundle has "
    "the signals of examples/site-signals and three rules of the library; else as in "
    "[bench](bench.md): one core for the server, one for the load"
)


@dataclass(frozen=True)
class Floor:
    """One thing that must hold."""

    what: str
    measured: float | None
    """None where it could not be measured."""
    wanted: float
    at_least: bool
    unit: str

    @property
    def holds(self) -> bool | None:
        """Whether it held; None where it could not be measured."""
        if self.measured is None:
            return None
        return self.measured >= self.wanted if self.at_least else self.measured < self.wanted

    def line(self) -> str:
        """Return it as a line: whether it holds, what is wanted, what was measured."""
        word = "at least" if self.at_least else "under"
        wanted = f"{self.what}: {word} {self.wanted:,g} {self.unit}".rstrip()
        if self.measured is None:
            return f"NOT MEASURED  {wanted}"
        verdict = "holds        " if self.holds else "DOES NOT HOLD"
        return f"{verdict} {wanted}; measured {self.measured:,.4g}"


def floors(measures: Measures, memory: Mapping[str, float]) -> list[Floor]:
    """Return the floors of issue "Profiles in depth" (docs/performance.md says what each means)."""
    ours, gang, go = measures[UNCACHED_GATE], measures[GANG_GATE], measures.get(GO_CHECK)
    ratio = go["cpu_ms"] / ours["cpu_ms"] if go else None
    growth = memory["after_mib"] - memory["half_mib"]
    return [
        Floor("uncached reviews/s", ours["reviews_per_second"], 1500, at_least=True, unit=""),
        Floor("uncached p99", ours["p99_ms"], 25, at_least=False, unit="ms"),
        Floor("gang reviews/s", gang["reviews_per_second"], 6000, at_least=True, unit=""),
        Floor("CPU of the Go check / ours", ratio, 1.2, at_least=True, unit=""),
        Floor("RSS", memory["after_mib"], 250, at_least=False, unit="MiB"),
        Floor("RSS gained in the second half", growth, 8, at_least=False, unit="MiB"),
    ]


def report(all_floors: Iterable[Floor]) -> list[str]:
    """Return a line for each."""
    return [floor.line() for floor in all_floors]


def _measure_rounds(measured: Sequence[Contender], rounds: int, seconds: float) -> None:
    """Load each in turn, in rounds, after a warm-up."""
    for each in measured:
        each.measure(_WARM_UP_S)
    for number in range(rounds):
        for each in measured:
            each.rounds.append(each.measure(seconds))
        print_progress(f"round {number + 1} of {rounds}")


def _table(measured: Sequence[Contender], name: str, base: Contender) -> list[str]:
    """Return the medians of each; the last column is its CPU by that of `base`, called `name`."""
    heads = f"{'reviews/s':>10}{'CPU ms':>9}{'p50 ms':>9}{'p99 ms':>9}{'a core/s':>10}"
    lines = [f"{'':18}{heads}{f'CPU / {name}':>12}"]
    for each in measured:
        rate, cpu, p50, p99 = (
            each.median(name) for name in ("reviews_per_second", "cpu_ms", "p50_ms", "p99_ms")
        )
        ratio = f"{cpu / base.median('cpu_ms'):.2f}x"
        lines.append(
            f"{each.name:18}{rate:10.0f}{cpu:9.3f}{p50:9.1f}{p99:9.1f}{1000 / cpu:10.0f}{ratio:>12}"
        )
    return lines


def _measure_memory(rig: Rig, reviews: int) -> dict[str, float]:
    """Return a gate's resident memory at rest, and after half and all of so many reviews."""
    server = rig.gate("memory")
    gate = Contender("memory", server, validate_order(rig, server, pods=_CHURN))
    at_rest, half, sent = server.rss_mib(), 0.0, 0.0
    while sent < reviews:
        sent += gate.measure(15)["requests"]
        half = half or (server.rss_mib() if sent >= reviews / 2 else 0.0)
        print_progress(f"memory: {sent:.0f} of {reviews} reviews, {server.rss_mib():.0f} MiB")
    return {"rest_mib": at_rest, "half_mib": half, "after_mib": server.rss_mib(), "reviews": sent}


def _measure_contenders(options: argparse.Namespace, running: Rig) -> dict[str, Any]:
    before = os.getloadavg()[0]
    measured = start_contenders(running)
    _measure_rounds(measured, options.rounds, options.seconds)
    measures = {c.name: {k: c.median(k) for k in c.rounds[0]} for c in measured}
    rss = {c.name: c.server.rss_mib() for c in measured}
    memory = _measure_memory(running, options.reviews)
    return {
        "contenders": measures,
        "rss_mib": rss,
        "stages_us": time_stages(),
        "memory": memory,
        "floors": report(floors(measures, memory)),
        "table": _table(measured, "ours", measured[0]),
        "load_before": before,
    }


def _report_lines(result: dict[str, Any]) -> list[str]:
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


def compare_contenders(parser: argparse.ArgumentParser, arguments: Sequence[str]) -> None:
    """Measure a review beside the contenders; print a table or JSON."""
    parser.add_argument("-o", "--output", choices=("table", "json"), default="table")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=4.0)
    parser.add_argument("--reviews", type=int, default=200_000, help="for the memory's flatness")
    parser.add_argument("--record", action="store_true", help="write docs/evidence/bench.md")
    options = parser.parse_args(arguments)
    with rig() as running:
        result = _measure_contenders(options, running)
    text = _report_lines(result)
    if options.record:
        how = f"- {options.rounds} rounds of {options.seconds:g} s each; {_HOW}"
        record("bench", [how, f"- {_WHO}", *text])
    print(json.dumps(result, indent=2) if options.output == "json" else "\n".join(text))


@contextmanager
def _rig_with_everything() -> Iterator[tuple[Rig, Mapping[str, str]]]:
    """Yield a rig whose cluster has it all, and the settings of its gates."""
    with rig() as servers:
        ask_by_risk(servers.cluster)
        guard_weights(servers.cluster)
        store_people_at_risk(servers.cluster)
        yield servers, {"SALLYPORT_BUNDLE": str(_site_bundle(servers.folder))}


def _site_bundle(folder: Path) -> Path:
    bundle, chosen = folder / "site.tar.gz", folder / "rules.yaml"
    chosen.write_text(_RULES)
    build(provide("opa"), BUILT_IN_REGO, bundle, [_SIGNALS], read_choices(chosen))
    return bundle


def _everything_floors(uncached: Contender, gang: Contender) -> list[Floor]:
    rates = (uncached.median("reviews_per_second"), gang.median("reviews_per_second"))
    return [
        Floor("uncached reviews/s", rates[0], 1000, at_least=True, unit=""),
        Floor("gang reviews/s", rates[1], 4200, at_least=True, unit=""),
    ]


def with_everything(parser: argparse.ArgumentParser, arguments: Sequence[str]) -> None:
    """Measure a review with everything switched on; print a table and whether the floors hold.

    The Pods' namespace asks for a sandbox by risk, their claim holds weights under a grant, 20,000
    people are known to be at risk, and a site's bundle has rules and signals of its own.
    """
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=4.0)
    parser.add_argument("--record", action="store_true", help="write docs/evidence/everything.md")
    options = parser.parse_args(arguments)
    with _rig_with_everything() as (servers, settings):
        uncached = servers.gate("uncached", {**settings, **FEW_REMEMBERED})
        gang = servers.gate("gang", settings)
        measured = [
            Contender("uncached", uncached, validate_order(servers, uncached)),
            Contender("a gang", gang, validate_order(servers, gang, pods=GANG)),
            start_null(servers),
        ]
        _measure_rounds(measured, options.rounds, options.seconds)
    text = [
        "```text",
        *_table(measured, "null", measured[-1]),
        "",
        *report(_everything_floors(*measured[:2])),
        "```",
    ]
    if options.record:
        rounds = f"- {options.rounds} rounds of {options.seconds:g} s each: {_EVERYTHING}"
        record("everything", [rounds, "", *text])
    print("\n".join(text))
