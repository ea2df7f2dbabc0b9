"""Servers under load, and who is measured in one run with Sallyport.

A null handler (what HTTP, TLS and JSON cost alone), OPA's own server with the same policies, and
Kubernetes' own check of Pod Security.
"""

import asyncio
import json
import os
import shutil
import statistics
import subprocess
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

import msgspec

from bench.load import Order
from bench.reviews import GANG, USUAL, Pods
from bench.server_rig import CLIENT_CORE, UNCACHED, Rig, Server, free_port, print_progress
from tests.harness.evidence import ROOT
from tests.harness.programs.apiserver import ApiServer
from tests.harness.programs.client import connect
from tests.harness.programs.process import ServerFailedError
from tests.tools.provide import CannotProvideError, provide

UNCACHED_GATE: Final = "Sallyport"
GANG_GATE: Final = "Sallyport, gang"
NULL: Final = "null handler"
GO_CHECK: Final = "Go check"

ALLOWED: Final = {"compliant": '"allowed":true', "violating": '"allowed":false'}
_ALL: Final = {"compliant": '"allowed":true', "violating": '"allowed":true'}
_NEEDS: Final = {"compliant": "{", "violating": "capability/NET_ADMIN"}

_POD_SECURITY: Final = """\
apiVersion: pod-security.admission.config.k8s.io/v1
kind: PodSecurityConfiguration
defaults: {enforce: restricted, enforce-version: latest}
"""

_WARM_UP_S = 2.0


@dataclass
class Contender:
    """A server, what it is sent, and what was measured."""

    name: str
    server: Server
    order: Order
    rounds: list[dict[str, float]] = field(default_factory=list)

    def measure(self, seconds: float) -> dict[str, float]:
        """Load the server for so long; return reviews a second, CPU a review, latencies."""
        self.order.seconds = seconds
        order = msgspec.json.encode(self.order).decode()
        before = self.server.cpu_seconds()
        answer = subprocess.run(
            ["taskset", "-c", str(CLIENT_CORE), sys.executable, "-m", "bench.load", order],
            capture_output=True,
            text=True,
            cwd=ROOT,
            check=False,
        )
        if answer.returncode:
            raise SystemExit(f"{self.name}: {answer.stderr}")
        result = json.loads(answer.stdout)
        cpu = self.server.cpu_seconds() - before
        return {
            "reviews_per_second": result["requests"] / result["seconds"],
            "cpu_ms": 1000 * cpu / result["requests"],
            "p50_ms": 1000 * result["p50"],
            "p99_ms": 1000 * result["p99"],
            "requests": result["requests"],
        }

    def median(self, name: str) -> float:
        """Return the median of a measure over the rounds."""
        return statistics.median(entry[name] for entry in self.rounds)


def in_pairs(
    both: Sequence[Contender], pairs: int, seconds: float
) -> Iterator[dict[str, dict[str, float]]]:
    """Measure two in turns, after a warm-up; yield for each pair what was measured, by name."""
    for contender in both:
        contender.measure(_WARM_UP_S)
    for number in range(pairs):
        # Each goes first as often as the other.
        order = both if number % 2 == 0 else both[::-1]
        row = {each.name: each.measure(seconds) for each in order}
        cpu = {name: measured["cpu_ms"] for name, measured in row.items()}
        print_progress(f"pair {number + 1} of {pairs}: {cpu}")
        yield row


def start_contenders(rig: Rig) -> list[Contender]:
    """Start all of them. The Go check is left out, aloud, where it cannot be built."""
    uncached, gang = rig.gate("uncached", UNCACHED), rig.gate("gang")
    found = [
        Contender(UNCACHED_GATE, uncached, validate_order(rig, uncached)),
        Contender(GANG_GATE, gang, validate_order(rig, gang, pods=GANG)),
        start_null(rig),
        *_start_opa_contenders(rig),
    ]
    go_check = _start_go_check_contender(rig)
    return [*found, go_check] if go_check else found


def validate_order(
    rig: Rig,
    server: Server,
    *,
    pods: Pods = USUAL,
    connections: int = 16,
    expect: dict[str, str] = ALLOWED,
) -> Order:
    """Return the order of a load on `/validate`."""
    url = f"https://127.0.0.1:{server.port}/validate?timeout=10s"
    return Order(url, str(rig.pair.ca), 0, expect, connections, pods=pods)


def start_null(rig: Rig) -> Contender:
    """Start the null handler: what HTTP, TLS and JSON cost alone."""
    port = free_port()
    command = _null_command(rig.pair.certificate, rig.pair.key, port)
    server = rig.start("null", command, port)
    return Contender(NULL, server, validate_order(rig, server, expect=_ALL))


def _start_opa_contenders(rig: Rig) -> list[Contender]:
    server = start_opa(rig)
    url, ca = f"https://127.0.0.1:{server.port}", str(rig.pair.ca)
    review = Order(f"{url}/v0/data/bench/response", ca, 0, ALLOWED)
    needs = Order(f"{url}/v0/data/sallyport/needs/result", ca, 0, _NEEDS, projected=True)
    return [Contender("OPA, review", server, review), Contender("OPA, projection", server, needs)]


def start_opa(rig: Rig) -> Server:
    """Start OPA's server with the same policies and what a site would write around them."""
    rego, port = stage_rego(rig.folder / "rego"), free_port()
    command = _opa_command(provide("opa"), rego, rig.pair.certificate, rig.pair.key, port)
    return rig.start("opa", command, port)


def stage_rego(target: Path) -> Path:
    """Copy the policies and the bench's own Rego into a folder; give it."""
    for folder in (ROOT / "policies" / "rego", ROOT / "bench" / "opa"):
        for path in folder.rglob("*.rego"):
            if not path.stem.endswith("_test"):
                copy = target / folder.name / path.relative_to(folder)
                copy.parent.mkdir(parents=True, exist_ok=True)
                shutil.copyfile(path, copy)
    return target


def _start_go_check_contender(rig: Rig) -> Contender | None:
    folder = rig.folder / "apiserver"
    folder.mkdir()
    # What is started here runs on the clients' core: it is not what is measured.
    os.sched_setaffinity(0, {CLIENT_CORE})
    try:
        program = provide("pod-security-webhook")
        apiserver = ApiServer(folder)
    except (CannotProvideError, ServerFailedError) as error:
        print_progress(f"NOT MEASURED: the Go check: {error}")
        return None
    rig.stack.callback(apiserver.stop)
    asyncio.run(_make_namespace(apiserver))
    server = start_go_check(rig, program, apiserver)
    return Contender(GO_CHECK, server, validate_order(rig, server))


async def _make_namespace(apiserver: ApiServer) -> None:
    async with connect(apiserver) as client:
        await client.create_namespace("train")


def start_go_check(rig: Rig, program: Path, apiserver: ApiServer) -> Server:
    """Start Kubernetes' own webhook: it watches the namespaces of `apiserver`."""
    config, port = rig.folder / "pod-security.yaml", free_port()
    config.write_text(_POD_SECURITY)
    flags: list[str | Path] = ["--kubeconfig", apiserver.kubeconfig(), "--config", config]
    command = _go_check_command(program, flags, rig.pair.certificate, rig.pair.key, port)
    return rig.start("go-check", command, port)


def _null_command(cert: Path, key: Path, port: int) -> list[str | Path]:
    """Return the command of the null handler."""
    return [sys.executable, "-m", "bench.null_gate", cert, key, str(port), str(free_port())]


def _opa_command(opa: Path, rego: Path, cert: Path, key: Path, port: int) -> list[str | Path]:
    """Return the command of OPA's own server with the same policies."""
    return [
        opa,
        *("run", "--server", "--addr", f"https://127.0.0.1:{port}"),
        *("--tls-cert-file", cert, "--tls-private-key-file", key),
        *("--log-level", "error", "--disable-telemetry", rego),
    ]


def _go_check_command(
    program: Path, flags: Sequence[str | Path], cert: Path, key: Path, port: int
) -> list[str | Path]:
    """Return the command of Kubernetes' own webhook; `flags` are its configuration and cluster."""
    return [
        program,
        *flags,
        *("--tls-cert-file", cert, "--tls-private-key-file", key),
        *("--bind-address", "127.0.0.1", "--secure-port", str(port)),
    ]
