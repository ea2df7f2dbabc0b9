"""`python -m bench.everything`: what a review costs with everything of the product switched on.

The Pods' namespace asks for a sandbox by risk, their claim holds weights under a grant, 20,000
people are known to be at risk, and a site's bundle has rules and signals of its own.
"""

import argparse
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from bench.contender import Contender
from bench.contenders import null, validate_order
from bench.floors import Floor, report
from bench.identity import know_who_is_at_risk
from bench.reviews import GANG
from bench.rig import Rig, rig, say
from bench.sandbox import NEW, ask_by_risk
from bench.servers import ROOT
from bench.weights import guard_weights
from policies import BUILT_IN_REGO
from policies.build.builder import build
from policies.site.choices import read_choices
from tests.harness.evidence import record
from tests.tools.provide import provide

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
_HOW: Final = (
    "the namespace asks for a sandbox by risk; the Pods' claim holds weights, under a grant that "
    "two people approved; 20,000 people are at risk, of whom nobody asks; the site's bundle has "
    "the signals of examples/site-signals and three rules of the library; else as in "
    "[bench](bench.md): one core for the server, one for the load"
)


@contextmanager
def _with_everything() -> Iterator[tuple[Rig, Mapping[str, str]]]:
    """Yield a rig whose cluster has it all, and the settings of its gates."""
    with rig() as servers:
        ask_by_risk(servers.cluster)
        guard_weights(servers.cluster)
        know_who_is_at_risk(servers.cluster)
        yield servers, {"SALLYPORT_BUNDLE": str(_bundle(servers.folder))}


def _bundle(folder: Path) -> Path:
    bundle, chosen = folder / "site.tar.gz", folder / "rules.yaml"
    chosen.write_text(_RULES)
    build(provide("opa"), BUILT_IN_REGO, bundle, [_SIGNALS], read_choices(chosen))
    return bundle


def _floors(uncached: Contender, gang: Contender) -> list[Floor]:
    rates = (uncached.median("reviews_per_second"), gang.median("reviews_per_second"))
    return [
        Floor("uncached reviews/s", rates[0], 1000, at_least=True, unit=""),
        Floor("gang reviews/s", rates[1], 4200, at_least=True, unit=""),
    ]


def _table(measured: list[Contender]) -> Iterator[str]:
    yield f"{'':18}{'reviews/s':>10}{'CPU ms':>9}{'p50 ms':>9}{'p99 ms':>9}{'CPU / null':>12}"
    nothing = measured[-1].median("cpu_ms")
    for each in measured:
        rate, cpu, p50, p99 = (
            each.median(name) for name in ("reviews_per_second", "cpu_ms", "p50_ms", "p99_ms")
        )
        yield f"{each.name:18}{rate:10.0f}{cpu:9.3f}{p50:9.1f}{p99:9.1f}{cpu / nothing:11.1f}x"


def main() -> None:
    """Measure in rounds, and print a table and whether the floors hold."""
    parser = argparse.ArgumentParser(prog="python -m bench.everything", description=__doc__)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=4.0)
    parser.add_argument("--record", action="store_true", help="write docs/evidence/everything.md")
    options = parser.parse_args()
    with _with_everything() as (servers, settings):
        uncached = servers.gate("uncached", {**settings, **NEW})
        gang = servers.gate("gang", settings)
        measured = [
            Contender("uncached", uncached, validate_order(servers, uncached)),
            Contender("a gang", gang, validate_order(servers, gang, pods=GANG)),
            null(servers),
        ]
        for each in measured:
            each.measure(2)
        for number in range(options.rounds):
            for each in measured:
                each.rounds.append(each.measure(options.seconds))
            say(f"round {number + 1} of {options.rounds}")
    text = ["```text", *_table(measured), "", *report(_floors(*measured[:2])), "```"]
    if options.record:
        rounds = f"- {options.rounds} rounds of {options.seconds:g} s each: {_HOW}"
        record("everything", [rounds, "", *text])
    print("\n".join(text), file=sys.stdout)


if __name__ == "__main__":
    main()
