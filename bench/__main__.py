"""`make bench WHAT=… BENCH="OPTION…"`: one measurement, by default that of a review.

    python -m bench [WHAT] [OPTION…]

`help` lists the measurements, `WHAT --help` the options of one.
"""

import argparse
import sys
from collections.abc import Sequence
from pkgutil import resolve_name
from typing import Final, NamedTuple

DEFAULT: Final = "review"
_HELP: Final = "help"


class Measurement(NamedTuple):
    """Something that can be measured."""

    what: str
    """One line."""
    program: str
    """`module:function`; the function takes a parser, to which it adds its options, and arguments.

    Only the module that is asked for is imported: some measurements are of this process's memory.
    """


MEASUREMENTS: Final = {
    "review": Measurement(
        "a review, beside Kubernetes' own check, OPA's server and a null handler",
        "bench.comparison:compare_contenders",
    ),
    "everything": Measurement(
        "a review with everything of the product switched on", "bench.comparison:with_everything"
    ),
    "recording": Measurement(
        "the CPU that recording adds to a review", "bench.paired_gates:measure_recording"
    ),
    "people": Measurement(
        "the CPU that notes, tracing, exceptions and break glass add to a review",
        "bench.paired_gates:PEOPLE.main",
    ),
    "sandbox": Measurement(
        "the CPU that weighing the risk and choosing a sandbox add to a review",
        "bench.paired_gates:SANDBOX.main",
    ),
    "identity": Measurement(
        "the CPU that people at risk add to a review", "bench.paired_gates:IDENTITY.main"
    ),
    "weights": Measurement(
        "the CPU that guarding model weights adds to a review", "bench.paired_gates:WEIGHTS.main"
    ),
    "bounds": Measurement(
        "the CPU that bounds and fair shares add to a review", "bench.bounds:main"
    ),
    "scaling": Measurement(
        "the budget of each stage; growth with rules, Pods, profiles, connections; plots",
        "bench.scaling:main",
    ),
    "profiles": Measurement(
        "300 profiles and 10,000 subjects against 3, with a real kube-apiserver",
        "bench.profiles:main",
    ),
    "one-client": Measurement(
        "what one webhook adds to a Pod's creation through a real kube-apiserver",
        "bench.latency:measure_one_client",
    ),
    "latency": Measurement(
        "what the whole suite adds to a Pod's creation, also while two gates are killed",
        "bench.latency:measure_cluster",
    ),
    "files": Measurement("the files of the product that one review enters", "bench.files:main"),
    "risk": Measurement(
        "what a snapshot of 100,000 identities takes in a gate; lookups, swaps", "bench.risk:main"
    ),
    "ledger": Measurement(
        "accesses a second that the ledger keeps with their leaves, on SQLite and PostgreSQL",
        "bench.ledger:measure_log",
    ),
    "ingest": Measurement(
        "records of storage a second that become evidence, on SQLite and PostgreSQL",
        "bench.ledger:measure_ingest",
    ),
}


def main(arguments: Sequence[str]) -> int:
    """Run the measurement that the first argument names; return the exit code."""
    name, options = DEFAULT, arguments
    if arguments and not arguments[0].startswith("-"):
        name, options = arguments[0], arguments[1:]
    if name == _HELP:
        print("\n".join(describe_measurements()))
        return 0
    measurement = MEASUREMENTS.get(name)
    if measurement is None:
        unknown = f"WHAT={name}: there is no such measurement"
        print("\n".join([unknown, *describe_measurements()]), file=sys.stderr)
        return 2
    parser = argparse.ArgumentParser(
        prog=f"python -m bench {name}",
        description=f"Measure {measurement.what}.",
        epilog="`make bench WHAT=help` lists the other measurements.",
    )
    resolve_name(measurement.program)(parser, options)
    return 0


def describe_measurements() -> list[str]:
    """Return a line for each measurement, under one that says how to ask for it."""
    wide = max(map(len, MEASUREMENTS))
    lines = [f"  {name:{wide}}  {each.what}" for name, each in MEASUREMENTS.items()]
    return [f'make bench WHAT=… BENCH="--help"; WHAT is {DEFAULT} if it is left out:', *lines]


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
