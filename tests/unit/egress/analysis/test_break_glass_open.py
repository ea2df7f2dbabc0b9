"""What commands of egress say of a namespace that a BreakGlass opens."""

from dataclasses import replace
from typing import Any, Final

import pytest

from core.approvals.approvals import CLUSTER_KIND, parse_approval
from core.approvals.break_glass import parse_break_glass
from core.people.subject import Subject
from egress.analysis.cluster_egress import ClusterEgress, EgressRights
from egress.analysis.connection import parse_target
from egress.analysis.explanation import Explanation, explain
from egress.analysis.graph import EVERYWHERE, build_graph
from egress.analysis.plan import plan
from egress.analysis.verification import probes_of
from kube.egress.pods import EgressPod
from tests.unit.admission.approvals.test_break_glass import consent, sealed
from tests.unit.admission.approvals.test_exceptions import ANN, AUTHOR, BEN, NOW
from tests.unit.admission.world import raw
from tests.unit.egress.allowlist_objects import allowlist
from tests.unit.egress.analysis.small_clusters import pod, world

FETCH: Final = pod("fetch")
"""Of the Job of its name."""
WEB: Final = pod("web")
NET: Final = {"cidr": "192.0.2.0/24"}
TOLD: Final = (
    "connect everywhere but to reserved ranges, by BreakGlass fire until 2026-06-01T00:30:00Z"
)
OF_THE_POD: Final = f"the Pod {TOLD.replace('connect', 'connects', 1)}"
LONG: Final = "train-llm-on-all-the-data-that-there-is-once-more-and-again-9"
"""With its kind no label's value, which a digest shortens."""
EVERYONE: Final = frozenset({"of-ann", "of-ben", "of-author"})


def _world(
    *approvers: Subject, holders: frozenset[str] = EVERYONE, now: float = NOW, **spec: Any
) -> ClusterEgress:
    fields = {"namespaces": ["research"], "egress": {}, **spec}
    glass = sealed(**fields)
    made = world(allowlist(NET), pods=[FETCH, WEB], now=now)
    consents = tuple(
        parse_approval(raw(consent(glass, who)), kind=CLUSTER_KIND) for who in approvers
    )
    snapshot = replace(
        made.snapshot, break_glasses=(parse_break_glass(raw(glass)),), approvals=consents
    )
    return replace(made, snapshot=snapshot, rights=EgressRights(glass_holders=holders))


def _ask(to: str, found: ClusterEgress, source: EgressPod = FETCH) -> Explanation:
    return explain(source, parse_target(to, found), found)


def test_explain_says_by_what_it_is_open_and_until_when() -> None:
    """Not to metadata, which no BreakGlass opens; and an allowlist is still named."""
    found = _world(ANN, BEN)
    answer = _ask("198.51.100.7:443", found)
    assert (answer.verdict, answer.why) == ("open", OF_THE_POD)
    assert (answer.open_addresses, answer.closed_addresses) == (["198.51.100.7"], [])
    answer = _ask("169.254.169.254:80", found)
    assert (answer.verdict, answer.open_addresses) == ("closed", [])
    assert answer.why == f"{OF_THE_POD}; what is reserved an allowlist must name"
    assert [each.allowlist for each in _ask("192.0.2.7:443", found).by] == ["pypi"]


def test_explain_says_that_other_workloads_stay_closed() -> None:
    """By the gate's label."""
    found = _world(ANN, BEN, egress={"workloads": ["Job/fetch"]})
    assert _ask("198.51.100.7:443", found).verdict == "open"
    assert _ask("198.51.100.7:443", found, WEB).verdict == "closed"


@pytest.mark.parametrize(
    "found",
    [
        _world(ANN),
        _world(ANN, AUTHOR),
        _world(ANN, BEN, holders=frozenset({"of-ann"})),
        _world(ANN, BEN, began=""),
        _world(ANN, BEN, now=NOW + 1800),
        _world(ANN, BEN, namespaces=["data"]),
    ],
    ids=["one approval", "its author", "no right any more", "sealed", "over", "elsewhere"],
)
def test_nothing_is_open_by_one_that_does_not_count(found: ClusterEgress) -> None:
    """As control and the gate take it."""
    assert found.opened("research") == ()
    assert _ask("198.51.100.7:443", found).verdict == "closed"


def test_verify_expects_what_is_open() -> None:
    """Another Pod's port; not metadata."""
    tried = {
        each.host: each.expected for each in probes_of(FETCH, _world(ANN, BEN), ["8.8.8.8:53"])
    }
    assert (tried["8.8.8.8"], tried["169.254.169.254"]) == ("open", "closed")


def test_graph_and_plan_show_it() -> None:
    """As a way to everywhere that no allowlist says; in a plan as a note."""
    found = _world(ANN, BEN, egress={"workloads": ["Job/fetch"]})
    picture = build_graph(found, ["research"])
    (edge,) = (
        each for each in picture.edges if each.target == EVERYWHERE and "glass" in each.source
    )
    assert edge.why == f"Pods of Job/fetch {TOLD}"
    assert not edge.said
    assert {"research: Pods of Job/fetch"} == {
        each.text for each in picture.nodes if each.id == edge.source
    }
    notes = plan(found, found, ["research"]).notes
    assert notes == [f"namespace research: Pods of Job/fetch {TOLD}"]
    everything = _world(ANN, BEN)
    notes = plan(everything, everything, ["research"]).notes
    assert notes == [f"namespace research: all Pods {TOLD}"]


def test_a_workload_is_named_as_people_know_it() -> None:
    """Not as a label writes a long one; and of many the first, with how many more there are."""
    found = _world(ANN, BEN, egress={"workloads": [f"Job/{LONG}"]})
    (one,) = found.opened("research")
    assert "--x" in one.workloads[0]
    assert plan(found, found, ["research"]).notes == [
        f"namespace research: Pods of Job/{LONG} {TOLD}"
    ]
    many = _world(ANN, BEN, egress={"workloads": [f"Job/n{each}" for each in range(7)]})
    assert plan(many, many, ["research"]).notes == [
        f"namespace research: Pods of Job/n0, Job/n1, Job/n2, Job/n3 and 3 more {TOLD}"
    ]


def test_what_would_be_closed_is_told_as_without_it() -> None:
    """It ends: coverage is of what allowlists open."""
    assert _world(ANN, BEN).with_all_enrolled().opened("research") == ()
    assert _world(ANN, BEN).with_nothing_over().opened("research") == ()
