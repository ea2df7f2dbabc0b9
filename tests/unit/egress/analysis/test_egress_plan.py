"""`egress plan`: what a change opens and closes, by who connects."""

from dataclasses import replace
from itertools import pairwise
from typing import Any, Final

from core.base import names
from core.decision.namespaces import Namespace
from core.egress.allowlists import EgressAllowlist
from egress.analysis.cluster_egress import ClusterEgress
from egress.analysis.overlay import FileIntents, changed_namespaces, overlay_intents, remove_intents
from egress.analysis.plan import AllowlistPlan, plan
from tests.unit.egress.allowlist_objects import allowlist, destinations
from tests.unit.egress.analysis.small_clusters import pod, service, world

NET: Final = {"cidr": "192.0.2.0/24"}


def _plan(before: ClusterEgress, *changed: EgressAllowlist, **more: Any) -> AllowlistPlan:
    intents = FileIntents(changed, **more)
    seen = overlay_intents(before.snapshot, intents)
    after = before.with_snapshot(seen, before.rights)
    return plan(before, after, changed_namespaces(before.snapshot, seen))


def _said(found: AllowlistPlan) -> list[tuple[str, str, str, str]]:
    return [(each.sign, each.who, each.to, each.ports) for each in found.changes]


def test_new_intent_opens_for_its_pods() -> None:
    """With the service account, the intent and the Pods that it is about; nobody else's."""
    before = world(pods=[pod("train-0"), pod("other-0", "other")])
    (change,) = _plan(before, allowlist(NET)).changes
    assert (change.sign, change.who, change.to) == ("+", "research/trainer", "192.0.2.0/24")
    assert (change.ports, change.allowlists) == ("TCP 443", ["pypi"])
    assert (change.pods, change.examples, change.waits) == (1, ["train-0"], "")


def test_deleting_closes() -> None:
    """What no other intent says too."""
    both = world(allowlist(NET), allowlist({"cidr": "192.0.2.0/25"}, name="half"))
    seen = remove_intents(both.snapshot, FileIntents((allowlist(NET),)))
    after = both.with_snapshot(seen, both.rights)
    found = plan(both, after, changed_namespaces(both.snapshot, seen))
    assert _said(found) == [("-", "research/trainer", "192.0.2.128/25", "TCP 443")]


def test_same_meaning_changes_nothing() -> None:
    """Halves of a network, ports split in two, another reason: no connection changes."""
    before = world(allowlist(NET, reason="one"))
    halves = [{"cidr": "192.0.2.0/25"}, {"cidr": "192.0.2.128/25"}]
    found = _plan(before, allowlist(*halves, reason="two"))
    assert (found.changes, found.problems) == ([], [])


def test_wider_subject_is_told_once() -> None:
    """What opens for a service account is not told again for its workloads."""
    narrow = allowlist(NET, name="narrow", workloads=[{"kind": "Job", "name": "fetch"}])
    found = _plan(world(), allowlist(NET), narrow)
    assert _said(found) == [("+", "research/trainer", "192.0.2.0/24", "TCP 443")]


def test_workload_that_had_it_does_not_gain_it() -> None:
    """But the account's other workloads do."""
    narrow = allowlist(NET, name="narrow", workloads=[{"kind": "Job", "name": "fetch"}])
    found = _plan(world(narrow), allowlist(NET))
    assert _said(found) == [("+", "research/trainer", "192.0.2.0/24", "TCP 443")]


def test_broad_intent_waits_for_approval() -> None:
    """It says so, and for what."""
    (change,) = _plan(world(), allowlist({"cidr": "10.0.0.0/8"})).changes
    assert change.sign == "+"
    assert change.waits == "two people must approve it: 10.0.0.0/8 is broader than /16"


def test_what_is_broad_only_with_others_waits() -> None:
    """As `control` keeps it closed: what is there stays open, and the reason says what to do."""
    there = allowlist({"cidr": "20.0.0.0/16"}, name="first")
    found = _plan(world(there), allowlist({"cidr": "20.2.0.0/16"}, name="second"))
    (change,) = found.changes
    assert (change.sign, change.to, change.allowlists) == ("+", "20.2.0.0/16", ["second"])
    assert "put these networks or ports into one allowlist" in change.waits


def test_changing_an_approved_intent_to_a_broad_one_closes_it() -> None:
    """Until it is approved, what was open is closed too."""
    found = _plan(world(allowlist(NET)), allowlist(NET, {"cidr": "10.0.0.0/8"}))
    assert [(each.sign, each.to, bool(each.waits)) for each in found.changes] == [
        ("+", "10.0.0.0/8", True),
        ("-", "192.0.2.0/24", False),
    ]


def test_set_without_the_right_waits() -> None:
    """And opens at once where the right is there."""
    shared = destinations(NET)
    wanted = allowlist({"destinations": {"name": "shared"}})
    (change,) = _plan(world(sets=[shared]), wanted).changes
    assert "may not use EgressDestinations shared" in change.waits
    right = ("research", "trainer", "shared")
    (change,) = _plan(world(sets=[shared], usable=[right]), wanted).changes
    assert change.waits == ""


def test_changed_set_is_told_where_it_is_used() -> None:
    """By the namespaces that refer to it."""
    right = ("research", "trainer", "shared")
    user = allowlist({"destinations": {"name": "shared"}})
    before = world(user, sets=[destinations(NET)], usable=[right])
    found = _plan(before, sets=(destinations({"cidr": "198.51.100.0/24"}),))
    assert [(each.sign, each.to) for each in found.changes] == [
        ("+", "198.51.100.0/24"),
        ("-", "192.0.2.0/24"),
    ]


def test_name_that_is_not_resolved_waits_where_addresses_count() -> None:
    """With an engine that knows names it is open at once."""
    wanted = allowlist({"dnsName": "packages.example.org"})
    (change,) = _plan(world(), wanted).changes
    assert (change.to, "not been resolved" in change.waits) == ("packages.example.org", True)
    (change,) = _plan(world(engine="cilium"), wanted).changes
    assert change.waits == ""
    (change,) = _plan(world(learnt={"packages.example.org": ["203.0.113.7"]}), wanted).changes
    assert change.waits == ""


def test_wildcard_opens_nothing_where_the_engine_cannot_say_it() -> None:
    """The reason is told."""
    found = _plan(world(), allowlist({"dnsName": "*.example.com"}))
    assert found.changes == []
    assert [each.reason for each in found.problems] == ["CannotSay"]
    assert _said(_plan(world(engine="cilium"), allowlist({"dnsName": "*.example.com"})))


def test_enrolment_closes_everything_else() -> None:
    """Enrolling is one change, for every Pod; so is the way back."""
    before = world(allowlist(NET), pods=[pod("train-0")], enrolled=())
    enrolled = world(enrolled=("research",)).snapshot.namespaces["research"]
    found = _plan(before, namespaces=(enrolled,))
    assert _said(found) == [
        ("-", "research/*", "everywhere but where allowlists say", "every port")
    ]
    after = world(allowlist(NET), pods=[pod("train-0")])
    (back,) = plan(after, before, ["research"]).changes
    assert (back.sign, back.to, back.pods) == ("+", "everywhere", 1)


def _marked(label: str, listed: str = "") -> Namespace:
    annotations = {names.EGRESS_WORKLOADS_ANNOTATION: listed} if listed else {}
    return Namespace("research", {names.EGRESS_LABEL: label}, annotations)


def test_a_namespace_is_closed_one_workload_at_a_time() -> None:
    """Each step counts the Pods that it closes, and no other; the way back opens them."""
    steps = [
        _marked("audit"),
        _marked("audit", "Job/train-0"),
        _marked("audit", "Job/train-0,Job/fetch-0"),
        _marked("deny"),
    ]
    found = world(
        allowlist(NET), pods=[pod("train-0"), pod("fetch-0"), pod("other-0")], enrolled=()
    )
    states = [
        found.with_snapshot(replace(found.snapshot, namespaces={"research": step}), found.rights)
        for step in steps
    ]
    said = []
    for before, after in pairwise(states):
        (change,) = plan(before, after, ["research"]).changes
        said.append((change.sign, change.who, change.examples))
        (back,) = plan(after, before, ["research"]).changes
        assert (back.sign, back.who, back.examples) == ("+", change.who, change.examples)
    assert said == [
        ("-", "research/* Job.train-0", ["train-0"]),
        ("-", "research/* Job.fetch-0", ["fetch-0"]),
        ("-", "research/* but Job.fetch-0, Job.train-0", ["other-0"]),
    ]


def test_intent_of_a_namespace_that_is_not_enrolled_changes_nothing() -> None:
    """That is said."""
    found = _plan(world(pods=[pod("a")], enrolled=()), allowlist(NET))
    assert found.changes == []
    assert "research is not enrolled" in found.notes[0]


def test_pods_beside_it_are_named() -> None:
    """Those on their node's network, without labels, or with labels of another account."""
    beside = [
        pod("host", host_network=True),
        pod("old", labels={}),
        pod("odd", labels=pod("x", "other").labels),
        pod("good"),
    ]
    found = _plan(world(pods=beside), allowlist(NET))
    assert [each.pod for each in found.beside] == ["host", "old", "odd"]
    (change,) = found.changes
    assert change.examples == ["good"]


def test_service_is_told_as_a_service() -> None:
    """By its name and its own port, whatever its Pods listen on."""
    services = {("data", "catalogue"): service("10.244.1.30", 443, 8443, app="catalogue")}
    entry = {"service": {"namespace": "data", "name": "catalogue"}}
    found = _plan(world(services=services), allowlist(entry))
    assert _said(found) == [("+", "research/trainer", "service data/catalogue", "TCP 443")]
