"""`python -m bench.recording`: the CPU that recording adds to a review, in interleaved pairs.

One gate keeps no record; the other spools, and ships to an auditor with a SQLite ledger over
mutual TLS. With `--base FOLDER` the first is the gate of another checkout of Sallyport.
"""

import argparse
import os
import statistics
import sys
import tempfile
from contextlib import ExitStack
from pathlib import Path

from bench.contender import Contender, in_pairs
from bench.load import Order
from bench.servers import ROOT, auditor_for, free_port, running, sallyport_command, stage_cluster
from tests.harness.evidence import record

_ALLOWED = {"compliant": '"allowed":true', "violating": '"allowed":false'}


def _start(stack: ExitStack, folder: Path, base: Path | None) -> tuple[Contender, Contender]:
    files, shipping = auditor_for(stack, folder)
    ports = [free_port() for _ in range(2)]
    cluster = stage_cluster(folder / "cluster")
    contenders = []
    for name, port, environment, checkout in (
        ("without", ports[0], {}, base),
        ("with", ports[1], shipping, None),
    ):
        where = ("--cluster", cluster)
        command = sallyport_command(folder / "server.crt", folder / "server.key", port, where)
        if checkout is not None:
            command = [sys.executable, "-c", "import cli.main as m; m.main()", *command[1:]]
        server = running(
            command, port, files.ca, folder / f"{name}.log", environment, checkout or ROOT
        )
        url = f"https://127.0.0.1:{port}/validate?timeout=10s"
        order = Order(url, str(files.ca), 0, _ALLOWED)
        contenders.append(Contender(name, stack.enter_context(server), order))
    return contenders[0], contenders[1]


def _measure(pairs: int, seconds: float, base: Path | None) -> list[dict[str, float]]:
    """Return for each pair the CPU of a review, in ms, without and with a record."""
    os.environ["SALLYPORT_LISTEN__DRAIN_SECONDS"] = "0"
    with tempfile.TemporaryDirectory(prefix="sallyport-bench-") as folder, ExitStack() as stack:
        both = _start(stack, Path(folder), base)
        return [
            {name: measured["cpu_ms"] for name, measured in row.items()}
            for row in in_pairs(both, pairs, seconds)
        ]


def main() -> None:
    """Measure, and print the pairs and their median difference."""
    parser = argparse.ArgumentParser(prog="python -m bench.recording", description=__doc__)
    parser.add_argument("--pairs", type=int, default=11)
    parser.add_argument("--seconds", type=float, default=4.0)
    parser.add_argument("--base", type=Path, help="another checkout, whose gate is `without`")
    parser.add_argument("--record", action="store_true", help="write docs/evidence/recording.md")
    options = parser.parse_args()
    rows = _measure(options.pairs, options.seconds, options.base)
    added = [1000 * (row["with"] - row["without"]) for row in rows]
    what = "the gate before the record was built" if options.base else "the same gate, no record"
    text = [
        f"- {options.pairs} interleaved pairs of {options.seconds:g} s each, against {what}; spool "
        "and shipping to an auditor (SQLite) over mutual TLS on, 16 connections, one core",
        f"- **Added to a review: {statistics.median(added):.0f} µs of CPU (median)**; sorted: "
        + ", ".join(f"{value:.0f}" for value in sorted(added)),
        f"- A review takes {statistics.median(row['without'] for row in rows):.3f} ms without, "
        f"{statistics.median(row['with'] for row in rows):.3f} ms with it (medians)",
    ]
    if options.record:
        record("recording", text)
    print("\n".join(text))


if __name__ == "__main__":
    main()
