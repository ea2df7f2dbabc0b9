"""`python -m bench [-o json]`: contenders in turn, in rounds; medians and ratios."""

import argparse
import datetime as dt
import json
import os
import shutil
import sys
import tempfile
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from bench.contender import Contender
from bench.load import Order
from bench.servers import (
    ROOT,
    Server,
    auditor_for,
    free_port,
    null_command,
    opa_command,
    running,
    sallyport_command,
)
from bench.stages import time_stages
from certs.selfsigned import PairFiles, make_pair
from tests.harness.evidence import record
from tests.tools.provide import provide

_HOW = (
    "one core for the server, one for the client, TLS, HTTP/1.1 keep-alive, 16 connections; a "
    "five-container Pod of 11 KB in a review of 19 KB, 256 different ones, half of them refused; "
    "access reviews answered from the folder's RBAC, nothing remembered, logs on, decisions "
    "recorded and shipped to an auditor that runs on the client's core"
)
_ALLOWED = {"compliant": '"allowed":true', "violating": '"allowed":false'}


def _contenders(stack: ExitStack, scratch: Path, pair: PairFiles) -> list[Contender]:
    def start(command: Sequence[str | Path], port: int, name: str) -> Server:
        return stack.enter_context(running(command, port, pair.ca, scratch / f"{name}.log"))

    cert, key, ca = pair.certificate, pair.key, str(pair.ca)
    ports = [free_port() for _ in range(3)]
    os.environ["SALLYPORT_LISTEN__DRAIN_SECONDS"] = "0"
    gate = _recording_gate(stack, scratch, pair, ports[0])
    null = start(null_command(cert, key, ports[1]), ports[1], "null")
    rego = _stage_rego(scratch / "rego")
    opa = start(opa_command(provide("opa"), rego, cert, key, ports[2]), ports[2], "opa")
    urls = [f"https://127.0.0.1:{port}" for port in ports]
    yes = {"compliant": '"allowed":true', "violating": '"allowed":true'}
    needs = {"compliant": "{}", "violating": "capability/NET_ADMIN"}
    return [
        Contender("Sallyport", gate, Order(f"{urls[0]}/validate?timeout=10s", ca, 0, _ALLOWED)),
        Contender("null handler", null, Order(f"{urls[1]}/validate?timeout=10s", ca, 0, yes)),
        Contender("OPA, review", opa, Order(f"{urls[2]}/v0/data/bench/response", ca, 0, _ALLOWED)),
        Contender(
            "OPA, projection",
            opa,
            Order(f"{urls[2]}/v0/data/sallyport/needs/result", ca, 0, needs, projected=True),
        ),
    ]


def _recording_gate(stack: ExitStack, scratch: Path, pair: PairFiles, port: int) -> Server:
    """Start the gate as it runs in a cluster: it records, and ships to an auditor."""
    folder = scratch / "record"
    folder.mkdir()
    _, shipping = auditor_for(stack, folder)
    command = sallyport_command(pair.certificate, pair.key, port)
    return stack.enter_context(running(command, port, pair.ca, scratch / "gate.log", shipping))


def _stage_rego(target: Path) -> Path:
    for folder in (ROOT / "policies" / "rego", ROOT / "bench" / "opa"):
        for path in folder.rglob("*.rego"):
            if not path.stem.endswith("_test"):
                copy = target / folder.name / path.relative_to(folder)
                copy.parent.mkdir(parents=True, exist_ok=True)
                shutil.copyfile(path, copy)
    return target


def _memory(gate: Contender, reviews: int) -> dict[str, float]:
    """Give the gate's resident memory now, and after so many more reviews."""
    at_rest = gate.server.rss_mib()
    sent = 0.0
    while sent < reviews:
        sent += gate.measure(15)["requests"]
        print(
            f"memory: {sent:.0f} of {reviews} reviews, {gate.server.rss_mib():.0f} MiB",
            file=sys.stderr,
        )
    return {"before_mib": at_rest, "after_mib": gate.server.rss_mib(), "reviews": sent}


def _table(contenders: list[Contender]) -> list[str]:
    lines = [f"{'':18}{'reviews/s':>10}{'CPU ms':>9}{'p50 ms':>9}{'p99 ms':>9}{'Sallyport is':>14}"]
    ours = contenders[0].median("reviews_per_second")
    for contender in contenders:
        rate, cpu, p50, p99 = (
            contender.median(name) for name in ("reviews_per_second", "cpu_ms", "p50_ms", "p99_ms")
        )
        lines.append(
            f"{contender.name:18}{rate:10.0f}{cpu:9.3f}{p50:9.1f}{p99:9.1f}{ours / rate:13.2f}x"
        )
    return lines


def main() -> None:
    """Measure, and print a table or JSON."""
    parser = argparse.ArgumentParser(prog="make bench", description=__doc__)
    parser.add_argument("-o", "--output", choices=("table", "json"), default="table")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=4.0)
    parser.add_argument("--reviews", type=int, default=200_000, help="for the memory's flatness")
    parser.add_argument("--record", action="store_true", help="write docs/evidence/bench.md")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="sallyport-bench-") as folder, ExitStack() as stack:
        scratch = Path(folder)
        pair = make_pair(scratch, ["127.0.0.1"], dt.timedelta(days=1))
        contenders = _contenders(stack, scratch, pair)
        rest = contenders[0].server.rss_mib()
        for contender in contenders:
            contender.measure(2)
        for number in range(options.rounds):
            for contender in contenders:
                contender.rounds.append(contender.measure(options.seconds))
            print(f"round {number + 1} of {options.rounds}", file=sys.stderr)
        result: dict[str, Any] = {
            "contenders": {c.name: {k: c.median(k) for k in c.rounds[0]} for c in contenders},
            "stages_us": time_stages(),
            "rest_mib": rest,
            "memory": _memory(contenders[0], options.reviews),
        }
    text = _text(contenders, result)
    if options.record:
        record("bench", [f"- {options.rounds} rounds of {options.seconds:g} s each; {_HOW}", *text])
    print(json.dumps(result, indent=2) if options.output == "json" else "\n".join(text))


def _text(contenders: list[Contender], result: dict[str, Any]) -> list[str]:
    memory = result["memory"]
    return [
        "",
        "```text",
        *_table(contenders),
        "",
        "Stages of one review, µs (median):",
        *(f"  {name:28}{value:8.1f}" for name, value in result["stages_us"].items()),
        "",
        f"Memory: {result['rest_mib']:.0f} MiB at rest, {memory['before_mib']:.0f} MiB warm, "
        f"{memory['after_mib']:.0f} MiB after {memory['reviews']:.0f} more reviews",
        "```",
    ]


if __name__ == "__main__":
    main()
