"""Judges Pods for `sallyport policy bench`, measures the rules on what was asked, and shows it."""

from collections.abc import Sequence
from pathlib import Path
from typing import Final

import msgspec
from rich.bar import Bar
from rich.console import Console
from rich.table import Table
from rich.text import Text

from cli import exits
from cli.policy.shared.cases import open_group
from cli.policy.shared.flags import tell
from core.base.safe_text import safe_line
from policies.authoring.benchmark import Cost, measure, ordinary_cases, samples_of, sized_cases
from policies.authoring.examples import read_all, with_examples
from policies.bundle.format import JUDGE
from policies.site.choices import Choices

FORMAT: Final = 1

_BAR: Final = 30


class Benched(msgspec.Struct, frozen=True, kw_only=True):
    """What `sallyport policy bench -o json` prints."""

    format: int = FORMAT
    costs: list[Cost]
    """Of each rule, the most expensive first."""


def bench(
    opa: Path, sites: Sequence[Path], choices: Choices, rounds: int, most_share: float
) -> list[Cost]:
    """Measure the rules of folders on their cases and on example Pods.

    Raises:
        BundleRefusedError: the Rego, or a case, is broken; the message has file, line and fix.
    """
    choices = with_examples(sites, choices)
    written = [msgspec.structs.replace(it, choices=choices) for it in read_all(sites, choices)]
    sized = sized_cases(choices)
    cases = [*written, *ordinary_cases(choices), *(case for _, case in sized.values())]
    tell(f"judging {len(cases)} objects")
    with open_group(opa, sites, choices, cases) as group:
        documents: dict[str, list[bytes]] = {}
        for asked in group.asked:
            if asked.entrypoint == JUDGE:
                documents.setdefault(asked.about, []).append(asked.document)
        samples = samples_of(documents, {file: size for file, (size, _) in sized.items()})
        return measure(group.workspace, samples, rounds, most_share, tell)


def exit_code(costs: Sequence[Cost]) -> int:
    """Return the exit code: a rule that takes too much is found.

    One without inputs is only told.
    """
    return exits.REFUSED if any(cost.too_much for cost in costs) else exits.ADMITTED


def print_costs(costs: Sequence[Cost], console: Console) -> None:
    """Print a table with a bar for each rule, then what is too much."""
    table = Table(box=None, pad_edge=False, header_style="bold")
    table.add_column("RULE", overflow="fold")
    for column in ("INPUTS", "P50 µs", "P99 µs", "OF 1", "OF 10", "OF 100", "SHARE"):
        table.add_column(column, justify="right")
    table.add_column("", width=_BAR)
    most = max((cost.p50_us for cost in costs), default=0.0) or 1.0
    for cost in costs:
        table.add_row(
            Text(safe_line(cost.rule)),
            str(cost.inputs),
            f"{cost.p50_us:.1f}",
            f"{cost.p99_us:.1f}",
            *(f"{cost.by_containers.get(size, 0.0):.0f}" for size in ("1", "10", "100")),
            f"{cost.share:.0f} %",
            Bar(most, 0, cost.p50_us, width=_BAR, color="red" if cost.too_much else "green"),
        )
    console.print(table)
    console.print()
    total = sum(cost.p50_us for cost in costs)
    console.print(f"{len(costs)} rules: {total:.1f} µs for one object, if all are asked about it")
    for cost in costs:
        for warning in (*cost.too_much, *cost.notes):
            console.print(Text(safe_line(f"{cost.rule}: {warning}"), style="yellow"))
