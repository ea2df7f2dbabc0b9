"""The floor of the cluster closes what no NetworkPolicy selects, and reserved addresses always."""

from ipaddress import ip_network

from core.base import names
from core.base.networks import single_address_network
from core.egress.destinations import PortRange
from core.kubernetes.label_selectors import Requirement
from egress.model.openings import Addresses, Block, Name, Opening
from egress.model.reserved_ranges import ALWAYS_RESERVED
from egress.render.clusternetworkpolicy import MAX_ITEMS, render_floor, render_passes
from egress.render.target import Dns
from tests.unit.egress.render.random_openings import meaning

ENROLLED = (
    Requirement(names.EGRESS_LABEL, "Exists"),
    Requirement(names.EGRESS_LABEL, "NotIn", ("open",)),
)
SELECTS = (Requirement(names.EGRESS_ACCOUNT_LABEL, "In", ("s1",)),)
HTTP = (PortRange("TCP", 80, 80),)
METADATA = ip_network("169.254.169.254/32")


def _opening(*networks: str) -> Opening:
    blocks = tuple(Block(ip_network(each)) for each in networks)
    return Opening("a", "spec.to[0]", SELECTS, Addresses(blocks), HTTP)


def test_the_baseline_leaves_dns_alone() -> None:
    """Below all NetworkPolicies, enrolled namespaces reach the cluster's DNS, and nothing else."""
    baseline, _ = render_floor(ENROLLED, Dns())
    assert baseline["spec"]["tier"] == "Baseline"
    dns, rest = baseline["spec"]["egress"]
    assert (dns["action"], rest["action"]) == ("Accept", "Deny")
    assert dns["protocols"] == [
        {"tcp": {"destinationPort": {"number": 53}}},
        {"udp": {"destinationPort": {"number": 53}}},
    ]
    assert rest["to"] == [{"networks": ["0.0.0.0/0", "::/0"]}, {"namespaces": {}}]
    assert "protocols" not in rest


def test_reserved_addresses_are_denied_above_all() -> None:
    """In the Admin tier, after NodeLocal DNSCache's own address, which lies in one of them."""
    _, admin = render_floor(ENROLLED, Dns(addresses=(ip_network("169.254.20.10/32"),)))
    assert admin["spec"]["tier"] == "Admin"
    dns, deny = admin["spec"]["egress"]
    assert (dns["action"], dns["to"]) == ("Pass", [{"networks": ["169.254.20.10/32"]}])
    assert (deny["action"], deny["to"]) == ("Deny", [{"networks": [*map(str, ALWAYS_RESERVED)]}])
    assert len(ALWAYS_RESERVED) <= MAX_ITEMS


def test_both_are_for_enrolled_namespaces() -> None:
    """By their labels, which the gate guards."""
    for item in render_floor(ENROLLED, Dns()):
        assert item["spec"]["subject"] == {
            "namespaces": {
                "matchExpressions": [
                    {"key": names.EGRESS_LABEL, "operator": "Exists"},
                    {"key": names.EGRESS_LABEL, "operator": "NotIn", "values": ["open"]},
                ]
            }
        }


def test_cluster_policy_lets_accounts_that_name_metadata_pass() -> None:
    """Before the denial, for these Pods of this namespace alone, and to no more than they name."""
    (item,) = render_passes(meaning([_opening(str(METADATA), "192.0.2.0/24")]))
    _, admin = render_floor(ENROLLED, Dns())
    assert item["spec"]["priority"] < admin["spec"]["priority"]
    assert item["spec"]["subject"]["pods"] == {
        "namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": "alpha"}},
        "podSelector": {
            "matchExpressions": [
                {"key": names.EGRESS_ACCOUNT_LABEL, "operator": "In", "values": ["s1"]}
            ]
        },
    }
    (rule,) = item["spec"]["egress"]
    assert (rule["action"], rule["to"]) == ("Pass", [{"networks": [str(METADATA)]}])


def test_what_is_not_named_does_not_pass() -> None:
    """Neither a broader network nor an answer for a name names a reserved address."""
    name = Opening("a", "spec.to[0]", SELECTS, Name("packages.example.org", (METADATA,)), HTTP)
    carved = Block(ip_network("0.0.0.0/0"), (ip_network("169.254.0.0/16"),))
    broad = Opening("b", "spec.to[0]", SELECTS, Addresses((carved,)), HTTP)
    assert render_passes(meaning([name, broad])) == ()


def test_many_named_addresses_are_cut() -> None:
    """No list is longer than the CRD has it; together they have every address once."""
    every_other = [single_address_network(each) for each in ip_network("169.254.0.0/20")][::2]
    found = render_passes(meaning([_opening(*map(str, every_other))]))
    peers = [peer for item in found for rule in item["spec"]["egress"] for peer in rule["to"]]
    assert all(len(item["spec"]["egress"][0]["to"]) <= MAX_ITEMS for item in found)
    assert all(0 < len(peer["networks"]) <= MAX_ITEMS for peer in peers)
    assert [each for peer in peers for each in peer["networks"]] == [*map(str, every_other)]
    assert len({item["metadata"]["name"] for item in found}) == len(found) > 1
