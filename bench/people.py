"""`python -m bench.people`: the CPU that People and rights adds to a review, in interleaved pairs.

One gate notes, traces, and looks for exceptions and break glass; in the other, the same otherwise,
all of that does nothing (`bench.without_people`).
"""

import argparse
import statistics
import sys
from collections.abc import Mapping
from typing import Final

from bench.contender import Contender, in_pairs
from bench.contenders import validate_order
from bench.reviews import GANG, USUAL, Pods
from bench.rig import UNCACHED, rig
from tests.harness.evidence import record

_WITHOUT: Final = (sys.executable, "-m", "bench.without_people")

_CASES: Final[Mapping[str, tuple[Pods, Mapping[str, str], int]]] = {
    "uncached": (USUAL, UNCACHED, 100),
    "a gang": (GANG, {}, 40),
}
"""Reviews, settings, and how many microseconds may be added."""


def _measure(pods: Pods, settings: Mapping[str, str], pairs: int, seconds: float) -> list[float]:
    """Give for each pair what was added, in µs."""
    with rig() as servers:
        gates = {
            "without": servers.gate("without", settings, program=_WITHOUT),
            "with": servers.gate("with", settings),
        }
        both = [
            Contender(name, gate, validate_order(servers, gate, pods=pods))
            for name, gate in gates.items()
        ]
        return [
            1000 * (row["with"]["cpu_ms"] - row["without"]["cpu_ms"])
            for row in in_pairs(both, pairs, seconds)
        ]


def main() -> None:
    """Measure, and print what was added."""
    parser = argparse.ArgumentParser(prog="python -m bench.people", description=__doc__)
    parser.add_argument("--pairs", type=int, default=11)
    parser.add_argument("--seconds", type=float, default=4.0)
    parser.add_argument("--record", action="store_true", help="write docs/evidence/people.md")
    options = parser.parse_args()
    text = [
        f"- {options.pairs} interleaved pairs of {options.seconds:g} s each, against the same gate "
        "in which nobody is noted or traced, and no exception, BreakGlass or default is looked for",
    ]
    for name, (pods, settings, most) in _CASES.items():
        added = _measure(pods, settings, options.pairs, options.seconds)
        text.append(
            f"- **{name}: {statistics.median(added):.0f} µs of CPU added (median)**, at most {most}"
            "; sorted: " + ", ".join(f"{value:.0f}" for value in sorted(added))
        )
    if options.record:
        record("people", text)
    print("\n".join(text))


if __name__ == "__main__":
    main()
