"""What `connlist` and `diff` judge, and lines that both print."""

import csv
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path

from app.settings.egress import target_of
from app.settings.root import Settings
from cli.egress.inputs import open_source
from cli.output import STANDARD_INPUT
from core.base.errors import InvalidObjectError, SettingsError
from core.base.networks import span_of
from core.base.safe_text import safe_line
from egress.analysis.connectivity import PRIVATE_SPANS, Connectivity, judge_connectivity
from egress.analysis.policy_cluster import PolicyCluster, read_policy_cluster
from kube.egress.policy_objects import list_policy_objects
from kube.manifests.reader import Manifest, read_each, read_each_of

Judged = tuple[PolicyCluster, Connectivity]


def judge_path(settings: Settings, path: str) -> Judged:
    """Judge a file, a folder or `-`.

    Raises:
        SettingsError: it cannot be read, or holds neither Pods nor workloads.
    """
    found: Iterable[Manifest | InvalidObjectError]
    if path == STANDARD_INPUT:
        found = read_each_of(sys.stdin.buffer, "standard input")
    else:
        found = read_each([Path(path)])
    return _judge(settings, found, path)


async def judge_cluster(settings: Settings) -> Judged:
    """Judge the cluster of the kubeconfig.

    Raises:
        ClusterError: it does not answer.
        SettingsError: the credentials are missing or broken, or no Pod runs.
    """
    async with open_source(settings) as source:
        if source.objects is None:
            raise SettingsError("say what to judge: name PATH, or give --kubeconfig FILE")
        found = await list_policy_objects(source.objects)
    return _judge(settings, found, "the cluster")


def _judge(settings: Settings, found: Iterable[Manifest | InvalidObjectError], what: str) -> Judged:
    cluster = read_policy_cluster(found)
    if not cluster.pods and not cluster.broken:
        raise SettingsError(f"{what}: neither Pods nor workloads are in it: nothing connects")
    ranges = [span_of(each) for each in target_of(settings.egress).pods]
    return cluster, judge_connectivity(cluster, ranges or PRIVATE_SPANS)


def warn_incomplete(not_judged: Iterable[str], notes: Iterable[str]) -> None:
    """Say on standard error what was left out, and what should be known."""
    for each in not_judged:
        sys.stderr.write(f"sallyport: {safe_line(each)}\n")
    for each in notes:
        sys.stderr.write(f"sallyport: note: {safe_line(each)}\n")


def write_csv(head: Sequence[str], rows: Iterable[Sequence[str]]) -> None:
    """Print rows as CSV (RFC 4180, with line feeds)."""
    writer = csv.writer(sys.stdout, lineterminator="\n")
    writer.writerow(head)
    writer.writerows([safe_line(cell) for cell in row] for row in rows)


def write_markdown(head: Sequence[str], rows: Iterable[Sequence[str]]) -> None:
    """Print rows as a table of Markdown."""
    for row in (head, ["-----"] * len(head), *rows):
        cells = (safe_line(cell).replace("|", "\\|") for cell in row)
        sys.stdout.write(f"| {' | '.join(cells)} |\n")
