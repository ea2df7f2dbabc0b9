"""A peer for kube-apiserver's calls is proposed only where it lets them in."""

import msgspec
import pytest

from cli.preflight.cluster.model import PreflightNotes
from cli.preflight.cluster.pods import PodCounts, TunnelAgents
from cli.preflight.cluster.tunnel import judge_sources

AGENT = {"app": "konnectivity-agent"}


def agents(*on_nodes: bool, namespace: str = "kube-system") -> TunnelAgents:
    """Return what is counted of Pods that are called as agents of the tunnel."""
    counts = PodCounts()
    for each in on_nodes:
        meta = {"namespace": namespace, "labels": AGENT}
        pod = {"metadata": meta, "spec": {"hostNetwork": each, "containers": []}}
        counts.take(msgspec.Raw(msgspec.json.encode(pod)))
    return counts.agents


def test_agents_with_their_own_addresses_are_the_peer() -> None:
    """On AKS; a note says what it leaves open."""
    notes = PreflightNotes()
    judge_sources(agents(False, False), notes, is_on_azure=True)  # noqa: FBT003
    (peer,) = notes.values["networkPolicies"]["webhooksFrom"]
    assert peer["podSelector"] == {"matchLabels": AGENT}
    assert [each.severity for each in notes.findings] == ["note"]


@pytest.mark.parametrize(
    ("found", "is_on_azure", "says"),
    [
        (None, True, "VNet Integration"),
        (agents(), True, "VNet Integration"),
        (agents(False, namespace="team"), True, "VNet Integration"),  # noqa: FBT003
        (agents(True, True), True, "have addresses of nodes"),  # noqa: FBT003
        (agents(True, False), True, "have addresses of nodes"),  # noqa: FBT003
        (agents(False), False, "cannot be seen from inside"),  # noqa: FBT003
    ],
)
def test_elsewhere_no_peer_is_proposed(
    found: TunnelAgents | None,
    is_on_azure: bool,  # noqa: FBT001
    says: str,
) -> None:
    """A wrong one would drop kube-apiserver's calls, and no Pod could be created."""
    notes = PreflightNotes()
    judge_sources(found, notes, is_on_azure=is_on_azure)
    assert notes.values == {}
    (finding,) = notes.findings
    assert finding.severity == "warning"
    assert says in finding.what
    assert "the chart refuses to install without" in finding.fix
