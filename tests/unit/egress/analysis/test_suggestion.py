"""`egress suggest`: least allowlists, with the evidence; nothing dangerous without a word."""

from ipaddress import ip_address
from typing import Any

import msgspec
from hypothesis import given
from hypothesis import strategies as st

from core.base import names
from core.egress.allowlists import parse_allowlist
from egress.analysis.cluster_egress import ClusterEgress, EgressSettings
from egress.analysis.observed_flows import ObservedFlows, observe
from egress.analysis.suggestion import SCAN_ADDRESSES, SCAN_PORTS, Suggestion, suggest
from egress.flows.records import DnsAnswer, Flow, UnreadableRecord
from egress.service_tags import parse_service_tags
from tests.unit.egress.allowlist_objects import EXPIRES, allowlist
from tests.unit.egress.analysis.small_clusters import pod, service, world


def flow(address: str = "203.0.113.7", port: int = 443, **more: Any) -> Flow:
    """Make a flow of research/trainer."""
    fields: dict[str, Any] = {
        "namespace": "research",
        "account": "trainer",
        "pod": "train-0",
        "address": ip_address(address),
        "protocol": "TCP",
        "verdict": "forwarded",
        **more,
    }
    return Flow(port=port, **fields)


def _observed(*records: Any, where: ClusterEgress | None = None) -> ObservedFlows:
    return observe([("f", each) for each in records], where or world(enrolled=()))


def _one(*records: Any, where: ClusterEgress | None = None) -> Suggestion:
    (found,) = suggest(_observed(*records, where=where))
    return found


def _to(found: Suggestion) -> list[dict[str, Any]]:
    return [each.entry for each in found.entries]


HTTPS = [{"protocol": "TCP", "port": 443}]


def test_names_come_before_addresses() -> None:
    """By the flow itself, or by what the DNS answered to the Pod before."""
    named = _one(flow(names=("packages.example.org",)))
    assert _to(named) == [{"dnsName": "packages.example.org", "ports": HTTPS}]
    learnt = DnsAnswer("research", "train-0", "packages.example.org", (ip_address("203.0.113.7"),))
    assert _to(_one(flow(), learnt)) == [{"dnsName": "packages.example.org", "ports": HTTPS}]
    stranger = DnsAnswer(
        "research", "other-0", "packages.example.org", (ip_address("203.0.113.7"),)
    )
    assert _to(_one(flow(), stranger)) == [{"cidr": "203.0.113.7/32", "ports": HTTPS}]


def test_of_several_names_the_one_that_explains_most() -> None:
    """The others are evidence."""
    found = _one(flow(names=("a.org", "cdn.org")), flow(names=("b.org", "cdn.org")))
    assert _to(found) == [{"dnsName": "cdn.org", "ports": HTTPS}]
    assert found.entries[0].evidence.also == ["a.org", "b.org"]


def test_addresses_are_joined_only_where_all_of_a_network_was_seen() -> None:
    """And on the same ports."""
    seen = [flow(f"203.0.113.{last}") for last in (4, 5, 6, 7, 9)]
    assert [each["cidr"] for each in _to(_one(*seen))] == ["203.0.113.4/30", "203.0.113.9/32"]
    apart = _one(flow("203.0.113.4"), flow("203.0.113.5", port=80))
    assert len(_to(apart)) == 2


def test_evidence_is_counted() -> None:
    """How many, of which verdict, from when to when, of which Pods."""
    found = _one(
        flow(first=10.0, last=10.0, count=3),
        flow(first=5.0, last=20.0, verdict="dropped", pod="train-1"),
    )
    evidence = found.entries[0].evidence
    assert (evidence.flows, evidence.forwarded, evidence.dropped) == (4, 3, 1)
    assert (evidence.first, evidence.last, evidence.pods) == (5.0, 20.0, ["train-0", "train-1"])


def test_reserved_ranges_are_left_out_and_told() -> None:
    """Metadata, the wire server, the cluster's own, whatever name leads there."""
    where = world(enrolled=(), ranges=["10.20.0.0/16"])
    found = _one(
        flow("169.254.169.254", 80),
        flow("168.63.129.16", 80, names=("nice.example.org",)),
        flow("10.20.0.12", 10250),
        flow("203.0.113.1", to_reserved="remote-node"),
        where=where,
    )
    assert found.entries == []
    assert len(found.left_out) == 4
    assert all("name it as a cidr" in each.why for each in found.left_out)


def test_scans_are_left_out_and_told() -> None:
    """Many ports of one destination; many addresses on one port, mostly dropped."""
    ports = [flow(port=port) for port in range(1000, 1000 + SCAN_PORTS)]
    found = _one(*ports, flow("203.0.113.9"))
    assert [each["cidr"] for each in _to(found)] == ["203.0.113.9/32"]
    assert "looks like a scan" in found.left_out[0].why
    sweep = [flow(f"198.51.100.{last}", 22, verdict="dropped") for last in range(SCAN_ADDRESSES)]
    assert _to(_one(*sweep)) == []
    used = [flow(f"198.51.100.{last}", 22) for last in range(SCAN_ADDRESSES)]
    assert _to(_one(*used)) != []


def test_pods_and_services_of_the_cluster_are_named() -> None:
    """A Pod behind a Service as the Service; another by its labels, or by its service account."""
    catalogue = pod(
        "c-0", "cat", "data", labels={"app": "c"}, addresses=(ip_address("10.244.1.30"),)
    )
    services = {("data", "catalogue"): service("10.244.1.30", 80, 8080)}
    where = world(pods=[catalogue], services=services, enrolled=())
    (entry,) = _to(_one(flow("10.244.1.30", 8080), where=where))
    assert entry["service"] == {"namespace": "data", "name": "catalogue"}
    assert entry["ports"] == [{"protocol": "TCP", "port": 80}]
    (entry,) = _to(_one(flow("10.244.1.30", 9000), where=where))
    assert entry["pods"] == {"namespace": "data", "podSelector": {"matchLabels": {"app": "c"}}}
    enrolled = world(pods=[catalogue], enrolled=["data"])
    (entry,) = _to(_one(flow("10.244.1.30", 9000), where=enrolled))
    assert entry["pods"] == {"namespace": "data", "serviceAccounts": ["cat"]}


def test_what_is_open_already_is_left_out() -> None:
    """Only what is missing is suggested."""
    where = world(allowlist({"cidr": "203.0.113.0/24"}))
    found = _one(flow(), flow("198.51.100.9"), where=where)
    assert [each["cidr"] for each in _to(found)] == ["198.51.100.9/32"]
    assert found.left_out[0].why == "is open already"


def test_sources_are_known_by_their_addresses() -> None:
    """Of Azure's flows; the others are counted."""
    where = world(pods=[pod("train-0", addresses=(ip_address("10.244.1.10"),))], enrolled=())
    nobody: dict[str, Any] = {"namespace": "", "account": "", "pod": ""}
    found = _observed(
        flow(source=ip_address("10.244.1.10"), **nobody),
        flow(source=ip_address("10.244.1.99"), **nobody),
        UnreadableRecord(3, "broken"),
        where=where,
    )
    assert [(each.namespace, each.account) for each in found.flows] == [("research", "trainer")]
    assert (found.unknown, len(found.unread)) == (1, 1)


def test_service_tags_are_offered_and_not_chosen() -> None:
    """The smallest that has it comes first."""
    file = {
        "cloud": "Public",
        "changeNumber": 1,
        "values": [
            {"name": name, "properties": {"addressPrefixes": [prefix]}}
            for name, prefix in (("Big", "203.0.0.0/16"), ("Small", "203.0.113.0/24"))
        ],
    }
    tags = parse_service_tags(msgspec.json.encode(file))
    where = ClusterEgress(world(enrolled=()).snapshot, EgressSettings(0.0, tags=tags))
    (entry,) = _one(flow(), where=where).entries
    assert entry.entry["cidr"] == "203.0.113.7/32"
    assert entry.evidence.tags == ["Small", "Big"]


@given(
    st.lists(
        st.builds(
            flow,
            st.ip_addresses(v=4).map(str) | st.ip_addresses(v=6).map(str),
            st.integers(1, 65535),
            names=st.sampled_from(
                [(), ("packages.example.org",), ("a b",), ("localhost",), ("*.x.org",)]
            ),
            protocol=st.sampled_from(["TCP", "UDP", "SCTP"]),
            to_reserved=st.sampled_from(["", "", "host"]),
        ),
        min_size=1,
        max_size=90,
    )
)
def test_suggestions_are_sound_allowlists(flows: list[Flow]) -> None:
    """Whatever was observed: the gate's reader takes them, and nothing reserved is in them."""
    found = _one(*flows)
    for part in found.parts():
        spec = {
            "serviceAccounts": ["trainer"],
            "to": [each.entry for each in part],
            "owner": "o",
            "reason": "r",
            "expiresAt": EXPIRES,
        }
        whole = {
            "apiVersion": names.API_VERSION,
            "kind": "EgressAllowlist",
            "metadata": {"name": "x", "namespace": "research"},
            "spec": spec,
        }
        parse_allowlist(msgspec.json.encode(whole))
