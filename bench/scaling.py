"""How a review's cost grows with rules, Pods, profiles, connections.

Writes the plots to docs/performance, and the tables into docs/performance.md.
"""

import argparse
import datetime as dt
import os
import re
import shutil
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from bench.contenders import Contender, start_null, validate_order
from bench.plot import Chart, Series
from bench.profiles import write_cluster
from bench.review_stages import stage_columns
from bench.reviews import GANG, USUAL, Pods
from bench.server_rig import UNCACHED, Rig, Server, print_progress, rig
from policies import BUILT_IN_REGO
from policies.build.builder import build
from tests.harness.evidence import ROOT, put_between_marks
from tests.tools.provide import provide

PERFORMANCE: Final = ROOT / "docs" / "performance.md"
PLOTS: Final = ROOT / "docs" / "performance"

RULES: Final = (15, 60, 200)
PROFILES: Final = (3, 30, 300)
CONNECTIONS: Final = (1, 2, 4, 8, 16, 32, 64, 128)
_SMALL: Final = Pods(distinct=32, containers=1, variables=0)
_SHAPES: Final = (
    ("more containers", (_SMALL, *(Pods(distinct=32, containers=n) for n in (5, 50, 500)))),
    ("longer text", (_SMALL, *(Pods(distinct=32, variable_bytes=n) for n in (30, 1_200, 12_000)))),
)
"""About 2, 10, 100 and 1,000 KB: by what rules look at, and by what they do not."""

_EVERY: Final = "every one evaluated"
_GANG: Final = "a gang"
_CPU: Final = "CPU ms a review"

_SECTIONS: Final = {
    "rules": ("Privilege rules", "CPU of a review by the number of privilege rules", "cpu_ms"),
    "sizes": ("Pod, KB", "CPU of a review by the size of the Pod", "cpu_ms"),
    "profiles": ("Profiles", "CPU of a review by the number of profiles", "cpu_ms"),
    "connections": (
        "Connections",
        "Reviews a second by the number of connections",
        "reviews_per_second",
    ),
}

_LISTED_RULE: Final = re.compile(
    r'^\t\t"([a-z_]+)/([a-z_]+)": privileges\.\1\.\2\.needs,$', re.MULTILINE
)

_COPIED_RULES: Final = (
    "capability/add",
    "container/privileged",
    "host/port",
    "proc_mount/unmasked",
    "seccomp/unconfined",
    "selinux/options",
    "sysctl/set",
    "volume/host_path",
)
"""Rules that look at containers, volumes or the Pod, and find nothing in one that complies."""

_END_OF_LIST: Final = "\n\t}\n"
"""Of a list; the first one holds the rules that Pods are asked about."""


@dataclass(frozen=True)
class Row:
    """One measurement."""

    series: str
    x: float
    reviews_per_second: float
    cpu_ms: float
    p50_ms: float
    p99_ms: float


@dataclass(frozen=True)
class Scaling:
    """Measures with one gate after another."""

    rig: Rig
    seconds: float
    rounds: int

    def row(self, series: str, x: float, server: Server, pods: Pods, connections: int = 16) -> Row:
        """Load a gate: the medians of the rounds."""
        order = validate_order(self.rig, server, pods=pods, connections=connections)
        loaded = Contender(series, server, order)
        loaded.measure(1)
        loaded.rounds += [loaded.measure(self.seconds) for _ in range(self.rounds)]
        names = ("reviews_per_second", "cpu_ms", "p50_ms", "p99_ms")
        row = Row(series, x, *(loaded.median(name) for name in names))
        print_progress(
            f"{series}, {x:g}: {row.reviews_per_second:.0f} reviews/s, {row.cpu_ms:.3f} ms"
        )
        return row

    def rules(self) -> Iterator[Row]:
        """Yield the cost by the number of privilege rules."""
        for count in RULES:
            bundle = build_bundle(count, self.rig.folder / f"bundle-{count}")
            own = {"SALLYPORT_BUNDLE": str(bundle)}
            for series, pods, environment in _both():
                server = self.rig.gate(f"rules-{count}-{pods.mix}", {**environment, **own})
                yield self.row(series, count, server, pods)

    def sizes(self) -> Iterator[Row]:
        """Yield the cost by the Pod's size in KB, without its managedFields."""
        server = self.rig.gate("sizes", UNCACHED)
        for series, shapes in _SHAPES:
            for pods in shapes:
                yield self.row(series, pods.kilobytes, server, pods)

    def profiles(self) -> Iterator[Row]:
        """Yield the cost by the number of profiles, on top of those that are shipped."""
        for count in PROFILES:
            where = ("--cluster", write_cluster(count, self.rig.folder / f"cluster-{count}"))
            for series, pods, environment in _both():
                server = self.rig.gate(f"profiles-{count}-{pods.mix}", environment, where)
                yield self.row(series, count, server, pods)

    def connections(self) -> Iterator[Row]:
        """Yield the throughput by the number of connections."""
        for series, pods, environment in _both():
            server = self.rig.gate(f"connections-{pods.mix}", environment)
            for count in CONNECTIONS:
                yield self.row(series, count, server, pods, count)


def _both() -> tuple[tuple[str, Pods, Mapping[str, str]], ...]:
    return ((_EVERY, USUAL, UNCACHED), (_GANG, GANG, {}))


def _write_plot(name: str, title: str, x: str, rows: Sequence[Row], y: str = "cpu_ms") -> None:
    label = _CPU if y == "cpu_ms" else "reviews/s"
    series = [
        Series(each, [(row.x, getattr(row, y)) for row in rows if row.series == each])
        for each in dict.fromkeys(row.series for row in rows)
    ]
    PLOTS.mkdir(exist_ok=True)
    (PLOTS / f"{name}.svg").write_text(Chart(title, x, label, series).svg())


def _table(x: str, rows: Sequence[Row]) -> list[str]:
    lines = [f"| {x} | | reviews/s | CPU ms | p50 ms | p99 ms |", "|---:|---|---:|---:|---:|---:|"]
    return lines + [
        f"| {row.x:,.0f} | {row.series} | {row.reviews_per_second:,.0f} | {row.cpu_ms:.3f} | "
        f"{row.p50_ms:.1f} | {row.p99_ms:.1f} |"
        for row in rows
    ]


def stage_table(columns: Mapping[str, Mapping[str, float]]) -> list[str]:
    """Return the stages as a table: µs, and the share of the column's whole."""
    names = dict.fromkeys(name for column in columns.values() for name in column)
    wholes = {name: sum(column.values()) for name, column in columns.items()}
    lines = [
        "| Stage | " + " | ".join(f"{name}, µs | share" for name in columns) + " |",
        "|---|" + "---:|" * 2 * len(columns),
    ]
    for name in names:
        cells = [_cell(column.get(name), wholes[which]) for which, column in columns.items()]
        lines.append(f"| {name} | " + " | ".join(cells) + " |")
    sums = [f"{whole:.0f} | 100 %" for whole in wholes.values()]
    return [*lines, "| **all** | " + " | ".join(sums) + " |"]


def _cell(value: float | None, whole: float) -> str:
    return "– | –" if value is None else f"{value:.1f} | {100 * value / whole:.0f} %"


def _stages(running: Rig) -> list[str]:
    """Return the stage table with what HTTP, TLS and the event loop take.

    The null handler's CPU.
    """
    columns = {name: dict(column) for name, column in stage_columns().items()}
    contender = start_null(running)
    contender.measure(1)
    whole = 1000 * contender.measure(4)["cpu_ms"]
    for column in columns.values():
        does_too = ("decode AdmissionReview", "log", "encode answer")
        column["HTTP, TLS, event loop"] = max(0.0, whole - sum(column[name] for name in does_too))
    return stage_table(columns)


def _section(name: str, scaling: Scaling) -> list[str]:
    if name == "stages":
        return _stages(scaling.rig)
    x, title, y = _SECTIONS[name]
    rows = list(getattr(scaling, name)())
    _write_plot(name, title, x, rows, y)
    return _table(x, rows)


def main(parser: argparse.ArgumentParser, arguments: Sequence[str]) -> None:
    """Measure, draw, write."""
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--seconds", type=float, default=3.0)
    parser.add_argument(
        "--only", choices=("stages", "rules", "sizes", "profiles", "connections"), action="append"
    )
    options = parser.parse_args(arguments)
    wanted = options.only or ["stages", "rules", "sizes", "profiles", "connections"]
    with rig() as running:
        scaling = Scaling(running, options.seconds, options.rounds)
        for name in wanted:
            when = f"{dt.datetime.now(dt.UTC):%Y-%m-%d %H:%M} UTC"
            load = (
                f"Measured {when}; load of the machine before: {os.getloadavg()[0]:.1f} of 2 cores."
            )
            put_between_marks(PERFORMANCE, name, ["", *_section(name, scaling), "", load, ""])


def rules_about_pods() -> list[str]:
    """Return the built-in privilege rules about Pods, `family/rule`, as the entry point lists them.

    Those about other objects are not evaluated for a Pod, and stay as they are.
    """
    text = (BUILT_IN_REGO / "needs.rego").read_text().partition(_END_OF_LIST)[0]
    return [f"{family}/{rule}" for family, rule in _LISTED_RULE.findall(text)]


def build_bundle(count: int, folder: Path) -> Path:
    """Build a bundle with so many privilege rules in `folder`, which must not exist; give its path.

    Below the number of built-in ones the first are left out of the entry point, but those that
    the bench's verdicts and the engine's own check stand on.
    """
    built_in = rules_about_pods()
    needed = {"capability/add", "capability/defaults", "container/privileged"}
    others = [rule for rule in built_in if rule not in needed]
    kept = sorted([*needed, *others[: max(0, count - len(needed))]])
    shutil.copytree(BUILT_IN_REGO, folder / "rego")
    copies = list(_rule_copies(count - len(kept)))
    for name, source in copies:
        _copy_rule(folder / "rego", name, source)
    entry = folder / "rego" / "needs.rego"
    entry.write_text(_with_rules(entry.read_text(), [*kept, *(name for name, _ in copies)]))
    bundle = folder / f"rules-{count}.tar.gz"
    build(provide("opa"), folder / "rego", bundle)
    return bundle


def _rule_copies(count: int) -> Iterator[tuple[str, str]]:
    for number in range(count):
        yield f"copied/rule_{number}", _COPIED_RULES[number % len(_COPIED_RULES)]


def _copy_rule(rego: Path, name: str, source: str) -> None:
    family, rule = source.split("/")
    text = (rego / "privileges" / family / rule / f"{rule}.rego").read_text()
    package = f"package sallyport.privileges.{family}.{rule}"
    target = rego / "privileges" / name / f"{name.rpartition('/')[2]}.rego"
    target.parent.mkdir(parents=True)
    target.write_text(
        text.replace(package, f"package sallyport.privileges.{name.replace('/', '.')}")
    )


def _with_rules(text: str, names: list[str]) -> str:
    lines = [f'\t\t"{name}": privileges.{name.replace("/", ".")}.needs,' for name in names]
    of_pods, end, rest = text.partition(_END_OF_LIST)
    first = _LISTED_RULE.search(of_pods)
    if first is None:
        raise ValueError("the entry point lists no rules")
    return of_pods[: first.start()] + "\n".join(lines) + end + rest
