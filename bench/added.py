"""What a part of the gate adds to a review's CPU: pairs of gates, with and without it."""

import argparse
import statistics
import sys
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass, field

from bench.contender import Contender, in_pairs
from bench.contenders import validate_order
from bench.reviews import Pods
from bench.rig import Rig, rig
from tests.harness.evidence import record


@dataclass(frozen=True)
class Case:
    """One load."""

    pods: Pods
    most: int | None
    """How many microseconds may be added; None: it is said for comparison."""
    settings: Mapping[str, str] = field(default_factory=dict)
    rig: Callable[[], AbstractContextManager[Rig]] = rig

    @property
    def limit(self) -> str:
        """Say it in words."""
        return "no limit" if self.most is None else f"at most {self.most}"


@dataclass(frozen=True)
class Added:
    """A part of the gate, and how it is measured."""

    program: str
    """The module that is run."""
    described: str | None
    without: str
    """The module of a gate in which the part does nothing."""
    cases: Mapping[str, Case]
    against: str
    """The gate without the part, in words."""
    page: str
    """Of docs/evidence."""

    def measure(self, case: Case, pairs: int, seconds: float) -> list[float]:
        """Return for each pair what was added, in µs."""
        without = (sys.executable, "-m", self.without)
        with case.rig() as servers:
            gates = {
                "without": servers.gate("without", case.settings, program=without),
                "with": servers.gate("with", case.settings),
            }
            both = [
                Contender(name, gate, validate_order(servers, gate, pods=case.pods))
                for name, gate in gates.items()
            ]
            return [
                1000 * (row["with"]["cpu_ms"] - row["without"]["cpu_ms"])
                for row in in_pairs(both, pairs, seconds)
            ]


def measure_added(part: Added) -> None:
    """Measure as the command line says, and print what was added."""
    parser = argparse.ArgumentParser(prog=f"python -m {part.program}", description=part.described)
    parser.add_argument("--pairs", type=int, default=11)
    parser.add_argument("--seconds", type=float, default=4.0)
    page = f"docs/evidence/{part.page}.md"
    parser.add_argument("--record", action="store_true", help=f"write {page}")
    options = parser.parse_args()
    text = [
        f"- {options.pairs} interleaved pairs of {options.seconds:g} s each, against {part.against}"
    ]
    for name, case in part.cases.items():
        added = part.measure(case, options.pairs, options.seconds)
        text.append(
            f"- **{name}: {statistics.median(added):.0f} µs of CPU added (median)**, {case.limit}; "
            "sorted: " + ", ".join(f"{value:.0f}" for value in sorted(added))
        )
    if options.record:
        record(part.page, text)
    print("\n".join(text))
