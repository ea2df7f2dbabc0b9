"""A server under load, and what was measured of it."""

import json
import statistics
import subprocess
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import msgspec

from bench.load import Order
from bench.servers import CLIENT_CORE, ROOT, Server

_WARM_UP_S = 2.0


@dataclass
class Contender:
    """A server, what it is sent, and what was measured."""

    name: str
    server: Server
    order: Order
    rounds: list[dict[str, float]] = field(default_factory=list)

    def measure(self, seconds: float) -> dict[str, float]:
        """Load the server for so long."""
        self.order.seconds = seconds
        before = self.server.cpu_seconds()
        answer = subprocess.run(
            [
                "taskset",
                "-c",
                str(CLIENT_CORE),
                sys.executable,
                "-m",
                "bench.load",
                _json(self.order),
            ],
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
        print(f"pair {number + 1} of {pairs}: {cpu}", file=sys.stderr)
        yield row


def _json(order: Order) -> str:
    return msgspec.json.encode(order).decode()
