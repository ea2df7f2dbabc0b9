"""`sallyport egress diff`: which connections differ between two sets of NetworkPolicies."""

import sys
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
from cli.egress.flags import DiffFormat
from cli.output import STANDARD_INPUT, print_json
from core.base.errors import SettingsError
from core.base.safe_text import safe_line
from egress.analysis.connectivity_report import (
    ConnectionChange,
    ConnectivityDiff,
    compare_connectivity,
)

_HEAD: Final = ("diff-type", "source", "destination", "before", "after", "workloads-diff-info")


async def compare(settings: Settings, before: str, after: str | None) -> ConnectivityDiff:
    """Return what differs between two folders; without B, between a folder and the cluster.

    Raises:
        SettingsError: not two are named, or one cannot be read.
        ClusterError: the cluster does not answer.
    """
    if after is None and settings.kubeconfig is None:
        raise SettingsError("name A and B, or A and --kubeconfig FILE for the cluster as B")
    if before == after == STANDARD_INPUT:
        raise SettingsError("A and B cannot both be standard input: name a file")
    old = judge_path(settings, before)
    new = await judge_cluster(settings) if after is None else judge_path(settings, after)
    return compare_connectivity(old, new)


def exit_code(found: ConnectivityDiff) -> int:
    """Return the exit code: whether all was judged, and then whether anything differs."""
    if not found.complete:
        return exits.NOT_JUDGED
    return exits.REFUSED if found.changes else exits.ADMITTED


def write(found: ConnectivityDiff, form: DiffFormat) -> None:
    """Print what differs, and on standard error what was left out."""
    match form:
        case DiffFormat.JSON:
            print_json(found)
        case DiffFormat.CSV:
            write_csv(_HEAD, map(_cells, found.changes))
        case DiffFormat.MD:
            write_markdown(_HEAD, map(_cells, found.changes))
        case _:
            for each in found.changes:
                sys.stdout.write(f"{safe_line(_line(each))}\n")
            if not found.changes:
                sys.stdout.write("No connections differ.\n")
    warn_incomplete(found.not_judged, found.notes)


def _cells(row: ConnectionChange) -> tuple[str, ...]:
    before, after = _sides(row)
    return row.change, row.src, row.dst, before, after, row.workloads


def _line(row: ConnectionChange) -> str:
    before, after = _sides(row)
    ends = f"source: {row.src}, destination: {row.dst}"
    more = f", workloads-diff-info: {row.workloads}" if row.workloads else ""
    return f"diff-type: {row.change}, {ends}, before: {before}, after: {after}{more}"


def _sides(row: ConnectionChange) -> tuple[str, str]:
    return _side(row.before, row.before_by_address), _side(row.after, row.after_by_address)


def _side(conn: str, by_address: str | None) -> str:
    return conn if by_address is None else f"{conn} (by address: {by_address})"
