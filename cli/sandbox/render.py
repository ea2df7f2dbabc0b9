"""`sallyport sandbox report` for people: a paragraph for each workload, then what it comes to."""

import textwrap
from collections.abc import Iterator, Sequence
from typing import Final

from rich.console import Console
from rich.text import Text

from cli.sandbox.run import LastSweep, Report, Unsandboxed
from core.base.safe_text import safe_line

_MOST_PODS: Final = 5
_MOST_RULES: Final = 3
_WIDEST: Final = 120
_LABEL: Final = 13
"""Columns before what a line says."""

_COMMANDS: Final = frozenset({"recreate", "see"})


def print_report(report: Report, namespace: str | None, console: Console) -> None:
    """Print the paragraphs, the riskiest first, and the summary."""
    several = len(report.sweeps) > 1
    groups = _grouped(report.pods)
    for rows in groups:
        _print_workload(rows, console, several=several)
        console.print()
    for sweep in report.sweeps:
        for said in _summary(sweep, groups, namespace, several=several):
            console.print(Text("\n".join(_folded(said, min(console.width, _WIDEST)))))


def _folded(text: str, width: int) -> list[str]:
    """Return lines, broken at spaces only: names and ids stay whole."""
    return textwrap.wrap(safe_line(text), width, break_long_words=False, break_on_hyphens=False)


def _grouped(pods: Sequence[Unsandboxed]) -> list[list[Unsandboxed]]:
    """Join Pods of a workload of which the same is to be said."""
    groups: dict[object, list[Unsandboxed]] = {}
    for row in pods:
        same = (row.cluster, row.namespace, row.workload or row.uid, row.requester, row.reason)
        rest = (row.score, row.sandbox, row.runtime, row.first, row.also, row.excused_by)
        groups.setdefault((same, repr((rest, row.signals, row.recreate))), []).append(row)
    return list(groups.values())


def _print_workload(rows: Sequence[Unsandboxed], console: Console, *, several: bool) -> None:
    row = rows[0]
    name = row.workload or f"Pod/{row.pod}"
    where = f"{row.cluster}: {row.namespace}" if several else row.namespace
    console.print(Text(safe_line(f"{where} {name}"), style="bold"))
    width = min(console.width, _WIDEST) - _LABEL
    for label, said in _lines(rows):
        # A command stays in one piece, so that it can be copied.
        lines = [safe_line(said)] if label in _COMMANDS else _folded(said, max(width, _LABEL))
        for number, line in enumerate(lines):
            console.print(Text(f"  {label if number == 0 else '':<{_LABEL - 2}}{line}"))


def _lines(rows: Sequence[Unsandboxed]) -> Iterator[tuple[str, str]]:
    row = rows[0]
    yield "why", row.reason
    if row.workload:
        count = f"{len(rows)}: " if len(rows) > 1 else ""
        yield "pods", count + _listed([each.pod for each in rows], _MOST_PODS)
    yield "asked by", row.requester or "unknown: the gate recorded nothing of it"
    runs = f"; it runs with {row.runtime}" if row.runtime else ""
    yield "sandbox", f"{row.sandbox}{runs}"
    for finding in row.first:
        place = f"{finding.path}: " if finding.path else ""
        yield "first", f"{place}{finding.message}. {finding.remedy}"
    if row.excused_by:
        names = ", ".join(each.partition("@")[0] for each in row.excused_by)
        yield "excused", f"when it was created, by the PolicyException {names}: has it ended?"
    if row.also:
        yield "also", f"it would be refused for {_listed(row.also, _MOST_RULES)}"
    yield "see", f"sallyport explain {row.decision}"
    yield "recreate", row.recreate


def _listed(items: Sequence[str], most: int) -> str:
    more = len(items) - most
    return ", ".join(items[:most]) + (f" and {more} more" if more > 0 else "")


def _summary(
    sweep: LastSweep,
    groups: Sequence[Sequence[Unsandboxed]],
    namespace: str | None,
    *,
    several: bool,
) -> Iterator[str]:
    here = [rows for rows in groups if rows[0].cluster == sweep.cluster]
    pods = sum(map(len, here))
    of_which = f" of the cluster {sweep.cluster}" if several else ""
    by = f"by the sweep{of_which} that ended {sweep.finished[:19]}Z"
    place = f" in the namespace {namespace}" if namespace else ""
    judged = f"{sweep.pods} Pod{'' if sweep.pods == 1 else 's'} in all"
    if pods:
        workloads = len({(rows[0].namespace, rows[0].workload or rows[0].uid) for rows in here})
        yield (
            f"{pods} Pod{'' if pods == 1 else 's'} of {workloads} "
            f"workload{'' if workloads == 1 else 's'}{place} should run in a sandbox and "
            f"{'does' if pods == 1 else 'do'} not, {by} ({judged})."
        )
    else:
        yield f"No Pod{place} runs outside a sandbox that it should be in, {by} ({judged})."
    if sweep.not_judged:
        yield f"{sweep.not_judged} could not be judged, and may lack one too:"
        of_it = f" --cluster-id {sweep.cluster}" if several else ""
        yield f"  sallyport decisions --source sweep --verdict error{of_it}"
