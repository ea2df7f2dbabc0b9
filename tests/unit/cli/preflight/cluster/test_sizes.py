"""Replicas, requests and the ledger's size follow docs/operate/sizing.md."""

import pytest

from cli.preflight.cluster.model import ClusterSizes, PreflightNotes
from cli.preflight.cluster.sizes import judge_sizes


@pytest.mark.parametrize(
    ("pods", "replicas", "cpu", "memory", "size"),
    [
        # 10 reviews a second: one gate's worth, and two to spare.
        (100, 3, "250m", "256Mi", "50Gi"),
        # The page's own gang: 5,000 Pods in 20 s, two webhooks, 500 reviews a second: 0.325 cores.
        (5_000, 3, "250m", "256Mi", "50Gi"),
        # 200,000 decisions a day, 1.4 KiB each, for 90 days, twice for indexes: 48.1 GiB.
        (100_000, 3, "250m", "512Mi", "50Gi"),
        # A million a day: 240.3 GiB.
        (500_000, 3, "250m", "512Mi", "250Gi"),
    ],
)
def test_an_installation_is_as_large_as_its_cluster(
    pods: int, replicas: int, cpu: str, memory: str, size: str
) -> None:
    """By the page's formulas, of which each number is measured."""
    notes = PreflightNotes()
    judge_sizes(ClusterSizes(10, pods, 5), notes)
    assert notes.values["gate"]["replicas"] == replicas
    assert notes.values["gate"]["resources"]["requests"]["cpu"] == cpu
    assert notes.values["control"]["resources"]["requests"]["memory"] == memory
    assert notes.values["auditor"]["ledger"]["size"] == size


def test_a_ledger_too_large_for_sqlite_is_told() -> None:
    """With what to use instead."""
    notes = PreflightNotes()
    judge_sizes(ClusterSizes(7_500, 1_500_000, 500), notes)
    assert [each.severity for each in notes.findings] == ["note", "warning"]
    assert "PostgreSQL" in notes.findings[1].fix
