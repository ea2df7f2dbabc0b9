"""`sallyport egress connlist`: which connections NetworkPolicies leave open."""

import sys
from collections import defaultdict
from collections.abc import Iterable, Iterator
from typing import Final

from app.settings.root import Settings
from cli import exits
from cli.egress.connectivity_inputs import (
    judge_cluster,
    judge_path,
    warn_incomplete,
    write_csv,
    write_markdown,
)
from cli.egress.flags import ConnlistFormat
from cli.output import print_json
from core.base.safe_text import safe_line
from egress.analysis.connectivity_report import (
    ConnectionRow,
    ConnectivityReport,
    report_connectivity,
)

_HEAD: Final = ("src", "dst", "conn", "by address")


async def list_connections(
    settings: Settings, path: str | None, namespace: str | None
) -> ConnectivityReport:
    """Return what is open in a folder; without one, in the cluster of the kubeconfig.

    Raises:
        SettingsError: neither is named, or there is nothing to judge.
        ClusterError: the cluster does not answer.
    """
    if path is not None:
        judged = judge_path(settings, path)
    else:
        judged = await judge_cluster(settings)
    return report_connectivity(*judged, namespace)


def exit_code(report: ConnectivityReport) -> int:
    """Return the exit code: whether all was judged."""
    return exits.ADMITTED if report.complete else exits.NOT_JUDGED


def write(report: ConnectivityReport, form: ConnlistFormat) -> None:
    """Print what is open, and on standard error what was left out."""
    rows = report.connections
    match form:
        case ConnlistFormat.JSON:
            print_json(report)
        case ConnlistFormat.CSV:
            write_csv(_HEAD, map(_cells, rows))
        case ConnlistFormat.MD:
            write_markdown(_HEAD, map(_cells, rows))
        case ConnlistFormat.DOT:
            sys.stdout.write("".join(f"{line}\n" for line in _dot(report)))
        case _:
            for row in rows:
                sys.stdout.write(f"{safe_line(f'{row.src} => {row.dst} : {_words(row)}')}\n")
    warn_incomplete(report.not_judged, report.notes)


def _cells(row: ConnectionRow) -> tuple[str, ...]:
    return row.src, row.dst, row.conn, row.by_address or ""


def _words(row: ConnectionRow) -> str:
    return row.conn if row.by_address is None else f"{row.conn} (by address: {row.by_address})"


def _dot(report: ConnectivityReport) -> Iterator[str]:
    """Yield lines of the language of graphviz, a box for each namespace."""
    ends = {end for row in report.connections for end in (row.src, row.dst)}
    spaces: dict[str, list[str]] = defaultdict(list)
    for each in sorted(ends & set(report.workloads)):
        spaces[each.partition("/")[0]].append(each)
    yield "digraph {"
    for index, (space, workloads) in enumerate(sorted(spaces.items())):
        yield f"\tsubgraph cluster_{index} {{"
        yield from _nodes(workloads, "\t\t", "blue")
        yield f"\t\tlabel={_quoted(space)}"
        yield "\t}"
    yield from _nodes(sorted(ends - set(report.workloads)), "\t", "red2")
    for row in report.connections:
        pair = f"{_quoted(row.src)} -> {_quoted(row.dst)}"
        yield f"\t{pair} [label={_quoted(_words(row))}]"
    yield "}"


def _nodes(ends: Iterable[str], indent: str, colour: str) -> Iterator[str]:
    for each in ends:
        label = _quoted(each.partition("/")[2] or each)
        yield f'{indent}{_quoted(each)} [label={label} color="{colour}"]'


def _quoted(text: str) -> str:
    escaped = safe_line(text).replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'
